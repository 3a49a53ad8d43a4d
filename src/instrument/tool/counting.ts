/** Hooks that count, each with one addition to memory for a wave. */
import { runsOncePerWave } from '../../isa/amdgpu/encoding/instruction-class.ts';
import type { HookBuilder, Uniform } from '../dsl/hook.ts';
import { type HookCode, type HookMeaning, hookCode, type PointHook } from './hook.ts';
import type { ToolInstruction } from './tool-function.ts';
import { COUNTER_BYTES, type Counters } from './variables.ts';

/** What is added when a wave comes by: 1; the number of its active lanes; 1 if any lane is active. */
export type Amount = 'waves' | 'lanes' | 'active waves';

/**
 * As what an instruction counts: scalar instructions and lane accesses once for each wave; others for each
 * active lane, or once for a wave with any.
 */
export const countedAs = ({ step }: ToolInstruction, level: string): Amount =>
  runsOncePerWave(step.instruction.row) ? 'waves' : level === 'thread' ? 'lanes' : 'active waves';

/** Adds to a counter. */
export const countHook = (counters: Counters, index: number, amount: Amount): CountHook =>
  new CountHook(kindOf(counters, amount), index);

/** What points share that add the same amount to counters of one variable. */
interface CountKind {
  readonly codes: readonly HookCode[];
  readonly symbol: string;
  readonly amount: Amount;
}

/** One object for each point: the others are made when they are asked for, as code has many points. */
class CountHook implements PointHook {
  readonly #kind: CountKind;
  readonly #index: number;
  #isRequired = false;

  constructor(kind: CountKind, index: number) {
    this.#kind = kind;
    this.#index = index;
  }

  get codes(): readonly HookCode[] {
    return this.#kind.codes;
  }

  get isRequired(): boolean {
    return this.#isRequired;
  }

  /** The hook itself, of a point whose refusal makes results wrong. */
  required(): this {
    this.#isRequired = true;
    return this;
  }

  get literals(): readonly number[] {
    return [this.#index * COUNTER_BYTES];
  }

  get meaning(): HookMeaning {
    const { symbol, amount } = this.#kind;
    return { symbol, index: this.#index, amount };
  }
}

const known = new WeakMap<Counters, Map<Amount, CountKind>>();

function kindOf(counters: Counters, amount: Amount): CountKind {
  let byAmount = known.get(counters);
  if (!byAmount) {
    byAmount = new Map();
    known.set(counters, byAmount);
  }
  let kind = byAmount.get(amount);
  if (!kind) {
    const { symbol } = counters;
    const code = hookCode((b) => {
      const sum = b.variable(symbol, { pointLiteral: 0 });
      b.atomic('add', sum, b.pack(amountIn(b, amount), b.constant(0)));
    });
    kind = { codes: [code], symbol, amount };
    byAmount.set(amount, kind);
  }
  return kind;
}

function amountIn(b: HookBuilder, amount: Amount): Uniform {
  if (amount === 'waves') return b.constant(1);
  const mask = b.laneMask();
  if (amount === 'lanes') return b.popcount(mask);
  return b.select(b.compare('ne', mask, b.constant64(0n)), b.constant(1), b.constant(0));
}
