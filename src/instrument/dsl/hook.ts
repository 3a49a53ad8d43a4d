/**
 * Hooks written in TypeScript: functions that say with a HookBuilder what is to be done at a point. Values
 * are the same for the whole wave (`uniform`) or have one for each lane that is on (`lane`); what is made of
 * one with a lane has one for each lane.
 */

export type Spread = 'uniform' | 'lane';
export type Bits = 32 | 64;

/** The bits of a value are 32 or 64; a condition has 1. */
export interface HookValue<S extends Spread = Spread, B extends Bits | 1 = Bits | 1> {
  readonly spread: S;
  readonly bits: B;
}

export type Uniform<B extends Bits = 32> = HookValue<'uniform', B>;
export type PerLane<B extends Bits = 32> = HookValue<'lane', B>;
export type HookCondition<S extends Spread = Spread> = HookValue<S, 1>;
/** How the result of two values is spread. */
export type Joined<A extends Spread, C extends Spread> = 'lane' extends A | C ? 'lane' : 'uniform';

export type HookOperator = 'add' | 'sub' | 'and' | 'or' | 'xor';
/** By 0 to 31, or 0 to 63 where the value has 64 bits: higher bits of the amount do not count. */
export type ShiftOperator = 'shl' | 'shrU' | 'shrS';
export type HookComparison = 'eq' | 'ne' | 'ltU' | 'leU' | 'ltS' | 'leS';
export type AtomicOperator = 'add' | 'umax' | 'or';
export type StateName = 'vcc' | 'm0' | 'scc' | 'mode';

export interface HookBuilder {
  constant(value: number): Uniform;
  constant64(value: bigint): Uniform<64>;
  /** A number that each point brings along: PointValues.literals. */
  pointLiteral(index: number): Uniform;
  /**
   * The address of a variable of the tool, `addend` bytes behind it; with `{ pointLiteral }` each point has
   * its own.
   */
  variable(symbol: string, addend?: number | { readonly pointLiteral: number }): Uniform<64>;

  /**
   * Registers of the application, as the point finds them; scalar ones by number in the file, where VCC,
   * M0 and EXEC have theirs.
   */
  scalar(register: number): Uniform;
  vector(register: number): PerLane;
  accumulator(register: number): PerLane;
  /**
   * Registers of the application that each point names, none of those that the hook changes: `index` is a
   * place in `PointHook.registers`.
   */
  pointScalar(index: number): Uniform;
  pointVector(index: number): PerLane;
  /** VCC has a bit for each lane; SCC is 0 or 1. */
  state(name: StateName): Uniform<64>;
  setScalar(register: number, value: Uniform): void;
  /** Adds to one or two SGPRs that payloads keep for the whole kernel. */
  count(register: number, value: Uniform<Bits>): void;
  setVector(register: number, value: HookValue<Spread, 32>): void;

  /** A bit for each lane that is on. */
  laneMask(): Uniform<64>;
  /** The lane's number. */
  laneId(): PerLane;
  /** Whether a condition holds, as a bit for each lane that is on. */
  ballot(condition: HookCondition): Uniform<64>;
  /** The value of one lane, which must be on. */
  readLane(value: PerLane, lane: Uniform): Uniform;

  low<S extends Spread>(value: HookValue<S, 64>): HookValue<S, 32>;
  high<S extends Spread>(value: HookValue<S, 64>): HookValue<S, 32>;
  pack<A extends Spread, C extends Spread>(low: HookValue<A, 32>, high: HookValue<C, 32>): HookValue<Joined<A, C>, 64>;
  binary<A extends Spread, C extends Spread, B extends Bits>(
    operator: HookOperator,
    a: HookValue<A, B>,
    b: HookValue<C, B>,
  ): HookValue<Joined<A, C>, B>;
  multiply<A extends Spread, C extends Spread>(a: HookValue<A, 32>, b: HookValue<C, 32>): HookValue<Joined<A, C>, 32>;
  /** The high half of the product of unsigned numbers. */
  multiplyHigh<A extends Spread, C extends Spread>(
    a: HookValue<A, 32>,
    b: HookValue<C, 32>,
  ): HookValue<Joined<A, C>, 32>;
  shift<A extends Spread, C extends Spread, B extends Bits>(
    operator: ShiftOperator,
    value: HookValue<A, B>,
    amount: HookValue<C, 32>,
  ): HookValue<Joined<A, C>, B>;
  compare<A extends Spread, C extends Spread, B extends Bits>(
    comparison: HookComparison,
    a: HookValue<A, B>,
    b: HookValue<C, B>,
  ): HookCondition<Joined<A, C>>;
  select<P extends Spread, A extends Spread, C extends Spread, B extends Bits>(
    condition: HookCondition<P>,
    a: HookValue<A, B>,
    b: HookValue<C, B>,
  ): HookValue<Joined<P, Joined<A, C>>, B>;
  /** Bits that are 1. */
  popcount<S extends Spread>(value: HookValue<S, Bits>): HookValue<S, 32>;

  /** In global memory, at a multiple of its size; with a uniform address once for the wave. */
  load<S extends Spread, B extends Bits>(address: HookValue<S, 64>, bits: B): HookValue<S, B>;
  /** For each lane that is on, or once where both are uniform. */
  store(address: HookValue<Spread, 64>, value: HookValue<Spread, Bits>): void;
  atomic(operator: AtomicOperator, address: HookValue<Spread, 64>, value: HookValue<Spread, Bits>): void;

  /** Adds once for the wave; what was there before. */
  fetchAdd<B extends Bits>(address: Uniform<64>, value: Uniform<B>): Uniform<B>;

  /** Runs `body` once, whatever lanes are on; values of lanes cannot be used in it. */
  oncePerWave(body: () => void): void;
  /** Runs `body` with the lanes for which the condition holds, if any; then `otherwise` with the others. */
  when(condition: HookCondition, body: () => void, otherwise?: () => void): void;
  /** Runs `body` for each lane that is on, the lowest first; all of them are on in it. */
  forEachActiveLane(body: (lane: Uniform) => void): void;
}

export interface Hook {
  readonly build: (b: HookBuilder) => void;
  /** Says that it does nothing that shows where no lane is on, so that it may be left out there. */
  readonly isVoidWithoutLanes?: boolean;
}
