/** The reactions of examples/applications/chemistry.cl: species, then numbers. */
import { ramp } from '../kernels/inputs.ts';
import { type ApplicationBenchmark, bufferOf } from './application.ts';

type Exchange = readonly [
  species: readonly [number, number, number, number],
  rates: readonly [number, number, number, number],
];
type Join = readonly [
  species: readonly [number, number, number],
  rates: readonly [number, number, number, number, number],
];

const EXCHANGES: readonly Exchange[] = [
  [
    [0, 1, 3, 4],
    [1.5, 0, 300, 200],
  ],
  [
    [0, 3, 5, 4],
    [3.25, 0.625, 850, 275],
  ],
  [
    [0, 5, 7, 4],
    [1.75, 0.375, 550, 350],
  ],
  [
    [0, 6, 8, 4],
    [3.5, 0.125, 1100, 425],
  ],
  [
    [0, 8, 1, 4],
    [2, 0.75, 800, 500],
  ],
  [
    [1, 2, 5, 6],
    [3.75, 0.5, 500, 575],
  ],
  [
    [1, 3, 6, 7],
    [2.25, 0.25, 1050, 650],
  ],
  [
    [1, 4, 7, 8],
    [4, 0, 750, 250],
  ],
  [
    [1, 5, 8, 0],
    [2.5, 0.625, 450, 325],
  ],
  [
    [1, 8, 2, 3],
    [4.25, 0.375, 1000, 400],
  ],
  [
    [2, 3, 7, 1],
    [2.75, 0.125, 700, 475],
  ],
  [
    [2, 4, 8, 3],
    [4.5, 0.75, 400, 550],
  ],
  [
    [2, 6, 1, 7],
    [3, 0.5, 950, 625],
  ],
  [
    [3, 4, 0, 7],
    [1.5, 0.25, 650, 225],
  ],
  [
    [3, 6, 2, 4],
    [3.25, 0, 350, 300],
  ],
  [
    [3, 8, 4, 1],
    [1.75, 0.625, 900, 375],
  ],
  [
    [4, 5, 2, 6],
    [3.5, 0.375, 600, 450],
  ],
  [
    [4, 6, 3, 1],
    [2, 0.125, 300, 525],
  ],
  [
    [4, 8, 5, 0],
    [3.75, 0.75, 850, 600],
  ],
  [
    [5, 6, 4, 7],
    [2.25, 0.5, 550, 200],
  ],
];
const JOINS: readonly Join[] = [
  [
    [0, 3, 5],
    [2, 0, 250, 0.75, 150],
  ],
  [
    [1, 4, 6],
    [2.5, 0.0625, 290, 0.875, 180],
  ],
  [
    [2, 5, 7],
    [3, 0.125, 330, 1, 210],
  ],
  [
    [3, 6, 8],
    [3.5, 0.1875, 370, 1.125, 240],
  ],
  [
    [4, 7, 0],
    [4, 0.25, 410, 1.25, 270],
  ],
  [
    [5, 8, 1],
    [4.5, 0.3125, 450, 1.375, 300],
  ],
  [
    [6, 0, 2],
    [5, 0.375, 490, 1.5, 330],
  ],
  [
    [7, 1, 3],
    [5.5, 0.4375, 530, 1.625, 360],
  ],
];
const CELLS = { full: 8192, small: 130 };
const SPECIES = 9;
const ITEMS = 64;

export const CHEMISTRY: ApplicationBenchmark = {
  name: 'chemistry',
  tolerance: 1e-3,
  plan(size) {
    const cells = CELLS[size];
    return {
      buffers: {
        rate: { sizeBytes: SPECIES * cells * 4 },
        concentration: ramp(SPECIES * cells, (i) => 0.125 + ((i * 37) % 101) / 128),
        temperature: ramp(cells, (i) => 800 + ((i * 53) % 1201)),
      },
      restored: [],
      launches: [
        {
          ...{ kernel: 'rates', grid: [Math.ceil(cells / ITEMS) * ITEMS], workgroup: [ITEMS] },
          args: ['rate', 'concentration', 'temperature', cells],
        },
      ],
    };
  },
  model(plan) {
    const concentration = bufferOf<Float32Array>(plan, 'concentration');
    const temperature = bufferOf<Float32Array>(plan, 'temperature');
    const cells = temperature.length;
    const rate = new Float32Array(SPECIES * cells);
    for (const [i, t] of temperature.entries()) {
      const c = Array.from({ length: SPECIES }, (_, s) => concentration[s * cells + i]!);
      const third = c.reduce((sum, each) => sum + each);
      const add = (species: number, amount: number): void => {
        rate[species * cells + i]! += amount;
      };
      const arrhenius = (a: number, b: number, e: number): number => a * Math.exp(b * Math.log(t) - e / t);
      for (const [[p, q, r, s], [a, b, e, k]] of EXCHANGES) {
        const forward = arrhenius(a, b, e);
        const amount = forward * c[p]! * c[q]! - (forward / Math.exp(k / t + 0.25)) * c[r]! * c[s]!;
        for (const from of [p, q]) add(from, -amount);
        for (const to of [r, s]) add(to, amount);
      }
      for (const [[p, q, r], [a, b, e, low, k]] of JOINS) {
        const high = arrhenius(a, b, e);
        const reduced = (low * third) / high;
        const shape = Math.exp(-0.5 / (1 + Math.log(reduced + 1e-20) ** 2));
        const forward = high * (reduced / (1 + reduced)) * shape;
        const amount = forward * c[p]! * c[q]! - (forward / Math.exp(k / t - 0.5)) * c[r]!;
        for (const from of [p, q]) add(from, -amount);
        add(r, amount);
      }
    }
    return { rate };
  },
};
