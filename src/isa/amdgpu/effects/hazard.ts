/** What a hazard is, and what its rows ask of instructions. */
import type { Effects, RegisterFile, RegisterRange } from '../../../ir/effects.ts';
import { ofFamily } from '../encoding/format.ts';
import type { Family } from '../encoding/formats.ts';
import type { Instruction } from '../encoding/instruction.ts';
import { type InstructionClass, instructionClass } from '../encoding/instruction-class.ts';
import type { OperandSpec } from '../encoding/row.ts';
import { counterOf, DEPENDENCY_COUNTERS } from '../encoding/wait-counters.ts';

/** What is known of an instruction that may take part in a hazard. */
export interface Facts {
  readonly instruction: Instruction;
  readonly effects: Omit<Effects, 'hazards'>;
}

/**
 * The registers in which an instruction meets the other one of a hazard; `any`: it does so whatever their
 * registers are; undefined: it has no part in it.
 */
export type Part = readonly RegisterRange[] | 'any' | undefined;

/** A second result that takes part in a hazard. */
export interface Partner {
  readonly part: (facts: Facts) => Part;
  /** Vector instructions between the first result and this one, and between this one and who needs both. */
  readonly mostBetween: number;
  readonly mostBehind: number;
}

/** An instruction must be some way ahead of a later one, or something must lie between them. */
export interface Hazard {
  readonly name: string;
  /** What happens, in words. */
  readonly text: string;
  /** Where it is described: AMD's manual, or LLVM's GCNHazardRecognizer. */
  readonly source: string;
  /** The family whose targets have it, down to, but without, those of another. */
  readonly family: Family;
  readonly until?: Family;
  /** Waves of another size do not have it. */
  readonly waveSize?: 32 | 64;
  readonly before: (facts: Facts) => Part;
  readonly after: (facts: Facts) => Part;
  /** How many must lie between the two, of this pair and of any. */
  readonly waitStates: number | ((before: Facts, after: Facts) => number);
  readonly most: number;
  /** What counts: wait states, or the vector instructions among them. */
  readonly counts: 'states' | 'vectors';
  /** It is none unless such an instruction lies between them and touches the registers of the first. */
  readonly armedBy?: (facts: Facts) => Part;
  /** It is none unless the later instruction needs another result besides, of one behind what armed it. */
  readonly partner?: Partner;
  /** What later instructions write in place of the first one, so that it does not matter any more. */
  readonly replaced?: (facts: Facts) => Part;
  /** What share of a cure an instruction between them is; with 1, together, nothing is left to wait for. */
  readonly cured?: (facts: Facts, first: readonly RegisterRange[]) => number;
  /** What to insert: as many wait states as are missing, or an instruction; vN in it is any register. */
  readonly cure: string;
}

export const NOP = 's_nop';

/** Rows that have nothing special: they wait for wait states, and s_nop cures them. */
export const byStates = { counts: 'states', cure: NOP } as const;

const classes = new WeakMap<Instruction['row'], InstructionClass>();
export function classOf({ instruction: { row } }: Facts): InstructionClass {
  let known = classes.get(row);
  if (known === undefined) {
    known = instructionClass(row);
    classes.set(row, known);
  }
  return known;
}

export const isVector = (facts: Facts): boolean => isPlainVector(facts) || isMatrix(facts);
/** Vector instructions but products of matrices. */
export const isPlainVector = (facts: Facts): boolean => classOf(facts) === 'valu';
export const isMatrix = (facts: Facts): boolean => classOf(facts) === 'matrix';
export const isVectorMemory = (facts: Facts): boolean => /^(vmem|flat|scratch)$/.test(classOf(facts));
export const isLds = ({ instruction }: Facts): boolean => instruction.format.name === 'DS';
export const isExport = ({ instruction }: Facts): boolean => instruction.format.name === 'EXP';
export const isLdsDirect = ({ instruction }: Facts): boolean => instruction.format.name === 'LDSDIR';
/** What reads VGPRs on its way out of the vector unit. */
export const takesVectors = (facts: Facts): boolean => isVectorMemory(facts) || isLds(facts) || isExport(facts);
export const isScalar = ({ instruction }: Facts): boolean => instruction.format.name.startsWith('SOP');
export const isTranscendental = ({ instruction }: Facts): boolean => instruction.row.flags.transcendental === true;
export const isDot = ({ instruction }: Facts): boolean => instruction.row.flags.dot === true;

/** Of a product of matrices: A and B, and the indices of a sparse one. */
export const isFactor = ({ field, type }: OperandSpec): boolean =>
  /^src[01]$/.test(field) || (field === 'src2' && type === 'b32');

const inFiles = <R extends RegisterRange>(ranges: readonly R[], files: readonly RegisterFile[]): readonly R[] =>
  ranges.filter(({ file }) => files.includes(file));
export const LANE_FILES: readonly RegisterFile[] = ['vector', 'accumulator'];

const nonEmpty = (ranges: readonly RegisterRange[]): Part => (ranges.length === 0 ? undefined : ranges);

/** What those instructions read, or write, in these files. */
export const reads =
  (is: (facts: Facts) => boolean, ...files: readonly RegisterFile[]) =>
  (facts: Facts): Part =>
    is(facts) ? nonEmpty(inFiles(facts.effects.reads, files)) : undefined;
export const writes =
  (is: (facts: Facts) => boolean, ...files: readonly RegisterFile[]) =>
  (facts: Facts): Part =>
    is(facts) ? nonEmpty(inFiles(facts.effects.writes, files)) : undefined;
/** Those instructions, whatever their registers. */
export const whenever =
  (is: (facts: Facts) => boolean) =>
  (facts: Facts): Part =>
    is(facts) ? 'any' : undefined;

/** What s_waitcnt_depctr leaves of a counter at most; undefined for other instructions. */
export function dependencyLeft({ instruction }: Facts, name: string): number | undefined {
  if (instruction.row.flags.spelled?.as !== 'dependencyCount') return undefined;
  const counter = ofFamily(DEPENDENCY_COUNTERS, instruction.families).find((each) => each.name === `depctr_${name}`)!;
  return counterOf(instruction.field('simm16'), counter);
}

/** All vector instructions are done before the instruction is issued. */
export const waitsForVectors = (facts: Facts): boolean => takesVectors(facts) || dependencyLeft(facts, 'va_vdst') === 0;

const IDLE_BITS = 0xf;
/** How many wait states an instruction is: one, but s_nop up to 16 (CDNA2 ISA 4.5 and 12.5). */
export const waitStatesOf = (instruction: Instruction): number =>
  1 + (instruction.row.flags.idles ? instruction.field('simm16') & IDLE_BITS : 0);
