/** What each source of `test/data/opencl` is launched with. */
import { type FloatType, floats, integers, smallFloats } from './inputs.ts';
import { type Argument, buffer, int, type Launch, launch, type Numbers, value } from './launch.ts';

export interface Subject {
  readonly source: string;
  /** About `items` work-items for each kernel. */
  readonly launches: (items: number) => readonly Launch[];
}

/** One and a half waves; the last group of a grid is cut. */
const GROUP = 96;
const ALL_INTEGERS = ['i8', 'u8', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64'];

const FLOATS = ['f16', 'f32', 'f64'] as const;
const FLOATS_AND_NAMES: readonly [FloatType, string][] = [['f32', 'float'], ['f64', 'double'], ['f16', 'half']];

const zeros = (contents: Numbers, count: number): Numbers =>
  new (contents.constructor as new (length: number) => Numbers)(count);

interface Elementwise {
  readonly inputs: readonly Numbers[];
  /** Of this type is what the kernel writes. Default: that of the first input. */
  readonly like?: Numbers;
  /** Numbers for each work-item. */
  readonly results: number;
  readonly ulps?: number;
  readonly extra?: readonly Argument[];
}

/** KERNEL(out, inputs..., extra..., n): the last few work-items have nothing to do. */
function elementwise(kernel: string, items: number, options: Elementwise): Launch {
  const { inputs, like = inputs[0]!, results, ulps, extra = [] } = options;
  const out = buffer(zeros(like, items * results), ulps);
  return launch(kernel, [out, ...inputs.map((numbers) => buffer(numbers)), ...extra, int(items - 3)], [items], [GROUP]);
}

const two = (make: (seed: number) => Numbers): Numbers[] => [make(1), make(2)];

const SCALARS = (seed: number): Argument[] =>
  ['i8 char', 'u8 uchar', 'i16 short', 'u16 ushort', 'i32 int', 'u32 uint', 'i64 long', 'u64 ulong'].map((text, i) => {
    const [type, name] = text.split(' ') as [string, string];
    const numbers = integers(type, 40, seed + i);
    const usable = numbers.findIndex((number) => BigInt(number) > 1n || BigInt(number) < -1n);
    return value(name, numbers.slice(usable, usable + 1));
  });

export const SUBJECTS: readonly Subject[] = [
  {
    source: 'integers.cl',
    launches: (items) => [
      ...ALL_INTEGERS.flatMap((type) => {
        const inputs = two((seed) => integers(type, items, seed));
        return [
          elementwise(`arithmetic_${type}`, items, { inputs, results: 32 }),
          elementwise(`bits_${type}`, items, { inputs, results: 28 }),
        ];
      }),
      elementwise('products', items, {
        inputs: two((seed) => integers('i32', items, seed)),
        like: new BigInt64Array(),
        results: 16,
      }),
      ...[10, 20, 30, 40].map((seed) =>
        elementwise('scalars', 70, { inputs: [], like: new BigUint64Array(), results: 44, extra: SCALARS(seed) }),
      ),
    ],
  },
  {
    source: 'vectors.cl',
    launches: (items) =>
      ['i8 2', 'u8 4', 'i8 4', 'i16 2', 'u16 2', 'u16 4', 'i32 2', 'u32 4', 'i64 2', 'u64 4', 'f16 2', 'f16 4', 'f32 2', 'f32 4', 'f64 2'].map(
        (text) => {
          const [type, width] = text.split(' ') as [string, string];
          const count = items * Number(width);
          const inputs = two((seed) => (type.startsWith('f') ? smallFloats : integers)(type, count, seed));
          return elementwise(`vectors_${type}${width}`, items, { inputs, results: 16 * Number(width) });
        },
      ),
  },
  {
    source: 'floats.cl',
    launches: (items) => [
      ...FLOATS.flatMap((type) => {
        const inputs = two((seed) => floats(type, items, seed));
        const like = integers(type.replace('f', 'u'), 1, 0);
        return [
          elementwise(`arithmetic_${type}`, items, { inputs, like, results: 32 }),
          elementwise(`comparisons_${type}`, items, { inputs, like: new Uint32Array(), results: 6 }),
          elementwise(`scaling_${type}`, items, { inputs, like, results: 6 }),
        ];
      }),
      elementwise('mixed', items, {
        inputs: [...two((seed) => floats('f16', items, seed)), floats('f32', items, 3)],
        like: new Uint32Array(),
        results: 6,
      }),
      ...[1, 2].map((seed) => {
        const extra = FLOATS_AND_NAMES.flatMap(([type, name]) =>
          [0, 1].map((k) => value(name, floats(type, 40, seed + k).slice(20, 21))),
        );
        return elementwise('uniform_floats', 70, { inputs: [], like: new BigUint64Array(), results: 10, extra });
      }),
    ],
  },
];
