/**
 * Products of matrices by clang's builtins, on both executors: each kernel loads the elements of its lane
 * from matrices in row-major order, where CDNA3 ISA 7.1.4 and 7.4 have them, and stores the result likewise;
 * it must be the plain product. Numbers are small integers, so that every sum is exact.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { KernelDevice } from './opencl/device.ts';
import { buffer, type Launch, launch, type Numbers } from './opencl/launch.ts';

const FLAGS = '-x cl -cl-std=CL2.0 --target=amdgcn-amd-amdhsa -mcode-object-version=5 -nogpulib -O2 -w'.split(' ');
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-matrix-'));
after(() => rmSync(folder, { recursive: true }));

type Format = 'f32' | 'xf32' | 'f64' | 'f16' | 'bf16' | 'i8' | 'fp8' | 'bf8';

interface Product {
  readonly builtin: string;
  readonly processor: 'gfx908' | 'gfx90a' | 'gfx942';
  readonly shape: readonly [m: number, n: number, k: number, blocks: number];
  readonly left: Format;
  readonly right?: Format;
  readonly sparse?: boolean;
}

const BYTES: Readonly<Record<Format, 1 | 2 | 4 | 8>> = {
  f32: 4,
  xf32: 4,
  f64: 8,
  f16: 2,
  bf16: 2,
  i8: 1,
  fp8: 1,
  bf8: 1,
};
const MEMORY_TYPES = { 1: 'uchar', 2: 'ushort', 4: 'float', 8: 'double' } as const;

const PRODUCTS: readonly Product[] = [
  { builtin: 'mfma_f32_32x32x1f32', processor: 'gfx908', shape: [32, 32, 1, 2], left: 'f32' },
  { builtin: 'mfma_f32_16x16x4f32', processor: 'gfx908', shape: [16, 16, 4, 1], left: 'f32' },
  { builtin: 'mfma_f32_4x4x4f16', processor: 'gfx908', shape: [4, 4, 4, 16], left: 'f16' },
  { builtin: 'mfma_i32_32x32x8i8', processor: 'gfx908', shape: [32, 32, 8, 1], left: 'i8' },
  { builtin: 'mfma_f32_32x32x4bf16', processor: 'gfx908', shape: [32, 32, 4, 1], left: 'bf16' },
  { builtin: 'mfma_f32_32x32x1f32', processor: 'gfx90a', shape: [32, 32, 1, 2], left: 'f32' },
  { builtin: 'mfma_f32_16x16x1f32', processor: 'gfx90a', shape: [16, 16, 1, 4], left: 'f32' },
  { builtin: 'mfma_f32_4x4x1f32', processor: 'gfx90a', shape: [4, 4, 1, 16], left: 'f32' },
  { builtin: 'mfma_f32_32x32x2f32', processor: 'gfx90a', shape: [32, 32, 2, 1], left: 'f32' },
  { builtin: 'mfma_f32_16x16x4f32', processor: 'gfx90a', shape: [16, 16, 4, 1], left: 'f32' },
  { builtin: 'mfma_f32_32x32x4f16', processor: 'gfx90a', shape: [32, 32, 4, 2], left: 'f16' },
  { builtin: 'mfma_f32_4x4x4f16', processor: 'gfx90a', shape: [4, 4, 4, 16], left: 'f16' },
  { builtin: 'mfma_f32_32x32x8f16', processor: 'gfx90a', shape: [32, 32, 8, 1], left: 'f16' },
  { builtin: 'mfma_i32_32x32x8i8', processor: 'gfx90a', shape: [32, 32, 8, 1], left: 'i8' },
  { builtin: 'mfma_i32_16x16x4i8', processor: 'gfx90a', shape: [16, 16, 4, 4], left: 'i8' },
  { builtin: 'mfma_f32_32x32x4bf16', processor: 'gfx90a', shape: [32, 32, 4, 1], left: 'bf16' },
  { builtin: 'mfma_f32_16x16x16bf16_1k', processor: 'gfx90a', shape: [16, 16, 16, 1], left: 'bf16' },
  { builtin: 'mfma_f64_16x16x4f64', processor: 'gfx90a', shape: [16, 16, 4, 1], left: 'f64' },
  { builtin: 'mfma_f64_4x4x4f64', processor: 'gfx90a', shape: [4, 4, 4, 4], left: 'f64' },
  { builtin: 'mfma_f32_16x16x4f32', processor: 'gfx942', shape: [16, 16, 4, 1], left: 'f32' },
  { builtin: 'mfma_f32_16x16x8_xf32', processor: 'gfx942', shape: [16, 16, 8, 1], left: 'xf32' },
  { builtin: 'mfma_f32_16x16x16f16', processor: 'gfx942', shape: [16, 16, 16, 1], left: 'f16' },
  { builtin: 'mfma_f32_32x32x8bf16_1k', processor: 'gfx942', shape: [32, 32, 8, 1], left: 'bf16' },
  { builtin: 'mfma_f64_16x16x4f64', processor: 'gfx942', shape: [16, 16, 4, 1], left: 'f64' },
  { builtin: 'mfma_i32_32x32x16_i8', processor: 'gfx942', shape: [32, 32, 16, 1], left: 'i8' },
  { builtin: 'mfma_i32_16x16x32_i8', processor: 'gfx942', shape: [16, 16, 32, 1], left: 'i8' },
  { builtin: 'mfma_f32_16x16x32_fp8_bf8', processor: 'gfx942', shape: [16, 16, 32, 1], left: 'fp8', right: 'bf8' },
  { builtin: 'mfma_f32_32x32x16_bf8_fp8', processor: 'gfx942', shape: [32, 32, 16, 1], left: 'bf8', right: 'fp8' },
  { builtin: 'smfmac_f32_16x16x32_f16', processor: 'gfx942', shape: [16, 16, 32, 1], left: 'f16', sparse: true },
  { builtin: 'smfmac_f32_32x32x16_bf16', processor: 'gfx942', shape: [32, 32, 16, 1], left: 'bf16', sparse: true },
  { builtin: 'smfmac_i32_16x16x64_i8', processor: 'gfx942', shape: [16, 16, 64, 1], left: 'i8', sparse: true },
  {
    builtin: 'smfmac_f32_32x32x32_fp8_bf8',
    processor: 'gfx942',
    shape: [32, 32, 32, 1],
    left: 'fp8',
    right: 'bf8',
    sparse: true,
  },
];

/** What the builtin takes for `bytes` of elements. */
function argumentType({ left, sparse, builtin }: Product, bytes: number): string {
  if (left === 'f32' || left === 'f64') return MEMORY_TYPES[BYTES[left]];
  if (left === 'xf32') return 'float2';
  if (left === 'f16') return `half${bytes / 2}`;
  // clang 19 has the sparse product of bf16 take 16-bit integers too.
  if (left === 'bf16') return `short${bytes / 2}`;
  if (sparse) return `int${bytes / 4}`;
  return bytes === 4 ? 'int' : builtin.includes('_i8') || bytes === 8 ? 'long' : 'int';
}

const sumType = (left: Format): 'double' | 'int' | 'float' =>
  left === 'f64' ? 'double' : left === 'i8' ? 'int' : 'float';

/** Row and column of result `r` of a lane, and its block. */
function outputIndices({ shape: [m, n, , blocks], left }: Product): string {
  if (left === 'f64')
    return `j = lane % ${n}, b = lane / ${n} % ${blocks}, i = lane / ${n * blocks} + ${64 / (n * blocks)} * r`;
  // Groups of 4 rows follow each other in lanes, then in registers, then the blocks.
  const groups = Math.min(64 / n, m / 4);
  const inLanes = 64 / n / groups;
  return `j = lane % ${n}, i = r % 4 + 4 * (lane / ${n} % ${groups} + ${groups} * (r / 4 % ${m / 4 / groups})), b = lane / ${n * groups} + ${inLanes} * (r / ${m / groups})`;
}

function kernelSource(product: Product): string {
  const { builtin, shape, left, right = left, sparse } = product;
  const [m, n, k, blocks] = shape;
  const columns = sparse ? k / 2 : k;
  const [leftCount, rightCount] = [(columns * m * blocks) / 64, (k * n * blocks) / 64];
  const results = (m * n * blocks) / 64;
  const sum = sumType(left);
  const vector = results === 1 ? sum : `v${results}`;
  const modifiers = sparse ? 'indices[lane], 0, 0' : '0, 0, 0';
  return `
typedef ${sum} v${Math.max(results, 2)} __attribute__((ext_vector_type(${Math.max(results, 2)})));
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void product(__global const ${MEMORY_TYPES[BYTES[left]]} *A,
    __global const ${MEMORY_TYPES[BYTES[right]]} *B, __global const ${sum} *C, __global ${sum} *D, __global const int *indices) {
  const uint lane = __builtin_amdgcn_workitem_id_x();
  union { ${MEMORY_TYPES[BYTES[left]]} e[${leftCount}]; ${argumentType(product, leftCount * BYTES[left])} v; } a;
  union { ${MEMORY_TYPES[BYTES[right]]} e[${rightCount}]; ${argumentType(product, rightCount * BYTES[right])} v; } f;
  union { ${sum} e[${results}]; ${vector} v; } c, d;
  for (uint x = 0; x < ${leftCount}; x++) {
    const uint i = lane % ${m}, b = lane / ${m} % ${blocks}, k = x + ${leftCount} * (lane / ${m * blocks});
    a.e[x] = A[(b * ${m} + i) * ${columns} + k];
  }
  for (uint x = 0; x < ${rightCount}; x++) {
    const uint j = lane % ${n}, b = lane / ${n} % ${blocks}, k = x + ${rightCount} * (lane / ${n * blocks});
    f.e[x] = B[(b * ${k} + k) * ${n} + j];
  }
  for (uint r = 0; r < ${results}; r++) {
    const uint ${outputIndices(product)};
    c.e[r] = C[(b * ${m} + i) * ${n} + j];
  }
  d.v = __builtin_amdgcn_${builtin}(a.v, f.v, c.v, ${modifiers});
  for (uint r = 0; r < ${results}; r++) {
    const uint ${outputIndices(product)};
    D[(b * ${m} + i) * ${n} + j] = d.e[r];
  }
}
`;
}

/** Integers from -2 to 2, and their encoding. */
const integerAt = (seed: number, i: number): number => ((Math.imul(i + 1, 2654435761) >>> (seed + 8)) % 5) - 2;

/** 0, 1 and 2 of a format of a sign, exponents with the bias and a fraction. */
const smallFloat = (value: number, fractionBits: number, bias: number): number => {
  if (value === 0) return 0;
  return (value < 0 ? 0x80 : 0) | ((bias + Math.log2(Math.abs(value))) << fractionBits);
};

function encoded(format: Format, values: readonly number[]): Numbers {
  switch (format) {
    case 'f64':
      return Float64Array.from(values);
    case 'f16':
      return Float16Array.from(values);
    case 'bf16':
      return Uint16Array.from(values, (value) => new Uint32Array(Float32Array.of(value).buffer)[0]! >>> 16);
    case 'i8':
      return Int8Array.from(values);
    case 'fp8':
      return Uint8Array.from(values, (value) => smallFloat(value, 3, 8));
    case 'bf8':
      return Uint8Array.from(values, (value) => smallFloat(value, 2, 16));
    default:
      return Float32Array.from(values);
  }
}

const PAIRS = [
  [0, 1],
  [0, 2],
  [0, 3],
  [1, 2],
  [1, 3],
  [2, 3],
] as const;
/** Which of 4 columns the stored element is. */
const columnOf = (row: number, stored: number): number => PAIRS[(row + (stored >> 1)) % 6]![stored & 1]!;

interface Case {
  readonly launch: Launch;
  readonly expected: readonly number[];
}

function makeCase({ shape: [m, n, k, blocks], left, right = left, sparse }: Product): Case {
  const columns = sparse ? k / 2 : k;
  const numbers = (count: number, seed: number): number[] =>
    Array.from({ length: count }, (_, i) => integerAt(seed, i));
  const [a, b, c] = [numbers(blocks * m * columns, 1), numbers(blocks * k * n, 2), numbers(blocks * m * n, 3)];
  const stored = (columns * m) / 64;
  const indices = Array.from({ length: 64 }, (_, lane) => {
    let bits = 0;
    for (let x = 0; x < stored; x++) bits |= columnOf(lane % m, x + stored * Math.floor(lane / m)) << (2 * x);
    return bits;
  });
  const expected = c.map((start, at) => {
    const [block, i, j] = [Math.floor(at / (m * n)), Math.floor(at / n) % m, at % n];
    let sum = start;
    for (let x = 0; x < columns; x++) {
      const row = sparse ? 4 * Math.floor(x / 2) + columnOf(i, x) : x;
      sum += a[(block * m + i) * columns + x]! * b[(block * k + row) * n + j]!;
    }
    return sum;
  });
  const sums = { double: Float64Array, int: Int32Array, float: Float32Array }[sumType(left)];
  const args = [encoded(left, a), encoded(right, b), sums.from(c), new sums(c.length), Int32Array.from(indices)];
  return {
    launch: launch(
      'product',
      args.map((contents) => buffer(contents)),
      [64],
      [64],
    ),
    expected,
  };
}

for (const executor of ['handlers', 'reference'] as const) {
  const devices = {
    gfx908: new KernelDevice('gfx908', executor),
    gfx90a: new KernelDevice('gfx90a', executor),
    gfx942: new KernelDevice('gfx942', executor),
  };
  for (const product of PRODUCTS) {
    const { builtin, processor, left } = product;
    test(`${processor} ${builtin}: ${executor}`, () => {
      const [source, image] = ['cl', 'co'].map((extension) =>
        path.join(folder, `${processor}-${builtin}.${extension}`),
      );
      writeFileSync(source!, kernelSource(product));
      execFileSync('clang-19', [...FLAGS, `-mcpu=${processor}`, source!, '-o', image!]);
      const { launch: kernel, expected } = makeCase(product);
      devices[processor].load(readFileSync(image!), builtin, (run) => {
        const { buffer: bytes } = Uint8Array.from(run(kernel)[3]!);
        const sums = { double: Float64Array, int: Int32Array, float: Float32Array }[sumType(left)];
        assert.deepEqual(Array.from(new sums(bytes)), expected);
      });
    });
  }
}
