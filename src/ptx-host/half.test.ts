/** Arithmetic of 16 bits, on all executors, against results by definition. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromExact, fusedMultiplyAdd, isNan, toExact } from '../ir/float-bits.ts';
import { outcomesOf } from './ptx-runs.test-support.ts';

const FORMATS = {
  f16: { fractionBits: 10, exponentBits: 5 },
  bf16: { fractionBits: 7, exponentBits: 8 },
} as const;
type Half = keyof typeof FORMATS;

const NAN = 0x7fffn;
const SIGN = 0x8000n;
const one = (type: Half): bigint => fromExact({ mantissa: 1n, exponent: 0 }, FORMATS[type], false);
const sizeOf = (x: bigint): bigint => x & 0x7fffn;
const isNegative = (x: bigint): boolean => (x & SIGN) !== 0n;

type Model = (type: Half, x: bigint, y: bigint, z: bigint) => bigint;

const orderOf = (type: Half, x: bigint): number => {
  const { mantissa, exponent } = toExact(x, FORMATS[type]);
  const value = Number(mantissa) * 2 ** exponent;
  return value === 0 && isNegative(x) ? -Number.MIN_VALUE : value;
};
const minMax =
  (want: 'min' | 'max'): Model =>
  (type, x, y) => {
    if (isNan(x, FORMATS[type])) return y;
    if (isNan(y, FORMATS[type])) return x;
    return orderOf(type, x) < orderOf(type, y) === (want === 'min') ? x : y;
  };
const withNan =
  (model: Model): Model =>
  (type, x, y, z) =>
    isNan(x, FORMATS[type]) || isNan(y, FORMATS[type]) ? NAN : model(type, x, y, z);

const fma: Model = (type, x, y, z) => fusedMultiplyAdd(x, y, z, FORMATS[type]);
const add: Model = (type, x, y) => fma(type, x, one(type), y);
const sub: Model = (type, x, y) => fma(type, y, one(type) | SIGN, x);
const mul: Model = (type, x, y) => fma(type, x, y, (x ^ y) & SIGN);
const relu =
  (model: Model): Model =>
  (type, ...x) => {
    const value = model(type, ...x);
    return isNegative(value) && !isNan(value, FORMATS[type]) ? 0n : value;
  };
const saturated =
  (model: Model): Model =>
  (type, ...x) => {
    const value = model(type, ...x);
    if (isNan(value, FORMATS[type]) || isNegative(value)) return 0n;
    return value > one(type) ? one(type) : value;
  };
const flushed =
  (model: Model): Model =>
  (type, ...x) => {
    const flush = (value: bigint): bigint =>
      sizeOf(value) >> BigInt(FORMATS[type].fractionBits) === 0n ? value & SIGN : value;
    return flush(model(type, ...(x.map(flush) as [bigint, bigint, bigint])));
  };
const signed =
  (model: Model): Model =>
  (type, x, y, z) => {
    const value = model(type, sizeOf(x), sizeOf(y), z);
    return isNan(value, FORMATS[type]) ? value : value | ((x ^ y) & SIGN);
  };

const BOTH: Readonly<Record<string, Model>> = {
  'fma.rn': fma,
  'fma.rn.relu': relu(fma),
  'add.rn': add,
  sub,
  mul,
  'min.NaN': withNan(minMax('min')),
  max: minMax('max'),
  'max.xorsign.abs': signed(minMax('max')),
  neg: (_, x) => x ^ SIGN,
  abs: (_, x) => sizeOf(x),
};
const ONLY_F16: Readonly<Record<string, Model>> = {
  'fma.rn.sat': saturated(fma),
  'add.sat': saturated(add),
  'mul.ftz': flushed(mul),
  'fma.rn.ftz': flushed(fma),
  'min.ftz': flushed(minMax('min')),
};
const ARITY: Readonly<Record<string, number>> = { fma: 3, neg: 1, abs: 1 };

/** Edges of both formats, and numbers that fit each other. */
function operands(index: number): readonly [bigint, bigint, bigint] {
  const edges = [
    0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x7f, 0x80, 0x3c00, 0x3f80, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7f7f,
  ];
  edges.push(0x7f80, 0xff80, 0x7fc1, 0xffff, 0x3c01, 0x3f81, 0x1400);
  const at = (i: number): bigint => BigInt(i % 3 === 0 ? edges[i % edges.length]! : (i * 40503) & 0xffff);
  return [at(index), at(index * 7 + 3), at(index * 13 + 5)];
}

const PER_FORM = 96;

test('arithmetic of f16, f16x2, bf16 and bf16x2', async () => {
  const forms = (['f16', 'bf16'] as const).flatMap((type) =>
    Object.entries(type === 'f16' ? { ...BOTH, ...ONLY_F16 } : BOTH).flatMap(([name, model]) =>
      [type, `${type}x2`].map((suffix) => ({ type, opcode: `${name}.${suffix}`, name, model })),
    ),
  );
  const body = forms.map(({ opcode, name }, i) => {
    const sources = ['x', 'y', 'z'].slice(0, ARITY[name.split('.')[0]!] ?? 2);
    const registers = opcode.endsWith('x2') ? sources.map((each) => `%w${each}`) : sources.map((each) => `%h${each}`);
    const result = opcode.endsWith('x2') ? '%r40' : '%rs10';
    const wide = opcode.endsWith('x2') ? 'cvt.u64.u32 %rd30, %r40' : 'cvt.u64.u16 %rd30, %rs10';
    return `  setp.ne.u32 %p10, %form, ${i};\n  @%p10 bra next${i};
  ${opcode} ${[result, ...registers].join(', ')};\n  ${wide};\nnext${i}:`;
  });
  const load = `.reg .b32 %form, %wx, %wy, %wz;\n .reg .b16 %hx, %hy, %hz, %spare;\n div.u32 %form, %gid, ${PER_FORM};
  ld.global.v4.b16 {%hx, %hy, %hz, %spare}, [%in];
  mov.b32 %wx, {%hx, %hy}; mov.b32 %wy, {%hy, %hz}; mov.b32 %wz, {%hz, %hx};`;
  const threads = Math.ceil((forms.length * PER_FORM) / 32) * 32;
  const found = await outcomesOf(`${load}\n${body.join('\n')}\n  st.global.u64 [%out], %rd30;`, {
    ...{ threads, block: 32 },
    input: Array.from({ length: threads }, (_, i) => {
      const [x, y, z] = operands(i % PER_FORM);
      return x | (y << 16n) | (z << 32n);
    }),
  });
  const wrong: string[] = [];
  forms.forEach(({ type, opcode, model }, form) => {
    for (let i = 0; i < PER_FORM; i++) {
      const [x, y, z] = operands(i);
      const half = (...values: readonly [bigint, bigint, bigint]): bigint => {
        const value = model(type, ...values);
        return isNan(value, FORMATS[type]) && !opcode.includes('.sat') ? NAN : value;
      };
      const wanted = opcode.endsWith('x2') ? half(x, y, z) | (half(y, z, x) << 16n) : half(x, y, z);
      const got = found[form * PER_FORM + i]!;
      if (got !== wanted)
        wrong.push(`${opcode} ${[x, y, z].map((v) => v.toString(16))}: ${got.toString(16)} not ${wanted.toString(16)}`);
    }
  });
  assert.deepEqual(wrong.slice(0, 20), []);
});
