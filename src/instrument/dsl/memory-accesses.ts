/**
 * Where an instruction accesses memory, as values of a hook: what its meaning computes addresses with becomes
 * code of the hook, so that all formats, offsets and descriptors are those of the rows.
 */
import { WavewrightError } from '../../base/errors.ts';
import type { OperandDword, Program, Value } from '../../ir/types.ts';
import { meaningOf } from '../../isa/amdgpu/effects/meaning.ts';
import type { Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import type { HookBuilder, HookCondition, HookOperator, HookValue, ShiftOperator, Spread } from './hook.ts';

export interface HookAccess {
  readonly kind: 'load' | 'store' | 'atomic';
  readonly space: 'global' | 'flat' | 'lds' | 'private';
  readonly sizeBytes: number;
  /** In the LDS and in private memory it has 32 bits. `uniform`: the access is one of the whole wave. */
  readonly address: HookValue<Spread, 64>;
  /** Whether a lane that is on makes the access; undefined: it does. */
  readonly condition: HookCondition | undefined;
}

type Narrow = HookValue<Spread, 32>;
type Wide = HookValue<Spread, 64>;

/** Throws UNSUPPORTED for an instruction whose meaning is not known. */
export function memoryAccesses(b: HookBuilder, instruction: Instruction): readonly HookAccess[] {
  const program = meaningOf(instruction);
  if (!program) throw new WavewrightError('UNSUPPORTED', `addresses of '${instruction.name}': it has no meaning yet`);
  const translator = new Translator(b, instruction);
  return accessesOf(program).map(({ kind, space, sizeBytes, address, predicate }) => ({
    ...{ kind, space, sizeBytes },
    address: translator.wide(address),
    condition: predicate && b.compare('ne', translator.narrow(predicate), b.constant(0)),
  }));
}

interface Access extends Pick<HookAccess, 'kind' | 'space' | 'sizeBytes'> {
  readonly address: Value;
  readonly predicate: Value | undefined;
}

/** Without those that fast code is to do without: they are parts of others. */
const accessesOf = ({ values }: Program): Access[] =>
  values.flatMap(({ leaf, args }) => {
    if (leaf.kind !== 'load' && leaf.kind !== 'store' && leaf.kind !== 'atomic') return [];
    if ('isRare' in leaf && leaf.isRare) return [];
    const { kind, space, sizeBytes, predicated } = leaf;
    return [{ kind, space, sizeBytes, address: args[0]!, predicate: predicated ? args.at(-1) : undefined }];
  });

const OPERATORS: Readonly<Record<string, HookOperator>> = {
  ...{ 'i32.add': 'add', 'i32.sub': 'sub', 'i32.and': 'and', 'i32.or': 'or', 'i32.xor': 'xor' },
  ...{ 'i64.add': 'add', 'i64.sub': 'sub', 'i64.and': 'and', 'i64.or': 'or', 'i64.xor': 'xor' },
  ...{ 'i1.and': 'and', 'i1.or': 'or', 'i1.xor': 'xor' },
};
const SHIFTS: Readonly<Record<string, ShiftOperator>> = {
  ...{ 'i32.shl': 'shl', 'i32.shrU': 'shrU', 'i32.shrS': 'shrS' },
  ...{ 'i64.shl': 'shl', 'i64.shrU': 'shrU', 'i64.shrS': 'shrS' },
};
const COMPARISONS = { eq: 'eq', ltU: 'ltU', ltS: 'ltS' } as const;
const isComparison = (name: string): name is keyof typeof COMPARISONS => Object.hasOwn(COMPARISONS, name);
const SIGN = 31;

/** Values of ir to values of a hook: conditions have 32 bits, 0 or 1. */
class Translator {
  readonly #b: HookBuilder;
  readonly #instruction: Instruction;
  readonly #known = new Map<Value, Narrow | Wide>();

  constructor(b: HookBuilder, instruction: Instruction) {
    this.#b = b;
    this.#instruction = instruction;
  }

  narrow(value: Value): Narrow {
    const found = this.#value(value);
    if (found.bits !== 32) throw this.#unsupported(value);
    // reason: a check of one member does not narrow the generic value.
    return found as Narrow;
  }

  /** With 32 bits more where it has 32. */
  wide(value: Value): Wide {
    const found = this.#value(value);
    // reason: a check of one member does not narrow the generic value.
    return found.bits === 64 ? (found as Wide) : this.#b.pack(found as Narrow, this.#b.constant(0));
  }

  #value(value: Value): Narrow | Wide {
    let found = this.#known.get(value);
    if (!found) {
      found = this.#translate(value);
      this.#known.set(value, found);
    }
    return found;
  }

  #translate(value: Value): Narrow | Wide {
    const { leaf } = value;
    const b = this.#b;
    switch (leaf.kind) {
      case 'const':
        return value.type === 'i64' ? b.constant64(leaf.value) : b.constant(Number(leaf.value));
      case 'operand':
        return this.#operand(leaf.at, value);
      case 'laneId':
        return b.laneId();
      case 'state':
        if (leaf.slot === 'm0') return b.low(b.state('m0'));
        break;
      case 'pure':
        return this.#pure(leaf.op, value);
    }
    throw this.#unsupported(value);
  }

  #operand({ operand: index, dword }: OperandDword, value: Value): Narrow {
    const operand = this.#instruction.operand(index);
    switch (operand.kind) {
      case 'vector':
        return operand.accumulator
          ? this.#b.accumulator(operand.register + dword)
          : this.#b.vector(operand.register + dword);
      case 'scalar':
        return this.#b.scalar(operand.register + dword);
      case 'constant':
        return this.#b.constant(Number(BigInt.asUintN(32, operand.value >> BigInt(32 * dword))));
      case 'null':
      case 'off':
        return this.#b.constant(0);
    }
    throw this.#unsupported(value);
  }

  #pure(op: string, value: Value): Narrow | Wide {
    const b = this.#b;
    const [first, second, third] = value.args;
    const [type, name = ''] = op.split('.');
    const operator = OPERATORS[op];
    const shift = SHIFTS[op];
    if (operator) {
      if (type === 'i64') return b.binary(operator, this.wide(first!), this.wide(second!));
      return b.binary(operator, this.narrow(first!), this.narrow(second!));
    }
    if (shift) {
      const amount = this.narrow(second!);
      return type === 'i64' ? b.shift(shift, this.wide(first!), amount) : b.shift(shift, this.narrow(first!), amount);
    }
    if (isComparison(name) && type !== 'i1') return this.#flag(this.#comparison(COMPARISONS[name], first!, second!));
    switch (op) {
      case 'i32.mul':
        return b.multiply(this.narrow(first!), this.narrow(second!));
      case 'i64.mul':
        return this.#product(this.wide(first!), this.wide(second!));
      case 'i64.pack':
        return b.pack(this.narrow(first!), this.narrow(second!));
      case 'i64.low':
        return b.low(this.wide(first!));
      case 'i64.high':
        return b.high(this.wide(first!));
      case 'i64.zext32':
        return b.pack(this.narrow(first!), b.constant(0));
      case 'i64.sext32':
        return b.pack(this.narrow(first!), b.shift('shrS', this.narrow(first!), b.constant(SIGN)));
      case 'i1.not':
        return b.binary('xor', this.narrow(first!), b.constant(1));
      case 'i32.select':
        return b.select(this.#condition(first!), this.narrow(second!), this.narrow(third!));
      case 'i64.select':
        return b.select(this.#condition(first!), this.wide(second!), this.wide(third!));
    }
    throw this.#unsupported(value);
  }

  #comparison(comparison: 'eq' | 'ltU' | 'ltS', first: Value, second: Value): HookCondition {
    if (first.type === 'i64') return this.#b.compare(comparison, this.wide(first), this.wide(second));
    return this.#b.compare(comparison, this.narrow(first), this.narrow(second));
  }

  #flag(condition: HookCondition): Narrow {
    return this.#b.select(condition, this.#b.constant(1), this.#b.constant(0));
  }

  #condition(flag: Value): HookCondition {
    return this.#b.compare('ne', this.narrow(flag), this.#b.constant(0));
  }

  #product(a: Wide, c: Wide): Wide {
    const b = this.#b;
    const [low, high] = [[b.low(a), b.low(c)] as const, [b.high(a), b.high(c)] as const];
    const crossed = b.binary('add', b.multiply(low[0], high[1]), b.multiply(high[0], low[1]));
    return b.pack(b.multiply(...low), b.binary('add', b.multiplyHigh(...low), crossed));
  }

  #unsupported({ leaf }: Value): WavewrightError {
    const what = leaf.kind === 'pure' ? leaf.op : leaf.kind;
    return new WavewrightError('UNSUPPORTED', `addresses of '${this.#instruction.name}' in hooks: ${what}`);
  }
}
