/** Operands of the text as operands of the machine, held against what the form takes. */
import type { StepOperand } from '../../ir/step.ts';
import { PLACES } from '../machine/places.ts';
import { bitsOf, isFloatType, isSigned, type PtxType } from '../machine/types.ts';
import { convertedBits } from '../text/constant.ts';
import type { PtxSource } from '../text/source.ts';
import type { AddressOperand, Constant, ConstantOperand, NameOperand, PtxOperand } from '../text/syntax.ts';
import { constant, type LirOperand } from './lir.ts';
import type { NamePlace, Scope } from './scope.ts';

/** Special registers that stand somewhere, or are numbers (PTX ISA chapter 10). */
const PLACED: ReadonlyMap<string, StepOperand> = new Map(
  Object.entries<StepOperand>({
    ...Object.fromEntries(
      (['tid', 'ntid', 'ctaid', 'nctaid'] as const).flatMap((name) =>
        ['.x', '.y', '.z'].map((part, i) => [`%${name}${part}`, PLACES[name][i]!]),
      ),
    ),
    '%warpid': PLACES.warpid,
    '%nwarpid': PLACES.nwarpid,
    '%gridid': PLACES.gridid,
    '%total_smem_size': PLACES.totalShared,
    '%dynamic_smem_size': PLACES.dynamicShared,
    // A block is a cluster of its own.
    ...Object.fromEntries(
      ['.x', '.y', '.z'].flatMap((part, i) => [
        [`%clusterid${part}`, PLACES.ctaid[i]!],
        [`%nclusterid${part}`, PLACES.nctaid[i]!],
        [`%cluster_ctaid${part}`, constant(0)],
        [`%cluster_nctaid${part}`, constant(1)],
      ]),
    ),
    '%cluster_ctarank': constant(0),
    '%cluster_nctarank': constant(1),
    '%is_explicit_cluster': constant(0),
    '%aggr_smem_size': PLACES.totalShared,
    '%current_graph_exec': constant(0),
    '%smid': constant(0),
    '%nsmid': constant(1),
    ...Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`%envreg${i}`, constant(0)])),
    ...Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`%pm${i}`, constant(0)])),
  }),
);

/** What the elements of a vector are called (PTX ISA 6.4.3). */
const COMPONENTS: readonly (readonly string[])[] = [
  ['.x', '.r'],
  ['.y', '.g'],
  ['.z', '.b'],
  ['.w', '.a'],
];

/** Special registers that an instruction of the machine reads. */
const COMPUTED = new Set([
  ...['laneid', 'lanemask_eq', 'lanemask_lt', 'lanemask_le', 'lanemask_gt', 'lanemask_ge'],
  ...['clock', 'clock_hi', 'clock64', 'globaltimer', 'globaltimer_lo', 'globaltimer_hi'],
]);

/** The name of a special register that a `special` instruction reads. */
export const computedRegister = ({ name, component }: NameOperand): string | undefined =>
  component === undefined && COMPUTED.has(name.slice(1)) && name.startsWith('%') ? name.slice(1) : undefined;

export class OperandReader {
  readonly #source: PtxSource;
  readonly #scope: Scope;
  readonly #opcode: string;
  /** What was asked for last, which is often asked for again. */
  #name: string | undefined;
  #place: NamePlace | undefined;

  constructor(source: PtxSource, scope: Scope, opcode: string) {
    this.#source = source;
    this.#scope = scope;
    this.#opcode = opcode;
  }

  #find(name: string): NamePlace | undefined {
    if (name !== this.#name) {
      this.#place = this.#scope.find(name);
      this.#name = name;
    }
    return this.#place;
  }

  fail(offset: number, what: string): never {
    throw this.#source.error(offset, `${what} of '${this.#opcode}'`);
  }

  /** `isExact`: only registers as wide as the type; others may be wider. */
  write(operand: NameOperand | ConstantOperand, type: PtxType, isExact: boolean): LirOperand {
    if (operand.kind !== 'name') return this.fail(operand.offset, 'a number as a destination');
    if (operand.name === '_') return constant(0);
    const place = this.#registerOf(operand);
    if (place?.kind !== 'register') return this.fail(operand.offset, `no register '${operand.name}' as a destination`);
    this.#checkType(place.declared.type, type, isExact, operand);
    return place.declared.register;
  }

  read(operand: NameOperand | ConstantOperand, type: PtxType, isExact: boolean): LirOperand {
    if (operand.kind === 'constant') return constant(this.bits(operand.constant, type, operand.offset));
    const { name, component = '', addend, offset } = operand;
    const special = PLACED.get(component === '' ? name : `${name}${component}`);
    if (special) return special;
    const place = this.#registerOf(operand);
    if (!place) return this.fail(offset, `unknown name '${name}${component}'`);
    switch (place.kind) {
      case 'register':
        if (addend !== 0n || (component !== '' && this.#find(name) === place))
          this.fail(offset, `an operand '${name}${component}' with a number`);
        this.#checkType(place.declared.type, type, isExact, operand);
        return place.declared.register;
      case 'shared':
        return constant(BigInt(place.offset) + addend);
      case 'symbol':
        return { kind: 'symbol', name: place.name, addend };
      default:
        return this.fail(offset, `'${name}' as an operand`);
    }
  }

  /** What a name is; the component of a vector is a register. */
  #registerOf({ name, component = '' }: NameOperand): NamePlace | undefined {
    const place = this.#find(name);
    if (place?.kind !== 'vector') return place;
    const declared = place.elements[COMPONENTS.findIndex((names) => names.includes(component))];
    return declared && { kind: 'register', declared };
  }

  /** The elements of a vector, in braces or declared as one; undefined for a single value. */
  elementsOf(operand: PtxOperand): readonly (NameOperand | ConstantOperand)[] | undefined {
    if (operand.kind === 'vector') return operand.elements;
    if (operand.kind !== 'name' || operand.component !== undefined) return undefined;
    const place = this.#find(operand.name);
    if (place?.kind !== 'vector') return undefined;
    return place.elements.map((_, i) => ({ ...operand, component: COMPONENTS[i]![0]! }));
  }

  /** Base and number of an address. */
  address({ base, addend, coordinates, offset }: AddressOperand): readonly [LirOperand, StepOperand] {
    if (coordinates.length > 0) this.fail(offset, 'coordinates');
    if (base === undefined) return [constant(0), constant(addend)];
    return this.placeOf(base, addend, offset);
  }

  /** Base and number of where a variable is, or what a register points to. */
  placeOf(name: string, addend: bigint, offset: number): readonly [LirOperand, StepOperand] {
    const place = this.#find(name);
    switch (place?.kind) {
      case 'register':
        if (isFloatType(place.declared.type) || place.declared.type === 'pred')
          this.fail(offset, `an address in '${name}'`);
        return [place.declared.register, constant(addend)];
      case 'frame':
        return [PLACES.frame, constant(BigInt(place.offset) + addend)];
      case 'parameter':
        return [PLACES.parameters, constant(BigInt(place.offset) + addend)];
      case 'shared':
        return [constant(0), constant(BigInt(place.offset) + addend)];
      case 'symbol':
        return [{ kind: 'symbol', name: place.name, addend: 0n }, constant(addend)];
      default:
        return this.fail(offset, `unknown name '${name}'`);
    }
  }

  /** Where a variable is that has offsets of its own there; undefined for generic addresses. */
  spaceOf({ base }: AddressOperand): 'local' | 'shared' | undefined {
    const kind = base === undefined ? undefined : this.#find(base)?.kind;
    if (kind === 'shared') return 'shared';
    return kind === 'frame' ? 'local' : undefined;
  }

  /** Whether a name is a variable of the lane or the kernel, whose address is a sum. */
  isPlaced({ name }: NameOperand): boolean {
    const kind = this.#find(name)?.kind;
    return kind === 'frame' || kind === 'parameter';
  }

  /** 64 bits of a number in an operand of the type. */
  bits(value: Constant, type: PtxType, offset: number): bigint {
    if (value.kind === 'integer') {
      if (isFloatType(type)) this.fail(offset, `an integer as ${type}`);
      return value.value;
    }
    if (type === 'f16' || type === 'bf16') this.fail(offset, `a number of ${value.sizeBits} bits as ${type}`);
    if (isFloatType(type)) return convertedBits(value.bits, value.sizeBits, bitsOf(type) === 64 ? 64 : 32);
    if (type.startsWith('b') && bitsOf(type) === value.sizeBits) return value.bits;
    return this.fail(offset, `a float as ${type}`);
  }

  /** Types of registers count by their size (PTX ISA 9.4); loads, stores and conversions take wider ones. */
  #checkType(declared: PtxType, type: PtxType, isExact: boolean, { name, offset }: NameOperand): void {
    const [own, wanted] = [bitsOf(declared), bitsOf(type)];
    const isOther = (isFloatType(declared) && isSigned(type)) || (isFloatType(type) && isSigned(declared));
    if ((own === wanted && !isOther) || (!isExact && own > wanted && wanted > 1)) return;
    this.fail(offset, `register '${name}' of type .${declared}, expected .${type},`);
  }
}
