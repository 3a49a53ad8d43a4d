/**
 * The code of one hook: its instructions in blocks, each with the registers that it reads and writes, and the
 * reason why hooks with certain instructions are not lifted.
 */
import { hex } from '../../base/text.ts';
import { type BasicBlock, basicBlocks, type Followed, reachable } from '../../flow/blocks.ts';
import { registerNumber } from '../../flow/steps.ts';
import type { Effects, RegisterRange } from '../../ir/effects.ts';
import { fallsThrough } from '../../ir/step.ts';
import type { ExitReason } from '../../ir/types.ts';
import { bytesOf } from '../../isa/amdgpu/encoding/encode.ts';
import { SGPR_EXEC_LO, SGPR_M0, SGPR_VCC_LO, SRC_SCC } from '../../isa/amdgpu/encoding/registers.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import { type AmdgpuStep, AmdgpuStepReader } from '../../isa/amdgpu/step.ts';
import { assembleInstruction } from '../../isa/amdgpu/text/assembler/assemble.ts';
import { CALL_REGISTERS } from '../../lift/calling-convention.ts';
import type { HookFile } from './hook-file.ts';
import type { Marker } from './intrinsics.ts';

/** Why a hook is not lifted, in words that stand behind "the hook". */
export interface Rejected {
  readonly rejected: string;
}

export const isRejected = (result: object): result is Rejected => 'rejected' in result;

/** A register, by `registerNumber`. SCC counts as the scalar register 253, its number as an operand. */
export interface UnitRead {
  readonly unit: number;
  readonly isCrossLane: boolean;
}

export interface UnitWrite {
  readonly unit: number;
  readonly lanes: 'all' | 'active';
  readonly isPartial: boolean;
}

/** An instruction of a hook in its place. */
export interface HookNode {
  readonly step: AmdgpuStep;
  /** What the instruction stands for, in place of what it does. */
  readonly marker: Marker | undefined;
  readonly reads: readonly UnitRead[];
  readonly writes: readonly UnitWrite[];
  /** Control leaves the hook. */
  readonly returns: boolean;
}

export interface CompiledBlock {
  readonly index: number;
  readonly nodes: readonly HookNode[];
  readonly next: number | undefined;
  readonly target: number | undefined;
  readonly returns: boolean;
}

export interface CompiledCode {
  readonly blocks: readonly CompiledBlock[];
  readonly processor: string;
  readonly waveSize: 32 | 64;
}

export const SCC_UNIT = registerNumber('scalar', SRC_SCC);
/** What is asked of instructions does not depend on it. */
const MODE = 0;
/** Hooks are small; a long one is called. */
const MAX_INSTRUCTIONS = 2_000;

type Nodes = readonly HookNode[];

/** Follows the function at an address of the hooks' image. */
export function readHookCode(file: HookFile, address: number, waveSize: 32 | 64): CompiledCode | Rejected {
  const { code, processor } = file;
  const reader = new AmdgpuStepReader(processor, waveSize, MODE);
  const view = new DataView(code.bytes.buffer, code.bytes.byteOffset, code.bytes.byteLength);
  const reasons = new Set<string>();
  const known = new Map<number, Followed<Nodes>>();
  const at = (place: number): Followed<Nodes> | undefined => {
    let followed = known.get(place);
    if (followed) return followed;
    const isInside = place >= code.address && place < code.address + view.byteLength;
    const step = isInside ? reader.step(view, place - code.address) : 'the end of code';
    const where = `${hex(place)}`;
    if (typeof step === 'string') {
      reasons.add(`runs into what is no code at ${where}: ${step}`);
      return undefined;
    }
    const parts = partsOf(step, reader);
    const reason = isRejected(parts) ? parts.rejected : refusal(step, processor);
    if (reason !== undefined) {
      const isKnown = [...reasons].some((each) => each.startsWith(reason));
      if (!isKnown) reasons.add(`${reason} ('${step.text()}' at ${where})`);
    }
    const nodes = isRejected(parts) ? [] : parts.map((part) => nodeOf(part, file.markers.get(place)));
    followed = follow(step, nodes, place);
    known.set(place, followed);
    return followed;
  };
  const found = [...reachable(at, [address], MAX_INSTRUCTIONS)].sort(([a], [b]) => a - b);
  if (reasons.size > 0) return { rejected: [...reasons].join(', ') };
  if (found.length >= MAX_INSTRUCTIONS) return { rejected: `has more than ${MAX_INSTRUCTIONS} instructions` };
  const entry = known.get(address);
  const blocks = basicBlocks(new Map(found), [address]);
  if (!entry || blocks[0]?.instructions[0] !== entry.instruction)
    return { rejected: 'jumps to code in front of its entry' };
  return { blocks: blocks.map(flatten), processor, waveSize };
}

function follow(step: AmdgpuStep, nodes: Nodes, place: number): Followed<Nodes> {
  const { control } = step;
  const isBranch = control === 'branch' || control === 'conditional';
  return {
    instruction: nodes,
    next: fallsThrough(step) ? place + step.sizeBytes : undefined,
    target: isBranch && step.target !== undefined ? place + step.target - step.offset : undefined,
    leaves: control === 'jump' || control === 'return',
    endsBlock: control !== 'next',
  };
}

const flatten = ({ index, instructions, next, target, leaves }: BasicBlock<Nodes>): CompiledBlock => ({
  ...{ index, nodes: instructions.flat(), next: next?.index, target: target?.index, returns: leaves },
});

function nodeOf(step: AmdgpuStep, marker: Marker | undefined): HookNode {
  const returns = step.control === 'jump' || step.control === 'return';
  if (!marker) return { step, marker, ...unitsOf(step.effects), returns };
  const reads = marker.registers.filter(({ role }) => role !== 'write');
  const writes = marker.registers.filter(({ role }) => role !== 'read');
  return {
    ...{ step, marker, returns: false },
    reads: reads.flatMap((range) => units(range).map((unit) => ({ unit, isCrossLane: false }))),
    writes: writes.flatMap((range) =>
      units(range).map((unit) => ({
        ...{ unit, lanes: range.file === 'scalar' ? ('all' as const) : ('active' as const), isPartial: false },
      })),
    ),
  };
}

const units = ({ file, first, dwords }: RegisterRange): number[] =>
  Array.from({ length: dwords }, (_, i) => registerNumber(file, first + i));

function unitsOf({ reads, writes, readsState, writesState }: Effects): Pick<HookNode, 'reads' | 'writes'> {
  const read = reads.flatMap((range) => units(range).map((unit) => ({ unit, isCrossLane: range.isCrossLane })));
  const written = writes.flatMap((range) =>
    units(range).map((unit) => ({ unit, lanes: range.lanes, isPartial: range.isPartial })),
  );
  if (readsState.has('scc')) read.push({ unit: SCC_UNIT, isCrossLane: false });
  if (writesState.has('scc')) written.push({ unit: SCC_UNIT, lanes: 'all', isPartial: false });
  return { reads: read, writes: written };
}

/** The two operations of VOPD, one after the other: nobody pairs them again (RDNA3 ISA 7.6). */
function partsOf(step: AmdgpuStep, reader: AmdgpuStepReader): AmdgpuStep[] | Rejected {
  if (!step.instruction.row.halves) return [step];
  const parts = step
    .text()
    .split(' :: ')
    .map((text) =>
      assembleStep(text.replace('v_dual_', 'v_').replace(/^(v_cndmask_b32.*)$/, '$1, vcc_lo'), step, reader),
    );
  const [x, y] = parts as [AmdgpuStep, AmdgpuStep];
  // Both read before either writes.
  if (!overlaps(x.effects, y.effects)) return [x, y];
  return overlaps(y.effects, x.effects) ? { rejected: 'exchanges registers in one instruction' } : [y, x];
}

const overlaps = (first: Effects, second: Effects): boolean =>
  unitsOf(first).writes.some(({ unit }) => unitsOf(second).reads.some((read) => read.unit === unit));

function assembleStep(text: string, { instruction }: AmdgpuStep, reader: AmdgpuStepReader): AmdgpuStep {
  const bytes = bytesOf(assembleInstruction(text, instruction).words);
  return reader.step(new DataView(bytes.buffer), 0) as AmdgpuStep; // reason: the assembler has just written it
}

const SPECIAL = [SGPR_VCC_LO, SGPR_VCC_LO + 1, SGPR_M0, SGPR_EXEC_LO, SGPR_EXEC_LO + 1];

const EXITS: Readonly<Partial<Record<ExitReason, string>>> = {
  barrier: 'waits at a barrier',
  end: 'ends the wave',
  trap: 'stops the program',
  interrupt: 'sends an interrupt',
  'gws-init': 'uses global wave sync',
  'gws-barrier': 'uses global wave sync',
};

/** Undefined for an instruction that can be lifted. */
function refusal(step: AmdgpuStep, processor: string): string | undefined {
  const { effects, control } = step;
  const never = whyNeverRun(step, processor);
  if (never !== undefined) return never;
  if (effects.memory.some(({ space }) => space === 'private')) return 'uses private memory';
  if (control === 'call') return 'calls a function';
  if (effects.writesState.has('mode')) return 'writes a hardware register';
  const ranges = [...effects.reads, ...effects.writes];
  if (ranges.some(({ file }) => file === 'accumulator')) return 'uses accumulation registers';
  const isStack = ({ file, first, dwords }: RegisterRange) =>
    file === 'scalar' && first <= CALL_REGISTERS.framePointer && first + dwords > CALL_REGISTERS.stackPointer;
  if (ranges.some(isStack)) return 'uses the stack';
  if (control === 'jump' || control === 'return') return jumpRefusal(step);
  return undefined;
}

const HARDWARE_STATE = ['status', 'trapsts', 'flatScratchLow', 'flatScratchHigh'] as const;

/** Why code with an instruction serves no point, be it called or put in the place of the call. */
export function whyNeverRun(step: AmdgpuStep, processor: string): string | undefined {
  const { effects, control, instruction } = step;
  if (step.illegal !== undefined) return `has an invalid instruction: ${step.illegal}`;
  if (effects.readsAnyOf.size > 0 || effects.writesAnyOf.size > 0) return 'chooses registers by an index';
  if (effects.memory.some(({ space }) => space === 'lds')) return 'uses the LDS';
  const exit = exitOf(step);
  if (exit !== undefined) return exit;
  if (control === 'end') return EXITS.end;
  if (instruction.row.flags.message) return 'sends a message';
  if (HARDWARE_STATE.some((slot) => effects.writesState.has(slot))) return 'writes a hardware register';
  const { sgprCount } = targetFor(processor).scalars;
  const isReserved = ({ file, first, dwords }: RegisterRange) =>
    file === 'scalar' && first + dwords > sgprCount && !SPECIAL.includes(first);
  return effects.writes.some(isReserved) ? 'writes a register that belongs to the system' : undefined;
}

function exitOf(step: AmdgpuStep): string | undefined {
  if (!step.instruction.row.semantics) return undefined;
  for (const { leaf } of step.program().values) {
    const reason = leaf.kind === 'exit' ? EXITS[leaf.reason] : undefined;
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** A function comes back through s[30:31] (LLVM AMDGPU usage, "Non-Kernel Functions"). */
function jumpRefusal({ effects }: AmdgpuStep): string | undefined {
  const isReturn = effects.reads.some(({ file, first }) => file === 'scalar' && first === CALL_REGISTERS.returnAddress);
  return isReturn ? undefined : 'jumps to an address that only the run tells';
}
