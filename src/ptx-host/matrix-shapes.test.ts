/** All shapes and types of products of matrices that lie over a warp, against plain loops. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dimensionsOf, elementsPerWord } from '../ptx/rows/matrix.ts';
import { output, runOn, source, u32, WAYS } from './ptx-runs.test-support.ts';

const HEAD = '.version 8.4\n.target sm_90\n.address_size 64\n';
const LANES = 32;
const scratch = new DataView(new ArrayBuffer(8));

/** A small number as bits of a type. */
function bitsOf(type: string, x: number): bigint {
  switch (type) {
    case 'f16':
      scratch.setFloat16(0, x);
      return BigInt(scratch.getUint16(0));
    case 'bf16':
      scratch.setFloat32(0, x);
      return BigInt(scratch.getUint16(0));
    case 'f64':
      scratch.setFloat64(0, x);
      return scratch.getBigUint64(0);
    case 'tf32':
    case 'f32':
      scratch.setFloat32(0, x);
      return BigInt(scratch.getUint32(0));
    // The high byte of a half.
    case 'e5m2':
      return bitsOf('f16', x) >> 8n;
    // Three bits of fraction and a bias of 7, where a half has ten and 15.
    case 'e4m3': {
      const half = bitsOf('f16', x);
      return x === 0 ? 0n : ((half >> 8n) & 0x80n) | (((half & 0x7fffn) - (8n << 10n)) >> 7n);
    }
    default:
      return BigInt.asUintN(Number(type.slice(1)), BigInt(x));
  }
}

const widthOf = (type: string): number => (type === 'f64' ? 64 : 32 / elementsPerWord(type));

function numberOf(type: string, bits: bigint): number {
  if (type === 's32') return Number(BigInt.asIntN(32, bits));
  if (type === 'f16') {
    scratch.setUint16(0, Number(bits));
    return scratch.getFloat16(0);
  }
  scratch.setBigUint64(0, bits << (type === 'f64' ? 0n : 32n));
  return type === 'f64' ? scratch.getFloat64(0) : scratch.getFloat32(0);
}

/** Small whole numbers that every type has; bits are 0 and 1. */
function sample(type: string, index: number): number {
  const x = (index * 7 + (index >> 3) * 5) % 13;
  if (type === 'b1') return x & 1;
  return type.startsWith('u') ? x : (x % 9) - 4;
}

interface Matrix {
  readonly type: string;
  readonly rows: number;
  readonly columns: number;
  at(row: number, column: number): number;
}
const matrixOf = (type: string, rows: number, columns: number, seed: number): Matrix => ({
  ...{ type, rows, columns },
  at: (row, column) => sample(type, seed + row * columns + column),
});

/** What a product gives for each element. */
function productOf(left: Matrix, right: Matrix, sums: Matrix, op?: string): (row: number, column: number) => number {
  return (row, column) => {
    let sum = sums.at(row, column);
    for (let k = 0; k < left.columns; k++) {
      const [x, y] = [left.at(row, k), right.at(k, column)];
      sum += op === 'xor' ? x ^ y : x * y;
    }
    return sum;
  };
}

/** Runs a kernel of one warp on every executor; what it left at `out`. */
async function bytesOf(body: string, input: Uint8Array, sizeBytes: number): Promise<DataView> {
  const text = `${HEAD}
.visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)
{
  .reg .b32 %a<9>, %b<9>, %n, %lane, %at;
  .reg .f64 %da<9>, %db<9>, %dc<9>;
  .reg .b32 %c<9>;
  .reg .f32 %fc<9>;
  .reg .b64 %out, %in, %own, %step;
  ld.param.u64 %out, [out];
  ld.param.u64 %in, [in];
  ld.param.u32 %n, [n];
  mov.u32 %lane, %laneid;
${body}
  ret;
}`;
  let first: Uint8Array | undefined;
  for (const [name, device] of Object.entries(WAYS)) {
    const { outputs } = await runOn(device, {
      ...{ texts: [{ text, name: 'k.ptx' }], grid: [LANES], workgroup: [LANES] },
      args: [output(sizeBytes), source(input), u32(0)],
    });
    const { bytes } = outputs[0]!;
    first ??= bytes;
    assert.deepEqual(bytes, first, name);
  }
  return new DataView(first!.buffer, first!.byteOffset, first!.byteLength);
}

/** Bits one after the other, from the lowest of each byte on. */
class Bits {
  readonly bytes: Uint8Array;
  constructor(sizeBytes: number) {
    this.bytes = new Uint8Array(sizeBytes);
  }
  put(firstBit: number, width: number, value: bigint): void {
    for (let i = 0; i < width; i++) {
      if ((value >> BigInt(i)) & 1n) this.bytes[(firstBit + i) >> 3]! |= 1 << ((firstBit + i) & 7);
    }
  }
}

const REGISTERS: Readonly<Record<string, string>> = { f32: '%fc', f64: '%dc', s32: '%c', f16: '%c' };
const list = (prefix: string, count: number): string =>
  `{${Array.from({ length: count }, (_, i) => `${prefix}${i}`).join(', ')}}`;

interface Case {
  readonly shape: string;
  readonly left: string;
  readonly right?: string;
  readonly to: string;
  readonly from?: string;
  readonly op?: string;
}

// biome-ignore format: one shape per line
const MMA: readonly Case[] = [
  { shape: 'm16n8k8', left: 'f16', to: 'f16' },
  { shape: 'm16n8k16', left: 'f16', to: 'f16' },
  { shape: 'm16n8k8', left: 'bf16', to: 'f32' },
  { shape: 'm16n8k4', left: 'tf32', to: 'f32' },
  { shape: 'm16n8k8', left: 'tf32', to: 'f32' },
  { shape: 'm16n8k32', left: 'e4m3', right: 'e5m2', to: 'f32' },
  { shape: 'm8n8k4', left: 'f64', to: 'f64' },
  { shape: 'm16n8k16', left: 'f64', to: 'f64' },
  { shape: 'm8n8k16', left: 'u8', right: 's8', to: 's32' },
  { shape: 'm16n8k32', left: 's8', right: 'u8', to: 's32' },
  { shape: 'm8n8k32', left: 's4', right: 'u4', to: 's32' },
  { shape: 'm16n8k64', left: 'u4', right: 's4', to: 's32' },
  { shape: 'm8n8k128', left: 'b1', to: 's32', op: 'xor' },
  { shape: 'm16n8k256', left: 'b1', to: 's32', op: 'and' },
];

for (const { shape, left: type, right = type, to, op } of MMA) {
  test(`mma ${shape} of ${type} and ${right} to ${to}`, async () => {
    const { rows, columns, depth } = dimensionsOf(shape);
    const [left, right_, sums] = [
      matrixOf(type, rows, depth, 1),
      matrixOf(right, depth, columns, 5),
      matrixOf('s32', rows, columns, 3),
    ];
    const isDouble = type === 'f64';
    const wordBytes = isDouble ? 8 : 4;
    const perWord = elementsPerWord(type);
    const tall = rows / 8;
    const words = [(rows * depth) / perWord / LANES, (columns * depth) / perWord / LANES];
    const sumBytes = to === 'f16' ? 2 : to === 'f64' ? 8 : 4;
    const accumulators = (rows * columns) / LANES;
    const laneBytes = 128;
    const input = new Bits(LANES * laneBytes);
    for (let lane = 0; lane < LANES; lane++) {
      const [group, number] = [lane >> 2, lane & 3];
      const put = (word: number, at: number, value: bigint): void =>
        input.put((lane * laneBytes + word * wordBytes) * 8 + at * widthOf(type), widthOf(type), value);
      for (let word = 0; word < words[0]!; word++) {
        for (let i = 0; i < perWord; i++) {
          const column = (number + 4 * Math.floor(word / tall)) * perWord + i;
          put(word, i, bitsOf(type, left.at(group + 8 * (word % tall), column)));
        }
      }
      for (let word = 0; word < words[1]!; word++) {
        for (let i = 0; i < perWord; i++) {
          put(words[0]! + word, i, bitsOf(right, right_.at((number + 4 * word) * perWord + i, group)));
        }
      }
      const first = (lane * laneBytes + (words[0]! + words[1]!) * wordBytes) * 8;
      for (let i = 0; i < accumulators; i++) {
        const value = sums.at(group + 8 * (i >> 1), 2 * number + (i & 1));
        input.put(first + i * sumBytes * 8, sumBytes * 8, bitsOf(to, value));
      }
    }
    const [a, b, c] = [isDouble ? '%da' : '%a', isDouble ? '%db' : '%b', REGISTERS[to]!];
    const sumRegisters = to === 'f16' ? accumulators / 2 : accumulators;
    const registerBytes = to === 'f64' ? 8 : 4;
    const at = (prefix: string, count: number, start: number, bytes: number): string =>
      Array.from(
        { length: count },
        (_, i) => `  ld.global.b${bytes * 8} ${prefix}${i}, [%own+${start + i * bytes}];\n`,
      ).join('');
    const body = `
  mul.wide.u32 %own, %lane, ${laneBytes};
  add.u64 %own, %in, %own;
${at(a, words[0]!, 0, wordBytes)}${at(b, words[1]!, words[0]! * wordBytes, wordBytes)}
${at(c, sumRegisters, (words[0]! + words[1]!) * wordBytes, registerBytes)}
  mma.sync.aligned.${shape}.row.col.${to}.${type}.${right}.${to}${op ? `.${op}.popc` : ''}
    ${list(c, sumRegisters)}, ${list(a, words[0]!)}, ${list(b, words[1]!)}, ${list(c, sumRegisters)};
  mul.wide.u32 %own, %lane, ${sumRegisters * registerBytes};
  add.u64 %own, %out, %own;
${Array.from({ length: sumRegisters }, (_, i) => `  st.global.b${registerBytes * 8} [%own+${i * registerBytes}], ${c}${i};`).join('\n')}`;
    const found = await bytesOf(body, input.bytes, LANES * sumRegisters * registerBytes);
    const expected = productOf(left, right_, sums, op);
    for (let lane = 0; lane < LANES; lane++) {
      for (let i = 0; i < accumulators; i++) {
        const [row, column] = [(lane >> 2) + 8 * (i >> 1), 2 * (lane & 3) + (i & 1)];
        const at = (lane * accumulators + i) * sumBytes;
        const bits =
          sumBytes === 2
            ? BigInt(found.getUint16(at, true))
            : sumBytes === 4
              ? BigInt(found.getUint32(at, true))
              : found.getBigUint64(at, true);
        assert.equal(numberOf(to, bits), expected(row, column), `row ${row}, column ${column}`);
      }
    }
  });
}

type Order = 'row' | 'col';

/** A matrix in memory, row by row or column by column; `stride` elements from one to the next. */
function stored(matrix: Matrix, order: Order, stride: number): Uint8Array {
  const { rows, columns, type } = matrix;
  const width = matrix.type === 's32' || matrix.type === 'f32' ? 32 : widthOf(type);
  const bits = new Bits(Math.ceil((stride * (order === 'row' ? rows : columns) * width) / 8));
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const place = order === 'row' ? row * stride + column : column * stride + row;
      bits.put(place * width, width, bitsOf(type, matrix.at(row, column)));
    }
  }
  return bits.bytes;
}

interface TileCase extends Case {
  readonly orders: readonly [left: Order, right: Order, sums: Order];
  readonly registers: readonly [left: number, right: number, from: number, to: number];
  /** More elements from line to line than there are. */
  readonly gap?: number;
}

// biome-ignore format: one shape per line
const WMMA: readonly TileCase[] = [
  { shape: 'm16n16k16', left: 'f16', to: 'f32', orders: ['row', 'col', 'row'], registers: [8, 8, 8, 8], gap: 8 },
  { shape: 'm16n16k16', left: 'f16', to: 'f16', from: 'f32', orders: ['col', 'row', 'col'], registers: [8, 8, 8, 4] },
  { shape: 'm32n8k16', left: 'f16', to: 'f32', from: 'f16', orders: ['row', 'row', 'row'], registers: [8, 8, 4, 8] },
  { shape: 'm8n32k16', left: 'f16', to: 'f16', orders: ['col', 'col', 'row'], registers: [8, 8, 4, 4], gap: 8 },
  { shape: 'm8n32k16', left: 'bf16', to: 'f32', orders: ['row', 'row', 'col'], registers: [2, 8, 8, 8] },
  { shape: 'm16n16k8', left: 'tf32', to: 'f32', orders: ['col', 'row', 'row'], registers: [4, 4, 8, 8], gap: 4 },
  { shape: 'm16n16k16', left: 'u8', to: 's32', orders: ['row', 'col', 'row'], registers: [2, 2, 8, 8], gap: 16 },
  { shape: 'm8n32k16', left: 's8', to: 's32', orders: ['col', 'row', 'col'], registers: [1, 4, 8, 8] },
  { shape: 'm32n8k16', left: 's8', to: 's32', orders: ['col', 'row', 'row'], registers: [4, 1, 8, 8] },
  { shape: 'm8n8k4', left: 'f64', to: 'f64', orders: ['col', 'row', 'col'], registers: [1, 1, 2, 2], gap: 2 },
  { shape: 'm8n8k32', left: 's4', to: 's32', orders: ['row', 'col', 'row'], registers: [1, 1, 2, 2] },
  { shape: 'm8n8k128', left: 'b1', to: 's32', op: 'xor', orders: ['row', 'col', 'row'], registers: [1, 1, 2, 2] },
];

for (const each of WMMA) {
  const { shape, left: type, to, from = to, op, orders, registers, gap = 0 } = each;
  test(`wmma ${shape} of ${type}, ${orders.join(', ')}, from ${from} to ${to}`, async () => {
    const { rows, columns, depth } = dimensionsOf(shape);
    const matrices = [
      matrixOf(type, rows, depth, 1),
      matrixOf(type, depth, columns, 5),
      matrixOf(from, rows, columns, 3),
    ];
    const strides = matrices.map((matrix, i) => (orders[i] === 'row' ? matrix.columns : matrix.rows) + gap);
    const parts = matrices.map((matrix, i) => stored(matrix, orders[i]!, strides[i]!));
    const at = [0, 2048, 6144];
    const input = new Uint8Array(8192);
    for (const [i, part] of parts.entries()) input.set(part, at[i]!);
    const isDouble = type === 'f64';
    const names = [
      isDouble ? '%da' : '%a',
      isDouble ? '%db' : '%b',
      REGISTERS[from]!,
      to === from ? REGISTERS[to]! : to === 'f16' ? '%c' : '%fc',
    ];
    const lists = names.map((name, i) => list(name, registers[i]!));
    const types = type === 'f16' ? `${to}.${from}` : `${to}.${type}.${type}.${from}`;
    const suffix = (i: number): string => (gap > 0 ? `, ${strides[i]}` : '');
    const body = `
  wmma.load.a.sync.aligned.${orders[0]}.${shape}.global.${type} ${lists[0]}, [%in+${at[0]}]${suffix(0)};
  wmma.load.b.sync.aligned.${orders[1]}.${shape}.${type} ${lists[1]}, [%in+${at[1]}]${suffix(1)};
  wmma.load.c.sync.aligned.${orders[2]}.${shape}.global.${from} ${lists[2]}, [%in+${at[2]}]${suffix(2)};
  wmma.mma${op ? `.${op}.popc` : ''}.sync.aligned.${orders[0]}.${orders[1]}.${shape}.${types}
    ${lists[3]}, ${lists[0]}, ${lists[1]}, ${lists[2]};
  wmma.store.d.sync.aligned.${orders[2]}.${shape}.global.${to} [%out], ${lists[3]}${suffix(2)};`;
    const sumBytes = to === 'f16' ? 2 : to === 'f64' ? 8 : 4;
    const found = await bytesOf(body, input, strides[2]! * Math.max(rows, columns) * sumBytes);
    const expected = productOf(matrices[0]!, matrices[1]!, matrices[2]!, op);
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const place = orders[2] === 'row' ? row * strides[2]! + column : column * strides[2]! + row;
        assert.equal(
          numberOf(to, bitsAt(found, place * sumBytes, sumBytes)),
          expected(row, column),
          `row ${row}, column ${column}`,
        );
      }
    }
  });
}

function bitsAt(view: DataView, at: number, sizeBytes: number): bigint {
  if (sizeBytes === 8) return view.getBigUint64(at, true);
  return BigInt(sizeBytes === 2 ? view.getUint16(at, true) : view.getUint32(at, true));
}

// Lane l has elements 2l and 2l + 1 of 8 x 8, which are their own numbers.
test('a matrix that movmatrix turns, and stmatrix stores turned and as it is', async () => {
  const found = await bytesOf(
    `
  .reg .b32 %t, %row;
  .reg .b32 %s;
  .shared .align 16 .b8 tile[256];
  mul.lo.u32 %a0, %lane, 0x00040004;
  shr.u32 %a0, %a0, 1;
  add.u32 %a0, %a0, 0x00010000;
  movmatrix.sync.aligned.m8n8.trans.b16 %t, %a0;
  mov.u32 %s, tile;
  and.b32 %row, %lane, 15;
  shl.b32 %row, %row, 4;
  add.u32 %row, %s, %row;
  stmatrix.sync.aligned.m8n8.x1.shared.b16 [%row], {%a0};
  stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%row+128], {%t};
  bar.warp.sync 0xffffffff;
  shl.b32 %row, %lane, 3;
  add.u32 %row, %s, %row;
  ld.shared.v2.b32 {%a1, %a2}, [%row];
  mul.wide.u32 %own, %lane, 16;
  add.u64 %own, %out, %own;
  st.global.v4.b32 [%own], {%a0, %t, %a1, %a2};`,
    new Uint8Array(8),
    LANES * 16,
  );
  const halves = (lane: number, from: number): number[] =>
    Array.from({ length: 2 }, (_, i) => found.getUint16(lane * 16 + from + 2 * i, true));
  for (let lane = 0; lane < LANES; lane++) {
    const [row, column] = [lane >> 2, 2 * (lane & 3)];
    assert.deepEqual(halves(lane, 0), [2 * lane, 2 * lane + 1]);
    assert.deepEqual(halves(lane, 4), [8 * column + row, 8 * (column + 1) + row], `turned, lane ${lane}`);
    // 8 bytes are four elements; behind the first matrix there is the one that was turned twice.
    const wanted = [0, 1, 2, 3].map((i) => (4 * lane + i) % 64);
    assert.deepEqual([...halves(lane, 8), ...halves(lane, 12)], wanted, `stored, lane ${lane}`);
  }
});
