/** Hooks with random contents, for tests of what becomes of hooks. */
import type {
  Bits,
  Hook,
  HookBuilder,
  HookCondition,
  HookValue,
  PerLane,
  Spread,
  Uniform,
} from '../src/instrument/dsl/hook.ts';
import { randomGenerator } from './lockstep/lockstep.test-support.ts';

export type Random = () => number;
export const pick = <T>(random: Random, items: readonly T[]): T => items[random() % items.length]!;

/** Values that a random hook has so far. */
interface Pool {
  readonly uniform: Uniform[];
  readonly uniformWide: Uniform<64>[];
  readonly lane: PerLane[];
  readonly laneWide: PerLane<64>[];
}

const copyOf = ({ uniform, uniformWide, lane, laneWide }: Pool): Pool => ({
  ...{ uniform: [...uniform], uniformWide: [...uniformWide], lane: [...lane], laneWide: [...laneWide] },
});

/**
 * A hook that says the same each time that it is built. It reads the registers 0 to 19 of the
 * application and changes 16 to 19; its variables are behind the symbol `tool`, and it has two literals.
 * Points may name an SGPR and two vector registers besides.
 */
export class RandomHook {
  readonly hook: Hook;
  readonly #namesRegisters: boolean;

  constructor(seed: number, namesRegisters = false) {
    this.#namesRegisters = namesRegisters;
    const first = randomGenerator(seed);
    const isVoidWithoutLanes = first() % 3 === 0;
    this.hook = isVoidWithoutLanes
      ? { isVoidWithoutLanes, build: (b) => b.atomic('add', b.variable('tool', 16), b.popcount(b.laneMask())) }
      : { build: (b) => this.#body(b, randomGenerator(seed), this.#start(b, randomGenerator(seed)), 0) };
  }

  #start(b: HookBuilder, random: Random): Pool {
    const register = (): number => random() % 20;
    const pool: Pool = {
      uniform: [b.scalar(register()), b.constant(random() % 100), b.constant(random()), b.pointLiteral(0)],
      uniformWide: [b.laneMask(), b.state('vcc'), b.state('scc'), b.state('m0'), b.constant64(BigInt(random()))],
      lane: [b.laneId(), b.vector(register()), b.vector(register())],
      laneWide: [b.pack(b.vector(register()), b.vector(register()))],
    };
    if (!this.#namesRegisters) return pool;
    pool.uniform.push(b.pointScalar(0));
    pool.lane.push(b.pointVector(1), b.pointVector(2));
    return pool;
  }

  #body(b: HookBuilder, random: Random, pool: Pool, depth: number): void {
    for (let i = 0; i < 3 + (random() % 5); i++) {
      this.#value(b, random, pool);
      if (random() % 3 === 0) this.#effect(b, random, pool, depth);
    }
    this.#effect(b, random, pool, depth);
  }

  #value(b: HookBuilder, random: Random, pool: Pool): void {
    const operator = pick(random, ['add', 'sub', 'and', 'or', 'xor'] as const);
    const shift = pick(random, ['shl', 'shrU', 'shrS'] as const);
    const narrow = (): HookValue<Spread, 32> => pick(random, [...pool.uniform, ...pool.lane]);
    const wide = (): HookValue<Spread, 64> => pick(random, [...pool.uniformWide, ...pool.laneWide]);
    const value = pick<() => HookValue<Spread, Bits>>(random, [
      () => b.binary(operator, narrow(), narrow()),
      () => b.binary(operator, wide(), wide()),
      () => b.shift(shift, narrow(), narrow()),
      () => b.shift(shift, wide(), narrow()),
      () => b.select(this.#condition(b, random, pool), narrow(), narrow()),
      () => b.select(this.#condition(b, random, pool), wide(), wide()),
      () => b.popcount(narrow()),
      () => b.popcount(wide()),
      () => b.multiply(narrow(), narrow()),
      () => b.multiplyHigh(narrow(), narrow()),
      () => b.pack(narrow(), narrow()),
      () => b.ballot(this.#condition(b, random, pool)),
      () => b.high(wide()),
    ])();
    // reason: the pool that a value goes to follows from what it says of itself.
    (pool[`${value.spread}${value.bits === 64 ? 'Wide' : ''}`] as HookValue[]).push(value);
  }

  #condition(b: HookBuilder, random: Random, pool: Pool): HookCondition {
    const comparison = pick(random, ['eq', 'ne', 'ltU', 'leU', 'ltS', 'leS'] as const);
    const order = pick(random, ['eq', 'ne', 'ltU', 'leU'] as const);
    const narrow = (): HookValue<Spread, 32> => pick(random, [...pool.uniform, ...pool.lane]);
    const wide = (): HookValue<Spread, 64> => pick(random, [...pool.uniformWide, ...pool.laneWide]);
    return random() & 1 ? b.compare(comparison, narrow(), narrow()) : b.compare(order, wide(), wide());
  }

  #effect(b: HookBuilder, random: Random, pool: Pool, depth: number): void {
    const uniform = (): Uniform<Bits> => pick(random, [...pool.uniform, ...pool.uniformWide]);
    const lane = (): HookValue<Spread, Bits> => pick(random, [...pool.lane, ...pool.laneWide]);
    const cell = (): Uniform<64> => b.variable('tool', 8 * (random() % 8));
    const own = (): PerLane<64> => {
      const offset = b.shift('shl', b.laneId(), b.constant(3));
      return b.binary('add', b.variable('tool', 512 * (1 + (random() % 8))), b.pack(offset, b.constant(0)));
    };
    const operator = pick(random, ['add', 'umax', 'or'] as const);
    const seed = random();
    const inner = (): void => this.#body(b, randomGenerator(seed), copyOf(pool), depth + 1);
    const plain: readonly (() => void)[] = [
      () => b.store(cell(), uniform()),
      () => b.store(own(), lane()),
      () => b.atomic(operator, cell(), uniform()),
      () => b.atomic(operator, cell(), lane()),
      () => pool.uniform.push(b.load(cell(), 32)),
      () => pool.laneWide.push(b.load(own(), 64)),
      () => b.setScalar(16 + (random() % 4), pick(random, pool.uniform)),
      () => b.count(16, uniform()),
      () => b.setVector(16 + (random() % 4), pick(random, [...pool.uniform, ...pool.lane])),
    ];
    const nested: readonly (() => void)[] = [
      () =>
        b.oncePerWave(() => {
          b.atomic(operator, cell(), pick(randomGenerator(seed), [...pool.uniform, ...pool.uniformWide]));
          b.store(b.variable('tool', { pointLiteral: 1 }), pick(randomGenerator(seed), pool.uniform));
        }),
      () => b.when(this.#condition(b, random, pool), inner, inner),
      () => b.when(this.#condition(b, random, pool), inner),
      () =>
        b.forEachActiveLane((index) => {
          const value = b.readLane(pick(randomGenerator(seed), pool.lane), index);
          b.atomic('add', b.variable('tool', 8 * (seed % 8)), value);
        }),
    ];
    pick(random, depth < 2 ? [...plain, ...nested] : plain)();
  }
}
