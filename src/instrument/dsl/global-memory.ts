/** Accesses of hooks to global memory, and the one place that knows where the variables of a tool are. */
import type { Target } from '../../isa/amdgpu/encoding/targets.ts';
import type { PointLiteral } from '../layout/payload-code.ts';
import type { VirtualRegister } from '../machine/machine-code.ts';
import { high, type PayloadBuilder, part, type RegisterPart } from '../machine/payload-builder.ts';
import { compiled, piecesOf } from './arithmetic.ts';
import type { AtomicOperator, Bits, HookValue, Spread, Uniform } from './hook.ts';
import { constantPiece, type Piece, type Pieces, pairOf, vectorPiece } from './pieces.ts';

/** Where the variables of a tool are. */
export interface VariablePlace {
  /**
   * The first of two SGPRs that hold the address of a variable in the whole kernel; where there are none, the
   * address is a literal.
   */
  readonly addressOf?: (symbol: string) => number | undefined;
}

/** An address as instructions take it: their operands and modifiers. */
interface Address {
  readonly vector: RegisterPart | VirtualRegister | string;
  readonly scalar: VirtualRegister | string;
  readonly offset: number;
}

/** Offsets that all targets have (RDNA2 ISA 12.14: 12 bits with a sign). */
const MAX_OFFSET = 2047;

/** The address of a variable, behind a register that holds that of its symbol. */
interface Variable extends Uniform<64> {
  readonly base: string;
  readonly addend: number | PointLiteral;
}

export class GlobalMemory {
  readonly #b: PayloadBuilder;
  readonly #pieces: Pieces;
  readonly #place: VariablePlace;
  readonly #sparesVectors: boolean;
  /** Whether it is, or would be, other code that takes fewer vector registers, but more scalar ones. */
  canSpareVectors = false;

  constructor(b: PayloadBuilder, pieces: Pieces, place: VariablePlace, sparesVectors: boolean) {
    this.#b = b;
    this.#pieces = pieces;
    this.#place = place;
    this.#sparesVectors = sparesVectors;
  }

  variable(symbol: string, addend: number | PointLiteral): Uniform<64> {
    const first = this.#place.addressOf?.(symbol);
    const halves = (['low', 'high'] as const).map(
      (half): Piece => ({ kind: 'literal', literal: { half, symbol, addend } }),
    );
    const value: Uniform<64> = compiled('uniform', halves);
    if (first === undefined) return value;
    const variable: Variable = { ...value, base: `s[${first}:${first + 1}]`, addend };
    return variable;
  }

  load(address: HookValue<Spread, 64>, bits: Bits): readonly Piece[] {
    const { vector, scalar, offset } = this.#address(address);
    const result = this.#b.vector(bits / 32);
    const name = bits === 32 ? 'global_load_dword' : 'global_load_dwordx2';
    this.#b.emit`${name} ${result}, ${vector}, ${scalar}${offsetText(offset)}${this.#scope('load')}`;
    return Array.from({ length: result.dwords }, (_, i) => vectorPiece(part(result, i)));
  }

  store(address: HookValue<Spread, 64>, value: HookValue<Spread, Bits>): void {
    const { data, zero } = this.#data(value);
    const { vector, scalar, offset } = this.#address(address, zero);
    const name = value.bits === 32 ? 'global_store_dword' : 'global_store_dwordx2';
    this.#b.emit`${name} ${vector}, ${data}, ${scalar}${offsetText(offset)}`;
  }

  atomic(operator: AtomicOperator, address: HookValue<Spread, 64>, value: HookValue<Spread, Bits>): void {
    const { data, zero } = this.#data(value);
    const { vector, scalar, offset } = this.#address(address, zero);
    const name = `global_atomic_${operator}${value.bits === 32 ? '' : '_x2'}`;
    this.#b.emit`${name} ${vector}, ${data}, ${scalar}${offsetText(offset)}${this.#scope('atomic')}`;
  }

  /** Adds, and gives what was there before. */
  fetchAdd(address: HookValue<Spread, 64>, value: HookValue<Spread, Bits>): readonly Piece[] {
    const { data, zero } = this.#data(value);
    const { vector, scalar, offset } = this.#address(address, zero);
    const result = this.#b.vector(value.bits / 32);
    const name = `global_atomic_add${value.bits === 32 ? '' : '_x2'}`;
    const returns = this.#returns();
    this.#b.emit`${name} ${result}, ${vector}, ${data}, ${scalar}${offsetText(offset)}${returns}`;
    return Array.from({ length: result.dwords }, (_, i) => vectorPiece(part(result, i)));
  }

  /** What lets an atomic give the old value (CDNA3 ISA 9.1.10, SC0; RDNA4 ISA 10.9, TH). */
  #returns(): string {
    const { families } = this.#b.code.target;
    if (families.includes('gfx12')) return ' th:TH_ATOMIC_RETURN scope:SCOPE_DEV';
    return families.includes('gfx940') ? ' sc0' : ' glc';
  }

  /** The data, and a register of it that holds 0. */
  #data(value: HookValue<Spread, Bits>) {
    const pieces = piecesOf(value);
    if (pieces.length === 1) return { data: this.#pieces.vector(pieces[0]!), zero: undefined };
    const data = this.#pieces.vectorPair(pieces);
    const top = pieces[1]!;
    const isZero = top.kind === 'constant' && top.value === 0 && typeof data !== 'string';
    return { data, zero: isZero ? high(data) : undefined };
  }

  #address(address: HookValue<Spread, 64>, zero?: RegisterPart): Address {
    const pieces = piecesOf(address);
    if (zero && pieces.every(({ kind }) => kind === 'literal') && !this.#isNear(address)) {
      this.canSpareVectors = true;
      if (this.#sparesVectors) return { vector: zero, scalar: this.#pieces.scalarPair(pieces), offset: 0 };
    }
    if (isVariable(address)) return this.#behind(address.base, address.addend, zero);
    const pair = pairOf(pieces, 'scalar');
    if (pair) return this.#behind(pair, 0, zero);
    return { vector: this.#pieces.vectorPair(pieces), scalar: 'off', offset: 0 };
  }

  /** Whether it is in reach of a base that is in registers already. */
  #isNear(address: HookValue<Spread, 64>): boolean {
    return isVariable(address) && isOffset(address.addend);
  }

  /** An address in scalar registers takes a vector register with what is added to it. */
  #behind(scalar: VirtualRegister | string, addend: number | PointLiteral, zero: RegisterPart | undefined): Address {
    const offset = isOffset(addend) ? addend : 0;
    if (isOffset(addend) && zero) return { vector: zero, scalar, offset };
    const piece: Piece =
      typeof addend === 'number' ? constantPiece(addend - offset) : { kind: 'literal', literal: addend };
    return { vector: this.#pieces.vector(piece), scalar, offset };
  }

  /**
   * What makes an access see, and show, what others do on the whole device (LLVM AMDGPU usage, "Memory
   * Model").
   */
  #scope(access: 'load' | 'atomic'): string {
    const { target } = this.#b.code;
    if (access === 'atomic') return atomicScope(target);
    if (target.families.includes('gfx12')) return ' scope:SCOPE_DEV';
    return target.families.includes('gfx940') ? ' sc1' : ' glc';
  }
}

/** What makes an atomic that gives nothing back one of the whole device. */
export const atomicScope = ({ families }: Target): string => (families.includes('gfx12') ? ' scope:SCOPE_DEV' : '');

const isOffset = (addend: number | PointLiteral): addend is number =>
  typeof addend === 'number' && addend >= 0 && addend <= MAX_OFFSET;
const isVariable = (value: HookValue): value is Variable => 'base' in value;
const offsetText = (offset: number): string => (offset === 0 ? '' : ` offset:${offset}`);
