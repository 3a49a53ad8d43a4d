/** What a hook does to the state of a wave, worked out in TypeScript: what its payload is compared with. */
import type { PhysicalRange } from '../machine/machine-code.ts';
import type {
  AtomicOperator,
  Bits,
  Hook,
  HookBuilder,
  HookComparison,
  HookCondition,
  HookOperator,
  HookValue,
  Joined,
  PerLane,
  ShiftOperator,
  Spread,
  StateName,
  Uniform,
} from './hook.ts';

export interface HookState {
  readonly waveSize: 32 | 64;
  readonly scalars: Map<number, number>;
  /** Lanes of each register. */
  readonly vectors: Map<number, number[]>;
  readonly exec: bigint;
  readonly states: Readonly<Record<StateName, bigint>>;
  readonly literals: readonly number[];
  /** Those that the point names. */
  readonly registers: readonly PhysicalRange[];
  /** The address of every symbol. */
  readonly base: bigint;
  /** Bytes by offset from `base`. */
  readonly memory: DataView;
}

interface Evaluated<S extends Spread, B extends Bits | 1> extends HookValue<S, B> {
  /** A number for each lane, the same for all where it is uniform. */
  readonly lanes: readonly bigint[];
}

// reason: all values of a hook that is evaluated are made here.
const lanesOf = (value: HookValue): readonly bigint[] => (value as Evaluated<Spread, Bits | 1>).lanes;

export function evaluateHook({ build }: Hook, state: HookState): void {
  build(new Evaluator(state));
}

class Evaluator implements HookBuilder {
  readonly #state: HookState;
  readonly #first: HookState;
  #exec: bigint;

  constructor(state: HookState) {
    this.#state = state;
    this.#first = { ...state, scalars: new Map(state.scalars), vectors: new Map(state.vectors) };
    this.#exec = state.exec;
  }

  #make<S extends Spread, B extends Bits | 1>(spread: S, bits: B, compute: (lane: number) => bigint): Evaluated<S, B> {
    const { waveSize } = this.#state;
    const lanes = Array.from({ length: waveSize }, (_, lane) =>
      spread === 'lane' && !this.#isOn(lane) ? 0n : BigInt.asUintN(bits, compute(lane)),
    );
    return { spread, bits, lanes };
  }

  #isOn(lane: number): boolean {
    return ((this.#exec >> BigInt(lane)) & 1n) === 1n;
  }

  constant(value: number): Uniform {
    return this.#make('uniform', 32, () => BigInt(value));
  }

  constant64(value: bigint): Uniform<64> {
    return this.#make('uniform', 64, () => value);
  }

  pointLiteral(index: number): Uniform {
    return this.constant(this.#state.literals[index]!);
  }

  variable(_symbol: string, addend: number | { readonly pointLiteral: number } = 0): Uniform<64> {
    const bytes = typeof addend === 'number' ? addend : this.#state.literals[addend.pointLiteral]!;
    return this.constant64(this.#state.base + BigInt(bytes));
  }

  scalar(register: number): Uniform {
    return this.constant(this.#first.scalars.get(register)!);
  }

  vector(register: number): PerLane {
    return this.#make('lane', 32, (lane) => BigInt(this.#first.vectors.get(register)![lane]!));
  }

  accumulator(): PerLane {
    throw new Error('no accumulators here');
  }

  pointScalar(index: number): Uniform {
    return this.scalar(this.#state.registers[index]!.first);
  }

  pointVector(index: number): PerLane {
    return this.vector(this.#state.registers[index]!.first);
  }

  state(name: StateName): Uniform<64> {
    return this.constant64(this.#state.states[name]);
  }

  setScalar(register: number, value: Uniform): void {
    this.#state.scalars.set(register, Number(lanesOf(value)[0]!));
  }

  count(register: number, value: Uniform<Bits>): void {
    const { scalars } = this.#state;
    const names = value.bits === 64 ? [register, register + 1] : [register];
    const old = names.reduce((sum, name, i) => sum | (BigInt(scalars.get(name)!) << BigInt(32 * i)), 0n);
    const sum = old + lanesOf(value)[0]!;
    names.forEach((name, i) => {
      scalars.set(name, Number(BigInt.asUintN(32, sum >> BigInt(32 * i))));
    });
  }

  setVector(register: number, value: HookValue<Spread, 32>): void {
    const before = this.#state.vectors.get(register)!;
    const after = before.map((old, lane) => (this.#isOn(lane) ? Number(lanesOf(value)[lane]!) : old));
    this.#state.vectors.set(register, after);
  }

  laneMask(): Uniform<64> {
    return this.constant64(this.#exec);
  }

  laneId(): PerLane {
    return this.#make('lane', 32, BigInt);
  }

  ballot(condition: HookCondition): Uniform<64> {
    const bits = lanesOf(condition).map((bit, lane) => (this.#isOn(lane) ? bit << BigInt(lane) : 0n));
    return this.constant64(bits.reduce((sum, bit) => sum | bit, 0n));
  }

  readLane(value: PerLane, lane: Uniform): Uniform {
    return this.#make('uniform', 32, () => lanesOf(value)[Number(lanesOf(lane)[0]!)]!);
  }

  low<S extends Spread>(value: HookValue<S, 64>): HookValue<S, 32> {
    return this.#make(value.spread, 32, (lane) => lanesOf(value)[lane]!);
  }

  high<S extends Spread>(value: HookValue<S, 64>): HookValue<S, 32> {
    return this.#make(value.spread, 32, (lane) => lanesOf(value)[lane]! >> 32n);
  }

  pack<A extends Spread, C extends Spread>(low: HookValue<A, 32>, high: HookValue<C, 32>): HookValue<Joined<A, C>, 64> {
    return this.#make(joinedOf(low, high), 64, (lane) => lanesOf(low)[lane]! | (lanesOf(high)[lane]! << 32n));
  }

  binary<A extends Spread, C extends Spread, B extends Bits>(
    operator: HookOperator,
    a: HookValue<A, B>,
    b: HookValue<C, B>,
  ): HookValue<Joined<A, C>, B> {
    const compute = { add, sub, and, or, xor }[operator];
    return this.#make(joinedOf(a, b), a.bits, (lane) => compute(lanesOf(a)[lane]!, lanesOf(b)[lane]!));
  }

  multiply<A extends Spread, C extends Spread>(a: HookValue<A, 32>, b: HookValue<C, 32>): HookValue<Joined<A, C>, 32> {
    return this.#make(joinedOf(a, b), 32, (lane) => lanesOf(a)[lane]! * lanesOf(b)[lane]!);
  }

  multiplyHigh<A extends Spread, C extends Spread>(
    a: HookValue<A, 32>,
    b: HookValue<C, 32>,
  ): HookValue<Joined<A, C>, 32> {
    return this.#make(joinedOf(a, b), 32, (lane) => (lanesOf(a)[lane]! * lanesOf(b)[lane]!) >> 32n);
  }

  shift<A extends Spread, C extends Spread, B extends Bits>(
    operator: ShiftOperator,
    value: HookValue<A, B>,
    amount: HookValue<C, 32>,
  ): HookValue<Joined<A, C>, B> {
    return this.#make(joinedOf(value, amount), value.bits, (lane) => {
      const by = lanesOf(amount)[lane]! & BigInt(value.bits - 1);
      const bits = lanesOf(value)[lane]!;
      if (operator === 'shl') return bits << by;
      return (operator === 'shrU' ? bits : BigInt.asIntN(value.bits, bits)) >> by;
    });
  }

  compare<A extends Spread, C extends Spread, B extends Bits>(
    comparison: HookComparison,
    a: HookValue<A, B>,
    b: HookValue<C, B>,
  ): HookCondition<Joined<A, C>> {
    return this.#make(joinedOf(a, b), 1, (lane) => {
      const isSigned = comparison.endsWith('S');
      const [x, y] = [a, b].map((value) =>
        isSigned ? BigInt.asIntN(a.bits, lanesOf(value)[lane]!) : lanesOf(value)[lane]!,
      );
      if (comparison === 'eq') return BigInt(x === y);
      if (comparison === 'ne') return BigInt(x !== y);
      return BigInt(comparison.startsWith('lt') ? x! < y! : x! <= y!);
    });
  }

  select<P extends Spread, A extends Spread, C extends Spread, B extends Bits>(
    condition: HookCondition<P>,
    a: HookValue<A, B>,
    b: HookValue<C, B>,
  ): HookValue<Joined<P, Joined<A, C>>, B> {
    const spread = joinedOf(condition, { spread: joinedOf(a, b) });
    return this.#make(spread, a.bits, (lane) => lanesOf(lanesOf(condition)[lane]! === 1n ? a : b)[lane]!);
  }

  popcount<S extends Spread>(value: HookValue<S, Bits>): HookValue<S, 32> {
    return this.#make(value.spread, 32, (lane) => BigInt(lanesOf(value)[lane]!.toString(2).replaceAll('0', '').length));
  }

  #offset(address: HookValue, lane: number): number {
    return Number(lanesOf(address)[lane]! - this.#state.base);
  }

  #read(offset: number, bits: Bits): bigint {
    const { memory } = this.#state;
    return bits === 32 ? BigInt(memory.getUint32(offset, true)) : memory.getBigUint64(offset, true);
  }

  #write(offset: number, bits: Bits, value: bigint): void {
    const { memory } = this.#state;
    if (bits === 32) memory.setUint32(offset, Number(BigInt.asUintN(32, value)), true);
    else memory.setBigUint64(offset, value, true);
  }

  load<S extends Spread, B extends Bits>(address: HookValue<S, 64>, bits: B): HookValue<S, B> {
    return this.#make(address.spread, bits, (lane) => this.#read(this.#offset(address, lane), bits));
  }

  store(address: HookValue<Spread, 64>, value: HookValue<Spread, Bits>): void {
    this.#forLanes(joinedOf(address, value), (lane) => {
      this.#write(this.#offset(address, lane), value.bits, lanesOf(value)[lane]!);
    });
  }

  fetchAdd<B extends Bits>(address: Uniform<64>, value: Uniform<B>): Uniform<B> {
    const old = this.load(address, value.bits);
    this.store(address, this.binary('add', old, value));
    return old;
  }

  atomic(operator: AtomicOperator, address: HookValue<Spread, 64>, value: HookValue<Spread, Bits>): void {
    this.#forLanes(joinedOf(address, value), (lane) => {
      const offset = this.#offset(address, lane);
      const [old, by] = [this.#read(offset, value.bits), lanesOf(value)[lane]!];
      const result = { add: old + by, umax: old > by ? old : by, or: old | by }[operator];
      this.#write(offset, value.bits, BigInt.asUintN(value.bits, result));
    });
  }

  #forLanes(spread: Spread, body: (lane: number) => void): void {
    if (spread === 'uniform') body(0);
    else for (let lane = 0; lane < this.#state.waveSize; lane++) if (this.#isOn(lane)) body(lane);
  }

  oncePerWave(body: () => void): void {
    body();
  }

  when(condition: HookCondition, body: () => void, otherwise?: () => void): void {
    const before = this.#exec;
    if (condition.spread === 'uniform') (lanesOf(condition)[0]! === 1n ? body : otherwise)?.();
    else {
      const mask = BigInt.asUintN(64, lanesOf(this.ballot(condition))[0]!);
      this.#with(mask, body);
      if (otherwise) this.#with(before & ~mask, otherwise);
    }
    this.#exec = before;
  }

  #with(exec: bigint, body: () => void): void {
    this.#exec = exec;
    if (exec !== 0n) body();
  }

  forEachActiveLane(body: (lane: Uniform) => void): void {
    this.#forLanes('lane', (lane) => body(this.constant(lane)));
  }
}

const add = (a: bigint, b: bigint): bigint => a + b;
const sub = (a: bigint, b: bigint): bigint => a - b;
const and = (a: bigint, b: bigint): bigint => a & b;
const or = (a: bigint, b: bigint): bigint => a | b;
const xor = (a: bigint, b: bigint): bigint => a ^ b;

const joinedOf = <A extends Spread, C extends Spread>(
  a: { readonly spread: A },
  b: { readonly spread: C },
): Joined<A, C> =>
  // reason: a comparison of two type parameters does not narrow a conditional type.
  (a.spread === 'lane' || b.spread === 'lane' ? 'lane' : 'uniform') as Joined<A, C>;
