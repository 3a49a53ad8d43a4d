/** The HSA runtime in TypeScript manners; see ARCHITECTURE.md for what stands on it. */
export { Agent, type AgentInfo, type Cache } from './agent.ts';
export { AGENT_INFO, type AgentInfoValue, agentInfo, CACHE_INFO, type ClockCounters, cacheInfo } from './agent-info.ts';
export type { DeallocationCallback } from './allocations.ts';
export type { CodeNeeds } from './call-graph.ts';
export type { ConstructorOptions } from './constructors.ts';
export type { CopyOptions, CopyRectOptions, PitchedPointer } from './copy-engine.ts';
export type * from './device.ts';
export { Executable, type ExecutableOptions, type FreezeOptions, type LoadOptions } from './executable.ts';
export {
  CODE_OBJECT_STORAGE,
  EXECUTABLE_INFO,
  executableInfo,
  LOADED_CODE_OBJECT_INFO,
  loadedCodeObjectInfo,
} from './executable-info.ts';
export type { ExecutableSymbol, FunctionSymbol, KernelSymbol, VariableSymbol } from './executable-symbol.ts';
export { EXTENSION } from './extensions.ts';
export { FAULT_REASON } from './faults.ts';
export { type Interceptor, InterceptQueue, type PacketWriter } from './intercept-queue.ts';
export type { IpcSharing } from './ipc.ts';
export { type Isa, isaCompatible, isaFromName } from './isa.ts';
export {
  ISA_INFO,
  type IsaInfoValue,
  isaExceptionPolicies,
  isaInfo,
  isaRoundMethod,
  WAVEFRONT_INFO,
  wavefrontInfo,
} from './isa-info.ts';
export type { LinkEntry, LinkResolution } from './link-map.ts';
export { CodeObjectReader, LoadedCodeObject, type SegmentDescriptor } from './loaded-code-object.ts';
export type { LoaderExtension } from './loader-extension.ts';
export type { LockedMemory } from './locked-memory.ts';
export {
  AGENT_MEMORY_POOL_INFO,
  agentMemoryPoolInfo,
  type LinkInfo,
  MEMORY_POOL_INFO,
  memoryPoolInfo,
  POOL_ACCESS,
  REGION_INFO,
  regionInfo,
} from './memory-info.ts';
export { ALLOCATE_FLAGS, MemoryPool, type PoolAllocateOptions, type PoolKind } from './memory-pool.ts';
export type { QueueError } from './packet-processor.ts';
export type { PointerInfo } from './pointer-info.ts';
export {
  type BarrierOptions,
  type BarrierValueOptions,
  type DispatchOptions,
  Queue,
  type QueueOptions,
  type QueuePriority,
  type QueueType,
} from './queue.ts';
export {
  createRuntime,
  type MemoryFaultEvent,
  Runtime,
  type RuntimeOptions,
  type SystemEventHandler,
} from './runtime.ts';
export type { RuntimeMemory } from './runtime-memory.ts';
export {
  type LoadOrder,
  type MemoryOrder,
  Signal,
  type SignalCondition,
  type StoreOrder,
  type WaitOptions,
} from './signal.ts';
export type { SignalGroup, SignalGroupEvent } from './signal-group.ts';
export type { SignalHandler, SignalWait } from './signal-waits.ts';
export { HSA_STATUS, HsaError, type HsaStatus, statusNamed } from './status.ts';
export { SYMBOL_INFO, type SymbolInfo, symbolInfo } from './symbol-info.ts';
export { SYSTEM_INFO, type SystemInfoValue } from './system-info.ts';
export { UNSUPPORTED_FUNCTIONS, type UnsupportedFunction } from './unsupported.ts';
