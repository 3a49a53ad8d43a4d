/** Sorting, sums, counts and alignments: integers, local memory, barriers. */
import { scattered } from '../kernels/inputs.ts';
import { type ApplicationBenchmark, bufferOf, type PlanLaunch } from './application.ts';

const BLOCK = 16;
const ALIGNED = { full: 512, small: 64 };
const PENALTY = 10;

const nw: ApplicationBenchmark = {
  name: 'nw',
  plan(size) {
    const n = ALIGNED[size];
    const width = n + 1;
    const blocks = n / BLOCK;
    const edge = (i: number): number => (i < width ? -i * PENALTY : i % width === 0 ? (-i / width) * PENALTY : 0);
    return {
      buffers: {
        scores: Int32Array.from({ length: width * width }, (_, i) => edge(i)),
        similarity: Int32Array.from({ length: width * width }, (_, i) => ((i * 37) % 23) - 8),
      },
      restored: ['scores'],
      launches: Array.from({ length: 2 * blocks - 1 }, (_, diagonal) => {
        const first = Math.max(0, diagonal - blocks + 1);
        const count = Math.min(diagonal, blocks - 1) - first + 1;
        return {
          ...{ kernel: 'align', grid: [count * BLOCK], workgroup: [BLOCK] },
          args: ['scores', 'similarity', width, diagonal, first, PENALTY],
        };
      }),
    };
  },
  model(plan) {
    const scores = Int32Array.from(bufferOf<Int32Array>(plan, 'scores'));
    const similarity = bufferOf<Int32Array>(plan, 'similarity');
    const width = Math.sqrt(scores.length);
    for (let y = 1; y < width; y++) {
      for (let at = y * width + 1; at < (y + 1) * width; at++) {
        const gap = Math.max(scores[at - 1]!, scores[at - width]!) - PENALTY;
        scores[at] = Math.max(scores[at - width - 1]! + similarity[at]!, gap);
      }
    }
    return { scores: new Uint32Array(scores.buffer) };
  },
};

const SUMMED = { full: 1 << 18, small: 1 << 11 };
const GROUP = 256;
const BLOCK_ELEMENTS = 2 * GROUP;

/** Sums of all before each, modulo 2^32. */
function sumsBefore(values: Uint32Array): Uint32Array {
  let sum = 0;
  return values.map((value) => {
    const before = sum;
    sum = (sum + value) | 0;
    return before;
  });
}

const scan: ApplicationBenchmark = {
  name: 'scan',
  plan(size) {
    const n = SUMMED[size];
    const blocks = n / BLOCK_ELEMENTS;
    const all = { grid: [blocks * GROUP], workgroup: [GROUP] };
    const sums = Math.max(1, blocks / BLOCK_ELEMENTS);
    return {
      buffers: {
        ...{ in: scattered(n), out: { sizeBytes: n * 4 } },
        // The sums of blocks fill whole blocks, too.
        ...{ sums: { sizeBytes: sums * BLOCK_ELEMENTS * 4 }, places: { sizeBytes: sums * BLOCK_ELEMENTS * 4 } },
        total: { sizeBytes: sums * 4 },
      },
      restored: [],
      launches: [
        { ...all, kernel: 'scan_blocks', args: ['out', 'sums', 'in'] },
        { kernel: 'scan_blocks', grid: [sums * GROUP], workgroup: [GROUP], args: ['places', 'total', 'sums'] },
        { ...all, kernel: 'add_sums', args: ['out', 'places'] },
      ],
    };
  },
  model: (plan) => ({ out: sumsBefore(bufferOf<Uint32Array>(plan, 'in')) }),
};

const SORTED = { full: 1 << 16, small: 1 << 10 };
const LANES = 64;
const KEYS_EACH = 4;
const DIGIT_BITS = 4;

const radixsort: ApplicationBenchmark = {
  name: 'radixsort',
  plan(size) {
    const n = SORTED[size];
    const groups = n / (LANES * KEYS_EACH);
    const counts = groups << DIGIT_BITS;
    const all = { grid: [groups * LANES], workgroup: [LANES] };
    return {
      buffers: { keys: scattered(n), other: { sizeBytes: n * 4 }, counts: { sizeBytes: counts * 4 } },
      restored: ['keys'],
      launches: Array.from({ length: 32 / DIGIT_BITS }, (_, pass): PlanLaunch[] => {
        const [from, to] = pass % 2 === 0 ? ['keys', 'other'] : ['other', 'keys'];
        const shift = pass * DIGIT_BITS;
        return [
          { ...all, kernel: 'count_digits', args: ['counts', from, shift] },
          { kernel: 'place_counts', grid: [LANES], workgroup: [LANES], args: ['counts', counts] },
          { ...all, kernel: 'scatter', args: [to, from, 'counts', shift] },
        ];
      }).flat(),
    };
  },
  model: (plan) => ({ keys: bufferOf<Uint32Array>(plan, 'keys').toSorted() }),
};

const EXCHANGED = { full: 1 << 15, small: 1 << 9 };

const bitonicsort: ApplicationBenchmark = {
  name: 'bitonicsort',
  plan(size) {
    const n = EXCHANGED[size];
    const launches: PlanLaunch[] = [];
    for (let stage = 1; 1 << stage <= n; stage++) {
      for (let step = stage - 1; step >= 0; step--)
        launches.push({ kernel: 'exchange', grid: [n / 2], workgroup: [GROUP], args: ['keys', stage, step] });
    }
    return { buffers: { keys: scattered(n) }, restored: ['keys'], launches };
  },
  model: (plan) => ({ keys: bufferOf<Uint32Array>(plan, 'keys').toSorted() }),
};

const GROUPS = { full: 64, small: 3 };
const VECTORS_EACH = 8;
const BINS = 256;

const histogram256: ApplicationBenchmark = {
  name: 'histogram256',
  plan(size) {
    const groups = GROUPS[size];
    return {
      buffers: {
        data: scattered(groups * LANES * VECTORS_EACH * 4),
        ...{ counts: { sizeBytes: groups * BINS * 4 }, total: { sizeBytes: BINS * 4 } },
      },
      restored: [],
      launches: [
        {
          ...{ kernel: 'count_bytes', grid: [groups * LANES], workgroup: [LANES] },
          args: ['counts', 'data', VECTORS_EACH],
        },
        { kernel: 'add_counts', grid: [BINS], workgroup: [LANES], args: ['total', 'counts', groups] },
      ],
    };
  },
  model(plan) {
    const { buffer } = bufferOf<Uint32Array>(plan, 'data');
    const total = new Uint32Array(BINS);
    for (const byte of new Uint8Array(buffer)) total[byte]!++;
    return { total };
  },
};

export const SEQUENCES: readonly ApplicationBenchmark[] = [nw, scan, radixsort, bitonicsort, histogram256];
