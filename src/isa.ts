/**
 * Instructions for those who write tools: decoding, assembling and describing them, what they may touch, and
 * the control flow of code. `parseCodeObject` of the main entry finds the code in a file; everything here
 * works in a browser as well.
 *
 * One instruction: `decoderFor(processor, waveSize).decode(code, offset)` gives an `Instruction`, which
 * `formatInstruction` prints as llvm-objdump does; `assembleInstruction` is the way back, for text, and
 * `bytesOf` makes bytes of its words. `assembleFile` makes an object of a source file. `describe` tells what
 * a row of the tables says of an instruction.
 *
 * Code: an `AmdgpuStepReader` reads a `Step` at an offset, an instruction in its place, with its `effects`
 * and its `program`, and `stepBlocks` follows code along its branches. The analyses take blocks or the
 * numbers of their `blockGraph`; `registerDefinitions` and `registerLaneEffects` give those that ask about
 * registers what they need of a step. `liftCodeObject` finds the functions of a linked code object, with
 * their blocks, where they call and jump to, which registers are live and which are in flight.
 *
 * Programs: `formatProgram` shows one to people; `printProgram` writes what `parseProgram` reads, and
 * `problemsOf` says why executors could not run it.
 */
export { type AssembleOptions, assembleFile } from './assembler/assemble-file.ts';
export { type BasicBlock, basicBlocks, blockGraph, type Followed, reachable, type Ways } from './flow/blocks.ts';
export { type DataFlowProblem, type DataFlowSolution, solveDataFlow } from './flow/data-flow.ts';
export { type DepthFirst, depthFirst, reversePostorder } from './flow/depth-first.ts';
export { Dominators, dominators, postDominators } from './flow/dominators.ts';
export { type FlowGraph, graphOf, reversed } from './flow/graph.ts';
export { type LaneEffects, LaneLiveness, type PlaceSets } from './flow/lane-liveness.ts';
export type { LiveLanes } from './flow/lane-words.ts';
export { type Loop, LoopForest, loopForest } from './flow/loops.ts';
export { type Definitions, ReachingDefinitions, type RegisterDefinition } from './flow/reaching-definitions.ts';
export {
  REGISTER_PLACES,
  registerDefinitions,
  registerLaneEffects,
  registerNumber,
  registerOf,
  stateNumber,
  stepBlocks,
} from './flow/steps.ts';
export { strongComponents } from './flow/strong-components.ts';
export type {
  Effects,
  HazardRole,
  MaskChange,
  MemoryEffect,
  ReadRange,
  RegisterFile,
  RegisterRange,
  WaitCounter,
  WrittenRange,
} from './ir/effects.ts';
export { formatProgram } from './ir/program-text.ts';
export {
  type Control,
  fallsThrough,
  followingOffset,
  type RegisterOperand,
  type RelativeIndex,
  type Step,
  type StepOperand,
} from './ir/step.ts';
export { parseProgram, printProgram } from './ir/text.ts';
export type { Program } from './ir/types.ts';
export { problemsOf } from './ir/verify.ts';
export { decoderFor } from './isa/amdgpu/decoder.ts';
export { type EffectsOptions, effectsOf } from './isa/amdgpu/effects/effects.ts';
export type { DecodeFailure, Decoder } from './isa/amdgpu/encoding/decode.ts';
export { bytesOf } from './isa/amdgpu/encoding/encode.ts';
export type { CodeContext, Instruction, Operand } from './isa/amdgpu/encoding/instruction.ts';
export { INSTRUCTION_CLASSES } from './isa/amdgpu/encoding/instruction-class.ts';
export type { OperandSpec, Row } from './isa/amdgpu/encoding/row.ts';
export { TARGET_PROCESSORS, type Target, targetFor } from './isa/amdgpu/encoding/targets.ts';
export {
  type DescribedEffects,
  type DescribedEncoding,
  type DescribedOperand,
  type Description,
  describe,
} from './isa/amdgpu/report/describe.ts';
export { allRows } from './isa/amdgpu/rows/index.ts';
export { AmdgpuStep, AmdgpuStepReader } from './isa/amdgpu/step.ts';
export { type AssembledInstruction, assembleInstruction } from './isa/amdgpu/text/assembler/assemble.ts';
export { formatInstruction } from './isa/amdgpu/text/disassemble.ts';
export type { AddressSequence } from './lift/address-sequence.ts';
export type { AddressSpan } from './lift/code-image.ts';
export type { TargetSource } from './lift/discovery.ts';
export type { InFlight, PendingAccess } from './lift/in-flight.ts';
export { type LiftedCode, liftCodeObject } from './lift/lifted-code.ts';
export { type LiftedBlock, LiftedFunction, type Reached, type TransferSite } from './lift/lifted-function.ts';
