/** Kernels of CUDA programs (test/data/cuda/kernels.cu) as nvcc compiles them, against models of them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { createPtxDevice, type PtxDeviceOptions, runPtxKernel } from '../../src/ptx.ts';

const NVCC = '/usr/local/cuda/bin/nvcc';
const SOURCE = path.resolve(import.meta.dirname, '../data/cuda/kernels.cu');
const EXECUTORS = ['handlers', 'jit', 'reference'] as const;
const TARGETS = ['75', '80', '90'] as const;
const THREADS = 256;
const BLOCK = 128;
const OUTPUT_WORDS = 1024;

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-cuda-'));
after(() => rmSync(folder, { recursive: true }));

const integers = Uint32Array.from({ length: 1024 }, (_, i) => Math.imul(i + 1, 0x9e3779b1) >>> 0);
const floats = Float32Array.from({ length: 1024 }, (_, i) => ((i * 37) % 101) / 16);
const doubles = Float64Array.from({ length: 256 }, (_, i) => Math.sin(i) * 4);

type Numbers = Uint32Array | Float32Array | Float64Array;

interface Kernel {
  readonly name: string;
  readonly threads?: number;
  /** Of a block. */
  readonly block?: number;
  /** Shared memory of a block that the launch adds. */
  readonly sharedBytes?: number;
  readonly input: Numbers;
  readonly wanted: Numbers;
  /** Where results are not exact: as much as they may be off, of 1 and more. */
  readonly tolerance?: number;
}

const f = Math.fround;
const ids = Array.from({ length: THREADS }, (_, i) => i);
const words = (model: (id: number) => number): Uint32Array => Uint32Array.from(ids, model);
const singles = (model: (id: number) => number): Float32Array => Float32Array.from(ids, model);

const prefix = (i: number): number => {
  const first = i - (i % BLOCK);
  return integers.subarray(first, i + 1).reduce((sum, each) => (sum + each) >>> 0, 0);
};

function matrixProduct(): Float32Array {
  return singles((i) => {
    let sum = 0;
    for (let k = 0; k < 16; k++) sum = f(sum + f(floats[(i >> 4) * 16 + k]! * floats[256 + k * 16 + (i % 16)]!));
    return sum;
  });
}

function warpSums(): Uint32Array {
  return Uint32Array.from({ length: THREADS / 32 }, (_, warp) => {
    const lanes = integers.subarray(warp * 32, warp * 32 + 32);
    return lanes.reduce((sum, each) => (sum + each) >>> 0, 0) ^ lanes.reduce((all, each) => all ^ each, 0);
  });
}

function mandelbrot(id: number): number {
  const [a, b] = [f(f((id % 32) / 12) - 2), f(f((id >> 5) / 6) - 1.25)];
  let [x, y, steps] = [0, 0, 0];
  while (steps < 200 && f(f(x * x) + f(y * y)) < 4) {
    const next = f(f(f(x * x) - f(y * y)) + a);
    y = f(f(f(2 * x) * y) + b);
    x = next;
    steps++;
  }
  return steps;
}

const view = new DataView(new ArrayBuffer(8));
/** The nearest number with so many digits behind the first one. */
function rounded(x: number, digits: number): number {
  if (x === 0) return 0;
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(x))) - digits);
  const low = Math.floor(x / unit);
  const rest = x / unit - low;
  return (rest < 0.5 || (rest === 0.5 && low % 2 === 0) ? low : low + 1) * unit;
}
function half(x: number): number {
  view.setFloat16(0, x);
  return view.getUint16(0);
}
const halfPair = (id: number): number => {
  const one = (x: number): number => half(Math.max(rounded(rounded(x, 10) ** 2 - 1, 10), -rounded(x, 10)));
  return (one(floats[id]!) | (one(floats[id + 1]!) << 16)) >>> 0;
};

function atomics(): Uint32Array {
  const found = new Uint32Array(7);
  view.setFloat32(0, Math.max(0, ...floats.subarray(0, THREADS)));
  found[0] = view.getUint32(0);
  found[1] = THREADS % 100;
  view.setFloat32(0, THREADS / 2);
  found[3] = view.getUint32(0);
  found[5] = THREADS;
  found[6] = ids.reduce((all, id) => all ^ id, 0);
  return found;
}

/** A warp's values lie in the order of its lanes; which warp is first nobody says. */
function compacted(found: Uint32Array, input: Uint32Array): Uint32Array {
  const kept = Array.from(input.subarray(0, THREADS)).filter((each) => each % 3 === 0);
  const sorted = found.slice(1, 1 + kept.length).sort();
  assert.deepEqual(sorted, Uint32Array.from(kept).sort());
  return words((id) => {
    const warp = Array.from(input.subarray(id - (id % 32), id - (id % 32) + 32));
    const same = warp.filter((each) => each % 4 === input[id]! % 4).length;
    return same + (warp.includes(7) ? 1 : 0) + (warp.every((each) => each < 5) ? 2 : 0);
  });
}

function forces(): Float64Array {
  return Float64Array.from(doubles, (x) => {
    let force = 0;
    for (const each of doubles) {
      const d = each - x;
      const size = d * d + 0.01;
      force += d / Math.sqrt(size * size * size);
    }
    return force;
  });
}

const bytes = (x: number): number[] => [0, 8, 16, 24].map((low) => (x >>> low) & 255);
const signedByte = (x: number): number => (x << 24) >> 24;

function bits(id: number): number {
  const [x, y] = [integers[id]!, integers[id + 1]!];
  const both = [...bytes(x), ...bytes(y)];
  const picked = (both[3]! << 24) | (both[7]! << 16) | (both[2]! << 8) | both[5]!;
  const reversed = Number.parseInt(x.toString(2).padStart(32, '0').split('').reverse().join(''), 2);
  const first = x === 0 ? 0 : 32 - Math.clz32(x & -x);
  let mixed = ((y << 7) | (x >>> 25)) ^ picked ^ (reversed + Math.clz32(y) + first);
  const dot = bytes(x).reduce((sum, each, i) => sum + signedByte(each) * signedByte(bytes(y)[i]!), 5);
  const apart = bytes(x).reduce((all, each, i) => all + Math.abs(each - bytes(y)[i]!) * 2 ** (8 * i), 0);
  const sad = Math.abs((x | 0) - (y | 0)) + 1;
  const high = Number((BigInt(x) * BigInt(y)) >> 32n);
  const low24 = Number(BigInt.asUintN(32, BigInt((x << 8) >> 8) * BigInt((y << 8) >> 8)));
  mixed = (mixed + dot + apart + sad + high + low24) | 0;
  const rest = Number(((BigInt(x) * BigInt(y)) / 1000003n) % 65537n);
  return (mixed ^ rest ^ Math.trunc((x | 0) / (y | 1))) >>> 0;
}

function collatz(id: number): number {
  let [x, steps] = [(integers[id]! % 10000) + 1, 0];
  for (; x !== 1; steps++) x = x % 2 ? 3 * x + 1 : x / 2;
  const ends = [steps + 1000, steps * 3, steps ^ 0x55, ~steps, steps << 3, steps - 7];
  return ends[steps % 6]!;
}

const weights = [0.0625, 0.25, 0.375, 0.25, 0.0625];
function convolved(id: number): number {
  let sum = 0;
  for (let k = -2; k <= 2; k++)
    if (id + k >= 0 && id + k < THREADS) sum = f(sum + f(weights[k + 2]! * floats[id + k]!));
  return sum;
}

const fast = (id: number): number => {
  const x = floats[id]!;
  const sum = Math.sin(x) * Math.exp(-x) + Math.log(x + 1) + 1 / Math.sqrt(x + 1) + x / 3;
  return sum + Math.cos(x) + Math.sqrt(x + 1);
};

/** Abramowitz and Stegun 7.1.5, which these arguments need no better one than. */
function erf(x: number): number {
  let [term, sum] = [x, x];
  for (let k = 1; k < 300; k++) {
    term *= (-x * x) / k;
    sum += term / (2 * k + 1);
  }
  return Math.min(1, (2 / Math.sqrt(Math.PI)) * sum);
}
const exact = (id: number): number => {
  const x = floats[id]!;
  const sum = Math.sin(x) + Math.exp(-x) + Math.log(x + 1) + Math.tanh(x) + Math.cbrt(x) + Math.atan2(x, 2);
  return sum + (x > 4 ? 1 : erf(x)) + (x % f(0.3));
};

const brain = (id: number): number => rounded(rounded(rounded(floats[id]!, 7) ** 2, 7) + 1, 7);
const bins = (bin: number): number => integers.subarray(0, THREADS).filter((each) => each % 16 === bin).length;

function sorted(): Uint32Array {
  return Uint32Array.from([0, BLOCK].flatMap((first) => [...integers.slice(first, first + BLOCK).sort()]));
}

/** Blocks of 8 rows see the rows of other blocks as they were at the beginning. */
function heated(): Float32Array {
  let now: Float32Array = floats.slice(0, THREADS);
  for (let step = 0; step < 3; step++) {
    const at = (x: number, y: number, of: number): number => {
      if (x < 0 || x > 15) return x < 0 ? 1 : 2;
      if (y < 0 || y > 15) return y < 0 ? 3 : 4;
      return (y >> 3 === of >> 3 ? now : floats)[y * 16 + x]!;
    };
    now = singles((id) => {
      const [x, y] = [id % 16, id >> 4];
      return f(0.25 * f(f(at(x, y - 1, y) + at(x, y + 1, y)) + f(at(x - 1, y, y) + at(x + 1, y, y))));
    });
  }
  return now;
}

/** 256 bodies are all that the input has. */
function pulls(): Float32Array {
  const body = (i: number): number[] => [...floats.subarray(4 * i, 4 * i + 4)];
  return Float32Array.from(
    ids.flatMap((id) => {
      const own = body(id);
      const force = [0, 0, 0];
      for (const other of ids.map(body)) {
        const apart = [0, 1, 2].map((d) => other[d]! - own[d]!);
        const size = apart.reduce((sum, d) => sum + d * d, 0.5);
        for (const d of [0, 1, 2]) force[d]! += (apart[d]! * other[3]!) / size ** 1.5;
      }
      return force;
    }),
  );
}

/** Rows of 0 to 4 columns, those of the last 20 are empty; node 0 has some. */
const graph: Uint32Array = (() => {
  const rows = ids.map((id) =>
    id < 236 ? Array.from({ length: (id + 3) % 5 }, (_, k) => (id * 7 + k * k * 31 + 1) % THREADS) : [],
  );
  let end = 0;
  const offsets = [0, ...rows.map((row) => (end += row.length))];
  return Uint32Array.from([...offsets, ...rows.flat()]);
})();
const columns = (id: number): readonly (readonly [number, number])[] =>
  Array.from({ length: graph[id + 1]! - graph[id]! }, (_, k) => [graph[id]! + k, graph[THREADS + 1 + graph[id]! + k]!]);

function levels(): Uint32Array {
  const found = new Int32Array(THREADS).fill(-1);
  found[0] = 0;
  for (let level = 0, last = [0]; last.length > 0; level++) {
    const next = last.flatMap((id) => columns(id).map(([, to]) => to)).filter((to) => found[to] === -1);
    for (const to of next) found[to] = level + 1;
    last = [...new Set(next)];
  }
  return new Uint32Array(found.buffer);
}

function prices(): Float32Array {
  const normal = (x: number): number => (x < 0 ? 1 - erf(-x / Math.SQRT2) : 1 + erf(x / Math.SQRT2)) / 2;
  const cumulative = (x: number): number => (x < 0 ? 1 - normal(-x) : normal(x));
  return Float32Array.from(
    ids.flatMap((id) => {
      const [price, strike, years] = [floats[id]! + 5, floats[id + THREADS]! + 5, 0.25 + floats[id + 2 * THREADS]!];
      const d1 = (Math.log(price / strike) + (0.02 + 0.5 * 0.09) * years) / (0.3 * Math.sqrt(years));
      const discounted = strike * Math.exp(-0.02 * years);
      const call = price * cumulative(d1) - discounted * cumulative(d1 - 0.3 * Math.sqrt(years));
      return [call, call + discounted - price];
    }),
  );
}

function hits(id: number): number {
  let state = (integers[id]! | 1) >>> 0;
  const next = (): number => {
    state = (state ^ (state << 13)) >>> 0;
    state = (state ^ (state >>> 17)) >>> 0;
    state = (state ^ (state << 5)) >>> 0;
    return f(f(state >>> 8) / 16777216);
  };
  let count = 0;
  for (let i = 0; i < 50; i++) {
    const [x, y] = [next(), next()];
    if (f(f(x * x) + f(y * y)) < 1) count++;
  }
  return count;
}

function inTiles(id: number): number {
  const value = (i: number): number => integers[i]! % 1000;
  const group = (size: number): number[] => Array.from({ length: size }, (_, i) => value(id - (id % size) + i));
  const sum = group(8).reduce((all, each) => all + each, 0);
  const warp = group(32);
  const odd = warp.filter((each) => each % 2 === 1);
  const rank = warp.slice(0, id % 32).filter((each) => each % 2 === 1).length;
  const some = value(id) % 2 === 1 ? odd.length * 100 + rank + odd[0]! : 0;
  return sum * 7 + Math.max(...warp) * 3 + some + value(id ^ 3) + ((id % 32) >> 3) + (id % BLOCK);
}

function area(id: number): number {
  const size = integers[id]! % 50;
  const ackermann = (m: number, n: number): number =>
    m === 0 ? n + 1 : ackermann(m - 1, n === 0 ? 1 : ackermann(m, n - 1));
  const nested = 3 + 2 * (size % 3 === 0 ? size * size : size);
  return [size, size * size, nested, 5 + 2 * nested][size % 4]! + 1000 * ackermann(size % 3, size % 5);
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);
const product = (id: number): number => sum(columns(id).map(([at, column]) => (at + 3) * (column * column + 1)));

const KERNELS: readonly Kernel[] = [
  { name: 'vector_add', input: floats, wanted: singles((i) => f(floats[i]! + floats[i + THREADS]!)) },
  { name: 'saxpy4', input: floats, wanted: singles((i) => f(f(2.5 * floats[i]!) + floats[i + THREADS]!)) },
  { name: 'block_sum', input: integers, wanted: Uint32Array.of(prefix(BLOCK - 1), prefix(2 * BLOCK - 1)) },
  { name: 'matrix_product', block: 64, input: floats, wanted: matrixProduct() },
  { name: 'warp_sum', input: integers, wanted: warpSums() },
  { name: 'histogram', input: integers, wanted: Uint32Array.from({ length: 16 }, (_, bin) => bins(bin)) },
  { name: 'scan', input: integers, wanted: words(prefix) },
  { name: 'transpose', threads: BLOCK, input: integers, wanted: words((i) => integers[(i % 16) * 16 + (i >> 4)]!) },
  { name: 'convolve', input: floats, wanted: singles(convolved) },
  { name: 'mandelbrot', input: integers, wanted: words(mandelbrot) },
  { name: 'fast_math', input: floats, wanted: singles(fast), tolerance: 1e-6 },
  { name: 'exact_math', input: floats, wanted: singles(exact), tolerance: 1e-6 },
  { name: 'half_pairs', input: floats, wanted: words(halfPair) },
  { name: 'brain_floats', input: floats, wanted: singles(brain) },
  { name: 'atomics', input: floats, wanted: atomics() },
  { name: 'compact', input: integers, wanted: new Uint32Array() },
  { name: 'forces', input: doubles, wanted: forces() },
  { name: 'bits', input: integers, wanted: words(bits) },
  { name: 'collatz', input: integers, wanted: words(collatz) },
  { name: 'bitonic', sharedBytes: BLOCK * 4, input: integers, wanted: sorted() },
  { name: 'heat', input: floats, wanted: heated() },
  { name: 'bodies', input: floats, wanted: pulls(), tolerance: 1e-4 },
  { name: 'sparse', input: graph, wanted: words(product) },
  { name: 'breadth_first', block: THREADS, input: graph, wanted: levels() },
  { name: 'options', input: floats, wanted: prices(), tolerance: 2e-5 },
  { name: 'monte_carlo', input: integers, wanted: Uint32Array.of(sum(ids.map(hits)), ...ids.map(hits)) },
  { name: 'tiles', input: integers, wanted: words(inTiles) },
  { name: 'shapes', input: integers, wanted: words(area) },
];

const bytesOf = (numbers: Numbers): Uint8Array =>
  new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);

async function run(text: string, kernel: Kernel, options: PtxDeviceOptions): Promise<ArrayBuffer> {
  using device = createPtxDevice({ memorySizeBytes: 2 ** 26, ...options });
  const { name, input, threads = THREADS, block = Math.min(threads, BLOCK), sharedBytes = 0 } = kernel;
  const buffer = { kind: 'buffer', elements: undefined } as const;
  const { outputs } = await runPtxKernel({
    ...{ device, texts: [{ text, name: 'kernels.ptx' }], kernel: name, grid: [threads], workgroup: [block] },
    dynamicSharedSizeBytes: sharedBytes,
    args: [
      { ...buffer, text: 'out', contents: new Uint8Array(), sizeBytes: OUTPUT_WORDS * 4, output: 'out' },
      { ...buffer, text: 'in', contents: bytesOf(input), sizeBytes: input.byteLength, output: undefined },
      { kind: 'value', text: 'n', bytes: bytesOf(Uint32Array.of(THREADS)) },
    ],
  });
  return Uint8Array.from(outputs[0]!.bytes).buffer;
}

function compare({ name, wanted, input, tolerance }: Kernel, found: ArrayBuffer): void {
  if (name === 'compact') {
    const results = new Uint32Array(found);
    assert.deepEqual(results.slice(256, 256 + THREADS), compacted(results, input as Uint32Array), name);
    return;
  }
  const Type = wanted.constructor as new (buffer: ArrayBuffer, offset: number, length: number) => Numbers;
  const numbers = new Type(found, 0, wanted.length);
  if (tolerance === undefined) assert.deepEqual(numbers, wanted, name);
  else {
    numbers.forEach((each, i) => {
      const error = Math.abs(each - wanted[i]!) / Math.max(1, Math.abs(wanted[i]!));
      assert.ok(error <= tolerance, `${name} ${i}: ${each} for ${wanted[i]}`);
    });
  }
}

test('kernels that nvcc compiled compute what their models do', {
  skip: !existsSync(NVCC) && 'nvcc is not installed',
}, async () => {
  const wrong: string[] = [];
  for (const [number, target] of TARGETS.entries()) {
    const ptx = path.join(folder, 'kernels.ptx');
    const options = ['-ptx', `-arch=compute_${target}`, '-fmad=false', '-std=c++17'];
    const { status, stderr } = spawnSync(NVCC, [...options, SOURCE, '-o', ptx]);
    assert.equal(status, 0, String(stderr));
    const text = readFileSync(ptx, 'utf8');
    for (const [index, kernel] of KERNELS.entries()) {
      const executor = EXECUTORS[(index + number) % EXECUTORS.length]!;
      try {
        compare(kernel, await run(text, kernel, { processor: `sm_${target}`, executor }));
      } catch (error) {
        wrong.push(`${kernel.name} on sm_${target} (${executor}): ${(error as Error).message.slice(0, 400)}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
});
