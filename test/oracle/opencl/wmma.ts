/** Launches of `wmma.cl`: matrices of a whole tile, and of tiles that are cut. */
import { Random } from '../../fuzz/random.ts';
import { buffer, int, type Launch, launch, type Numbers, zeros } from './launch.ts';
import { EXACT, type Subject } from './subject.ts';

/** Integers from `from` to `to`. */
function numbers<T extends Numbers>(contents: T, seed: number, from: number, to: number): T {
  const random = new Random(seed);
  for (let i = 0; i < contents.length; i++) contents[i] = random.between(from, to);
  return contents;
}

const bf16 = (contents: Float32Array): Int16Array =>
  Int16Array.from(new Uint32Array(contents.buffer), (bits) => bits >>> 16);

function launchesOf(side: number, waveSize: number): Launch[] {
  const size = side ** 2;
  const floats = (seed: number) => numbers(new Float32Array(size), seed, -2, 2);
  const [a, b] = [floats(1), floats(2)];
  const [bytes, small] = [numbers(new Int8Array(size), 3, -128, 127), numbers(new Int8Array(size), 4, -8, 7)];
  const halves: [Numbers, Numbers] = [Float16Array.from(a), Float16Array.from(b)];
  const products: [kernel: string, result: Numbers, a: Numbers, b: Numbers][] = [
    ['f32_f16', a, ...halves],
    ['f32_bf16', a, bf16(a), bf16(b)],
    ['f16', halves[0], ...halves],
    ['bf16', bf16(a), bf16(a), bf16(b)],
    ['signed_8', new Int32Array(), bytes, numbers(new Int8Array(size), 5, -128, 127)],
    ['mixed_8', new Int32Array(), bytes, numbers(new Uint8Array(size), 6, 0, 255)],
    ['signed_4', new Int32Array(), small, numbers(new Int8Array(size), 7, -8, 7)],
  ];
  const waves = Math.ceil(side / 16) ** 2;
  return products.map(([kernel, result, left, right]) =>
    launch(
      kernel,
      [buffer(zeros(result, size)), buffer(left), buffer(right), int(side)],
      [waves * waveSize],
      [2 * waveSize],
    ),
  );
}

export const WMMA: Subject = {
  source: 'wmma.cl',
  builds: [{ flags: EXACT, processors: ['gfx1100'] }],
  languages: ['OpenCL C'],
  levels: ['O0', 'O2'],
  launches: (items, { waveSize }) => [16, ...(items < 100 ? [] : [33])].flatMap((side) => launchesOf(side, waveSize)),
};
