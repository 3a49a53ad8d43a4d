/** What each source of `test/data/opencl` is launched with. */
import { ALGORITHMS } from './algorithms.ts';
import { type FloatType, floats, integers, positiveFloats, smallFloats } from './inputs.ts';
import {
  type Argument,
  buffer,
  bytesOf,
  elementwise,
  GROUP,
  int,
  launch,
  local,
  type Numbers,
  two,
  value,
  zeros,
} from './launch.ts';
import { type Build, EXACT, type Subject } from './subject.ts';

/** Private memory by scratch instructions instead of buffer instructions. */
const FLAT_SCRATCH: Build = {
  flags: [...EXACT, '-Xclang', '-target-feature', '-Xclang', '+enable-flat-scratch'],
  processors: ['gfx90a'],
};
const DENORMALS_ARE_ZERO = ['-Xclang', '-fdenormal-fp-math-f32=preserve-sign'];
const ALL_INTEGERS = ['i8', 'u8', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64'];

const FLOATS = ['f16', 'f32', 'f64'] as const;
const FLOATS_AND_NAMES: readonly [FloatType, string][] = [
  ['f32', 'float'],
  ['f64', 'double'],
  ['f16', 'half'],
];

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
      [
        'i8 2',
        'u8 4',
        'i8 4',
        'i16 2',
        'u16 2',
        'u16 4',
        'i32 2',
        'u32 4',
        'i64 2',
        'u64 4',
        'f16 2',
        'f16 4',
        'f32 2',
        'f32 4',
        'f64 2',
      ].map((text) => {
        const [type, width] = text.split(' ') as [string, string];
        const count = items * Number(width);
        const inputs = two((seed) => (type.startsWith('f') ? smallFloats : integers)(type, count, seed));
        return elementwise(`vectors_${type}${width}`, items, { inputs, results: 16 * Number(width) });
      }),
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
  {
    source: 'conversions.cl',
    launches: (items) => [
      ...FLOATS.map((type) =>
        elementwise(`from_${type}`, items, {
          inputs: [floats(type, items, 1)],
          like: new BigInt64Array(),
          results: 16,
        }),
      ),
      ...ALL_INTEGERS.map((type) =>
        elementwise(`from_${type}`, items, {
          inputs: [integers(type, items, 1)],
          like: new BigUint64Array(),
          results: 14,
        }),
      ),
      elementwise('vector_conversions', items, {
        inputs: [integers('u32', items, 1), floats('f16', items, 2)],
        like: new Uint32Array(),
        results: 16,
      }),
    ],
  },
  {
    source: 'memory.cl',
    builds: [{ flags: EXACT }, FLAT_SCRATCH],
    launches: (items) => {
      const words = integers('u32', items, 1);
      const longs = integers('u64', items, 2);
      const like = new BigUint64Array();
      const record = bytesOf(integers('u8', 48, 5));
      record.set(bytesOf(Float64Array.of(1.5, 0.3)), 16);
      return [
        elementwise('private_arrays', items, { inputs: [words], like, results: 12 }),
        elementwise('generic_pointers', items, { inputs: [words], like, results: 10 }),
        launch(
          'structures',
          [
            buffer(new Uint8Array(items * 48)),
            buffer(integers('u8', items * 19, 6)),
            value('Record', record),
            buffer(words),
            int(items - 3),
          ],
          [items],
          [GROUP],
        ),
        elementwise('tables', items, { inputs: [words, longs.subarray(0, 20)], like, results: 9 }),
        elementwise('narrow_accesses', items, {
          inputs: [integers('u8', items + 40, 1), integers('i16', items, 2)],
          results: 64,
        }),
        launch(
          'local_sizes',
          [buffer(new BigUint64Array(items * 8)), local(6 * 8 * GROUP), buffer(longs), int(items - 3)],
          [items],
          [GROUP],
        ),
      ];
    },
  },
  {
    source: 'patterns.cl',
    launches: (items) => {
      const words = two((seed) => integers('u32', items, seed));
      const like = new Uint32Array();
      const pairs = (type: string): Numbers[] => two((seed) => integers(type, items * 2, seed));
      const triples = smallFloats('f32', items * 4, 3);
      return [
        elementwise('words', items, { inputs: words, results: 48 }),
        ...[1, 2, 3].map((seed) => {
          const extra = [
            ...integers('u32', 4, seed)
              .values()
              .map((word) => value('uint', Uint32Array.of(Number(word)))),
            ...[0, 1].map((k) => value('ulong', integers('u64', 2, seed).subarray(k, k + 1))),
          ];
          return elementwise('uniform_words', 70, { inputs: [], like, results: 48, extra });
        }),
        elementwise('signed_pairs', items, {
          inputs: pairs('i16'),
          results: 36,
          extra: [value('short2', Int16Array.of(-3, 1000))],
        }),
        elementwise('unsigned_pairs', items, {
          inputs: pairs('u16'),
          results: 36,
          extra: [value('ushort2', Uint16Array.of(3, 60000))],
        }),
        elementwise('half_pairs', items, {
          inputs: two((seed) => smallFloats('f16', items * 2, seed)),
          like,
          results: 14,
        }),
        elementwise('exchanges', items, {
          inputs: [words[0]!, integers('i16', items, 4), triples],
          results: 8,
        }),
      ];
    },
  },
  {
    source: 'control.cl',
    builds: [{ flags: EXACT }, FLAT_SCRATCH],
    launches: (items) => {
      const numbers = Int32Array.from(integers('i32', items, 1) as Int32Array, (number) => number % 1000);
      const longs = integers('u64', items, 2);
      return [
        elementwise('branches', items, { inputs: [numbers], like: longs, results: 14 }),
        elementwise('calls', items, {
          inputs: [integers('i32', items, 3), integers('i64', items, 4)],
          like: new BigInt64Array(),
          results: 3,
        }),
        ...['pressure', 'few_registers'].map((kernel) => elementwise(kernel, items, { inputs: [longs], results: 1 })),
        elementwise('uniform_pressure', items, { inputs: [integers('u32', 120, 5)], results: 1 }),
        launch(
          'three_dimensions',
          [buffer(new Uint32Array(9 * 7 * 5 * 4)), int(9), int(7), int(5)],
          [10, 7, 6],
          [4, 4, 3],
        ),
        launch('three_dimensions', [buffer(new Uint32Array(70 * 3 * 4)), int(70), int(3), int(1)], [70, 4], [32, 2]),
      ];
    },
  },
  {
    source: 'atomics.cl',
    builds: [{ flags: EXACT }, { flags: [...EXACT, '-munsafe-fp-atomics'] }],
    launches: (items) => {
      const n = int(items - 3);
      const groups = Math.ceil(items / GROUP);
      const whole = (type: FloatType): Numbers => smallFloats(type, items, 1).map((number) => Math.abs(number * 4) + 1);
      return [
        ...['i32', 'u32', 'i64', 'u64'].flatMap((type) => {
          const a = buffer(integers(type, items, 1));
          const cells = buffer(integers(type, 14, 2));
          const done = buffer(new Uint32Array(1));
          const to = buffer(integers(type, items * 8, 3));
          const out = (count: number) => buffer(zeros(integers(type, 1, 0), count));
          return [
            launch(`global_${type}`, [cells, done, a, n], [items], [GROUP]),
            launch(`ordered_${type}`, [cells, done, a, n], [items], [GROUP]),
            launch(`group_${type}`, [out(groups * 3 * 14), local(2 * 14 * 8), a, n], [items], [GROUP]),
            launch(`old_${type}`, [out(items * 54), local(8 * 8 * GROUP), to, a, n], [items], [GROUP]),
          ];
        }),
        ...(['f32', 'f64'] as const).map((type) =>
          launch(
            `float_${type}`,
            [
              buffer(new (type === 'f32' ? Float32Array : Float64Array)(10 + groups * 6).fill(20)),
              local(48),
              buffer(whole(type)),
              n,
            ],
            [items],
            [GROUP],
          ),
        ),
        launch(
          'float_instructions',
          [
            buffer(new Float64Array(100 + items).fill(20)),
            buffer(new Float32Array(10 + groups * 5)),
            buffer(new Float16Array(16)),
            buffer(whole('f32')),
            n,
          ],
          [items],
          [GROUP],
        ),
        launch(
          'wrapping',
          [buffer(new Uint32Array(8 + groups * 4)), buffer(new BigUint64Array(8 + groups * 4)), n],
          [items],
          [GROUP],
        ),
        launch(
          'tickets',
          [buffer(new Uint32Array(1)), buffer(new Uint32Array(6 * items)), buffer(new Uint32Array(1)), n],
          [items],
          [GROUP],
        ),
      ];
    },
  },
  {
    source: 'groups.cl',
    launches: (items) => {
      const words = buffer(integers('u32', items, 1));
      const n = int(items - 3);
      const groups = Math.ceil(items / 256);
      const side = Math.ceil(Math.sqrt(items));
      return [
        launch('reduction', [buffer(new BigUint64Array(3 * groups)), words, n], [items], [256]),
        launch('scan', [buffer(new Uint32Array(items)), words, local(2 * 4 * 200), n], [items], [200]),
        launch('sort', [buffer(new Int32Array(1024)), buffer(integers('i32', 1024, 2))], [512], [256]),
        launch(
          'transpose',
          [buffer(new Float64Array(side * 23)), buffer(floats('f64', side * 23, 3)), int(side), int(23)],
          [side, 23],
          [16, 16],
        ),
        launch(
          'matmul',
          [
            buffer(new Float32Array(side ** 2)),
            ...two((seed) => smallFloats('f32', side ** 2, seed)).map((a) => buffer(a)),
            int(side),
          ],
          [Math.ceil(side / 16) * 16, Math.ceil(side / 16) * 16],
          [16, 16],
        ),
        launch(
          'histogram',
          [
            buffer(new Uint32Array(256)),
            buffer(new Uint32Array(1)),
            buffer(new Uint32Array(1)),
            buffer(integers('u8', items * 5, 4)),
            int(items * 5),
          ],
          [items],
          [192],
        ),
        launch(
          'life',
          [buffer(new Uint8Array(16 * 8 * 16)), buffer(integers('u8', 16 * 8 * 16, 6)), int(4)],
          [16, 8, 16],
          [8, 8, 8],
        ),
      ];
    },
  },
  {
    source: 'lanes.cl',
    launches: (items, { processor }) => {
      const words = integers('u32', items, 1);
      const options = { like: new Uint32Array(), inputs: [words], last: [] };
      return [
        elementwise('exchanges', items, { ...options, results: 16, last: [int(5)] }),
        elementwise('divergent', items, { ...options, results: 8 }),
        elementwise('swizzles', items, { ...options, results: 9 }),
        elementwise('dpp', items, { ...options, results: 30 }),
        elementwise('dpp_arithmetic', items, { ...options, results: 10 }),
        elementwise('lists', items, { ...options, results: 1 }),
        elementwise('wave_sums', items, { inputs: [words], results: 1 }),
        ...(processor.startsWith('gfx11')
          ? [elementwise('permutes', items, { ...options, results: 8, last: [int(0x76135420), int(0x8af9c6e1)] })]
          : []),
      ];
    },
  },
  {
    source: 'builtins.cl',
    launches: (items) => {
      const words = two((seed) => integers('u32', items, seed));
      const like = new Uint32Array();
      return [
        elementwise('integers', items, { inputs: words, results: 33 }),
        elementwise('floats', items, { inputs: two((seed) => floats('f32', items, seed)), like, results: 8 }),
        elementwise('surroundings', items, { inputs: [], like, results: 4, extra: [local(4 * GROUP)] }),
        elementwise('buffers', items, { inputs: words.slice(1), results: 16 }),
      ];
    },
  },
  {
    source: 'approximate.cl',
    builds: [{ flags: [] }, { flags: ['-ffast-math'] }],
    launches: (items) =>
      FLOATS.map((type, i) =>
        elementwise(`approximate_${type}`, items, {
          inputs: two((seed) => positiveFloats(type, items, seed)),
          results: [12, 20, 5][i]!,
          ulps: [2, 4, 4][i]!,
        }),
      ),
  },
  {
    source: 'denormals.cl',
    builds: [{ flags: [...EXACT, ...DENORMALS_ARE_ZERO] }],
    launches: (items) => [
      elementwise('flush', items, {
        inputs: two((seed) => floats('f32', items, seed)),
        like: new Uint32Array(),
        results: 12,
      }),
    ],
  },
  {
    source: 'language.c',
    launches: (items) => {
      const words = integers('i32', items, 1);
      const longs = two((seed) => integers('u64', items, seed));
      const like = new BigUint64Array();
      return [
        elementwise('calls', items, { inputs: [words], like, results: 7 }),
        elementwise('stacks', items, { inputs: [words], like, results: 4 }),
        elementwise('wide_integers', items, { inputs: longs, results: 24 }),
        ...['boards', 'other_boards'].map((kernel) =>
          launch(kernel, [buffer(new Uint32Array(items)), buffer(words), int(items - 3)], [items], [64]),
        ),
        elementwise('data', items, { inputs: [integers('u32', items, 2)], like, results: 8 }),
      ];
    },
  },
  ALGORITHMS,
];
