/** Running whole programs; `host/node-file-system.ts` has the adapters for Node. */
export { type Conversation, settled } from './host/conversation.ts';
export { type FileSystem, type OpenFile, type OpenMode, parseOpenMode } from './host/file-system.ts';
export { MemoryFileSystem } from './host/memory-file-system.ts';
export type { StreamOptions } from './host/standard-streams.ts';
export { formatInspection, inspectProgram, type ProgramInspection } from './inspect.ts';
export { type KernelRun, type ProgramResult, type ProgramStatistics, runProgram } from './program.ts';
export { formatResources, type KernelResources } from './resource-usage.ts';
export { type DispatchArgument, type DispatchParameter, type DispatchSignature, dispatched } from './rpc/dispatch.ts';
export type { Generation } from './rpc/protocol/generation.ts';
export type { Handler, HostFunction, RpcHost } from './rpc/protocol/host.ts';
export type { RecordedStep, ServerPort } from './rpc/protocol/port.ts';
export type { ConversationRecord, OpcodeStatistics } from './rpc/server.ts';
export { formatConversation } from './rpc/trace.ts';
export type { RunLimits, RunOptions } from './run-options.ts';
