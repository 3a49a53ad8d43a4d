/**
 * What a leaf is as text, in one word: its kind and, behind dots, what else it holds. Arguments and blocks
 * stand apart.
 */
import { hex } from '../base/text.ts';
import type { LeafKind } from './leaves.ts';
import type { MatrixProduct } from './matrix-product.ts';
import { OPS, type OpName } from './ops.ts';
import type { ExitReason, Leaf, LeafOf, MemorySpace, OperandDword, StateSlot, Type, Update } from './types.ts';

const SPACES: readonly MemorySpace[] = ['global', 'flat', 'lds', 'private'];
const SLOTS: readonly StateSlot[] = [
  ...(['scc', 'exec', 'vcc', 'm0', 'mode', 'status', 'trapsts'] as const),
  ...(['flatScratchLow', 'flatScratchHigh', 'request'] as const),
];
const REASONS: readonly ExitReason[] = [
  'end',
  'barrier',
  'sleep',
  'trap',
  'interrupt',
  'turn',
  'gws-init',
  'gws-barrier',
  'named-barrier',
];

/** Constants from here on are hexadecimal. */
const SMALL = 4096n;

/** What does not fit its type is shown as it is: that it is wrong is for `problemsOf` to say. */
export function formatConstant(value: bigint, type: Type | 'void'): string {
  const isSigned = type === 'i32' && BigInt.asIntN(32, value) === value;
  const bits = isSigned ? BigInt.asUintN(32, value) : value;
  const isSmall = value > -SMALL && value < SMALL;
  return isSmall || BigInt.asUintN(64, bits) !== bits ? String(value) : hex(bits);
}

export const formatOperand = ({ operand, dword }: OperandDword): string => `op${operand}[${dword}]`;

/** What stands behind the arguments. */
export interface Tail {
  readonly predicated: boolean;
  readonly isRare: boolean;
  readonly product?: MatrixProduct;
  readonly update?: Update;
}

/** The parts of a word behind the kind, one after the other. What is missing or wrong goes to `fail`. */
export class WordParts {
  readonly #parts: string[];
  readonly fail: (what: string) => never;

  constructor(parts: readonly string[], fail: (what: string) => never) {
    this.#parts = [...parts];
    this.fail = fail;
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  number(): number {
    const part = this.#parts.shift();
    return part && /^\d{1,4}$/.test(part) ? Number(part) : this.fail(`expected a number, got '${part ?? ''}'`);
  }

  oneOf<T extends string>(words: readonly T[]): T {
    const part = this.#parts.shift();
    return words.find((word) => word === part) ?? this.fail(`expected one of ${words.join(' ')}, got '${part ?? ''}'`);
  }

  operand(): OperandDword {
    const part = this.#parts.shift() ?? '';
    return parseOperand(part) ?? this.fail(`expected an operand such as op0[1], got '${part}'`);
  }
}

function parseOperand(text: string): OperandDword | undefined {
  const match = /^op(\d{1,3})\[(\d{1,3})\]$/.exec(text);
  return match ? { operand: Number(match[1]), dword: Number(match[2]) } : undefined;
}

const parseSlot = (text: string): StateSlot | undefined => SLOTS.find((slot) => slot === text);
const isOperation = (text: string): text is OpName => Object.hasOwn(OPS, text);

interface Word<K extends LeafKind> {
  /** What stands behind the kind. */
  print(leaf: LeafOf<K>): readonly (string | number)[];
  parse(parts: WordParts, tail: Tail): LeafOf<K>;
}

/** Kinds that are recognised by what they hold: their words do not name the kind. */
type BareKind = 'const' | 'operand' | 'state' | 'pure' | 'setOperand' | 'setState';

const block = <T>(value: T | undefined, parts: WordParts, what: string): T =>
  value ?? parts.fail(`expected ${what} in { }`);

/** `global.8`, and `global.8.8` where the address has to be a multiple of 8. */
const accessWords = ({
  space,
  sizeBytes,
  alignmentBytes,
}: LeafOf<'load' | 'store' | 'atomic'>): (string | number)[] => [
  ...[space, sizeBytes],
  ...(alignmentBytes === undefined ? [] : [alignmentBytes]),
];

function alignmentOf(parts: WordParts): { alignmentBytes?: number } {
  if (parts.isEmpty) return {};
  const alignmentBytes = parts.number();
  const isPower = alignmentBytes > 1 && (alignmentBytes & (alignmentBytes - 1)) === 0;
  return isPower ? { alignmentBytes } : parts.fail(`expected a power of two, got '${alignmentBytes}'`);
}

const WORDS: { readonly [K in Exclude<LeafKind, BareKind>]: Word<K> } = {
  param: { print: ({ index }) => [index], parse: (parts) => ({ kind: 'param', index: parts.number() }) },
  pc: { print: () => [], parse: () => ({ kind: 'pc' }) },
  nextPc: { print: () => [], parse: () => ({ kind: 'nextPc' }) },
  clock: { print: () => [], parse: () => ({ kind: 'clock' }) },
  laneId: { print: () => [], parse: () => ({ kind: 'laneId' }) },
  laneTable: { print: ({ operand }) => [operand], parse: (parts) => ({ kind: 'laneTable', operand: parts.number() }) },
  laneMask: { print: () => [], parse: () => ({ kind: 'laneMask' }) },
  ballot: { print: () => [], parse: () => ({ kind: 'ballot' }) },
  gather: { print: ({ at }) => [formatOperand(at)], parse: (parts) => ({ kind: 'gather', at: parts.operand() }) },
  readLane: { print: ({ at }) => [formatOperand(at)], parse: (parts) => ({ kind: 'readLane', at: parts.operand() }) },
  writeLane: { print: ({ at }) => [formatOperand(at)], parse: (parts) => ({ kind: 'writeLane', at: parts.operand() }) },
  matrixProduct: {
    print: () => [],
    parse: (parts, { product }) => ({ kind: 'matrixProduct', product: block(product, parts, 'a product of matrices') }),
  },
  matrixResult: { print: ({ index }) => [index], parse: (parts) => ({ kind: 'matrixResult', index: parts.number() }) },
  load: {
    print: accessWords,
    parse(parts, { predicated, isRare }) {
      const [space, sizeBytes] = [parts.oneOf(SPACES), parts.number()];
      const own = { predicated, isRare, ...alignmentOf(parts) };
      return { kind: 'load', space, sizeBytes, dwords: Math.max(1, sizeBytes / 4), ...own };
    },
  },
  loaded: { print: ({ index }) => [index], parse: (parts) => ({ kind: 'loaded', index: parts.number() }) },
  atomic: {
    print: accessWords,
    parse(parts, tail) {
      const space = parts.oneOf(SPACES);
      const sizeBytes = parts.oneOf(['4', '8']) === '8' ? 8 : 4;
      const own = { predicated: tail.predicated, ...alignmentOf(parts) };
      return { kind: 'atomic', space, sizeBytes, update: block(tail.update, parts, 'an update'), ...own };
    },
  },
  store: {
    print: accessWords,
    parse(parts, { predicated, isRare }) {
      const [space, sizeBytes] = [parts.oneOf(SPACES), parts.number()];
      return { kind: 'store', space, sizeBytes, predicated, isRare, ...alignmentOf(parts) };
    },
  },
  fence: { print: () => [], parse: () => ({ kind: 'fence' }) },
  branch: { print: () => [], parse: () => ({ kind: 'branch' }) },
  jump: { print: () => [], parse: () => ({ kind: 'jump' }) },
  exit: { print: ({ reason }) => [reason], parse: (parts) => ({ kind: 'exit', reason: parts.oneOf(REASONS) }) },
};

const isNamed = (kind: string): kind is keyof typeof WORDS => Object.hasOwn(WORDS, kind);

/** `type` is that of the value. */
export function printLeaf(leaf: Leaf, type: Type | 'void'): string {
  switch (leaf.kind) {
    case 'const':
      return formatConstant(leaf.value, type);
    case 'operand':
    case 'setOperand':
      return formatOperand(leaf.at);
    case 'state':
    case 'setState':
      return leaf.slot;
    case 'pure':
      return leaf.op;
    default: {
      const { print } = WORDS[leaf.kind] as Word<typeof leaf.kind>; // reason: a kind's row takes leaves of that kind
      return [leaf.kind, ...print(leaf)].join('.');
    }
  }
}

/** The word that says what a value is, and the value's type. */
export interface LeafWord {
  readonly word: string;
  readonly type: Type | 'void';
}

/** Goes to `fail` with a word that is no leaf's. */
export function parseLeaf({ word, type }: LeafWord, tail: Tail, fail: (what: string) => never): Leaf {
  const at = parseOperand(word);
  if (at) return { kind: 'operand', at };
  const slot = parseSlot(word);
  if (slot) return { kind: 'state', slot };
  if (isOperation(word)) return { kind: 'pure', op: word };
  if (/^(-?\d{1,20}|0x[0-9a-f]{1,16})$/.test(word)) {
    const value = BigInt(word);
    const isUnsigned = type === 'i32' && BigInt.asUintN(32, value) === value;
    return { kind: 'const', value: isUnsigned ? BigInt.asIntN(32, value) : value };
  }
  const [kind = '', ...rest] = word.split('.');
  if (!isNamed(kind)) return fail(`there is no '${word}'`);
  const parts = new WordParts(rest, fail);
  const leaf = WORDS[kind].parse(parts, tail);
  return parts.isEmpty ? leaf : fail(`${kind} has less behind it than '${word}'`);
}

/** What is written: `op0[1]` or a state. */
export function parseTarget(word: string): Leaf | undefined {
  const at = parseOperand(word);
  if (at) return { kind: 'setOperand', at };
  const slot = parseSlot(word);
  return slot && { kind: 'setState', slot };
}
