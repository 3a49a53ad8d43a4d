/** How a program changes EXEC, the mask of active lanes. */
import type { MaskChange } from './effects.ts';
import type { OperandDword, Value } from './types.ts';

/** What the operands of a program are to the mask. */
export interface ExecPlaces {
  /** 0 or 1 where an operand is the low or the high half of EXEC; else -1. */
  execHalf(at: OperandDword): number;
  /** The low and high 32 bits of a constant; undefined for what is none. */
  constant(at: OperandDword): number | undefined;
}

/** Of a program that writes EXEC. `values`: those of the program that count. */
export function maskChange(values: readonly Value[], places: ExecPlaces): MaskChange {
  const isExec = ({ leaf }: Value, half: number): boolean =>
    leaf.kind === 'state' ? leaf.slot === 'exec' : leaf.kind === 'operand' && places.execHalf(leaf.at) === half;
  /**
   * Whether the bits of a value are a part of those of EXEC, or hold all of them; `half`: of its low or high
   * dword.
   */
  const compares = (value: Value, grows: boolean, half: number): boolean => {
    const { leaf, args } = value;
    const inner = (arg: Value | undefined, part = half): boolean => arg !== undefined && compares(arg, grows, part);
    if (isExec(value, half)) return true;
    if (leaf.kind === 'const') return leaf.value === (grows ? -1n : 0n);
    if (leaf.kind === 'operand') return places.constant(leaf.at) === (grows ? -1 : 0);
    if (leaf.kind === 'ballot') return !grows;
    if (leaf.kind !== 'pure') return false;
    switch (leaf.op) {
      case 'i64.low':
        return inner(args[0], 0);
      case 'i64.high':
        return inner(args[0], 1);
      case 'i64.pack':
        return inner(args[0], 0) && inner(args[1], 1);
      case 'i32.and':
      case 'i64.and':
        return grows ? inner(args[0]) && inner(args[1]) : inner(args[0]) || inner(args[1]);
      case 'i32.or':
      case 'i64.or':
        return grows ? inner(args[0]) || inner(args[1]) : inner(args[0]) && inner(args[1]);
      default:
        return false;
    }
  };
  const writes = values.flatMap(({ leaf, lane, args }) => {
    if (leaf.kind === 'setState' && leaf.slot === 'exec') return [{ value: args[0]!, half: 0 }];
    const half = leaf.kind === 'setOperand' && !lane ? places.execHalf(leaf.at) : -1;
    return half < 0 ? [] : [{ value: args[0]!, half }];
  });
  const all = (grows: boolean): boolean => writes.every(({ value, half }) => compares(value, grows, half));
  return all(false) ? 'shrinks' : all(true) ? 'grows' : 'any';
}
