/** Kernels from a host program: contexts, buffers, modules and launches. */
export { type ArgumentValue, FunctionAddress, LocalMemory } from './arguments.ts';
export { DeviceBuffer } from './buffer.ts';
export { type Code, Context, createContext, type ModuleOptions } from './context.ts';
export type { TypedArray, TypedArrayName, TypedArrays } from './elements.ts';
export {
  type KernelParameter,
  type KernelPresets,
  type LaunchOptions,
  type LaunchResult,
  Module,
  ModuleKernel,
} from './module.ts';
