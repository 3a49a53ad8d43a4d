/** Workgroups whose work-items share data in LDS: tiles, atomics, a sorting network. */

import { ramp, scattered } from './inputs.ts';
import type { KernelBenchmark } from './kernel-benchmark.ts';

const BODIES = { full: 2048, small: 256, long: 1 << 14 };
const VALUES = { full: 1 << 20, small: 5000, long: 1 << 25 };
const GROUPS = { full: 64, small: 3, long: 256 };
const SORTED = { full: 1 << 17, small: 1 << 10, long: 1 << 22 };
const GROUP = 256;
const RUN = 512;
/** Stages of the network: 1 + 2 + ... + log2(RUN). */
const STAGES = 45;

export const WORKGROUPS: readonly KernelBenchmark[] = [
  {
    name: 'nbody',
    unit: 'interaction',
    // The reciprocal square root is approximate, and errors add up over the bodies.
    tolerance: 1e-5,
    launch: (size) => {
      const n = BODIES[size];
      const bodies = ramp(n * 4, (i) => (i % 4 === 3 ? 1 / n : ((i * 37) % 101) / 50 - 1));
      return { grid: [n], workgroup: [GROUP], args: [{ sizeBytes: n * 16 }, bodies, n] };
    },
    operations: (size) => BODIES[size] ** 2,
    model({ args }) {
      const [, bodies, n] = args as [unknown, Float32Array, number];
      const out = new Float32Array(n * 4);
      for (let i = 0; i < n * 4; i += 4) {
        let [x, y, z, potentials] = [0, 0, 0, 0];
        for (let j = 0; j < n * 4; j += 4) {
          const dx = bodies[j]! - bodies[i]!;
          const dy = bodies[j + 1]! - bodies[i + 1]!;
          const dz = bodies[j + 2]! - bodies[i + 2]!;
          const inverse = 1 / Math.sqrt(dx * dx + dy * dy + dz * dz + 0.01);
          const potential = bodies[j + 3]! * inverse;
          const pull = potential * inverse * inverse;
          x += dx * pull;
          y += dy * pull;
          z += dz * pull;
          potentials += potential;
        }
        out.set([x, y, z, potentials], i);
      }
      return out;
    },
  },
  {
    name: 'reduction',
    unit: 'element',
    launch: (size) => {
      const n = VALUES[size];
      return { grid: [GROUPS[size] * GROUP], workgroup: [GROUP], args: [{ sizeBytes: 4 }, scattered(n), n] };
    },
    operations: (size) => VALUES[size],
    model: ({ args }) => Uint32Array.of((args[1] as Uint32Array).reduce((sum, each) => (sum + each) | 0, 0)),
  },
  {
    name: 'histogram',
    unit: 'element',
    launch: (size) => {
      const n = VALUES[size];
      return { grid: [GROUPS[size] * GROUP], workgroup: [GROUP], args: [{ sizeBytes: 1024 }, scattered(n), n] };
    },
    operations: (size) => VALUES[size],
    model({ args }) {
      const bins = new Uint32Array(256);
      for (const value of args[1] as Uint32Array) bins[value & 255]!++;
      return bins;
    },
  },
  {
    name: 'bitonic',
    unit: 'comparison',
    launch: (size) => ({ grid: [SORTED[size] / 2], workgroup: [GROUP], args: [scattered(SORTED[size])] }),
    operations: (size) => (SORTED[size] / 2) * STAGES,
    model({ args }) {
      const out = Uint32Array.from(args[0] as Uint32Array);
      for (let first = 0; first < out.length; first += RUN) out.subarray(first, first + RUN).sort();
      return out;
    },
  },
];
