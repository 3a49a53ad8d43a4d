/**
 * Products of matrices whose elements are spread over the lanes of a warp. PTX ISA 9.7.15 "Warp-Level Matrix
 * Instructions". Elements of the factors lie in words of 32 bits (f64: of 64), which have some of one row of
 * the left or of one column of the right matrix, side by side.
 */
import { E4M3, E5M2, widened } from '../../ir/narrow-float.ts';
import type { Value } from '../../ir/types.ts';
import { NAN16, NAN32, type PtxBuilder } from './builder.ts';
import type { Modifiers } from './pattern.ts';
import { type ProductPart, type PtxRow, ptxRow } from './row.ts';

/** Elements of a word, as what they are multiplied in. */
const ELEMENTS: Readonly<Record<string, (b: PtxBuilder, bits: Value) => Value[]>> = {
  f16: (b, bits) => [0, 16].map((low) => b.f16.toF32(b.bits(bits, low, 16))),
  bf16: (b, bits) => [0, 16].map((low) => b.bf16.toF32(b.bits(bits, low, 16))),
  // The low bits do not count.
  tf32: (b, bits) => [b.and(bits, b.i32(-1 << 13))],
  e4m3: (b, bits) => BYTES.map((low) => b.f32.fromF64(widened(b, E4M3, b.bits(bits, low, 8)))),
  e5m2: (b, bits) => BYTES.map((low) => b.f32.fromF64(widened(b, E5M2, b.bits(bits, low, 8)))),
  f64: (_, bits) => [bits],
  s8: (b, bits) => BYTES.map((low) => b.sext8(b.bits(bits, low, 8))),
  u8: (b, bits) => BYTES.map((low) => b.bits(bits, low, 8)),
  s4: (b, bits) => NIBBLES.map((low) => b.shrS(b.shl(bits, 28 - low), 28)),
  u4: (b, bits) => NIBBLES.map((low) => b.bits(bits, low, 4)),
  b1: (_, bits) => [bits],
};
const BYTES = [0, 8, 16, 24];
const NIBBLES = [0, 4, 8, 12, 16, 20, 24, 28];

/** Elements of a word by their type. */
export const elementsPerWord = (type: string): number => {
  const bits = Number(/\d+$/.exec(type === 'tf32' ? 'f32' : type.replace(/e4m3|e5m2/, 'b8'))![0]);
  return bits >= 32 ? 1 : 32 / bits;
};

/**
 * How matrices lie over a warp: for an accumulator of each lane and a word of depth, the registers and lanes
 * that have that word of the accumulator's row and of its column.
 */
interface Layout {
  leftRegister(accumulator: number, word: number): number;
  leftLane(b: PtxBuilder, accumulator: number, word: number): Value;
  rightRegister(word: number): number;
  rightLane(b: PtxBuilder, accumulator: number, word: number): Value;
  /** Words of depth that an instruction of the machine has operands for. */
  readonly wordsAtOnce: number;
}

/**
 * `mma`: a lane is number `lane % 4` of group `lane / 4`; register r of the left matrix has words of row
 * `group + 8 * (r % 2)`, those of the right matrix are of column `group`, and accumulator i is that of row
 * `group + 8 * (i / 2)` and column `2 * number + i % 2`. With eight rows there are half as many registers.
 */
const grouped = (registersOfColumn: 1 | 2): Layout => ({
  leftRegister: (accumulator, word) =>
    registersOfColumn * (word >> 2) + (registersOfColumn === 2 ? accumulator >> 1 : 0),
  leftLane: (b, _, word) => b.or(b.and(b.laneId(), b.i32(28)), b.i32(word & 3)),
  rightRegister: (word) => word >> 2,
  rightLane: (b, accumulator, word) =>
    b.add(b.shl(b.and(b.laneId(), b.i32(3)), 3), b.i32(4 * (accumulator & 1) + (word & 3))),
  wordsAtOnce: 8,
});

/**
 * `wmma`, whose layout PTX leaves open: elements of the accumulator lie one after the other, row by row,
 * in all lanes, then in the next register; so do words of the left matrix. Words of the right matrix do so
 * column by column within each word of depth.
 */
const tiled = (columns: number, words: number): Layout => ({
  leftRegister: (accumulator, word) => Math.floor((accumulator * (LANES / columns) * words + word) / LANES),
  leftLane: (b, accumulator, word) => {
    const row = b.shrU(b.laneId(), Math.log2(columns));
    return b.add(b.mul(row, b.i32(words)), b.i32((accumulator * (LANES / columns) * words + word) % LANES));
  },
  rightRegister: (word) => Math.floor((word * columns) / LANES),
  rightLane: (b, _, word) => b.add(b.and(b.laneId(), b.i32(columns - 1)), b.i32((word * columns) % LANES)),
  wordsAtOnce: columns === LANES ? 4 : 8,
});
const LANES = 32;

function layoutOf(name: string, words: number): Layout {
  if (name === 'm8') return grouped(1);
  return name === 'm16' ? grouped(2) : tiled(Number(name.slice(1)), words);
}

/** What an instruction of the machine computes: accumulators, from some words on. */
interface Part {
  readonly layout: Layout;
  readonly accumulators: readonly number[];
  readonly start: number;
  readonly end: number;
}

/** Registers of the factors that a part reads, in the order of its operands. */
function registersOf({ layout, accumulators, start, end }: Part): {
  readonly left: readonly number[];
  readonly right: readonly number[];
} {
  const words = Array.from({ length: end - start }, (_, i) => start + i);
  const left = accumulators.flatMap((each) => words.map((word) => layout.leftRegister(each, word)));
  return { left: [...new Set(left)], right: [...new Set(words.map((word) => layout.rightRegister(word)))] };
}

/** A word of a factor in the lane that each lane names. */
function wordIn(b: PtxBuilder, index: number, element: number, lane: Value, isWide: boolean): Value {
  if (!b.isRegister(index, element)) return b.read(index, element);
  const low = b.fromLane(index, lane, { element });
  return isWide ? b.pack(low, b.fromLane(index, lane, { element, dword: 1 })) : low;
}

/** What two words add to a sum. */
function addProducts(b: PtxBuilder, sum: Value, x: Value, y: Value): Value {
  const { left = 'f16', right = 'f16', op } = b.modifiers;
  if (op !== undefined) return b.add(sum, b.op('i32.popcnt', op === 'and' ? b.and(x, y) : b.xor(x, y)));
  const ys = ELEMENTS[right]!(b, y);
  return ELEMENTS[left]!(b, x).reduce((all, each, i) => {
    if (left === 'f64') return b.f64.fma(each, ys[i]!, all);
    if (/^[su]\d$/.test(left)) {
      const product = b.mul(each, ys[i]!);
      return b.add(all, all.type === 'i64' ? b.sext64(product) : product);
    }
    return b.op('f32.fma', each, ys[i]!, all);
  }, sum);
}

/** A sum as what it is added to, and a result as what is written. */
const SUMS: Readonly<
  Record<string, { open(b: PtxBuilder, bits: Value): Value; close(b: PtxBuilder, sum: Value): Value }>
> = {
  f16: {
    open: (b, bits) => b.f16.toF32(bits),
    close: (b, sum) => b.select(b.f32.isNan(sum), b.i32(NAN16), b.f16.fromF32(sum)),
  },
  f32: { open: (_, bits) => bits, close: (b, sum) => b.select(b.f32.isNan(sum), b.i32(NAN32), sum) },
  f64: { open: (_, bits) => bits, close: (_, sum) => sum },
  s32: {
    open: (b, bits) => (b.has('satfinite') ? b.sext64(bits) : bits),
    close: (b, sum) => {
      if (sum.type !== 'i64') return sum;
      const isOut = b.ne(b.sext64(b.low(sum)), sum);
      return b.select(isOut, b.xor(b.shrS(b.high(sum), 31), b.i32(0x7fffffff)), b.low(sum));
    },
  },
};

const accumulatorsOf = (to: string, register: number): readonly number[] =>
  to === 'f16' ? [2 * register, 2 * register + 1] : [register];

/** Words from `start` on that one instruction takes. */
const partAt = (layout: Layout, words: number, start: number): Pick<Part, 'start' | 'end'> => ({
  start,
  end: Math.min(words, start + layout.wordsAtOnce),
});

/**
 * One register of accumulators: products are added one after the other, in the order of their numbers, with
 * one rounding each. The order that hardware has is not published. Operands: result, left, right,
 * accumulators.
 */
function multiplyAdd(b: PtxBuilder): void {
  const { layout: name = '', words: depth = '', start: first = '', to = '', from = '', left, place = '' } = b.modifiers;
  const words = Number(depth.slice(1));
  const layout = layoutOf(name, words);
  const accumulators = accumulatorsOf(to, Number(place.slice(1)));
  const part: Part = { layout, accumulators, ...partAt(layout, words, Number(first.slice(1))) };
  const registers = registersOf(part);
  const sums = accumulators.map((accumulator, i) => {
    const bits = from === 'f16' ? b.bits(b.read(3), (accumulator & 1) * 16, 16) : b.read(3, i);
    let sum = SUMS[from]!.open(b, bits);
    for (let word = part.start; word < part.end; word++) {
      const [x, y] = [
        [1, registers.left.indexOf(layout.leftRegister(accumulator, word)), layout.leftLane(b, accumulator, word)],
        [2, registers.right.indexOf(layout.rightRegister(word)), layout.rightLane(b, accumulator, word)],
      ].map(([index, element, lane]) => wordIn(b, index as number, element as number, lane as Value, left === 'f64'));
      sum = addProducts(b, sum, x!, y!);
    }
    return SUMS[to]!.close(b, sum);
  });
  b.write(0, sums.length === 2 ? b.packHalves(sums[0]!, sums[1]!) : sums[0]!);
}

/** A product of a shape and of types: how it lies, and the registers of each of its operands. */
interface Product {
  readonly modifiers: string;
  readonly layout: string;
  /** Words of a row of the left matrix. */
  readonly words: number;
  readonly types: { readonly to: string; readonly left: string; readonly right: string; readonly from: string };
  readonly registers: { readonly to: number; readonly left: number; readonly right: number; readonly from: number };
}

type Sums = readonly (readonly [to: string, from: string])[];
const SAME: Sums = [['f32', 'f32']];
const HALF_SUMS: Sums = [
  ['f16', 'f16'],
  ['f32', 'f32'],
];
const MIXED_SUMS: Sums = [...HALF_SUMS, ['f16', 'f32'], ['f32', 'f16']];
const INTEGERS: Sums = [['s32', 's32']];
const DOUBLES: Sums = [['f64', 'f64']];

/** Rows, columns and depth of `mma`, by types; all but those of b1 may be of several types. */
const MMA_SHAPES: readonly (readonly [shape: string, types: string, sums: Sums])[] = [
  ['m16n8k8', 'f16', HALF_SUMS],
  ['m16n8k16', 'f16', HALF_SUMS],
  ['m16n8k8', 'bf16', SAME],
  ['m16n8k16', 'bf16', SAME],
  ['m16n8k4', 'tf32', SAME],
  ['m16n8k8', 'tf32', SAME],
  ['m16n8k16', 'e4m3|e5m2', HALF_SUMS],
  ['m16n8k32', 'e4m3|e5m2', HALF_SUMS],
  ['m8n8k4', 'f64', DOUBLES],
  ['m16n8k4', 'f64', DOUBLES],
  ['m16n8k8', 'f64', DOUBLES],
  ['m16n8k16', 'f64', DOUBLES],
  ['m8n8k16', 's8|u8', INTEGERS],
  ['m16n8k16', 's8|u8', INTEGERS],
  ['m16n8k32', 's8|u8', INTEGERS],
  ['m8n8k32', 's4|u4', INTEGERS],
  ['m16n8k32', 's4|u4', INTEGERS],
  ['m16n8k64', 's4|u4', INTEGERS],
  ['m8n8k128', 'b1', INTEGERS],
  ['m16n8k128', 'b1', INTEGERS],
  ['m16n8k256', 'b1', INTEGERS],
];

const WMMA_SHAPES: readonly (readonly [shape: string, types: string, sums: Sums])[] = [
  ...['m16n16k16', 'm8n32k16', 'm32n8k16'].flatMap((shape) => [
    [shape, 'f16', MIXED_SUMS] as const,
    [shape, 'bf16', SAME] as const,
    [shape, 's8|u8', INTEGERS] as const,
  ]),
  ['m16n16k8', 'tf32', SAME],
  ['m8n8k4', 'f64', DOUBLES],
  ['m8n8k32', 's4|u4', INTEGERS],
  ['m8n8k128', 'b1', INTEGERS],
];

export interface TileDimensions {
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
}
export function dimensionsOf(text: string): TileDimensions {
  const [rows = 0, columns = 0, depth = 0] = text.match(/\d+/g)!.map(Number);
  return { rows, columns, depth };
}

/** Registers that a lane has of a fragment of `wmma`: of halves eight, which hold some twice. */
export function fragmentRegisters(type: string, elements: number): number {
  return type === 'f16' ? 8 : elements / elementsPerWord(type) / LANES;
}
/** Registers of accumulators. */
const sumRegisters = (type: string, elements: number): number => elements / LANES / (type === 'f16' ? 2 : 1);

function mmaProduct(shape: string, types: string, [to, from]: Sums[number]): Product {
  const { rows, columns, depth } = dimensionsOf(shape);
  const [type = ''] = types.split('|');
  const words = depth / elementsPerWord(type);
  const sat = type.startsWith('s') ? '.satfinite?' : '';
  const suffix = type === 'b1' ? '.op=xor|and.popc' : '';
  const named = `.to=${to}.left=${types}.right=${types}.from=${from}`;
  return {
    modifiers: `.sync.aligned.shape=${shape}.row.col${sat}${named}${suffix}`,
    ...{ layout: `m${rows}`, words, types: { to, left: types, right: types, from } },
    registers: {
      ...{ left: (rows * words) / LANES, right: (columns * words) / LANES },
      ...{ to: sumRegisters(to, rows * columns), from: sumRegisters(from, rows * columns) },
    },
  };
}

function wmmaProduct(shape: string, types: string, [to, from]: Sums[number]): Product {
  const { rows, columns, depth } = dimensionsOf(shape);
  const [type = ''] = types.split('|');
  const layouts = /^(s4|b1)/.test(type) ? '.row.col' : '.alayout=row|col.blayout=row|col';
  const named = type === 'f16' ? `.to=${to}.from=${from}` : `.to=${to}.left=${types}.right=${types}.from=${from}`;
  const prefix = type === 'b1' ? '.mma.op=xor|and.popc' : '.mma';
  const rounding = type === 'f64' ? '.round=@round?' : '';
  const sat = type.startsWith('s') ? '.satfinite?' : '';
  return {
    modifiers: `${prefix}.sync.aligned${layouts}.shape=${shape}${rounding}${named}${sat}`,
    ...{ layout: `n${columns}`, words: depth / elementsPerWord(type), types: { to, left: types, right: types, from } },
    registers: {
      ...{ left: fragmentRegisters(type, rows * depth), right: fragmentRegisters(type, columns * depth) },
      ...{ to: sumRegisters(to, rows * columns), from: sumRegisters(from, rows * columns) },
    },
  };
}

/** Parts that compute a product, those of one register of accumulators one after the other. */
function* partsOf({ layout: name, words, registers }: Product, modifiers: Modifiers): Generator<ProductPart> {
  const { op, satfinite, round, to = '', left = 'f16', right = left, from = '' } = modifiers;
  const layout = layoutOf(name, words);
  const flags = [op, satfinite, round].filter((each) => each !== undefined);
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
  const part = (start: number, place: number, types: readonly [to: string, from: string]): ProductPart => {
    const accumulators = accumulatorsOf(types[0], place);
    const own = registersOf({ layout, accumulators, ...partAt(layout, words, start) });
    const isFirst = start === 0;
    const isHalf = types[1] === 'f16';
    const sums = isFirst
      ? [...new Set(accumulators.map((each) => (isHalf ? each >> 1 : each)))]
      : numbers(accumulators.length);
    const counts = [own.left, own.right, sums].map(({ length }) => `x${length}`);
    const opcode = ['wave_mma', name, `k${words}`, `w${start}`, ...flags, types[0], left, right, types[1], ...counts];
    const isLast = start + layout.wordsAtOnce >= words;
    return {
      opcode: [...opcode, `i${place}`].join('.'),
      ...own,
      sums,
      isPartial: !isFirst,
      result: isLast ? place : undefined,
    };
  };
  // What is between parts is as wide as sums are.
  const wide = to === 'f16' ? 'f32' : to;
  for (const register of numbers(registers.to)) {
    let before = from;
    let start = 0;
    for (; start + layout.wordsAtOnce < words; start += layout.wordsAtOnce) {
      for (const accumulator of accumulatorsOf(to, register)) yield part(start, accumulator, [wide, before]);
      before = wide;
    }
    yield part(start, register, [to, before]);
  }
}

function productRow(name: string, product: Product): PtxRow {
  const { modifiers, registers, types } = product;
  const factor = types.left === 'f64' ? 'f64' : 'b32';
  const sum = (type: string): string => (type === 'f16' ? 'b32' : type);
  const operands = [
    `=${sum(types.to)}*x${registers.to}`,
    `${factor}*x${registers.left}`,
    `${factor}*x${registers.right}`,
    `${sum(types.from)}*x${registers.from}`,
  ];
  return ptxRow(name, modifiers, operands.join(' '), () => {}, {
    ...{ className: 'warp', expansion: 'product', meeting: { members: 'all' } },
    parts: (named) => [...partsOf(product, named)],
  });
}

const FACTORS = 'f16|bf16|tf32|e4m3|e5m2|s8|u8|s4|u4|b1';
const PART = '.layout=m8|m16|n8|n16|n32.words=k4|k8|k16.start=w0|w4|w8.op=xor|and?.satfinite?.round=@round?';
const COUNTS = '.lefts=x1|x2.rights=x1|x2|x4.sums=x1|x2.place=i0|i1|i2|i3|i4|i5|i6|i7';
const MACHINE = { className: 'warp', isInternal: true } as const;

export const PRODUCT_ROWS: readonly PtxRow[] = [
  ...MMA_SHAPES.flatMap(([shape, types, sums]) => sums.map((sum) => productRow('mma', mmaProduct(shape, types, sum)))),
  ...WMMA_SHAPES.flatMap(([shape, types, sums]) =>
    sums.map((sum) => productRow('wmma', wmmaProduct(shape, types, sum))),
  ),
  ptxRow(
    ...(['wave_mma', `${PART}.to=f16|f32|s32.left=${FACTORS}.right=${FACTORS}.from=f16|f32|s32${COUNTS}`] as const),
    ...(['=b32 b32*lefts b32*rights b32*sums', multiplyAdd, MACHINE] as const),
  ),
  ptxRow(
    ...(['wave_mma', `${PART}.to=f64.left=f64.right=f64.from=f64${COUNTS}`] as const),
    ...(['=b64 b64*lefts b64*rights b64*sums', multiplyAdd, MACHINE] as const),
  ),
];
