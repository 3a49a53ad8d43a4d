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
  new CountHook(codesFor(counters, amount), counters.symbol, index, amount);

/** One object for each point: the others are made when they are asked for, as code has many points. */
class CountHook implements PointHook {
  readonly codes: readonly HookCode[];
  readonly #symbol: string;
  readonly #index: number;
  readonly #amount: Amount;
  #isRequired = false;

  constructor(codes: readonly HookCode[], symbol: string, index: number, amount: Amount) {
    this.codes = codes;
    this.#symbol = symbol;
    this.#index = index;
    this.#amount = amount;
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
    return { symbol: this.#symbol, index: this.#index, amount: this.#amount };
  }
}

/** All points of a variable share their code. */
const known = new WeakMap<Counters, Map<Amount, readonly HookCode[]>>();

function codesFor(counters: Counters, amount: Amount): readonly HookCode[] {
  let byAmount = known.get(counters);
  if (!byAmount) {
    byAmount = new Map();
    known.set(counters, byAmount);
  }
  let codes = byAmount.get(amount);
  if (!codes) {
    codes = [
      hookCode((b) => {
        const sum = b.variable(counters.symbol, { pointLiteral: 0 });
        b.atomic('add', sum, b.pack(amountIn(b, amount), b.constant(0)));
      }),
    ];
    byAmount.set(amount, codes);
  }
  return codes;
}

function amountIn(b: HookBuilder, amount: Amount): Uniform {
  if (amount === 'waves') return b.constant(1);
  const mask = b.laneMask();
  if (amount === 'lanes') return b.popcount(mask);
  return b.select(b.compare('ne', mask, b.constant64(0n)), b.constant(1), b.constant(0));
}
