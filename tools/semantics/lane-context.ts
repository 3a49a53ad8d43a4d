/** What the models of vector instructions see of a lane, and MODE by its parts. */
import { Arithmetic, type FloatType, type Flush, type Rounding } from './numbers.ts';

export interface Mode {
  readonly round32: Rounding;
  readonly round64: Rounding;
  readonly flush32: Flush;
  readonly flush64: Flush;
  readonly dx10Clamp: boolean;
  readonly ieee: boolean;
}

/** MODE: FP_ROUND 3:0, FP_DENORM 7:4 (a set bit allows denormals), DX10_CLAMP 8, IEEE 9. */
export function modeOf(bits: number): Mode {
  const flush = (at: number): Flush => ({ inputs: ((bits >> at) & 1) === 0, results: ((bits >> at) & 2) === 0 });
  return {
    round32: (bits & 3) as Rounding,
    round64: ((bits >> 2) & 3) as Rounding,
    flush32: flush(4),
    flush64: flush(6),
    dx10Clamp: ((bits >> 8) & 1) === 1,
    ieee: ((bits >> 9) & 1) === 1,
  };
}

export interface LaneContext {
  readonly mode: Mode;
  readonly lane: number;
  readonly processor: string;
  /** Modifier fields of the encoding; absent ones are 0. */
  readonly fields: Readonly<Record<string, number>>;
  /** VCC of the lane. */
  readonly vcc: boolean;
}

/** Sources in the order of the operands, as bit patterns after abs and neg; results in their order. */
export type LaneModel = (c: LaneContext, ...sources: bigint[]) => bigint | readonly bigint[];
export type LaneModels = Readonly<Record<string, LaneModel>>;

export const arithmetic = ({ mode }: LaneContext, type: FloatType): Arithmetic =>
  type === 'f32' ? new Arithmetic('f32', mode.round32, mode.flush32) : new Arithmetic(type, mode.round64, mode.flush64);

/** One entry for each type: `{type}` in the name. */
export function forTypes<T extends string>(types: readonly T[], entries: (type: T) => LaneModels): LaneModels {
  return Object.assign({}, ...types.map(entries));
}
