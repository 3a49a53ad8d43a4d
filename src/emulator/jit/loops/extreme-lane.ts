/** The least or the greatest of four numbers. */
import { assign, laneOf, type Push, select, type Term } from '../../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';

/** In a fresh local: of two lanes the first one if `isBefore` says so of them. */
export function extremeLane(f: FunctionBuilder, lanes: Local, isBefore: (a: Term, b: Term) => Push): Local {
  const extreme = f.local('i32');
  assign(f, extreme, laneOf(lanes, 0));
  const lane = f.local('i32');
  for (let i = 1; i < 4; i++) {
    assign(f, lane, laneOf(lanes, i));
    assign(f, extreme, select(lane, extreme, isBefore(lane, extreme)));
  }
  f.free(lane);
  return extreme;
}
