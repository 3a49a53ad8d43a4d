/**
 * Where an instruction accesses memory, as values of a hook: what its meaning computes addresses with becomes
 * code of the hook, so that all formats, offsets and descriptors are those of the rows.
 */
import { WavewrightError } from '../../base/errors.ts';
import { fromConstant } from '../../ir/folding.ts';
import type { Evaluated } from '../../ir/op.ts';
import { OPS } from '../../ir/ops.ts';
import type { OperandDword, Program, Value, ValueOf } from '../../ir/types.ts';
import { meaningOf } from '../../isa/amdgpu/effects/meaning.ts';
import type { Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import type { AmdgpuStep } from '../../isa/amdgpu/step.ts';
import type { PhysicalRange } from '../machine/machine-code.ts';
import type { HookBuilder, HookCondition, HookOperator, HookValue, ShiftOperator, Spread } from './hook.ts';
import { isInline } from './pieces.ts';

/** An access that an instruction makes in each of its active lanes, or in scalar memory once for its wave. */
export interface CodeAccess {
  readonly kind: 'load' | 'store' | 'atomic';
  readonly space: 'global' | 'flat' | 'lds' | 'private';
  readonly sizeBytes: number;
  /**
   * Where: a text that is the same for accesses whose addresses the same code computes, but for `literals`
   * and `registers`. Undefined where a hook cannot compute it.
   */
  readonly place: string | undefined;
  /** Vector registers and SGPRs, one dword each, in the order of `place`. */
  readonly registers: readonly PhysicalRange[];
  /** Dwords of offsets and the like that instructions have as literals, in the order of `place`. */
  readonly literals: readonly number[];
  readonly instruction: Instruction;
  readonly address: Value;
  /** One of them is on where a lane makes the access; none: all lanes that are on do. */
  readonly predicates: readonly Value[];
}

export interface HookPlace {
  /** In the LDS and in private memory its upper half is 0. */
  readonly address: HookValue<Spread, 64>;
  /**
   * Whether a lane that is on makes the access: buffers leave out what is behind their end. Undefined: it
   * does.
   */
  readonly condition: HookCondition | undefined;
}

type Narrow = HookValue<Spread, 32>;
type Wide = HookValue<Spread, 64>;
type AccessKind = CodeAccess['kind'];

const isAccess = (value: Value): value is ValueOf<AccessKind> =>
  value.leaf.kind === 'load' || value.leaf.kind === 'store' || value.leaf.kind === 'atomic';
const isRare = ({ leaf }: ValueOf<AccessKind>): boolean => 'isRare' in leaf && leaf.isRare;
const predicatesOf = ({ leaf, args }: ValueOf<AccessKind>): readonly Value[] => (leaf.predicated ? [args.at(-1)!] : []);

const NO_ACCESSES: readonly CodeAccess[] = [];
const accessesOfSteps = new WeakMap<Instruction, readonly CodeAccess[]>();

/**
 * The accesses of lanes in the order in which the instruction makes them; none where its meaning is not
 * known. An access of several dwords through a buffer is one for each dword, because each is checked alone.
 * One that is made in parts, where a dword of a swizzled buffer lies in two elements, counts where it begins.
 */
export function accessesOfLanes(step: AmdgpuStep): readonly CodeAccess[] {
  if (step.effects.memory.length === 0) return NO_ACCESSES;
  // Steps of one encoding share their instruction.
  const { instruction } = step;
  let accesses = accessesOfSteps.get(instruction);
  if (!accesses) {
    accesses = accessesBy('lanes', instruction, step.meaning);
    accessesOfSteps.set(instruction, accesses);
  }
  return accesses;
}

/** Those of lanes; of an instruction that has none, those in scalar memory, once for the wave. */
export function accessesOf(instruction: Instruction): readonly CodeAccess[] {
  const meaning = meaningOf(instruction);
  const accesses = accessesBy('lanes', instruction, meaning);
  return accesses.length > 0 ? accesses : accessesBy('wave', instruction, meaning);
}

function accessesBy(who: 'lanes' | 'wave', instruction: Instruction, meaning: Program | undefined): CodeAccess[] {
  const accesses = (meaning?.values ?? []).filter(isAccess).filter(({ lane }) => lane === (who === 'lanes'));
  const parts = accesses.filter(isRare);
  return accesses
    .filter((each) => !isRare(each))
    .map((each) => {
      const { leaf, args } = each;
      const own = predicatesOf(each);
      const begins = parts.filter((part) => part.leaf.kind === leaf.kind && part.args[0] === args[0]);
      const predicates = own.length > 0 ? [...own, ...begins.flatMap(predicatesOf)] : [];
      const { text, literals, registers } = placeOf([args[0]!, ...predicates], instruction);
      return {
        ...{ kind: leaf.kind, space: leaf.space, sizeBytes: leaf.sizeBytes },
        ...{ place: text && `${leaf.space} ${text}`, literals: literals.map(({ number }) => number), registers },
        ...{ instruction, address: args[0]!, predicates },
      };
    });
}

/**
 * In a hook before the instruction. `firstLiteral`: the point's literals from this one on are those of the
 * access, and its registers are all of the point's, so that the code is for all accesses with its `place`;
 * without it they are constants and registers of the code. Throws UNSUPPORTED for what has no `place`.
 */
export function placeIn(b: HookBuilder, access: CodeAccess, firstLiteral?: number): HookPlace {
  const { instruction, address, predicates } = access;
  const translator = new Translator(b, instruction);
  if (firstLiteral !== undefined) translator.nameOwn([address, ...predicates], firstLiteral);
  const flags = predicates.map((predicate) => translator.narrow(predicate));
  const [first, ...others] = flags;
  const flag = first && others.reduce((all, each) => b.binary('or', all, each), first);
  return {
    address: translator.wide(address),
    condition: flag && b.compare('ne', flag, b.constant(0)),
  };
}

/** Dword `dword` of a value that is known, which instructions have as a literal. */
interface LiteralDword {
  readonly of: Value;
  readonly dword: number;
  readonly number: number;
}

interface Place {
  /** Undefined where the translator does not know how. */
  readonly text: string | undefined;
  readonly literals: readonly LiteralDword[];
  readonly registers: readonly PhysicalRange[];
}

/** What the values are computed of. */
function placeOf(values: readonly Value[], instruction: Instruction): Place {
  const registers: PhysicalRange[] = [];
  const constants = new Constants(instruction);
  const numbers = new Map<Value, number>();
  const parts: string[] = [];
  const literals: LiteralDword[] = [];
  let isKnown = true;
  const visit = (value: Value): number => {
    let number = numbers.get(value);
    if (number !== undefined) return number;
    const { leaf, args } = value;
    const dwords = constants.dwordsOf(value);
    if (dwords) {
      const texts = dwords.map((each, dword) =>
        isInline(each) ? `${each}` : `literal ${literals.push({ of: value, dword, number: each })}`,
      );
      number = parts.push(`constant ${texts.join(' ')}`) - 1;
    } else {
      const of = args.map(visit);
      isKnown &&= isTranslated(value, instruction);
      const source = leaf.kind === 'operand' ? operandText(leaf.at, instruction, registers) : leafText(value);
      number = parts.push(`${source} ${of.join()}`) - 1;
    }
    numbers.set(value, number);
    return number;
  };
  const roots = values.map(visit);
  return { text: isKnown ? `${roots.join()}: ${parts.join('; ')}` : undefined, literals, registers };
}

function leafText({ leaf }: Value): string {
  if (leaf.kind === 'pure') return leaf.op;
  return leaf.kind === 'state' ? leaf.slot : leaf.kind;
}

/** Adds the register to those that the place names, where it is one that points can name. */
function operandText(at: OperandDword, instruction: Instruction, registers: PhysicalRange[]): string {
  const operand = instruction.operand(at.operand);
  if (!('register' in operand)) return operand.kind;
  const range = nameable(at, instruction);
  if (!range) return `${operand.kind === 'vector' ? 'accumulator' : operand.kind} ${operand.register + at.dword}`;
  const known = indexOf(registers, range);
  return `${range.file} #${known < 0 ? registers.push(range) - 1 : known}`;
}

/** An operand that is a vector register or an SGPR with a number. */
function nameable({ operand: index, dword }: OperandDword, instruction: Instruction): PhysicalRange | undefined {
  const operand = instruction.operand(index);
  if (operand.kind !== 'vector' && operand.kind !== 'scalar') return undefined;
  const first = operand.register + dword;
  const isNameable = operand.kind === 'vector' ? !operand.accumulator : first < instruction.scalars.sgprCount;
  return isNameable ? { file: operand.kind, first, dwords: 1 } : undefined;
}

const indexOf = (ranges: readonly PhysicalRange[], { file, first }: PhysicalRange): number =>
  ranges.findIndex((each) => each.file === file && each.first === first);

const constantDword = (value: bigint, dword: number): number => Number(BigInt.asUintN(32, value >> BigInt(32 * dword)));

function isTranslated({ leaf }: Value, instruction: Instruction): boolean {
  switch (leaf.kind) {
    case 'const':
    case 'laneId':
      return true;
    case 'operand':
      return instruction.operand(leaf.at.operand).kind !== 'special';
    case 'state':
      return leaf.slot === 'm0';
    case 'pure':
      return isOperator(leaf.op) || isShift(leaf.op) || comparisonOf(leaf.op) !== undefined || isOther(leaf.op);
    default:
      return false;
  }
}

const OPERATORS = {
  ...({ 'i32.add': 'add', 'i32.sub': 'sub', 'i32.and': 'and', 'i32.or': 'or', 'i32.xor': 'xor' } as const),
  ...({ 'i64.add': 'add', 'i64.sub': 'sub', 'i64.and': 'and', 'i64.or': 'or', 'i64.xor': 'xor' } as const),
  ...({ 'i1.and': 'and', 'i1.or': 'or', 'i1.xor': 'xor' } as const),
} satisfies Readonly<Record<string, HookOperator>>;
const SHIFTS = {
  ...({ 'i32.shl': 'shl', 'i32.shrU': 'shrU', 'i32.shrS': 'shrS' } as const),
  ...({ 'i64.shl': 'shl', 'i64.shrU': 'shrU', 'i64.shrS': 'shrS' } as const),
} satisfies Readonly<Record<string, ShiftOperator>>;
const COMPARISONS = { eq: 'eq', ltU: 'ltU', ltS: 'ltS' } as const;
const SIGN = 31;

const isOperator = (op: string): op is keyof typeof OPERATORS => Object.hasOwn(OPERATORS, op);
const isShift = (op: string): op is keyof typeof SHIFTS => Object.hasOwn(SHIFTS, op);
const isOther = (op: string): op is keyof typeof OTHERS => Object.hasOwn(OTHERS, op);

function comparisonOf(op: string): 'eq' | 'ltU' | 'ltS' | undefined {
  const [type, name = ''] = op.split('.');
  const isComparison = (key: string): key is keyof typeof COMPARISONS => Object.hasOwn(COMPARISONS, key);
  return type !== 'i1' && isComparison(name) ? COMPARISONS[name] : undefined;
}

/** What is neither an operator nor a shift nor a comparison. */
const OTHERS = {
  'i32.mul': (b, t, [x, y]) => b.multiply(t.narrow(x!), t.narrow(y!)),
  'i64.mul': (b, t, [x, y]) => product(b, t.wide(x!), t.wide(y!)),
  'i64.pack': (b, t, [x, y]) => b.pack(t.narrow(x!), t.narrow(y!)),
  'i64.low': (b, t, [x]) => b.low(t.wide(x!)),
  'i64.high': (b, t, [x]) => b.high(t.wide(x!)),
  'i64.zext32': (b, t, [x]) => b.pack(t.narrow(x!), b.constant(0)),
  'i64.sext32': (b, t, [x]) => b.pack(t.narrow(x!), b.shift('shrS', t.narrow(x!), b.constant(SIGN))),
  'i1.not': (b, t, [x]) => b.binary('xor', t.narrow(x!), b.constant(1)),
  'i32.select': (b, t, [x, y, z]) => b.select(t.condition(x!), t.narrow(y!), t.narrow(z!)),
  'i64.select': (b, t, [x, y, z]) => b.select(t.condition(x!), t.wide(y!), t.wide(z!)),
  'i32.maxU': (b, t, [x, y]) => greater(b, t.narrow(x!), t.narrow(y!)),
} satisfies Record<string, (b: HookBuilder, t: Translator, args: readonly Value[]) => Narrow | Wide>;

const greater = (b: HookBuilder, x: Narrow, y: Narrow): Narrow => b.select(b.compare('ltU', x, y), y, x);

function product(b: HookBuilder, x: Wide, y: Wide): Wide {
  const [low, high] = [[b.low(x), b.low(y)] as const, [b.high(x), b.high(y)] as const];
  const crossed = b.binary('add', b.multiply(low[0], high[1]), b.multiply(high[0], low[1]));
  return b.pack(b.multiply(...low), b.binary('add', b.multiplyHigh(...low), crossed));
}

/** What the constants of an instruction alone make. */
class Constants {
  readonly #instruction: Instruction;
  readonly #known = new Map<Value, Evaluated | undefined>();

  constructor(instruction: Instruction) {
    this.#instruction = instruction;
  }

  /** As numbers with a sign; undefined for a value that is none of them. */
  dwordsOf(value: Value): readonly number[] | undefined {
    const constant = this.of(value);
    if (constant === undefined) return undefined;
    const dwords = value.type === 'i64' ? 2 : 1;
    return Array.from({ length: dwords }, (_, i) => constantDword(BigInt(constant), i) | 0);
  }

  of(value: Value): Evaluated | undefined {
    if (this.#known.has(value)) return this.#known.get(value);
    const found = this.#evaluate(value);
    this.#known.set(value, found);
    return found;
  }

  #evaluate({ leaf, type, args }: Value): Evaluated | undefined {
    if (leaf.kind === 'const') return fromConstant(leaf.value, type);
    if (leaf.kind === 'operand') {
      const operand = this.#instruction.operand(leaf.at.operand);
      if (operand.kind === 'constant') return constantDword(operand.value, leaf.at.dword) | 0;
      return operand.kind === 'off' || operand.kind === 'null' ? 0 : undefined;
    }
    if (leaf.kind !== 'pure') return undefined;
    const known = args.map((arg) => this.of(arg)).filter((each) => each !== undefined);
    if (known.length < args.length) return undefined;
    // reason: the table erases signatures.
    return (OPS[leaf.op].evaluate as (...each: readonly Evaluated[]) => Evaluated)(...known);
  }
}

/** Values of ir to values of a hook: conditions have 32 bits, 0 or 1. */
class Translator {
  readonly #b: HookBuilder;
  readonly #instruction: Instruction;
  readonly #known = new Map<Value, Narrow | Wide>();
  readonly #constants: Constants;
  /** By value, for its dwords: literals of the point. */
  readonly #literals = new Map<Value, Map<number, number>>();
  /** Those that the point names. */
  #registers: readonly PhysicalRange[] = [];

  constructor(b: HookBuilder, instruction: Instruction) {
    this.#b = b;
    this.#instruction = instruction;
    this.#constants = new Constants(instruction);
  }

  /** What instructions have as literals and registers is asked of the point, from its literal `first` on. */
  nameOwn(values: readonly Value[], first: number): void {
    const { literals, registers } = placeOf(values, this.#instruction);
    this.#registers = registers;
    for (const [index, { of, dword }] of literals.entries()) {
      this.#literals.set(of, (this.#literals.get(of) ?? new Map()).set(dword, first + index));
    }
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

  condition(flag: Value): HookCondition {
    return this.#b.compare('ne', this.narrow(flag), this.#b.constant(0));
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
    const known = this.#constants.dwordsOf(value);
    if (known) {
      const literals = this.#literals.get(value);
      const [low, high] = known.map((number, dword) => {
        const literal = literals?.get(dword);
        return literal === undefined ? b.constant(number) : b.pointLiteral(literal);
      });
      return high ? b.pack(low!, high) : low!;
    }
    switch (leaf.kind) {
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

  #operand(at: OperandDword, value: Value): Narrow {
    const { operand: index, dword } = at;
    const operand = this.#instruction.operand(index);
    const range = nameable(at, this.#instruction);
    const named = range ? indexOf(this.#registers, range) : -1;
    if (named >= 0) return range!.file === 'vector' ? this.#b.pointVector(named) : this.#b.pointScalar(named);
    switch (operand.kind) {
      case 'vector':
        return operand.accumulator
          ? this.#b.accumulator(operand.register + dword)
          : this.#b.vector(operand.register + dword);
      case 'scalar':
        return this.#b.scalar(operand.register + dword);
    }
    throw this.#unsupported(value);
  }

  #pure(op: string, value: Value): Narrow | Wide {
    const b = this.#b;
    const [x, y] = value.args;
    const isWide = op.startsWith('i64.');
    if (op === 'i32.add' || op === 'i64.add') {
      const isZero = (addend: Value): boolean => Number(this.#constants.of(addend) ?? 1) === 0;
      if (isZero(x!) || isZero(y!)) return this.#value(isZero(x!) ? y! : x!);
    }
    if (isOperator(op)) {
      if (isWide) return b.binary(OPERATORS[op], this.wide(x!), this.wide(y!));
      return b.binary(OPERATORS[op], this.narrow(x!), this.narrow(y!));
    }
    if (isShift(op)) {
      const amount = this.narrow(y!);
      return isWide ? b.shift(SHIFTS[op], this.wide(x!), amount) : b.shift(SHIFTS[op], this.narrow(x!), amount);
    }
    const comparison = comparisonOf(op);
    if (comparison) {
      const condition =
        x!.type === 'i64'
          ? b.compare(comparison, this.wide(x!), this.wide(y!))
          : b.compare(comparison, this.narrow(x!), this.narrow(y!));
      return b.select(condition, b.constant(1), b.constant(0));
    }
    if (isOther(op)) return OTHERS[op](b, this, value.args);
    throw this.#unsupported(value);
  }

  #unsupported({ leaf }: Value): WavewrightError {
    const what = leaf.kind === 'pure' ? leaf.op : leaf.kind;
    return new WavewrightError('UNSUPPORTED', `addresses of '${this.#instruction.name}' in hooks: ${what}`);
  }
}
