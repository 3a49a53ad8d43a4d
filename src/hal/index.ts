/** The HAL: drivers, devices, buffers, semaphores, queues, executables. docs/hal.md tells of it. */
export {
  type AgentProvider,
  type AgentSource,
  type AmdgpuDriverOptions,
  amdgpuDriver,
  type InstructionReader,
  PacketProfile,
  type PacketProfileOptions,
  type PacketSink,
  uuidOf,
} from './amdgpu/index.ts';
export type { CounterInfo, DispatchedKernel, DispatchTimes, PcTally } from './backend/backend.ts';
export type { DeviceLink, PhysicalDeviceInfo, Topology } from './backend/topology.ts';
export { type BindingTable, CommandBuffer, type CommandFinding } from './commands/command-buffer.ts';
export type { Constants, GroupCounts, QueueDispatch } from './commands/queue-dispatch.ts';
export { CommandRecorder, type CommandRef, type RecordOptions, type SlotRef } from './commands/recorder.ts';
export { Fence } from './core/fence.ts';
export { type FlagInput, FlagSet, FlagTable } from './core/flag-set.ts';
export {
  ALLOCA_FLAGS,
  type AllocaFlag,
  BUFFER_COMPATIBILITY,
  BUFFER_USAGE,
  type BufferAccess,
  type BufferCompatibility,
  type BufferUsage,
  COMMAND_BUFFER_MODES,
  type CommandBufferMode,
  HOST_CALL_FLAGS,
  type HostCallFlag,
  MEMORY_ACCESS,
  MEMORY_TYPES,
  type MemoryType,
  PLACEMENT_FLAGS,
  type PlacementFlag,
  SEMAPHORE_FLAGS,
  type SemaphoreFlag,
} from './core/flags.ts';
export type { HalEvent } from './core/hal-event.ts';
export {
  type HasTimepoints,
  type HostWaitOptions,
  MAX_SEMAPHORE_VALUE,
  Semaphore,
  Timepoint,
  type WaitInput,
  waitForAll,
  waitForAllSync,
  waitForAny,
} from './core/semaphore.ts';
export {
  formatStall,
  type QueueStanding,
  type RingName,
  type StallBlocker,
  type StallCause,
  type StalledOperation,
  type StallReport,
} from './core/stall.ts';
export { describeOperation, HAL_STATUS, HalError, type HalStatus, type OperationInfo } from './core/status.ts';
export { type DeviceUri, formatDeviceUri, parseDeviceUri } from './core/uri.ts';
export type { ClockSample, DeviceDescription } from './devices/device-description.ts';
export {
  type CallRecorder,
  DeviceReplay,
  type RecordedCall,
  recordDevice,
} from './devices/device-recorder.ts';
export { type CounterRange, type DeviceMetrics, isRangeCounter } from './devices/device-samples.ts';
export {
  type DeviceInfo,
  type Driver,
  type DriverContext,
  DriverRegistry,
  type OpenOptions,
} from './devices/driver.ts';
export type { CountedKernel } from './devices/instruction-tally.ts';
export {
  LogicalDevice,
  QUEUE_CAPABILITIES,
  type QueueCapability,
  type QueueFamily,
  type SemaphoreParams,
} from './devices/logical-device.ts';
export {
  type OperationTimes,
  PROFILE_DATA,
  type ProfileChunk,
  type ProfileData,
  type ProfileEvent,
  type ProfileFilter,
  type ProfileOptions,
  ProfileSession,
  type ProfileSink,
} from './devices/profile-session.ts';
export {
  type CodeLoadOptions,
  type ExecutableConstants,
  ExecutableExport,
  type ExportInfo,
  type ExportParameter,
  HalExecutable,
  type InstructionControl,
  type InstructionText,
  type KernelCode,
  type PlacedCodeObject,
  type PlacedInstruction,
} from './executables/executable.ts';
export { ExecutableCache, type ExecutableCacheOptions } from './executables/executable-cache.ts';
export {
  type LocalBinding,
  type LocalFunction,
  LocalModule,
  type LocalWorkgroup,
  localDriver,
  localModule,
} from './local/index.ts';
export { type AllocatorStatistics, HalAllocator } from './memory/allocator.ts';
export { type AllocationState, type BufferPlacement, HalBuffer, type MapOptions } from './memory/buffer.ts';
export type { BufferMapping } from './memory/buffer-mapping.ts';
export type { BufferParams, Compatibility, Heap } from './memory/buffer-params.ts';
export type { DirectRef } from './memory/buffer-ref.ts';
export { ExportedMemory, type ExternalMemory, type ImportParams, type ImportSource } from './memory/external-memory.ts';
export { HalPool, type PoolStatistics } from './memory/pools/pool.ts';
export type {
  FixedBlockPoolOptions,
  PassThroughPoolOptions,
  PoolCommonOptions,
  PoolOptions,
  TlsfPoolOptions,
} from './memory/pools/pool-shape.ts';
export { nullDriver } from './null/index.ts';
export { type HalFile, type HalFileSource, memoryFile } from './queues/file-transfer.ts';
export type {
  HalQueue,
  HostCallContext,
  QueueAlloca,
  QueueCopy,
  QueueExecute,
  QueueFill,
  QueueHostCall,
  QueueRead,
  QueueUpdate,
  QueueWrite,
} from './queues/queue.ts';
export type { QueueEvent } from './queues/scheduler.ts';
export type { OrderOptions, Submission, SubmissionState } from './queues/submission.ts';
