/** `wavewright/hal`: the HAL with a registry of all drivers, on emulated GPUs. docs/hal.md tells of it. */
export * from './hal/index.ts';
export { createHal, type EmulatedAgentsOptions, emulatedAgents, type HalOptions } from './hal-drivers/index.ts';
export {
  type AccessedMemory,
  type CountedInstruction,
  countedKernels,
  type KernelInstructions,
} from './profile/counted-kernels.ts';
export type { BundleTarget } from './profile/format/bundle.ts';
export * as profileRecords from './profile/format/records.ts';
export { Profile } from './profile/profile.ts';
export { ProfileFileSink } from './profile/session-file.ts';
export {
  TracedDispatch,
  type TracedExecution,
  type TracedInstruction,
  tracedDispatches,
} from './profile/traced-dispatches.ts';
export { jsonLinesOf as replayJsonLines, textLinesOf as replayTextLines } from './replay/dump/dump.ts';
export type { ExecutableRequest, Substitute } from './replay/execute/executables.ts';
export { executeReplay } from './replay/execute/executor.ts';
export { planReplay, type RecordedDevice, type ReplayFinding, type ReplayPlan } from './replay/execute/plan.ts';
export type {
  ReplayDifference,
  ReplayOptions,
  ReplayOrder,
  ReplayOutcome,
  ScopeEvent,
} from './replay/execute/run.ts';
export { type ReplayFile, type ReplayRecord, readReplayFile } from './replay/format/file.ts';
export { ReplayRecorder, type WrapOptions } from './replay/record/recorder.ts';
export type { FilePolicy, FileValidation, RecorderOptions } from './replay/record/recorder-context.ts';
