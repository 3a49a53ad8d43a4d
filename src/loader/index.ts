/** Running whole programs; `node-file-system.ts` has the adapters for Node. */
export { type FileSystem, type OpenFile, type OpenMode, parseOpenMode } from './file-system.ts';
export type { Generation } from './generation.ts';
export { MemoryFileSystem } from './memory-file-system.ts';
export { type KernelRun, type ProgramResult, type RunOptions, runProgram } from './program.ts';
export { formatResources, type KernelResources } from './resource-usage.ts';
export type { StandardStreams } from './streams.ts';
