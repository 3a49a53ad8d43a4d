/** Launches of `algorithms.cl`. */
import { Random } from '../../fuzz/random.ts';
import { integers, smallFloats } from './inputs.ts';
import { type Argument, buffer, GROUP, int, type Launch, launch, value, zeros } from './launch.ts';
import type { Subject } from './subject.ts';

const random = (count: number, seed: number, from: number, to: number): Float32Array => {
  const numbers = new Random(seed);
  return Float32Array.from({ length: count }, () => from + ((to - from) * numbers.next()) / 2 ** 32);
};

/** e^(-2 pi i k / 256). */
const roots = Float32Array.from({ length: 512 }, (_, i) => {
  const angle = (-2 * Math.PI * (i >> 1)) / 256;
  return i & 1 ? Math.sin(angle) : Math.cos(angle);
});

/** Rows of 0 to 90 numbers. */
function sparse(rows: number, columns: number, seed: number): Argument[] {
  const numbers = new Random(seed);
  const starts = [0];
  const places: number[] = [];
  for (let row = 0; row < rows; row++) {
    const count = numbers.chance(10) ? numbers.below(91) : numbers.below(12);
    for (let k = 0; k < count; k++) places.push(numbers.below(columns));
    starts.push(places.length);
  }
  return [
    buffer(Float64Array.from(random(places.length, seed + 1, -1, 1))),
    buffer(Uint32Array.from(places)),
    buffer(Uint32Array.from(starts)),
    buffer(Float64Array.from(random(columns, seed + 2, -1, 1))),
    int(rows),
  ];
}

/** Letters a to c, so that words of a few letters are found. */
const letters = (count: number, seed: number): Uint8Array =>
  Uint8Array.from(integers('u8', count, seed) as Uint8Array, (byte) => 97 + (byte % 3));

/** The key of FIPS 197, appendix B, and its plaintext as the first block. */
export const AES_KEY = Uint8Array.from(Buffer.from('2b7e151628aed2a6abf7158809cf4f3c', 'hex'));
const AES_PLAINTEXT = Buffer.from('3243f6a8885a308d313198a2e0370734', 'hex');

export function aesBlocks(count: number): Uint8Array {
  const blocks = integers('u8', count * 16, 5) as Uint8Array;
  blocks.set(AES_PLAINTEXT);
  return blocks;
}

export function aesLaunch(items: number): Launch {
  const blocks = aesBlocks(items);
  const key = new Uint32Array(AES_KEY.buffer);
  return launch('aes', [buffer(zeros(blocks, items * 16)), buffer(blocks), buffer(key), int(items)], [items], [GROUP]);
}

function searchLaunch(text: Uint8Array, word: string): Launch {
  const places = Math.ceil(text.length / 32);
  const args = [
    buffer(new Uint32Array(places)),
    buffer(new Uint32Array(1)),
    buffer(text),
    buffer(Uint8Array.from(Buffer.from(word))),
    int(word.length),
    int(text.length),
  ];
  return launch('search', args, [places + 7], [GROUP]);
}

export const ALGORITHMS: Subject = {
  source: 'algorithms.cl',
  launches: (items) => {
    const width = Math.ceil(Math.sqrt(items)) + 3;
    const height = Math.ceil(items / width);
    const transforms = Math.ceil(items / 100);
    const rows = Math.ceil(items / 6);
    const bodies = Math.ceil(items / 4);
    const text = letters(items * 8, 7);
    return [
      launch(
        'fft',
        [
          buffer(new Float32Array(512 * transforms)),
          buffer(random(512 * transforms, 1, -1, 1)),
          buffer(roots),
          int(transforms),
        ],
        [64 * (transforms + 1) - 29],
        [64],
      ),
      launch(
        'n_body',
        [
          buffer(new Float32Array(bodies * 8)),
          buffer(random(bodies * 4, 2, 0.5, 4)),
          buffer(random(bodies * 4, 3, -1, 1)),
          value('float', Float32Array.of(0.01)),
          int(bodies),
        ],
        [bodies + 5],
        [GROUP],
      ),
      aesLaunch(items),
      launch(
        'stencil',
        [
          buffer(new Float32Array(width * height)),
          buffer(smallFloats('f32', width * height, 6)),
          int(width),
          int(height),
        ],
        [width, height],
        [16, 8],
      ),
      launch(
        'columns',
        [
          buffer(new Float64Array(width * height * 5)),
          buffer(smallFloats('f64', width * height * 5, 7)),
          int(width),
          int(height),
          int(5),
        ],
        [width, height],
        [13, 7],
      ),
      launch('sparse_rows', [buffer(new Float64Array(rows)), ...sparse(rows, 70, 8)], [rows + 3], [GROUP]),
      launch('sparse_groups', [buffer(new Float64Array(rows)), ...sparse(rows, 70, 9)], [64 * rows - 20], [64]),
      ...['abc', 'aabacab', 'c'].map((word) => searchLaunch(text, word)),
    ];
  },
};
