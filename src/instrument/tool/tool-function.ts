/** The code that tools look at: functions of blocks of instructions. */
import { LineTable, type SourceLine } from '../../codeobject/line-table.ts';
import { freesVectors } from '../../isa/amdgpu/encoding/messages.ts';
import type { AmdgpuStep } from '../../isa/amdgpu/step.ts';
import type { LiftedCode } from '../../lift/lifted-code.ts';
import type { LiftedFunction } from '../../lift/lifted-function.ts';

/** An original instruction in its place. */
export interface ToolInstruction {
  /** In the address space of the code object's file. */
  readonly address: number;
  readonly step: AmdgpuStep;
  readonly block: ToolBlock;
  /** Its position in the function, in the order of addresses. */
  readonly index: number;
  /** Where the compiler named one. */
  readonly line: SourceLine | undefined;
}

/** Instructions that run one after the other. */
export interface ToolBlock {
  readonly function: ToolFunction;
  readonly index: number;
  readonly instructions: readonly ToolInstruction[];
  /** Where control goes on without a branch, and where the last instruction branches to. */
  readonly next: ToolBlock | undefined;
  readonly target: ToolBlock | undefined;
  /** Whether control may also go on elsewhere: calls, returns, jumps. */
  readonly leaves: boolean;
}

export interface ToolFunction {
  readonly name: string;
  readonly address: number;
  readonly isKernel: boolean;
  readonly waveSize: 32 | 64;
  /** In the order of addresses. */
  readonly blocks: readonly ToolBlock[];
  /** What analyses say of it. */
  readonly lifted: LiftedFunction;
}

/** A loop with one way in. */
export interface ToolLoop {
  /** Where it is entered. */
  readonly header: ToolBlock;
  /** From where control goes back to the header. */
  readonly latches: readonly ToolBlock[];
  /** 1 for a loop that is in no other. */
  readonly depth: number;
}

/** Each behind the loops around it. */
export const loopsOf = ({ blocks, lifted }: ToolFunction): ToolLoop[] =>
  lifted.loops.loops.map(({ header, latches, depth }) => ({
    header: blocks[header]!,
    latches: latches.map((index) => blocks[index]!),
    depth,
  }));

/** In the order of blocks. */
export function forEachInstruction(
  functions: readonly ToolFunction[],
  visit: (instruction: ToolInstruction) => void,
): void {
  for (const { blocks } of functions) {
    for (const { instructions } of blocks) for (let i = 0; i < instructions.length; i++) visit(instructions[i]!);
  }
}

export const firstOf = ({ instructions }: ToolBlock): ToolInstruction => instructions[0]!;
export const lastOf = ({ instructions }: ToolBlock): ToolInstruction => instructions.at(-1)!;

/** Where a kernel's end begins: with the message that gives registers back, where there is one. */
export function endOf({ instructions }: ToolBlock): ToolInstruction {
  const message = instructions.at(-2);
  return message && freesVectors(message.step.instruction) ? message : instructions.at(-1)!;
}

/** All functions of a code object, in the order of addresses. Throws what reading its line table throws. */
export function toolFunctions({ codeObject, functions }: LiftedCode): ToolFunction[] {
  const lines = LineTable.read(codeObject.elf);
  return functions.filter(({ blocks }) => blocks.length > 0).map((lifted) => toolFunction(lifted, lines));
}

type Open<T> = { -readonly [K in keyof T]: T[K] };

function toolFunction(lifted: LiftedFunction, lines: LineTable): ToolFunction {
  const blocks: Open<ToolBlock>[] = [];
  const { name, entry, waveSize, kernels } = lifted;
  const made: ToolFunction = { name, address: entry, isKernel: kernels.length > 0, waveSize, blocks, lifted };
  let index = 0;
  for (const original of lifted.blocks) {
    const instructions: ToolInstruction[] = [];
    const { index: number, leaves } = original;
    const block = { function: made, index: number, instructions, next: undefined, target: undefined, leaves };
    for (let i = 0; i < original.instructions.length; i++) {
      const step = original.instructions[i]!;
      const { offset: address } = step;
      const line = lines.isEmpty ? undefined : lines.lineAt(BigInt(address));
      instructions.push({ address, step, block, index: index++, line });
    }
    blocks.push(block);
  }
  for (const { index: number, next, target } of lifted.blocks) {
    blocks[number]!.next = next && blocks[next.index];
    blocks[number]!.target = target && blocks[target.index];
  }
  return made;
}
