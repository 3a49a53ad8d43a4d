/**
 * Payloads of random hooks, given registers where a random set of them is dead, on the reference executor:
 * they do to memory and registers what the hook says, and leave alone all that is live.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STATE_OFFSETS, WAVE_VGPRS } from '../src/emulator/machine/layout.ts';
import { registerNumber } from '../src/flow/steps.ts';
import { compileHook } from '../src/instrument/dsl/compile-hook.ts';
import { evaluateHook, type HookState } from '../src/instrument/dsl/evaluate-hook.test-support.ts';
import type { HookBuilder } from '../src/instrument/dsl/hook.ts';
import type { PayloadItem } from '../src/instrument/layout/payload-code.ts';
import { Allocator, type PayloadAllocation } from '../src/instrument/machine/allocate.ts';
import type { PhysicalRange } from '../src/instrument/machine/machine-code.ts';
import { NOTHING_IN_FLIGHT, type PointState, type RegisterPlan } from '../src/instrument/machine/register-plan.ts';
import { targetFor } from '../src/isa/amdgpu/encoding/targets.ts';
import { Lockstep, type Outcome, randomGenerator } from './lockstep/lockstep.test-support.ts';
import { wordsOf } from './payload-words.test-support.ts';
import { pick, type Random, RandomHook } from './random-hook.test-support.ts';

const TARGETS = [
  ['gfx90a', 64],
  ['gfx942', 64],
  ['gfx1030', 32],
  ['gfx1100', 32],
  ['gfx1100', 64],
  ['gfx1200', 32],
] as const;
const HOOKS = 60;
const MODE = 0x3f0;
const SCALARS = { used: 40, granted: 44, growable: 52, most: 52 };
const VECTORS = { used: 24, granted: 26, growable: 34, most: 34 };
/** Two registers that no hook reads, with the address of the data. */
const PERSISTENT = 60;
const EXEC_LO = 126;
const EXECS = [-1n, 0x0ffffff0ffff0001n, 0x8000000080000000n, 0x5a5a5a5af0f0fffen, 0n];
const LITERALS = [0x1234, 64];
/** The hooks change registers from here on. */
const FIRST_CHANGED = 16;

const PLAN: RegisterPlan = {
  ...{ scalar: SCALARS, vector: VECTORS, accumulator: { used: 0, granted: 0, growable: 0, most: 0 } },
  reserved: [{ file: 'scalar', first: PERSISTENT, dwords: 2 }],
};

function randomPoint(random: Random): PointState {
  const anySet = (count: number): bigint => {
    let set = 0n;
    const share = 1 + (random() % 6);
    for (let i = 0; i < count; i++) if (random() % 6 >= share) set |= 1n << BigInt(i);
    return set;
  };
  const rows = (): bigint => anySet(VECTORS.used) << BigInt(registerNumber('vector', 0));
  return {
    live: { active: anySet(128) | rows(), inactive: rows() },
    isSccLive: (random() & 1) === 1,
    ...{ inFlight: NOTHING_IN_FLIGHT, unknownInFlight: new Set(), gprIndexing: false },
  };
}

const bit = (set: bigint, index: number): boolean => ((set >> BigInt(index)) & 1n) === 1n;

/** The state of a wave as the machine has it, by names. */
class WaveState {
  readonly #words: Uint32Array;
  readonly waveSize: 32 | 64;

  constructor(words: Uint32Array, waveSize: 32 | 64) {
    this.#words = words;
    this.waveSize = waveSize;
  }

  scalar(register: number): number {
    return this.#words[register]!;
  }

  lanes(register: number): number[] {
    const first = WAVE_VGPRS / 4 + register * this.waveSize;
    return [...this.#words.subarray(first, first + this.waveSize)];
  }

  get exec(): bigint {
    const exec =
      BigInt(this.#words[STATE_OFFSETS.exec / 4]!) | (BigInt(this.#words[STATE_OFFSETS.exec / 4 + 1]!) << 32n);
    return BigInt.asUintN(this.waveSize, exec);
  }

  get scc(): number {
    return this.#words[STATE_OFFSETS.scc / 4]!;
  }

  get vcc(): bigint {
    return BigInt.asUintN(this.waveSize, BigInt(this.scalar(106)) | (BigInt(this.scalar(107)) << 32n));
  }

  get m0(): number {
    return this.scalar(124);
  }
}

/** What is not as it should be behind the payload. */
function differences(
  found: WaveState,
  expected: HookState,
  before: WaveState,
  { live, isSccLive }: PointState,
): string[] {
  const wrong: string[] = [];
  const { active, inactive } = live;
  if (found.exec !== expected.exec) wrong.push(`EXEC is ${found.exec.toString(16)}`);
  if (isSccLive && found.scc !== before.scc) wrong.push('SCC');
  for (let register = 0; register < 128; register++) {
    const [now, then] = [found.scalar(register), before.scalar(register)];
    const asked = expected.scalars.get(register) ?? then;
    const isFree = register >= SCALARS.used && register < SCALARS.growable;
    const isDead = register < EXEC_LO && !bit(active, register);
    if (now !== asked && (asked !== then || !(isFree || isDead))) wrong.push(`s${register}`);
  }
  for (let register = 0; register < 256; register++) {
    const [now, then] = [found.lanes(register), before.lanes(register)];
    const asked = expected.vectors.get(register) ?? then;
    const place = registerNumber('vector', register);
    const isFree = register >= VECTORS.used && register < VECTORS.growable;
    for (const [lane, value] of now.entries()) {
      const isLive = register >= VECTORS.used || bit(bit(found.exec, lane) ? active : inactive, place);
      if (value !== asked[lane] && (asked[lane] !== then[lane] || (isLive && !isFree)))
        wrong.push(`v${register} in lane ${lane}`);
    }
  }
  return wrong;
}

interface Trial {
  readonly allocation: PayloadAllocation;
  readonly wrong: readonly string[];
}

/** What is done wrong on purpose. */
interface Sabotage {
  /** What the allocator is told of the point. */
  readonly point?: (point: PointState) => PointState;
  readonly items?: (items: readonly PayloadItem[]) => readonly PayloadItem[];
}

/** A scalar one and two vector ones. */
const namedRegisters = (random: Random): readonly PhysicalRange[] =>
  (['scalar', 'vector', 'vector'] as const).map((file) => ({ file, first: random() % FIRST_CHANGED, dwords: 1 }));

class Trials {
  readonly #machine: Lockstep;
  readonly #processor: string;
  readonly #waveSize: 32 | 64;

  constructor(processor: string, waveSize: 32 | 64) {
    this.#machine = new Lockstep(processor, waveSize);
    this.#processor = processor;
    this.#waveSize = waveSize;
  }

  /** Undefined where the point is refused. */
  run(seed: number, sabotage: Sabotage = {}): Trial | undefined {
    const random = randomGenerator(seed);
    const code = { target: targetFor(this.#processor), waveSize: this.#waveSize };
    const { hook } = new RandomHook(random(), seed % 2 === 0);
    const registers = namedRegisters(random);
    const place = random() & 1 ? { addressOf: () => PERSISTENT } : {};
    const point = randomPoint(random);
    const plan =
      random() % 3 === 0
        ? { ...PLAN, vector: { ...VECTORS, granted: VECTORS.used, growable: VECTORS.used, most: VECTORS.used } }
        : PLAN;
    const allocator = new Allocator(compileHook(hook, code, place), plan);
    const found = allocator.allocate(sabotage.point?.(point) ?? point, registers);
    if (found.kind === 'refusal') return undefined;
    const items = sabotage.items?.(found.code.items) ?? found.code.items;
    const machine = this.#machine;
    machine.randomize(random, 'random', pick(random, EXECS), MODE);
    machine.setWindow(PERSISTENT);
    const before = new WaveState(machine.initial.slice(), this.#waveSize);
    const base = BigInt(before.scalar(PERSISTENT)) | (BigInt(before.scalar(PERSISTENT + 1)) << 32n);
    const at = machine.place(wordsOf(items, base, LITERALS));
    const data = machine.initialMemory.slice();
    const state = { ...this.#state(before, base, data), registers };
    evaluateHook(hook, state);
    const outcome = machine.run(at, 'reference', 100_000);
    return { allocation: found, wrong: this.#wrong(outcome, { state, before, point, data }) };
  }

  #state(before: WaveState, base: bigint, data: Uint32Array): Omit<HookState, 'registers'> {
    const registers = Array.from({ length: 20 }, (_, register) => register);
    return {
      waveSize: this.#waveSize,
      scalars: new Map(registers.map((register) => [register, before.scalar(register)])),
      vectors: new Map(registers.map((register) => [register, before.lanes(register)])),
      exec: before.exec,
      states: { vcc: before.vcc, m0: BigInt(before.m0), scc: BigInt(before.scc), mode: BigInt(MODE) },
      literals: LITERALS,
      base,
      memory: new DataView(data.buffer),
    };
  }

  #wrong(
    outcome: Outcome,
    { state, before, point, data }: { state: HookState; before: WaveState; point: PointState; data: Uint32Array },
  ): string[] {
    if (outcome.fault !== undefined) return [outcome.fault];
    const found = new WaveState(outcome.state, this.#waveSize);
    const wrong = differences(found, state, before, point);
    for (const [index, value] of data.entries()) {
      if (outcome.memory[index] !== value) wrong.push(`dword ${index} of the memory`);
    }
    return wrong;
  }
}

for (const [processor, waveSize] of TARGETS) {
  test(`hooks do what they say and nothing else: ${processor}, waves of ${waveSize}`, () => {
    const trials = new Trials(processor, waveSize);
    let [served, borrowed] = [0, 0];
    for (let seed = 1; seed <= HOOKS; seed++) {
      const trial = trials.run(seed);
      if (trial) served++;
      if (trial && trial.allocation.sources.borrowed > 0) borrowed++;
      assert.deepEqual(trial?.wrong.slice(0, 5) ?? [], [], `seed ${seed}`);
    }
    assert.ok(served > HOOKS / 3, `${served} of ${HOOKS} hooks had registers`);
    assert.ok(borrowed > 0, 'some hooks had registers that are live');
  });
}

const withLive = (point: PointState, active: bigint, inactive = point.live.inactive): PointState => ({
  ...point,
  live: { active, inactive },
});

const SABOTAGES: Readonly<Record<string, Sabotage>> = {
  'SCC is not saved': { point: (point) => ({ ...point, isSccLive: false }) },
  'lanes that are off are forgotten': { point: (point) => withLive(point, point.live.active, 0n) },
  'a scalar register is taken that is live': { point: (point) => withLive(point, point.live.active & ~0xffffn) },
  'a vector register is taken that is live': {
    point: (point) => withLive(point, point.live.active & ((1n << BigInt(registerNumber('vector', 0))) - 1n)),
  },
  'a restore is left out': { items: (items) => items.slice(0, -1) },
  'a literal is another one': {
    items: (items) =>
      items.map((item) =>
        item.kind === 'instruction' && item.literal ? { ...item, literal: { ...item.literal, addend: 4 } } : item,
      ),
  },
};

for (const [what, sabotage] of Object.entries(SABOTAGES)) {
  test(`the trials find out when ${what}`, () => {
    const trials = new Trials('gfx90a', 64);
    const seeds = Array.from({ length: HOOKS }, (_, seed) => seed + 1);
    assert.ok(seeds.some((seed) => (trials.run(seed, sabotage)?.wrong.length ?? 0) > 0));
  });
}

test('two vector registers are enough to add to a variable, where three would cost live ones', () => {
  const code = { target: targetFor('gfx90a'), waveSize: 64 } as const;
  const build = (b: HookBuilder): void =>
    b.atomic('add', b.variable('sums', { pointLiteral: 0 }), b.pack(b.constant(1), b.constant(0)));
  const payloads = compileHook({ build }, code, { addressOf: () => PERSISTENT });
  const freeVectors = (count: number): PayloadAllocation => {
    const rows = ((1n << BigInt(VECTORS.used - count)) - 1n) << BigInt(registerNumber('vector', 0));
    const full = { ...PLAN, vector: { ...VECTORS, granted: VECTORS.used, growable: VECTORS.used, most: VECTORS.used } };
    const point = { ...randomPoint(() => 0), live: { active: rows, inactive: rows }, isSccLive: false };
    const found = new Allocator(payloads, full).allocate(point);
    assert.ok(found.kind === 'allocation');
    return found;
  };
  const [three, two] = [freeVectors(3), freeVectors(2)];
  assert.deepEqual([three.sources.borrowed, two.sources.borrowed], [0, 0]);
  assert.equal(two.code.items.length, three.code.items.length + 1);
});
