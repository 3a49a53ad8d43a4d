/** Physics, chemistry, signals and finance: float arithmetic and functions. */
import { ramp, scattered } from '../kernels/inputs.ts';
import { type ApplicationBenchmark, bufferOf } from './application.ts';

const { fround } = Math;
const ATOMS = { full: 4096, small: 200 };
const NEIGHBOURS = 64;
const MD = { cutoff: 16, lj1: 1.5, lj2: 2 };
const ITEMS = 128;

const md: ApplicationBenchmark = {
  name: 'md',
  tolerance: 1e-4,
  plan(size) {
    const n = ATOMS[size];
    const neighbours = Int32Array.from(scattered(n * NEIGHBOURS), (value, i) => {
      const other = (value >>> 0) % n;
      // No atom is its own neighbour.
      return other === i % n ? (other + 1) % n : other;
    });
    const { cutoff, lj1, lj2 } = MD;
    return {
      buffers: {
        ...{ force: { sizeBytes: n * 16 }, neighbours },
        position: ramp(n * 4, (i) => (i % 4 === 3 ? 0 : (((i * 7919) % 1009) / 1009) * 8 + i / (n * 16))),
      },
      restored: [],
      launches: [
        {
          ...{ kernel: 'forces', grid: [Math.ceil(n / ITEMS) * ITEMS], workgroup: [ITEMS] },
          args: ['force', 'position', 'neighbours', n, NEIGHBOURS, { f32: cutoff }, { f32: lj1 }, { f32: lj2 }],
        },
      ],
    };
  },
  model(plan) {
    const [position, neighbours] = [bufferOf<Float32Array>(plan, 'position'), bufferOf<Int32Array>(plan, 'neighbours')];
    const n = position.length / 4;
    const force = new Float32Array(n * 4);
    for (let i = 0; i < n; i++) {
      const sum = [0, 0, 0];
      for (let k = 0; k < NEIGHBOURS; k++) {
        const other = neighbours[k * n + i]!;
        const [dx, dy, dz] = [0, 1, 2].map((axis) => fround(position[i * 4 + axis]! - position[other * 4 + axis]!)) as [
          number,
          number,
          number,
        ];
        const r2 = fround(fround(fround(dx * dx) + fround(dy * dy)) + fround(dz * dz));
        if (r2 >= MD.cutoff) continue;
        const inverse = fround(1 / r2);
        const r6 = fround(fround(inverse * inverse) * inverse);
        const pull = fround(fround(inverse * r6) * fround(fround(MD.lj1 * r6) - MD.lj2));
        for (const [axis, d] of [dx, dy, dz].entries()) sum[axis] = fround(sum[axis]! + fround(d * pull));
      }
      force.set(sum, i * 4);
    }
    return { force };
  },
};

const CELLS = { full: 4, small: 2 };
const PARTICLES = 64;
const ALPHA = 0.5;

const lavamd: ApplicationBenchmark = {
  name: 'lavamd',
  tolerance: 1e-4,
  plan(size) {
    const cells = CELLS[size];
    const count = cells ** 3 * PARTICLES;
    return {
      buffers: {
        out: { sizeBytes: count * 16 },
        position: ramp(count * 4, (i) => (((i >> 2) * 31 + (i & 3) * 17) % 61) / 64 + 0.25),
        charge: ramp(count, (i) => ((i * 13) % 29) / 32),
      },
      restored: [],
      launches: [
        {
          ...{ kernel: 'potential', grid: [count], workgroup: [PARTICLES] },
          args: ['out', 'position', 'charge', cells, { f32: ALPHA }],
        },
      ],
    };
  },
  model(plan) {
    const [position, charge] = [bufferOf<Float32Array>(plan, 'position'), bufferOf<Float32Array>(plan, 'charge')];
    const cells = Math.cbrt(charge.length / PARTICLES);
    const out = new Float32Array(position.length);
    const near = (a: number): number[] => [a - 1, a, a + 1].filter((b) => b >= 0 && b < cells);
    for (let i = 0; i < charge.length; i++) {
      const cell = Math.floor(i / PARTICLES);
      const [x, y, z] = [cell % cells, Math.floor(cell / cells) % cells, Math.floor(cell / cells ** 2)];
      const [px, py, pz, pw] = placeOf(position, i);
      const sum = [0, 0, 0, 0] as [number, number, number, number];
      for (const k of near(z)) {
        for (const j of near(y)) {
          for (const h of near(x)) {
            const first = ((k * cells + j) * cells + h) * PARTICLES;
            for (let p = first; p < first + PARTICLES; p++) {
              const [qx, qy, qz, qw] = placeOf(position, p);
              const v = Math.exp(-ALPHA * (pw + qw - (px * qx + py * qy + pz * qz)));
              sum[0] += charge[p]! * 2 * v * (px - qx);
              sum[1] += charge[p]! * 2 * v * (py - qy);
              sum[2] += charge[p]! * 2 * v * (pz - qz);
              sum[3] += charge[p]! * v;
            }
          }
        }
      }
      out.set(sum, i * 4);
    }
    return { out };
  },
};

const placeOf = (position: Float32Array, i: number): [number, number, number, number] => [
  position[i * 4]!,
  position[i * 4 + 1]!,
  position[i * 4 + 2]!,
  position[i * 4 + 3]!,
];

const TRANSFORMS = { full: 128, small: 2 };
const POINTS = 512;
const LANES = 64;

const fft: ApplicationBenchmark = {
  name: 'fft',
  tolerance: 2e-4,
  plan(size) {
    const count = TRANSFORMS[size];
    return {
      buffers: { data: ramp(count * POINTS * 2, (i) => ((i * 37) % 127) / 64 - 1) },
      restored: ['data'],
      launches: [{ kernel: 'fft512', grid: [count * LANES], workgroup: [LANES], args: ['data'] }],
    };
  },
  model(plan) {
    const data = bufferOf<Float32Array>(plan, 'data');
    const out = new Float32Array(data.length);
    for (let first = 0; first < data.length; first += 2 * POINTS)
      out.set(transformed(data.subarray(first, first + 2 * POINTS)), first);
    return { data: out };
  },
};

/** Pairs of real and imaginary parts, a power of two of them. */
function transformed(points: Float32Array | Float64Array): Float64Array {
  const n = points.length / 2;
  if (n === 1) return Float64Array.from(points);
  const half = (odd: number): Float64Array =>
    transformed(Float64Array.from({ length: n }, (_, i) => points[4 * (i >> 1) + 2 * odd + (i & 1)]!));
  const [even, odd] = [half(0), half(1)];
  const out = new Float64Array(2 * n);
  for (let k = 0; k < n / 2; k++) {
    const [re, im] = [Math.cos((-2 * Math.PI * k) / n), Math.sin((-2 * Math.PI * k) / n)];
    const [a, b] = [odd[2 * k]! * re - odd[2 * k + 1]! * im, odd[2 * k]! * im + odd[2 * k + 1]! * re];
    out.set([even[2 * k]! + a, even[2 * k + 1]! + b], 2 * k);
    out.set([even[2 * k]! - a, even[2 * k + 1]! - b], 2 * k + n);
  }
  return out;
}

const OPTIONS = { full: 1 << 16, small: 1 << 8 };
const MARKET = { rate: 0.02, volatility: 0.3 };

const blackscholes: ApplicationBenchmark = {
  name: 'blackscholes',
  tolerance: 1e-4,
  plan(size) {
    const n = OPTIONS[size];
    return {
      buffers: {
        ...{ call: { sizeBytes: n * 4 }, put: { sizeBytes: n * 4 } },
        price: ramp(n, (i) => 5 + ((i * 37) % 101) / 4),
        strike: ramp(n, (i) => 1 + ((i * 53) % 199) / 2),
        years: ramp(n, (i) => 0.25 + ((i * 29) % 79) / 8),
      },
      restored: [],
      launches: [
        {
          ...{ kernel: 'prices', grid: [n], workgroup: [ITEMS] },
          args: ['call', 'put', 'price', 'strike', 'years', { f32: MARKET.rate }, { f32: MARKET.volatility }],
        },
      ],
    };
  },
  model(plan) {
    const [price, strike, years] = ['price', 'strike', 'years'].map((name) => bufferOf<Float32Array>(plan, name)) as [
      Float32Array,
      Float32Array,
      Float32Array,
    ];
    const { rate, volatility } = MARKET;
    const normal = (d: number): number => {
      const k = 1 / (1 + 0.2316419 * Math.abs(d));
      const series = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
      const tail = 0.39894228 * Math.exp(-0.5 * d * d) * series;
      return d > 0 ? 1 - tail : tail;
    };
    const [call, put] = [new Float32Array(price.length), new Float32Array(price.length)];
    for (const [i, s] of price.entries()) {
      const [x, t] = [strike[i]!, years[i]!];
      const d1 = (Math.log(s / x) + (rate + 0.5 * volatility ** 2) * t) / (volatility * Math.sqrt(t));
      const [n1, n2] = [normal(d1), normal(d1 - volatility * Math.sqrt(t))];
      const discounted = x * Math.exp(-rate * t);
      call[i] = s * n1 - discounted * n2;
      put[i] = discounted * (1 - n2) - s * (1 - n1);
    }
    return { call, put };
  },
};

const SAMPLES = { full: 16_384, small: 300 };
const CENTRES = 8;
const DIMENSIONS = 16;

const kmeans: ApplicationBenchmark = {
  name: 'kmeans',
  plan(size) {
    const n = SAMPLES[size];
    return {
      buffers: {
        membership: { sizeBytes: n * 4 },
        points: ramp(n * DIMENSIONS, (i) => ((i * 7919) % 1013) / 64),
        centres: ramp(CENTRES * DIMENSIONS, (i) => ((i * 4801) % 997) / 64),
      },
      restored: [],
      launches: [
        {
          ...{ kernel: 'nearest', grid: [Math.ceil(n / ITEMS) * ITEMS], workgroup: [ITEMS] },
          args: ['membership', 'points', 'centres', n, CENTRES, DIMENSIONS],
        },
      ],
    };
  },
  model(plan) {
    const [points, centres] = [bufferOf<Float32Array>(plan, 'points'), bufferOf<Float32Array>(plan, 'centres')];
    const n = points.length / DIMENSIONS;
    const membership = Uint32Array.from({ length: n }, (_, i) => {
      let [best, least] = [0, Number.MAX_VALUE];
      for (let c = 0; c < CENTRES; c++) {
        let distance = 0;
        for (let d = 0; d < DIMENSIONS; d++) {
          const off = fround(points[d * n + i]! - centres[c * DIMENSIONS + d]!);
          distance = fround(distance + fround(off * off));
        }
        if (distance < least) [best, least] = [c, distance];
      }
      return best;
    });
    return { membership };
  },
};

export const SIMULATIONS: readonly ApplicationBenchmark[] = [md, lavamd, fft, blackscholes, kmeans];
