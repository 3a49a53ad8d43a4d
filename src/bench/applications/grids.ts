/** Stencils: each point from its neighbours. */
import { ramp } from '../kernels/inputs.ts';
import { type ApplicationBenchmark, bufferOf } from './application.ts';

const { fround } = Math;
const HOT = { full: [512, 8], small: [32, 2] } as const;
const TILE = 16;
const SPREAD = { x: 0.125, y: 0.25, cooling: 0.0625, ambient: 80 };

const hotspot: ApplicationBenchmark = {
  name: 'hotspot',
  plan(size) {
    const [width, steps] = HOT[size];
    const count = width * width;
    const { x, y, cooling, ambient } = SPREAD;
    const numbers = [width, width, ...[x, y, cooling, ambient].map((f32) => ({ f32 }))];
    return {
      buffers: {
        heat: ramp(count, (i) => 60 + ((i * 37) % 101) / 4),
        next: { sizeBytes: count * 4 },
        power: ramp(count, (i) => ((i * 53) % 89) / 256),
      },
      restored: ['heat'],
      launches: Array.from({ length: steps }, (_, step) => ({
        ...{ kernel: 'hotspot', grid: [width, width], workgroup: [TILE, TILE] },
        args: [...(step % 2 === 0 ? ['next', 'heat'] : ['heat', 'next']), 'power', ...numbers],
      })),
    };
  },
  model(plan) {
    const power = bufferOf<Float32Array>(plan, 'power');
    let heat = Float32Array.from(bufferOf<Float32Array>(plan, 'heat'));
    const [width] = plan.launches[0]!.grid as [number];
    const { x: spreadX, y: spreadY, cooling, ambient } = SPREAD;
    for (const _ of plan.launches) {
      const next = new Float32Array(heat.length);
      for (let y = 0; y < width; y++) {
        for (let x = 0; x < width; x++) {
          const at = (column: number, row: number): number =>
            heat[Math.min(Math.max(row, 0), width - 1) * width + Math.min(Math.max(column, 0), width - 1)]!;
          const own = at(x, y);
          const around = (a: number, b: number, spread: number): number =>
            fround(fround(fround(a + b) - fround(2 * own)) * spread);
          const gained = fround(
            fround(power[y * width + x]! + around(at(x - 1, y), at(x + 1, y), spreadX)) +
              around(at(x, y - 1), at(x, y + 1), spreadY),
          );
          next[y * width + x] = own + fround(gained + fround(fround(ambient - own) * cooling));
        }
      }
      heat = next;
    }
    return { heat };
  },
};

const VOLUME = { full: [96, 96, 48], small: [20, 12, 8] } as const;

const stencil3d: ApplicationBenchmark = {
  name: 'stencil3d',
  plan(size) {
    const [width, height, depth] = VOLUME[size];
    const count = width * height * depth;
    return {
      buffers: { out: { sizeBytes: count * 4 }, in: ramp(count, (i) => ((i * 29) % 127) / 64 - 1) },
      restored: [],
      launches: [
        {
          ...{ kernel: 'stencil3d', grid: [Math.ceil(width / 32) * 32, Math.ceil(height / 4) * 4], workgroup: [32, 4] },
          args: ['out', 'in', width, height, depth, { f32: 0.5 }, { f32: 0.0625 }],
        },
      ],
    };
  },
  model(plan) {
    const cells = bufferOf<Float32Array>(plan, 'in');
    const [width, height, depth] = plan.launches[0]!.args.slice(2, 5) as [number, number, number];
    const out = new Float32Array(cells.length);
    const plane = width * height;
    for (let z = 1; z < depth - 1; z++) {
      for (let y = 1; y < height - 1; y++) {
        for (let x = 1; x < width - 1; x++) {
          const at = z * plane + y * width + x;
          let sum = fround(cells[at - 1]! + cells[at + 1]!);
          for (const there of [-width, width, -plane, plane]) sum = fround(sum + cells[at + there]!);
          out[at] = fround(cells[at]! * 0.5) + fround(sum * 0.0625);
        }
      }
    }
    return { out };
  },
};

const IMAGE = { full: [256, 192, 2], small: [32, 16, 2] } as const;
const Q0 = 0.05;
const LAMBDA = 0.5;

const diffusion: ApplicationBenchmark = {
  name: 'diffusion',
  tolerance: 1e-12,
  plan(size) {
    const [width, height, steps] = IMAGE[size];
    const count = width * height;
    const shape = { grid: [width, height], workgroup: [TILE, TILE] };
    const image = Float64Array.from({ length: count }, (_, i) => Math.exp((((i * 31) % 97) / 97) * 0.25));
    return {
      buffers: { image, c: { sizeBytes: count * 8 }, gradients: { sizeBytes: count * 32 } },
      restored: ['image'],
      launches: Array.from({ length: steps }, () => [
        { ...shape, kernel: 'coefficients', args: ['c', 'gradients', 'image', width, height, { f64: Q0 }] },
        { ...shape, kernel: 'diffuse', args: ['image', 'c', 'gradients', width, height, { f64: LAMBDA }] },
      ]).flat(),
    };
  },
  model(plan) {
    const image = Float64Array.from(bufferOf<Float64Array>(plan, 'image'));
    const [width, height] = plan.launches[0]!.grid as [number, number];
    const at = (x: number, y: number): number =>
      Math.min(Math.max(y, 0), height - 1) * width + Math.min(Math.max(x, 0), width - 1);
    for (let step = 0; step < plan.launches.length / 2; step++) {
      const c = new Float64Array(image.length);
      const gradients = image.slice().map(() => 0);
      const around = Array.from({ length: image.length }, (_, i): number[] => {
        const [x, y] = [i % width, Math.floor(i / width)];
        return [at(x, y - 1), at(x, y + 1), at(x - 1, y), at(x + 1, y)].map((j) => image[j]! - image[i]!);
      });
      for (const [i, [north, south, west, east]] of (around as [number, number, number, number][]).entries()) {
        const own = image[i]!;
        const g2 = (north * north + south * south + west * west + east * east) / (own * own);
        const l = (north + south + west + east) / own;
        const q = (0.5 * g2 - (1 / 16) * (l * l)) / (1 + 0.25 * l) ** 2;
        c[i] = Math.min(Math.max(1 / (1 + (q - Q0) / (Q0 * (1 + Q0))), 0), 1);
      }
      for (const [i, [north, south, west, east]] of (around as [number, number, number, number][]).entries()) {
        const [x, y] = [i % width, Math.floor(i / width)];
        const sum = c[i]! * north + c[at(x, y + 1)]! * south + c[i]! * west + c[at(x + 1, y)]! * east;
        gradients[i] = 0.25 * LAMBDA * sum;
      }
      for (const [i, gained] of gradients.entries()) image[i]! += gained;
    }
    return { image };
  },
};

export const GRIDS: readonly ApplicationBenchmark[] = [hotspot, stencil3d, diffusion];
