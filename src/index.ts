/**
 * The library: running whole programs, the HSA runtime under them, devices, and reading code objects.
 * Everything here also works in a browser; the command line adds files and terminals.
 */
export type { OutputOptions, ProgramOutput } from './base/caller-output.ts';
export { ERROR_CODES, type ErrorCode, type ErrorContext, WavewrightError } from './base/errors.ts';
export { type CodeObject, type Kernel, parseCodeObject } from './codeobject/code-object.ts';
export {
  type CodeObjectImage,
  type ContainerOptions,
  openCodeObjects,
  pickCodeObject,
  pickCodeObjects,
} from './codeobject/container.ts';
export { type HiddenArgumentValues, writeHiddenArguments } from './codeobject/hidden-arguments.ts';
export { formatTargetId, parseTargetId, type TargetId } from './codeobject/target-id.ts';
export { createEmulatedDevice } from './devices/emulated/index.ts';
export { createNullDevice, type NullDeviceOptions } from './devices/null/index.ts';
export * from './hsa/index.ts';
export * as hsa from './hsa/index.ts';
export {
  type InstrumentedCode,
  type InstrumentOptions,
  instrumentCodeObject,
  type KeptEntry,
  readPcMap,
} from './instrument/instrument.ts';
export type { CodeItem, Label, LiteralFixup } from './instrument/layout/code-item.ts';
export type { EditStep, StepEdit } from './instrument/layout/compose.ts';
export type { KeptCode } from './instrument/layout/movable-code.ts';
export type { PcKind, PcMap, PcRow } from './instrument/layout/pc-map.ts';
export type { KernelChanges } from './instrument/object/kernel-changes.ts';
export type { VariableToAdd } from './instrument/object/variables.ts';
export * from './kernels/index.ts';
export * from './loader/index.ts';
