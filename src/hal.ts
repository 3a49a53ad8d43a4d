/** `wavewright/hal`: the HAL with a registry of all drivers, on emulated GPUs. docs/hal.md tells of it. */
export * from './hal/index.ts';
export { createHal, type EmulatedAgentsOptions, emulatedAgents, type HalOptions } from './hal-drivers/index.ts';
export { type CountedInstruction, countedKernels, type KernelInstructions } from './profile/counted-kernels.ts';
export type { BundleTarget } from './profile/format/bundle.ts';
export * as profileRecords from './profile/format/records.ts';
export { Profile } from './profile/profile.ts';
export { ProfileFileSink } from './profile/session-file.ts';
