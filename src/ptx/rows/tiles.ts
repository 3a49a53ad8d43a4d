/**
 * How matrices that lie over a warp come from memory and get there. PTX ISA 9.7.15 "Warp-Level Matrix
 * Instructions". Where the elements of `wmma` are is up to the machine: see `matrix.ts`.
 */
import type { AccessCondition } from '../../ir/builder.ts';
import type { MemorySpace, Value } from '../../ir/types.ts';
import type { PtxBuilder } from './builder.ts';
import { dimensionsOf, elementsPerWord, fragmentRegisters } from './matrix.ts';
import { placeOf } from './memory.ts';
import { type PtxRow, ptxRow } from './row.ts';

const LANES = 32;
const ROWS_OF_MATRIX = 8;

/** Group and number of a lane. */
const positionOf = (b: PtxBuilder): readonly [group: Value, number: Value] => [
  b.shrU(b.laneId(), 2),
  b.and(b.laneId(), b.i32(3)),
];

/** A lane's part of a line of a matrix: `offset` bytes behind its begin, which has to be aligned. */
interface LinePart {
  readonly space: MemorySpace;
  readonly address: Value;
  readonly offset: Value;
  readonly alignmentBytes: number;
}

/**
 * Accesses to parts: the lanes whose parts have to be as aligned as lines are tell of lines that are not, so
 * they go first.
 */
function accessPart<T>(b: PtxBuilder, { offset, alignmentBytes }: LinePart, access: (own: AccessCondition) => T): T[] {
  const isFirst = b.isZero(b.and(offset, b.i32(alignmentBytes - 1)));
  return [access({ predicate: isFirst, alignmentBytes }), access({ predicate: b.not(isFirst) })];
}

function loadPart(b: PtxBuilder, part: LinePart, sizeBytes: number): Value[] {
  const load = (own: AccessCondition): Value[] => b.load(part.space, sizeBytes, part.address, own);
  if (sizeBytes >= part.alignmentBytes) return load({ alignmentBytes: part.alignmentBytes });
  // What makes no access reads 0.
  const [first, other] = accessPart(b, part, load) as [Value[], Value[]];
  return first.map((dword, i) => b.or(dword, other[i]!));
}

function storePart(b: PtxBuilder, part: LinePart, sizeBytes: number, data: readonly Value[]): void {
  const store = (own: AccessCondition): void => b.store(part.space, sizeBytes, part.address, data, own);
  if (sizeBytes >= part.alignmentBytes) store({ alignmentBytes: part.alignmentBytes });
  else accessPart(b, part, store);
}

/** Lane i has the address of row `i % 8` of matrix `i / 8`, which has 16 bytes in one piece. */
function rowPart(b: PtxBuilder, index: number, lane: Value, offset: Value): LinePart {
  const row = b.addressInLane(index, lane);
  const own = { offset, alignmentBytes: 16 };
  if (b.has('space')) return { space: 'lds', address: b.add(row.type === 'i64' ? b.low(row) : row, offset), ...own };
  return { space: 'flat', address: b.add(row.type === 'i64' ? row : b.zext64(row), b.zext64(offset)), ...own };
}

const matricesOf = (b: PtxBuilder): number => Number(b.modifiers['num']!.slice(1));

/** A lane gets two elements side by side; `.trans`: of the same column in two rows. */
function loadMatrices(b: PtxBuilder): void {
  const [group, number] = positionOf(b);
  const load = (lane: Value, offset: Value, sizeBytes: 2 | 4): Value =>
    loadPart(b, rowPart(b, 1, lane, offset), sizeBytes)[0]!;
  const matrix = (first: Value): Value => {
    if (!b.has('trans')) return load(b.add(group, first), b.shl(number, 2), 4);
    const upper = b.add(b.shl(number, 1), first);
    const offset = b.shl(group, 1);
    return b.packHalves(load(upper, offset, 2), load(b.add(upper, b.i32(1)), offset, 2));
  };
  const loaded = Array.from({ length: matricesOf(b) }, (_, i) => matrix(b.i32(i * ROWS_OF_MATRIX)));
  // A result may stand where the address was.
  for (const [i, value] of loaded.entries()) b.write(0, value, i);
}

function storeMatrices(b: PtxBuilder): void {
  const [group, number] = positionOf(b);
  for (let i = 0; i < matricesOf(b); i++) {
    const first = b.i32(i * ROWS_OF_MATRIX);
    const value = b.read(1, i);
    const store = (lane: Value, offset: Value, sizeBytes: 2 | 4, data: Value): void =>
      storePart(b, rowPart(b, 0, lane, offset), sizeBytes, [data]);
    if (!b.has('trans')) store(b.add(group, first), b.shl(number, 2), 4, value);
    else {
      const upper = b.add(b.shl(number, 1), first);
      const offset = b.shl(group, 1);
      store(upper, offset, 2, b.bits(value, 0, 16));
      store(b.add(upper, b.i32(1)), offset, 2, b.shrU(value, 16));
    }
  }
}

/** Element (row, column) of the result is element (column, row) of the source. */
function transposeMatrix(b: PtxBuilder): void {
  const [group, number] = positionOf(b);
  const half = (odd: 0 | 1): Value => {
    // Row `2 * number + odd` of the source, column `group`.
    const lane = b.add(b.shl(number, 3), b.add(b.shrU(group, 1), b.i32(4 * odd)));
    const word = b.isRegister(1) ? b.fromLane(1, lane) : b.read(1);
    return b.bits(b.shrU(word, b.shl(b.and(group, b.i32(1)), 4)), 0, 16);
  };
  b.write(0, b.packHalves(half(0), half(1)));
}

/** A fragment of `wmma`: its matrix, the type of its elements, and whether these lie row by row in memory. */
interface Fragment {
  readonly matrix: 'a' | 'b' | 'c' | 'd';
  readonly type: string;
  readonly isByRow: boolean;
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
}

function fragmentOf(b: PtxBuilder): Fragment {
  const { matrix, type = 'f16', order, shape } = b.modifiers;
  return {
    ...{ matrix: matrix as Fragment['matrix'], type, isByRow: order === 'row' }, // reason: rows have no others
    ...dimensionsOf(shape!),
  };
}

/** Elements from one row or column in memory to the next, where the text does not say. */
function packedStride({ matrix, isByRow, rows, columns, depth }: Fragment): number {
  if (isByRow) return matrix === 'a' ? depth : columns;
  return matrix === 'b' ? depth : rows;
}

const bitsOfElement = (type: string): number => (type === 'f64' ? 64 : 32 / elementsPerWord(type));

/** Bytes that so many elements take. */
function bytesOf(b: PtxBuilder, { type }: Fragment, elements: Value): Value {
  const log2 = Math.log2(bitsOfElement(type));
  return log2 >= 3 ? b.shl(elements, log2 - 3) : b.shrU(elements, 3 - log2);
}

/** Row and column of an element of an accumulator. */
function sumPlace(b: PtxBuilder, { columns }: Fragment, accumulator: number): readonly [Value, Value] {
  const index = b.add(b.laneId(), b.i32(accumulator * LANES));
  return [b.shrU(index, Math.log2(columns)), b.and(index, b.i32(columns - 1))];
}

/** Row and column of the first element of a word of a factor. */
function wordPlace(
  b: PtxBuilder,
  { matrix, type, columns, depth }: Fragment,
  register: number,
): readonly [Value, Value] {
  const perWord = elementsPerWord(type);
  const index = b.add(b.laneId(), b.i32(register * LANES));
  const words = depth / perWord;
  if (matrix === 'a') return [b.shrU(index, Math.log2(words)), b.mul(b.and(index, b.i32(words - 1)), b.i32(perWord))];
  return [b.mul(b.shrU(index, Math.log2(columns)), b.i32(perWord)), b.and(index, b.i32(columns - 1))];
}

/** Registers of a fragment that hold different elements. */
function registersOf({ matrix, type, rows, columns, depth }: Fragment): number {
  if (matrix === 'c' || matrix === 'd') return (rows * columns) / LANES / (type === 'f16' ? 2 : 1);
  return ((matrix === 'a' ? rows : columns) * depth) / elementsPerWord(type) / LANES;
}

/**
 * What lines of a matrix in memory have to be aligned to: the bytes that a lane has of it (PTX ISA 9.7.15.3
 * "Matrix Storage for WMMA"), but 16 at most, since CUDA lets lines be any multiple of 16 bytes apart.
 */
function lineAlignment(fragment: Fragment): number {
  const { matrix, type, rows, columns, depth } = fragment;
  const isSum = matrix === 'c' || matrix === 'd';
  const registers = isSum ? registersOf(fragment) : fragmentRegisters(type, (matrix === 'a' ? rows : columns) * depth);
  return Math.min(16, registers * (type === 'f64' ? 8 : 4));
}

interface Tile {
  readonly fragment: Fragment;
  /** Where an element is. */
  at(place: readonly [Value, Value]): LinePart;
}

/** `address` and `stride`: the operands that say where it is. */
function tileOf(b: PtxBuilder, { address, stride }: { readonly address: number; readonly stride: number }): Tile {
  const fragment = fragmentOf(b);
  const { space, address: base } = placeOf(b, address);
  const given = b.read(stride);
  const between = b.select(b.isZero(given), b.i32(packedStride(fragment)), given);
  const alignmentBytes = lineAlignment(fragment);
  return {
    fragment,
    at: ([row, column]) => {
      const [line, place] = fragment.isByRow ? [row, column] : [column, row];
      const offset = bytesOf(b, fragment, b.add(b.mul(line, between), place));
      const at = b.add(base, base.type === 'i64' ? b.zext64(offset) : offset);
      return { space, address: at, offset: bytesOf(b, fragment, place), alignmentBytes };
    },
  };
}

function loadWord(b: PtxBuilder, { fragment, at }: Tile, register: number): Value {
  const { matrix, type, isByRow } = fragment;
  const [row, column] = wordPlace(b, fragment, register);
  const [bits, perWord] = [bitsOfElement(type), elementsPerWord(type)];
  if (bits === 64) return b.pack(...(loadPart(b, at([row, column]), 8) as [Value, Value]));
  if (perWord === 1 || isByRow === (matrix === 'a')) return loadPart(b, at([row, column]), 4)[0]!;
  const next = (i: number): readonly [Value, Value] =>
    matrix === 'a' ? [row, b.add(column, b.i32(i))] : [b.add(row, b.i32(i)), column];
  const elements = Array.from({ length: perWord }, (_, i) => b.shl(loadPart(b, at(next(i)), bits / 8)[0]!, i * bits));
  return elements.reduce((all, each) => b.or(all, each));
}

function loadSum(b: PtxBuilder, { fragment, at }: Tile, register: number): Value {
  const element = (accumulator: number, sizeBytes: number): Value[] =>
    loadPart(b, at(sumPlace(b, fragment, accumulator)), sizeBytes);
  if (fragment.type === 'f16') return b.packHalves(element(2 * register, 2)[0]!, element(2 * register + 1, 2)[0]!);
  const dwords = element(register, fragment.type === 'f64' ? 8 : 4);
  return dwords.length === 2 ? b.pack(dwords[0]!, dwords[1]!) : dwords[0]!;
}

/** One register, which may hold what another one does. */
function loadTile(b: PtxBuilder): void {
  const tile = tileOf(b, { address: 1, stride: 2 });
  const register = placeIn(b) % registersOf(tile.fragment);
  b.write(0, tile.fragment.matrix === 'c' ? loadSum(b, tile, register) : loadWord(b, tile, register));
}

const placeIn = (b: PtxBuilder): number => Number(b.modifiers['place']!.slice(1));

function storeTile(b: PtxBuilder): void {
  const { fragment, at } = tileOf(b, { address: 0, stride: 2 });
  const register = placeIn(b);
  const value = b.read(1);
  const store = (accumulator: number, sizeBytes: number, data: readonly Value[]): void =>
    storePart(b, at(sumPlace(b, fragment, accumulator)), sizeBytes, data);
  if (fragment.type === 'f16') {
    store(2 * register, 2, [b.bits(value, 0, 16)]);
    store(2 * register + 1, 2, [b.shrU(value, 16)]);
  } else if (fragment.type === 'f64') store(register, 8, [b.low(value), b.high(value)]);
  else store(register, 4, [value]);
}

const TILES = 'm16n16k16|m8n32k16|m32n8k16';
const SPACE = '.space=global|shared|shared::cta?';
const TOGETHER = { className: 'warp', meeting: { members: 'all' } } as const;
const TILE = { ...TOGETHER, expansion: 'tile' } as const;
const nothing = (): void => {};

/** Factors of `wmma` by shape and type; of those of few bits there is one order for each matrix. */
const FACTORS: readonly (readonly [shape: string, types: string, isFixed?: true])[] = [
  ...TILES.split('|').flatMap((shape) => [
    [shape, 'f16'] as const,
    [shape, 'bf16'] as const,
    [shape, 's8|u8'] as const,
  ]),
  ['m16n16k8', 'tf32'],
  ['m8n8k4', 'f64'],
  ['m8n8k32', 's4|u4', true],
  ['m8n8k128', 'b1', true],
];
/** Accumulators by shape. */
const SUMS: readonly (readonly [shapes: string, type: string])[] = [
  [TILES, 'f16'],
  [`${TILES}|m16n16k8`, 'f32'],
  [`${TILES}|m8n8k32|m8n8k128`, 's32'],
  ['m8n8k4', 'f64'],
];

const factorRows = FACTORS.flatMap(([shape, types, isFixed]) =>
  (['a', 'b'] as const).map((matrix) => {
    const { rows, columns, depth } = dimensionsOf(shape);
    const [type = ''] = types.split('|');
    const elements = (matrix === 'a' ? rows : columns) * depth;
    const count = type === 'f64' ? 1 : fragmentRegisters(type, elements);
    const orders = isFixed ? (matrix === 'a' ? 'row' : 'col') : 'row|col';
    return ptxRow(
      'wmma',
      `.load.matrix=${matrix}.sync.aligned.order=${orders}.shape=${shape}${SPACE}.type=${types}`,
      `=${type === 'f64' ? type : 'b32'}*x${count} [] u32?`,
      nothing,
      TILE,
    );
  }),
);

const sumRows = SUMS.flatMap(([shapes, type]) =>
  // Shapes with as many elements share a row.
  Map.groupBy(shapes.split('|'), (shape) => {
    const { rows, columns } = dimensionsOf(shape);
    return (rows * columns) / LANES / (type === 'f16' ? 2 : 1);
  })
    .entries()
    .flatMap(([count, list]) => {
      const named = `.sync.aligned.order=row|col.shape=${list.join('|')}${SPACE}.type=${type}`;
      const register = `${type === 'f16' ? 'b32' : type}*x${count}`;
      return [
        ptxRow('wmma', `.load.matrix=c${named}`, `=${register} [] u32?`, nothing, TILE),
        ptxRow('wmma', `.store.matrix=d${named}`, `[] ${register} u32?`, nothing, TILE),
      ];
    })
    .toArray(),
);

const MACHINE = { className: 'warp', isInternal: true } as const;
const SHAPES = `.order=row|col.shape=${TILES}|m16n16k8|m8n8k4|m8n8k32|m8n8k128${SPACE}`;
const PLACES = '.place=i0|i1|i2|i3|i4|i5|i6|i7';
const WORDS = '.type=f16|bf16|tf32|s8|u8|s4|u4|b1|f32|s32';

/** One register of a tile. */
const machineRows = [
  ptxRow('wave_tile', `.load.matrix=a|b|c${SHAPES}${WORDS}${PLACES}`, '=b32 [] u32', loadTile, MACHINE),
  ptxRow('wave_tile', `.load.matrix=a|b|c${SHAPES}.type=f64${PLACES}`, '=b64 [] u32', loadTile, MACHINE),
  ptxRow('wave_tile', `.store.matrix=d${SHAPES}${WORDS}${PLACES}`, '[] b32 u32', storeTile, MACHINE),
  ptxRow('wave_tile', `.store.matrix=d${SHAPES}.type=f64${PLACES}`, '[] b64 u32', storeTile, MACHINE),
];

const MATRICES = '.sync.aligned.m8n8.num=x1|x2|x4.trans?.space=shared|shared::cta?.b16';

export const TILE_ROWS: readonly PtxRow[] = [
  ptxRow('ldmatrix', MATRICES, '=b32*num []', loadMatrices, TOGETHER),
  ptxRow('stmatrix', MATRICES, '[] b32*num', storeMatrices, TOGETHER),
  ptxRow('movmatrix', '.sync.aligned.m8n8.trans.b16', '=b32 b32', transposeMatrix, TOGETHER),
  ...factorRows,
  ...sumRows,
  ...machineRows,
];
