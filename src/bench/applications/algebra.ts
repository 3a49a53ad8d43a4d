/** Dense matrices: elimination, factors, correlations. */
import { ramp } from '../kernels/inputs.ts';
import { type ApplicationBenchmark, bufferOf } from './application.ts';

const { fround } = Math;
const SYSTEM = { full: 192, small: 24 };
const BLOCK = 16;

/** Of elements that are small beside those on the diagonal: no pivots are needed. */
const dominant = (size: number): Float32Array =>
  ramp(size * size, (i) => (i % (size + 1) === 0 ? size / 4 : ((i * 37) % 101) / 101));

const gaussian: ApplicationBenchmark = {
  name: 'gaussian',
  tolerance: 1e-5,
  plan(size) {
    const n = SYSTEM[size];
    return {
      buffers: { matrix: dominant(n), right: ramp(n, (i) => (i % 7) + 1), factors: { sizeBytes: n * 4 } },
      restored: ['matrix', 'right'],
      launches: Array.from({ length: n - 1 }, (_, column) => {
        const left = Math.ceil((n - column) / BLOCK) * BLOCK;
        return [
          { kernel: 'multipliers', grid: [left], workgroup: [BLOCK], args: ['factors', 'matrix', n, column] },
          {
            ...{ kernel: 'eliminate', grid: [left, left], workgroup: [BLOCK, BLOCK] },
            args: ['matrix', 'right', 'factors', n, column],
          },
        ];
      }).flat(),
    };
  },
  model(plan) {
    const matrix = Float32Array.from(bufferOf<Float32Array>(plan, 'matrix'));
    const right = Float32Array.from(bufferOf<Float32Array>(plan, 'right'));
    const n = right.length;
    for (let column = 0; column < n - 1; column++) {
      for (let row = column + 1; row < n; row++) {
        const factor = fround(matrix[row * n + column]! / matrix[column * n + column]!);
        for (let x = column; x < n; x++) matrix[row * n + x]! -= fround(factor * matrix[column * n + x]!);
        right[row]! -= fround(factor * right[column]!);
      }
    }
    return { matrix, right };
  },
};

const FACTORED = { full: 256, small: 48 };

const lud: ApplicationBenchmark = {
  name: 'lud',
  // Sums are in another order.
  tolerance: 1e-4,
  plan(size) {
    const n = FACTORED[size];
    return {
      buffers: { matrix: dominant(n) },
      restored: ['matrix'],
      launches: Array.from({ length: n / BLOCK }, (_, i) => {
        const [first, left] = [i * BLOCK, n / BLOCK - i - 1];
        const args = ['matrix', n, first];
        const onDiagonal = { kernel: 'diagonal', grid: [BLOCK], workgroup: [BLOCK], args };
        if (left === 0) return [onDiagonal];
        return [
          onDiagonal,
          { kernel: 'perimeter', grid: [left * 2 * BLOCK], workgroup: [2 * BLOCK], args },
          { kernel: 'interior', grid: [left * BLOCK, left * BLOCK], workgroup: [BLOCK, BLOCK], args },
        ];
      }).flat(),
    };
  },
  model(plan) {
    const matrix = Float32Array.from(bufferOf<Float32Array>(plan, 'matrix'));
    const n = Math.sqrt(matrix.length);
    for (let k = 0; k < n - 1; k++) {
      for (let row = k + 1; row < n; row++) {
        const factor = fround(matrix[row * n + k]! / matrix[k * n + k]!);
        matrix[row * n + k] = factor;
        for (let x = k + 1; x < n; x++) matrix[row * n + x]! -= fround(factor * matrix[k * n + x]!);
      }
    }
    return { matrix };
  },
};

const SAMPLES = { full: 256, small: 40 };
const ITEMS = 64;

const correlation: ApplicationBenchmark = {
  name: 'correlation',
  tolerance: 1e-4,
  plan(size) {
    const n = SAMPLES[size];
    const line = { grid: [Math.ceil(n / ITEMS) * ITEMS], workgroup: [ITEMS] };
    const plane = { grid: [Math.ceil(n / 32) * 32, Math.ceil(n / 8) * 8], workgroup: [32, 8] };
    return {
      buffers: {
        data: ramp(n * n, (i) => ((i * 37 + (i % n) * (i % 5)) % 103) / 32),
        ...{ mean: { sizeBytes: n * 4 }, deviation: { sizeBytes: n * 4 }, correlation: { sizeBytes: n * n * 4 } },
      },
      restored: ['data'],
      launches: [
        { ...line, kernel: 'means', args: ['mean', 'data', n, n] },
        { ...line, kernel: 'deviations', args: ['deviation', 'mean', 'data', n, n] },
        { ...plane, kernel: 'centre', args: ['data', 'mean', 'deviation', n, n] },
        { ...line, kernel: 'products', args: ['correlation', 'data', n, n] },
      ],
    };
  },
  model(plan) {
    const data = bufferOf<Float32Array>(plan, 'data');
    const n = Math.sqrt(data.length);
    const centred = new Float64Array(n * n);
    for (let j = 0; j < n; j++) {
      let mean = 0;
      for (let i = 0; i < n; i++) mean += data[i * n + j]! / n;
      let square = 0;
      for (let i = 0; i < n; i++) square += (data[i * n + j]! - mean) ** 2 / n;
      const deviation = Math.sqrt(square) <= 0.005 ? 1 : Math.sqrt(square);
      for (let i = 0; i < n; i++) centred[i * n + j] = (data[i * n + j]! - mean) / (Math.sqrt(n) * deviation);
    }
    const correlations = new Float32Array(n * n);
    for (let a = 0; a < n; a++) {
      correlations[a * n + a] = 1;
      for (let b = a + 1; b < n; b++) {
        let sum = 0;
        for (let i = 0; i < n; i++) sum += centred[i * n + a]! * centred[i * n + b]!;
        correlations[a * n + b] = sum;
        correlations[b * n + a] = sum;
      }
    }
    return { correlation: correlations };
  },
};

const EQUATIONS = { full: 768, small: 70 };

const matvec: ApplicationBenchmark = {
  name: 'matvec',
  plan(size) {
    const n = EQUATIONS[size];
    const line = { grid: [Math.ceil(n / ITEMS) * ITEMS], workgroup: [ITEMS] };
    return {
      buffers: {
        matrix: ramp(n * n, (i) => ((i * 29 + (i % n)) % 97) / 64 - 0.75),
        vector: ramp(n, (i) => ((i * 13) % 31) / 16),
        ...{ product: { sizeBytes: n * 4 }, out: { sizeBytes: n * 4 } },
      },
      restored: [],
      launches: [
        { ...line, kernel: 'rows_times', args: ['product', 'matrix', 'vector', n] },
        { ...line, kernel: 'columns_times', args: ['out', 'matrix', 'product', n] },
      ],
    };
  },
  model(plan) {
    const [matrix, vector] = [bufferOf<Float32Array>(plan, 'matrix'), bufferOf<Float32Array>(plan, 'vector')];
    const n = vector.length;
    const [product, out] = [new Float32Array(n), new Float32Array(n)];
    for (let row = 0; row < n; row++)
      for (let i = 0; i < n; i++) product[row]! += fround(matrix[row * n + i]! * vector[i]!);
    for (let column = 0; column < n; column++)
      for (let i = 0; i < n; i++) out[column]! += fround(matrix[i * n + column]! * product[i]!);
    return { out };
  },
};

export const ALGEBRA: readonly ApplicationBenchmark[] = [gaussian, lud, correlation, matvec];
