/** Hooks in TypeScript to payloads. */
import { WavewrightError } from '../../base/errors.ts';
import type { CodeContext } from '../../isa/amdgpu/encoding/instruction.ts';
import { SGPR_EXEC_LO } from '../../isa/amdgpu/encoding/registers.ts';
import type { PayloadLabel } from '../layout/payload-code.ts';
import type { Payload, PhysicalRange, VirtualRegister } from '../machine/machine-code.ts';
import { low, PayloadBuilder, type RegisterPart } from '../machine/payload-builder.ts';
import { ApplicationRegisters } from './application-registers.ts';
import { compiled, HookArithmetic, joined, piecesOf } from './arithmetic.ts';
import { GlobalMemory, type VariablePlace } from './global-memory.ts';
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
import { constantPiece, type Piece, Pieces, scalarPiece, vectorPiece } from './pieces.ts';

/**
 * How one lane is chosen for what is done once: `first` switches on lane 0, which may have been off, so that
 * registers must be free in all lanes; `lowest` the lowest lane that is on, if there is one.
 */
type LaneChoice = 'first' | 'lowest';

interface HookForm {
  readonly choice: LaneChoice;
  /** Takes scalar registers in place of vector registers, and more instructions. */
  readonly sparesVectors: boolean;
}

const USUAL: HookForm = { choice: 'first', sparesVectors: false };

/** What has to be known of a hook before its code is made. */
interface Facts {
  readonly changes: readonly PhysicalRange[];
  readonly reads: readonly PhysicalRange[];
  readonly readsScc: boolean;
}

const NO_FACTS: Facts = { changes: [], reads: [], readsScc: false };

const overlaps = (a: PhysicalRange, b: PhysicalRange): boolean =>
  a.file === b.file && a.first < b.first + b.dwords && b.first < a.first + a.dwords;

/**
 * Payloads that do what the hook says, the cheapest first. Throws USAGE where the hook uses values of lanes
 * for the whole wave.
 */
export function compileHook(hook: Hook, code: CodeContext, place: VariablePlace = {}): readonly Payload[] {
  const build = (form: HookForm, facts: Facts): HookCompiler => {
    const compiler = new HookCompiler(new PayloadBuilder(code), place, form, facts);
    hook.build(compiler);
    return compiler;
  };
  const facts = build(USUAL, NO_FACTS).facts;
  const first = build(USUAL, facts);
  const choices = first.usesOneLane && hook.isVoidWithoutLanes ? (['first', 'lowest'] as const) : (['first'] as const);
  const spares = first.canSpareVectors ? [false, true] : [false];
  const forms = spares.flatMap((sparesVectors) => choices.map((choice): HookForm => ({ choice, sparesVectors })));
  return [first, ...forms.slice(1).map((form) => build(form, facts))].map((compiler) => compiler.payload());
}

/**
 * Builds code that becomes a part of another payload. `copies`: what there is of SGPRs that the payload may
 * have changed by now, by their number.
 */
export function builderIn(b: PayloadBuilder, copies: ReadonlyMap<number, RegisterPart> = new Map()): HookBuilder {
  return new HookCompiler(b, {}, USUAL, NO_FACTS, copies);
}

/** Lanes that are on while a part of the hook runs. */
interface LaneScope {
  /** A copy of the lanes that are on for the hook. */
  exec: VirtualRegister | undefined;
  readonly isOneLane: boolean;
}

class HookCompiler implements HookBuilder {
  usesOneLane = false;
  readonly #b: PayloadBuilder;
  readonly #pieces: Pieces;
  readonly #arithmetic: HookArithmetic;
  readonly #memory: GlobalMemory;
  readonly #choice: LaneChoice;
  readonly #registers: ApplicationRegisters;
  readonly #changes: PhysicalRange[] = [];
  #readsScc = false;
  #scc: Piece | undefined;
  #scopes: LaneScope[] = [{ exec: undefined, isOneLane: false }];

  constructor(
    b: PayloadBuilder,
    place: VariablePlace,
    { choice, sparesVectors }: HookForm,
    facts: Facts,
    copies: ReadonlyMap<number, RegisterPart> = new Map(),
  ) {
    this.#b = b;
    this.#pieces = new Pieces(this.#b);
    this.#registers = new ApplicationRegisters(this.#b, this.#pieces, copies);
    this.#arithmetic = new HookArithmetic(this.#b, this.#pieces);
    this.#memory = new GlobalMemory(this.#b, this.#pieces, place, sparesVectors);
    this.#choice = choice;
    for (const range of facts.reads) {
      if (facts.changes.some((change) => overlaps(change, range))) this.#registers.keep(range);
    }
    if (facts.readsScc) {
      const scc = this.#b.scalar();
      this.#b.emit`s_cselect_b32 ${scc}, 1, 0`;
      this.#scc = scalarPiece(low(scc));
    }
  }

  get facts(): Facts {
    return { changes: this.#changes, reads: this.#registers.reads, readsScc: this.#readsScc };
  }

  get canSpareVectors(): boolean {
    return this.#memory.canSpareVectors;
  }

  payload(): Payload {
    for (const range of this.#changes) this.#b.changes(range);
    return this.#b.payload();
  }

  get #scope(): LaneScope {
    return this.#scopes.at(-1)!;
  }

  constant(value: number): Uniform {
    return compiled('uniform', [constantPiece(value)]);
  }

  constant64(value: bigint): Uniform<64> {
    const dwords = [value, value >> 32n].map((each) => constantPiece(Number(BigInt.asIntN(32, each))));
    return compiled('uniform', dwords);
  }

  pointLiteral(index: number): Uniform {
    return compiled('uniform', [{ kind: 'literal', literal: { pointLiteral: index } }]);
  }

  variable(symbol: string, addend: number | { readonly pointLiteral: number } = 0): Uniform<64> {
    return this.#memory.variable(symbol, addend);
  }

  scalar(register: number): Uniform {
    const copy = this.#registers.copyOf(register);
    if (copy) return compiled('uniform', [copy]);
    if (register === SGPR_EXEC_LO) return this.low(this.laneMask());
    if (register === SGPR_EXEC_LO + 1) return this.high(this.laneMask());
    return compiled('uniform', [this.#registers.read({ file: 'scalar', first: register, dwords: 1 })]);
  }

  vector(register: number): PerLane {
    return compiled('lane', [this.#registers.read({ file: 'vector', first: register, dwords: 1 })]);
  }

  accumulator(register: number): PerLane {
    const value = this.#b.vector();
    this.#b.emit`v_accvgpr_read_b32 ${value}, a${register}`;
    return compiled('lane', [vectorPiece(low(value))]);
  }

  pointScalar(index: number): Uniform {
    return compiled('uniform', [this.#registers.named('scalar', index)]);
  }

  pointVector(index: number): PerLane {
    return compiled('lane', [this.#registers.named('vector', index)]);
  }

  state(name: StateName): Uniform<64> {
    const zero = constantPiece(0);
    if (name === 'm0') return compiled('uniform', [this.#registers.m0, zero]);
    if (name === 'vcc') {
      const top = this.#b.maskDwords > 1 ? scalarPiece('vcc_hi') : zero;
      return compiled('uniform', [scalarPiece('vcc_lo'), top]);
    }
    if (name === 'scc') {
      this.#readsScc = true;
      return compiled('uniform', [this.#scc ?? zero, zero]);
    }
    const mode = this.#b.scalar();
    this.#b.emit`s_getreg_b32 ${mode}, hwreg(HW_REG_MODE)`;
    return compiled('uniform', [scalarPiece(low(mode)), zero]);
  }

  setScalar(register: number, value: Uniform): void {
    this.#changes.push({ file: 'scalar', first: register, dwords: 1 });
    this.#b.emit`s_mov_b32 s${register}, ${this.#pieces.salu(piecesOf(value)[0]!)}`;
  }

  count(register: number, value: Uniform<Bits>): void {
    const dwords = value.bits / 32;
    this.#changes.push({ file: 'scalar', first: register, dwords });
    const names = Array.from({ length: dwords }, (_, i) => this.#registers.scalarName(register + i));
    this.#arithmetic.count(names, value);
  }

  setVector(register: number, value: HookValue<Spread, 32>): void {
    this.#requireLanes();
    this.#changes.push({ file: 'vector', first: register, dwords: 1 });
    this.#pieces.toVector(`v${register}`, piecesOf(value)[0]!);
  }

  laneMask(): Uniform<64> {
    return this.#maskValue(this.#exec());
  }

  #maskValue(mask: VirtualRegister): Uniform<64> {
    const [first, second = constantPiece(0)] = this.#arithmetic.maskPieces(mask);
    return compiled('uniform', [first!, second]);
  }

  laneId(): PerLane {
    const b = this.#b;
    this.#requireLanes();
    const lane = b.vector();
    b.emit`v_mbcnt_lo_u32_b32 ${lane}, -1, 0`;
    if (b.maskDwords > 1) b.emit`v_mbcnt_hi_u32_b32 ${lane}, -1, ${lane}`;
    return compiled('lane', [vectorPiece(low(lane))]);
  }

  ballot(condition: HookCondition): Uniform<64> {
    if (condition.spread === 'lane') return this.#maskValue(this.#arithmetic.laneMask(this.#usable(condition)));
    const mask = this.#b.mask();
    const exec = this.#exec();
    this.#arithmetic.toScc(condition);
    this.#b.emit`s_cselect_${this.#b.maskBits} ${mask}, ${exec}, 0`;
    return this.#maskValue(mask);
  }

  readLane(value: PerLane, lane: Uniform): Uniform {
    const result = this.#b.scalar();
    const [from, index] = [piecesOf(value)[0]!, piecesOf(lane)[0]!];
    this.#b.emit`v_readlane_b32 ${result}, ${this.#pieces.vector(from)}, ${this.#pieces.valu(index)}`;
    return compiled('uniform', [scalarPiece(low(result))]);
  }

  low<S extends Spread>(value: HookValue<S, 64>): HookValue<S, 32> {
    return compiled(value.spread, [piecesOf(value)[0]!]);
  }

  high<S extends Spread>(value: HookValue<S, 64>): HookValue<S, 32> {
    return compiled(value.spread, [piecesOf(value)[1]!]);
  }

  pack<A extends Spread, C extends Spread>(a: HookValue<A, 32>, c: HookValue<C, 32>): HookValue<Joined<A, C>, 64> {
    return compiled(joined(this.#usable(a), this.#usable(c)), [piecesOf(a)[0]!, piecesOf(c)[0]!]);
  }

  binary<A extends Spread, C extends Spread, B extends Bits>(
    operator: HookOperator,
    a: HookValue<A, B>,
    b: HookValue<C, B>,
  ): HookValue<Joined<A, C>, B> {
    return this.#arithmetic.binary(operator, this.#usable(a), this.#usable(b), joined(a, b));
  }

  multiply<A extends Spread, C extends Spread>(a: HookValue<A, 32>, b: HookValue<C, 32>): HookValue<Joined<A, C>, 32> {
    return this.#arithmetic.multiply('low', [this.#usable(a), this.#usable(b)], joined(a, b));
  }

  multiplyHigh<A extends Spread, C extends Spread>(
    a: HookValue<A, 32>,
    b: HookValue<C, 32>,
  ): HookValue<Joined<A, C>, 32> {
    return this.#arithmetic.multiply('high', [this.#usable(a), this.#usable(b)], joined(a, b));
  }

  shift<A extends Spread, C extends Spread, B extends Bits>(
    operator: ShiftOperator,
    value: HookValue<A, B>,
    amount: HookValue<C, 32>,
  ): HookValue<Joined<A, C>, B> {
    return this.#arithmetic.shift(operator, this.#usable(value), this.#usable(amount), joined(value, amount));
  }

  compare<A extends Spread, C extends Spread, B extends Bits>(
    comparison: HookComparison,
    a: HookValue<A, B>,
    b: HookValue<C, B>,
  ): HookCondition<Joined<A, C>> {
    return this.#arithmetic.compare(comparison, this.#usable(a), this.#usable(b), joined(a, b));
  }

  select<P extends Spread, A extends Spread, C extends Spread, B extends Bits>(
    condition: HookCondition<P>,
    a: HookValue<A, B>,
    b: HookValue<C, B>,
  ): HookValue<Joined<P, Joined<A, C>>, B> {
    const spread = joined(condition, { spread: joined(a, b) });
    const exec = condition.spread === 'uniform' && spread === 'lane' ? this.#exec() : undefined;
    return this.#arithmetic.select(this.#usable(condition), [this.#usable(a), this.#usable(b)], spread, exec);
  }

  popcount<S extends Spread>(value: HookValue<S, Bits>): HookValue<S, 32> {
    return this.#arithmetic.popcount(this.#usable(value));
  }

  load<S extends Spread, B extends Bits>(address: HookValue<S, 64>, bits: B): HookValue<S, B> {
    if (address.spread === 'lane') {
      this.#usable(address);
      return compiled(address.spread, this.#memory.load(address, bits));
    }
    return compiled(
      address.spread,
      this.#fromOneLane(() => this.#memory.load(address, bits)),
    );
  }

  fetchAdd<B extends Bits>(address: Uniform<64>, value: Uniform<B>): Uniform<B> {
    return compiled(
      'uniform',
      this.#fromOneLane(() => this.#memory.fetchAdd(address, value)),
    );
  }

  /** What is read once for the wave, in scalar registers. */
  #fromOneLane(read: () => readonly Piece[]): readonly Piece[] {
    let pieces: readonly Piece[] = [];
    this.oncePerWave(() => {
      pieces = read().map((piece) => {
        const first = this.#b.scalar();
        this.#b.emit`v_readfirstlane_b32 ${first}, ${this.#pieces.vector(piece)}`;
        return scalarPiece(low(first));
      });
    });
    return pieces;
  }

  store(address: HookValue<Spread, 64>, value: HookValue<Spread, Bits>): void {
    this.#access(address, value, () => this.#memory.store(address, value));
  }

  atomic(operator: AtomicOperator, address: HookValue<Spread, 64>, value: HookValue<Spread, Bits>): void {
    this.#access(address, value, () => this.#memory.atomic(operator, address, value));
  }

  #access(address: HookValue<Spread, 64>, value: HookValue<Spread, Bits>, access: () => void): void {
    if (joined(this.#usable(address), this.#usable(value)) === 'lane') access();
    else this.oncePerWave(access);
  }

  oncePerWave(body: () => void): void {
    if (this.#scope.isOneLane) {
      body();
      return;
    }
    const b = this.#b;
    const exec = this.#exec();
    const end: PayloadLabel = { name: 'end' };
    this.usesOneLane = true;
    this.#saving(() => {
      if (this.#choice === 'first') b.emit`s_mov_${b.maskBits} ${b.exec}, 1`;
      else {
        const lane = b.scalar();
        b.emit`s_cbranch_execz ${end}`;
        b.emit`s_ff1_i32_${b.maskBits} ${lane}, ${b.exec}`;
        b.emit`s_bfm_${b.maskBits} ${b.exec}, 1, ${lane}`;
      }
    });
    const outer = b.otherLanes;
    if (this.#choice === 'first') b.otherLanes = 'first';
    this.#within({ exec, isOneLane: true }, body);
    b.otherLanes = outer;
    this.#saving(() => b.emit`s_mov_${b.maskBits} ${b.exec}, ${exec}`);
    if (this.#choice === 'lowest') b.place(end);
  }

  when(condition: HookCondition, body: () => void, otherwise?: () => void): void {
    if (condition.spread === 'uniform') this.#whenUniform(condition, body, otherwise);
    else this.#whenLanes(this.#usable(condition), body, otherwise);
  }

  #whenUniform(condition: HookCondition, body: () => void, otherwise: (() => void) | undefined): void {
    const b = this.#b;
    const [not, end]: PayloadLabel[] = [{ name: 'not' }, { name: 'end' }];
    this.#arithmetic.toScc(condition);
    b.emit`s_cbranch_scc0 ${not!}`;
    this.#within({ ...this.#scope }, body);
    if (otherwise) b.emit`s_branch ${end!}`;
    b.place(not!);
    if (otherwise) this.#within({ ...this.#scope }, otherwise);
    b.place(end!);
  }

  #whenLanes(condition: HookCondition, body: () => void, otherwise: (() => void) | undefined): void {
    const b = this.#b;
    const exec = this.#exec();
    // Lanes that are off have a 0 in the result of a comparison.
    const mask = this.#arithmetic.laneMask(condition);
    const [not, end]: PayloadLabel[] = [{ name: 'not' }, { name: 'end' }];
    b.emit`s_mov_${b.maskBits} ${b.exec}, ${mask}`;
    b.emit`s_cbranch_execz ${not!}`;
    this.#within({ exec: mask, isOneLane: false }, body);
    b.place(not!);
    if (otherwise) {
      b.emit`s_andn2_${b.maskBits} ${b.exec}, ${exec}, ${mask}`;
      b.emit`s_cbranch_execz ${end!}`;
      this.#within({ exec: undefined, isOneLane: false }, otherwise);
      b.place(end!);
    }
    this.#saving(() => b.emit`s_mov_${b.maskBits} ${b.exec}, ${exec}`);
  }

  forEachActiveLane(body: (lane: Uniform) => void): void {
    const b = this.#b;
    this.#requireLanes();
    const exec = this.#exec();
    const [rest, lane] = [b.mask(), b.scalar()];
    const [again, end]: PayloadLabel[] = [{ name: 'again' }, { name: 'end' }];
    b.emit`s_mov_${b.maskBits} ${rest}, ${exec}`;
    b.place(again!);
    b.emit`s_cmp_eq_u${b.code.waveSize} ${rest}, 0`;
    b.emit`s_cbranch_scc1 ${end!}`;
    b.emit`s_ff1_i32_${b.maskBits} ${lane}, ${rest}`;
    b.emit`s_bitset0_${b.maskBits} ${rest}, ${lane}`;
    this.#within({ ...this.#scope }, () => body(compiled('uniform', [scalarPiece(low(lane))])));
    b.emit`s_branch ${again!}`;
    b.place(end!);
  }

  #within(scope: LaneScope, body: () => void): void {
    this.#scopes.push(scope);
    body();
    this.#scopes.pop();
  }

  /** What is emitted keeps what the application needs. */
  #saving(emit: () => void): void {
    this.#b.purpose = 'save';
    emit();
    this.#b.purpose = 'body';
  }

  /** EXEC as it is in the scope, in scalar registers. */
  #exec(): VirtualRegister {
    const scope = this.#scope;
    const b = this.#b;
    if (!scope.exec) {
      const copy = b.mask();
      this.#saving(() => b.emit`s_mov_${b.maskBits} ${copy}, ${b.exec}`);
      scope.exec = copy;
    }
    return scope.exec;
  }

  #usable<V extends HookValue>(value: V): V {
    if (value.spread === 'lane') this.#requireLanes();
    return value;
  }

  #requireLanes(): void {
    if (!this.#scope.isOneLane) return;
    throw new WavewrightError('USAGE', 'what a hook does once per wave cannot use values of lanes', {
      hint: 'do it outside of oncePerWave, or read a lane with readLane',
    });
  }
}
