/** The HSA runtime in TypeScript manners; see ARCHITECTURE.md for what stands on it. */

export type * from '../device/device.ts';
export type * from '../device/fault.ts';
export type * from '../device/launch.ts';
export type * from '../device/memory.ts';
export type * from '../device/properties.ts';
export type { DispatchStatistics, InstructionCounts, TierInstructions } from '../device/statistics.ts';
export type { CodeNeeds } from '../lift/call-graph.ts';
export type { ConstructorOptions } from './executables/constructors.ts';
export { Executable, type ExecutableOptions, type FreezeOptions, type LoadOptions } from './executables/executable.ts';
export {
  CODE_OBJECT_STORAGE,
  EXECUTABLE_INFO,
  executableInfo,
  LOADED_CODE_OBJECT_INFO,
  loadedCodeObjectInfo,
} from './executables/executable-info.ts';
export type {
  ExecutableSymbol,
  FunctionSymbol,
  VariableSymbol,
} from './executables/executable-symbol.ts';
export type { KernelSymbol } from './executables/kernel-symbol.ts';
export type { LinkEntry, LinkResolution } from './executables/link-map.ts';
export { CodeObjectReader, LoadedCodeObject } from './executables/loaded-code-object.ts';
export type { LoaderExtension, SegmentDescriptor } from './executables/loader-extension.ts';
export { SYMBOL_INFO, type SymbolInfo, symbolInfo } from './executables/symbol-info.ts';
export type { CopyOptions, CopyRectOptions, PitchedPointer } from './memory/copy-engine.ts';
export type { IpcSharing } from './memory/ipc.ts';
export type { LockedMemory } from './memory/locked-memory.ts';
export {
  AGENT_MEMORY_POOL_INFO,
  agentMemoryPoolInfo,
  type LinkInfo,
  MEMORY_POOL_INFO,
  memoryPoolInfo,
  POOL_ACCESS,
  REGION_INFO,
  regionInfo,
} from './memory/memory-info.ts';
export type { PointerInfo } from './memory/pointer-info.ts';
export type { RuntimeMemory } from './memory/runtime-memory.ts';
export { Agent, type AgentInfo, type Cache } from './objects/agent.ts';
export {
  AGENT_INFO,
  type AgentInfoValue,
  agentInfo,
  CACHE_INFO,
  type ClockCounters,
  cacheInfo,
} from './objects/agent-info.ts';
export { EXTENSION } from './objects/extensions.ts';
export { type Isa, isaCompatible, isaFromName } from './objects/isa.ts';
export {
  ISA_INFO,
  type IsaInfoValue,
  isaExceptionPolicies,
  isaInfo,
  isaRoundMethod,
  WAVEFRONT_INFO,
  wavefrontInfo,
} from './objects/isa-info.ts';
export {
  ALLOCATE_FLAGS,
  type DeallocationCallback,
  MemoryPool,
  type PoolAllocateOptions,
  type PoolKind,
} from './objects/memory-pool.ts';
export { HSA_STATUS, HsaError, type HsaStatus, statusNamed } from './objects/status.ts';
export { SYSTEM_INFO, type SystemInfoValue } from './objects/system-info.ts';
export { FAULT_REASON } from './queues/faults.ts';
export { type Interceptor, InterceptQueue, type PacketWriter } from './queues/intercept-queue.ts';
export type { BarrierOptions, BarrierValueOptions, DispatchOptions } from './queues/packet-options.ts';
export type { QueueError } from './queues/packet-processor.ts';
export { Queue, type QueueOptions, type QueuePriority, type QueueType } from './queues/queue.ts';
export {
  createRuntime,
  type MemoryFaultEvent,
  Runtime,
  type RuntimeOptions,
  type SystemEventHandler,
} from './runtime/runtime.ts';
export { UNSUPPORTED_FUNCTIONS, type UnsupportedFunction } from './runtime/unsupported.ts';
export {
  type LoadOrder,
  type MemoryOrder,
  Signal,
  type SignalCondition,
  type StoreOrder,
  type WaitOptions,
} from './signals/signal.ts';
export type { SignalGroup, SignalGroupEvent } from './signals/signal-group.ts';
export type { SignalHandler, SignalWait } from './signals/signal-waits.ts';
