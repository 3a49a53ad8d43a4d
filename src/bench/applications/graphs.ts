/** Sparse matrices and graphs: rows of different lengths, places that only the data know. */
import { ramp, scattered } from '../kernels/inputs.ts';
import { type ApplicationBenchmark, bufferOf, type Plan, type PlanLaunch } from './application.ts';

const { fround } = Math;
const ROWS = { full: 8192, small: 200 };
const ITEMS = 128;
const LANES = 64;

/** Rows of 8 to 55 columns, in no order. */
function sparse(rows: number): { starts: Int32Array; columns: Int32Array } {
  const lengths = scattered(rows).map((value) => 8 + (value % 48));
  const starts = new Int32Array(rows + 1);
  for (const [row, length] of lengths.entries()) starts[row + 1] = starts[row]! + length;
  return { starts, columns: Int32Array.from(scattered(starts[rows]!), (value) => (value >>> 0) % rows) };
}

const ARRAYS = ['out', 'starts', 'columns', 'values', 'vector'];

function product(name: string, kernel: string, launch: (rows: number) => Omit<PlanLaunch, 'kernel'>) {
  return {
    ...{ name, source: 'spmv' },
    plan(size) {
      const rows = ROWS[size];
      const { starts, columns } = sparse(rows);
      const launched = launch(rows);
      return {
        buffers: {
          ...{ out: { sizeBytes: rows * 4 }, starts, columns },
          values: ramp(columns.length, (i) => ((i * 41) % 113) / 64 - 0.75),
          vector: ramp(rows, (i) => ((i * 17) % 71) / 64),
        },
        restored: [],
        launches: [{ kernel, ...launched, args: [...ARRAYS, ...launched.args] }],
      };
    },
  } satisfies Partial<ApplicationBenchmark>;
}

const elements = (plan: Plan) => ({
  starts: bufferOf<Int32Array>(plan, 'starts'),
  columns: bufferOf<Int32Array>(plan, 'columns'),
  values: bufferOf<Float32Array>(plan, 'values'),
  vector: bufferOf<Float32Array>(plan, 'vector'),
});

const scalarProduct: ApplicationBenchmark = {
  ...product('spmv-scalar', 'spmv_scalar', (rows) => ({
    grid: [Math.ceil(rows / ITEMS) * ITEMS],
    workgroup: [ITEMS],
    args: [rows],
  })),
  model(plan) {
    const { starts, columns, values, vector } = elements(plan);
    const out = new Float32Array(starts.length - 1);
    for (let row = 0; row < out.length; row++) {
      let sum = 0;
      for (let i = starts[row]!; i < starts[row + 1]!; i++)
        sum = fround(sum + fround(values[i]! * vector[columns[i]!]!));
      out[row] = sum;
    }
    return { out };
  },
};

const vectorProduct: ApplicationBenchmark = {
  ...product('spmv-vector', 'spmv_vector', (rows) => ({ grid: [rows * LANES], workgroup: [LANES], args: [] })),
  model(plan) {
    const { starts, columns, values, vector } = elements(plan);
    const out = new Float32Array(starts.length - 1);
    for (let row = 0; row < out.length; row++) {
      const sums = new Float32Array(LANES);
      for (let i = starts[row]!; i < starts[row + 1]!; i++)
        sums[(i - starts[row]!) % LANES]! += fround(values[i]! * vector[columns[i]!]!);
      for (let active = LANES / 2; active >= 1; active /= 2)
        for (let i = 0; i < active; i++) sums[i]! += sums[i + active]!;
      out[row] = sums[0]!;
    }
    return { out };
  },
};

const NODES = { full: 32_768, small: 500 };
const MAX_DEGREE = 12;
const GROUP = 256;

/** Distances from node 0, and how many levels there are. */
function distances(starts: Int32Array, edges: Int32Array): { distance: Int32Array; levels: number } {
  const distance = new Int32Array(starts.length - 1).fill(-1);
  distance[0] = 0;
  let frontier = [0];
  let levels = 0;
  for (; frontier.length > 0; levels++) {
    const next: number[] = [];
    for (const node of frontier) {
      for (const neighbour of edges.subarray(starts[node], starts[node + 1])) {
        if (distance[neighbour] !== -1) continue;
        distance[neighbour] = levels + 1;
        next.push(neighbour);
      }
    }
    frontier = next;
  }
  return { distance, levels };
}

const bfs: ApplicationBenchmark = {
  name: 'bfs',
  plan(size) {
    const nodes = NODES[size];
    const starts = new Int32Array(nodes + 1);
    for (const [node, value] of scattered(nodes).entries())
      starts[node + 1] = starts[node]! + 1 + ((value >>> 0) % MAX_DEGREE);
    const edges = Int32Array.from(scattered(starts[nodes]!), (value) => (value >>> 0) % nodes);
    const first = (): Uint8Array => Uint8Array.from({ length: nodes }, (_, i) => Number(i === 0));
    const shape = { grid: [Math.ceil(nodes / GROUP) * GROUP], workgroup: [GROUP] };
    return {
      buffers: {
        ...{
          starts,
          edges,
          more: { sizeBytes: 4 },
          updating: new Uint8Array(nodes),
          frontier: first(),
          visited: first(),
        },
        distance: Int32Array.from({ length: nodes }, (_, i) => (i === 0 ? 0 : -1)),
      },
      restored: ['distance', 'frontier', 'updating', 'visited'],
      // The host of the original reads whether there is more; here the model says how many levels there are.
      launches: Array.from({ length: distances(starts, edges).levels }, () => [
        {
          ...{ ...shape, kernel: 'visit' },
          args: ['distance', 'frontier', 'updating', 'visited', 'starts', 'edges', nodes],
        },
        { ...shape, kernel: 'advance', args: ['more', 'frontier', 'updating', 'visited', nodes] },
      ]).flat(),
    };
  },
  model(plan) {
    const { distance } = distances(bufferOf<Int32Array>(plan, 'starts'), bufferOf<Int32Array>(plan, 'edges'));
    return { distance: new Uint32Array(distance.buffer) };
  },
};

export const GRAPHS: readonly ApplicationBenchmark[] = [scalarProduct, vectorProduct, bfs];
