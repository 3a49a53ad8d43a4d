/** The library's parts that need Node. */
export { nodeThreads } from './devices/emulated/node-threads.ts';
export { LIBRARY_VARIABLE, type NativeDeviceOptions, openNativeDevice } from './devices/hsa-native/index.ts';
export { type FilePart, readCodeObjectFile } from './hsa/executables/node-code-object-reader.ts';
