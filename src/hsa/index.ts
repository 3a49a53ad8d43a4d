/** The HSA runtime in TypeScript manners; see ARCHITECTURE.md for what stands on it. */
export { Agent, type AgentInfo, type Isa } from './agent.ts';
export type * from './device.ts';
export { Executable } from './executable.ts';
export type { ExecutableSymbol, FunctionSymbol, KernelSymbol, VariableSymbol } from './executable-symbol.ts';
export { FAULT_REASON } from './faults.ts';
export { CodeObjectReader, LoadedCodeObject } from './loaded-code-object.ts';
export { MemoryPool, type PoolAllocateOptions, type PoolKind } from './memory-pool.ts';
export type { QueueError } from './packet-processor.ts';
export { type BarrierOptions, type DispatchOptions, Queue, type QueueOptions } from './queue.ts';
export {
  createRuntime,
  type MemoryFaultEvent,
  Runtime,
  type RuntimeOptions,
  type SystemEventHandler,
} from './runtime.ts';
export { Signal, type SignalCondition, type WaitOptions } from './signal.ts';
export { HSA_STATUS, HsaError, type HsaStatus } from './status.ts';
