/** The HSA runtime in TypeScript manners; see ARCHITECTURE.md for what stands on it. */
export { Agent, type AgentInfo, type Isa } from './agent.ts';
export type { CodeNeeds } from './call-graph.ts';
export type { CopyOptions, CopyRectOptions, PitchedPointer } from './copy-engine.ts';
export type * from './device.ts';
export { Executable } from './executable.ts';
export type { ExecutableSymbol, FunctionSymbol, KernelSymbol, VariableSymbol } from './executable-symbol.ts';
export { FAULT_REASON } from './faults.ts';
export { type Interceptor, InterceptQueue, type PacketWriter } from './intercept-queue.ts';
export type { LinkEntry, LinkResolution } from './link-map.ts';
export { CodeObjectReader, LoadedCodeObject, type SegmentDescriptor } from './loaded-code-object.ts';
export { MemoryPool, type PoolAllocateOptions, type PoolKind } from './memory-pool.ts';
export type { QueueError } from './packet-processor.ts';
export type { PointerInfo } from './pointer-info.ts';
export {
  type BarrierOptions,
  type BarrierValueOptions,
  type DispatchOptions,
  Queue,
  type QueueOptions,
} from './queue.ts';
export {
  createRuntime,
  type MemoryFaultEvent,
  Runtime,
  type RuntimeOptions,
  type SystemEventHandler,
} from './runtime.ts';
export { Signal, type SignalCondition, type WaitOptions } from './signal.ts';
export type { SignalHandler, SignalWait } from './signal-waits.ts';
export { HSA_STATUS, HsaError, type HsaStatus } from './status.ts';
export { SYMBOL_INFO, type SymbolInfo, symbolInfo } from './symbol-info.ts';
