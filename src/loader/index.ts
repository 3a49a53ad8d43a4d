/** Running whole programs; `node-file-system.ts` has the adapters for Node. */
export { type Conversation, settled } from './conversation.ts';
export { type FileSystem, type OpenFile, type OpenMode, parseOpenMode } from './file-system.ts';
export type { Generation } from './generation.ts';
export { formatInspection, inspectProgram, type ProgramInspection } from './inspect.ts';
export { MemoryFileSystem } from './memory-file-system.ts';
export {
  type KernelRun,
  type ProgramResult,
  type ProgramStatistics,
  type RunLimits,
  type RunOptions,
  runProgram,
} from './program.ts';
export { formatResources, type KernelResources } from './resource-usage.ts';
export { type DispatchArgument, type DispatchParameter, type DispatchSignature, dispatched } from './rpc/dispatch.ts';
export type { Handler, HostFunction, RpcHost } from './rpc/host.ts';
export type { RecordedStep, ServerPort } from './rpc/port.ts';
export type { ConversationRecord, OpcodeStatistics } from './rpc/server.ts';
export { formatConversation } from './rpc/trace.ts';
export type { ProgramOutput, StreamOptions } from './standard-streams.ts';
