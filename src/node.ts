/** The library's parts that need Node. */
export { CUDA_LIBRARY_VARIABLE, type CudaDeviceOptions, openCudaDevice } from './devices/cuda-native/index.ts';
export { nodeThreads } from './devices/emulated/node-threads.ts';
export { LIBRARY_VARIABLE, type NativeDeviceOptions, openNativeDevice } from './devices/hsa-native/index.ts';
export { openHalFile } from './hal/tooling/node-file.ts';
export { type FilePart, readCodeObjectFile } from './hsa/executables/node-code-object-reader.ts';
