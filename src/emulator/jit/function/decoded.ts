/** Steps as the compiler sees them: with what all steps of one key share, and their operands as numbers. */
import type { Step } from '../../../ir/step.ts';
import type { Program, Value } from '../../../ir/types.ts';
import type { HandlerRequest } from '../../handlers/handler-request.ts';
import { isLaneAccess } from '../../lowering/access-counts.ts';
import { RESUMING } from '../../lowering/control.ts';
import { liveValues } from '../../lowering/lower.ts';
import { type OperandForm, registerOffset } from '../../machine/operand-places.ts';

/** What is the same for all steps with one key. */
export interface Shape {
  readonly key: string;
  readonly program: Program;
  readonly operands: readonly OperandForm[];
  /** What the program's effects need. */
  readonly live: readonly Value[];
  readonly control: StaticControl;
  /** Whether the wave comes back to the next instruction after it left the executor. */
  readonly resumes: boolean;
  /** Whether no region can hold it. */
  readonly standsAlone: boolean;
}

/** `leave`: only running it tells where the wave goes on. */
export type StaticControl = 'next' | 'branch' | 'conditional' | 'leave';

export interface Decoded {
  readonly step: Step;
  readonly shape: Shape;
  /** Number in the function. */
  readonly index: number;
  /** Dwords of the operands: offset in the wave state, or constant. */
  parameter(operand: number, dword: number): number;
}

/** Kinds of leaves that no region holds: their instructions are lowered as handlers are, in place. */
const ALONE = ['param', 'matrixProduct', 'matrixResult', 'jump', 'exit'] as const;
export type AloneKind = (typeof ALONE)[number];

/** What a region takes together with a write to one lane: nothing that looks at rows. */
const BESIDE_LANE_WRITE = new Set<string>(['const', 'pure', 'operand', 'writeLane']);

/** Whether single lanes are written by an instruction that does something else, too. */
const isMixedLaneWrite = (live: readonly Value[]): boolean =>
  live.some(({ leaf }) => leaf.kind === 'writeLane') &&
  live.some(({ leaf, lane }) => lane || !BESIDE_LANE_WRITE.has(leaf.kind));

/** Whether the wave writes to memory; lanes do so in regions. */
const isWaveWrite = ({ leaf, lane }: Value): boolean => !lane && (leaf.kind === 'store' || leaf.kind === 'atomic');

export const isRelative = ({ kind }: OperandForm): boolean => kind === 'relative';

/** `countsAccesses`: accesses of lanes are told of one by one, as handlers do. */
export function shapeOf({ key, program, operands }: HandlerRequest, countsAccesses = false): Shape {
  const live = liveValues(program);
  const control = controlOf(live);
  const standsAlone =
    control === 'leave' ||
    operands.some(isRelative) ||
    (countsAccesses && live.some(isLaneAccess)) ||
    isMixedLaneWrite(live) ||
    live.some((value) => isWaveWrite(value) || ALONE.some((kind) => kind === value.leaf.kind));
  const resumes = live.some(({ leaf }) => leaf.kind === 'exit' && RESUMING.has(leaf.reason));
  return { key, program, operands, live, control, resumes, standsAlone };
}

function controlOf(live: readonly Value[]): StaticControl {
  for (const { leaf, args } of live) {
    if (leaf.kind === 'jump' || leaf.kind === 'exit') return 'leave';
    if (leaf.kind === 'setState' && leaf.slot === 'mode') return 'leave';
    if (leaf.kind !== 'branch') continue;
    const condition = args[0]!.leaf;
    return condition.kind === 'const' && condition.value === 1n ? 'branch' : 'conditional';
  }
  return 'next';
}

const DWORDS = 2;

export function decoded(step: Step, shape: Shape, index: number, waveSize: 32 | 64): Decoded {
  const parameters = new Int32Array(step.operands.length * DWORDS);
  for (const [at, operand] of step.operands.entries()) {
    if (operand.kind === 'register') parameters[at * DWORDS] = registerOffset(operand, waveSize);
    if (operand.kind !== 'constant') continue;
    parameters[at * DWORDS] = Number(operand.value & 0xffff_ffffn);
    parameters[at * DWORDS + 1] = Number(operand.value >> 32n);
  }
  return { step, shape, index, parameter: (operand, dword) => parameters[operand * DWORDS + dword]! };
}
