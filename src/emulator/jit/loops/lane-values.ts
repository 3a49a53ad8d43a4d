/** Values of a lane that runs alone: what they are, and how code gets at what they come from. */
import { loadFrom, operation, push } from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import { pushLaneBit } from '../../lowering/chunk-place.ts';
import type { Emitter } from '../../lowering/emitter.ts';
import type { FunctionState } from '../function/function-state.ts';
import type { AccessGroup } from '../regions/access-group.ts';
import type { Node } from '../regions/node.ts';
import type { LaneForm } from './lane-forms.ts';
import type { LaneRanges } from './lane-ranges.ts';

/** What the code of a lane works with. */
export interface LaneContext {
  readonly state: FunctionState;
  readonly ranges: LaneRanges;
  /** Number of the lane, and the wave's address plus 4 bytes for each lane below. */
  readonly lane: Local;
  readonly pointer: Local;
  readonly giveUp: BlockLabel;
  /** Where it is asked whether loads of a group are permitted that are not in its range. */
  readonly missed: ReadonlyMap<AccessGroup, BlockLabel>;
  local(value: LaneValue): Local;
  uniform(node: Node): Local;
}

export interface LaneValue {
  readonly type: 'i32' | 'i64' | 'v128';
  readonly isVariant: boolean;
  /** Pushes it; absent for what is carried from one iteration to the next. */
  readonly emit: ((context: LaneContext) => void) | undefined;
}

/** What is carried on, with what it is when the lane begins. */
export interface Carried {
  readonly value: LaneValue;
  readonly next: LaneValue;
  /** Absent where nothing reads that. */
  readonly begin: ((context: LaneContext) => void) | undefined;
  /** The rows that it is stored to: one, or those of the low and the high word. */
  readonly rows: readonly number[];
}

/** Whether a mask has its lane, or the opposite of that. */
export interface LaneBit {
  readonly value: LaneValue;
  readonly isOpposite: boolean;
}

/**
 * An address in two rows to which each iteration adds the same: where it begins, what it has grown to, low
 * word, and the loads that are there in every iteration.
 */
export interface Pointer {
  readonly low: number;
  readonly high: number;
  readonly step: number;
  readonly begin: LaneValue;
  readonly groups: AccessGroup[];
}

/** Gives up where lane 0 of a result is a NaN. */
export function watching({ state: { e, f }, giveUp }: LaneContext): Emitter {
  return {
    ...e,
    deferNan: (width, result) => giveUpIfNan(f, width, result, giveUp),
  };
}

export function giveUpIfNan(f: Emitter['f'], width: 'f32x4' | 'f64x2', result: Local, giveUp: BlockLabel): void {
  for (let i = 0; i < 2; i++) {
    f.get(result);
    f.lane(`${width}.extract_lane`, 0);
  }
  f.op(width === 'f32x4' ? 'f32.ne' : 'f64.ne');
  f.brIfRare(giveUp);
}

/** Pushes the bit of the lane in a mask of the wave. */
export function pushBit({ state: { f }, lane, uniform }: LaneContext, { args }: Node): void {
  pushLaneBit(f, uniform(args[0]!), lane);
}

export function pushRow({ state: { f }, pointer }: LaneContext, offset: number, form: LaneForm): void {
  push(f, loadFrom(form === 'vector' ? 'v128.load32_zero' : 'i32.load', pointer, offset));
}

export function pushRows({ state: { f }, pointer }: LaneContext, low: number, high: number): void {
  const words = [low, high].map((offset) => loadFrom('i64.load32_u', pointer, offset));
  push(f, operation('i64.or', words[0]!, operation('i64.shl', words[1]!, 32n)));
}
