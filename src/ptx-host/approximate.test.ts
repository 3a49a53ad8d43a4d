/** Approximations on all executors, against the host's functions, which are good to about 1e-15. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomesOf } from './ptx-runs.test-support.ts';

const view = new DataView(new ArrayBuffer(8));
function fromF32(bits: number): number {
  view.setUint32(0, bits);
  return view.getFloat32(0);
}
function f32(x: number): number {
  view.setFloat32(0, x);
  return view.getUint32(0);
}

interface Approximation {
  readonly opcode: string;
  readonly exact: (x: number) => number;
  /** Bits of f32 of the operands that make sense. */
  readonly operands: (index: number) => number;
  /** Whether an error counts by itself; else it is in units of the last place. */
  readonly isAbsolute?: boolean;
  /** The largest error; PTX ISA 9.7.3 allows more. */
  readonly most: number;
}

const PER_FORM = 64;
/** 0 to 1, exactly as f32. */
const unit = (index: number): number => ((index * 40503) % 65536) / 65536;
const anyPower = (index: number): number => f32((1 + unit(index)) * 2 ** (((index * 37) % 250) - 125));
const between = (low: number, high: number) => (index: number) => f32(low + (high - low) * unit(index));

const FORMS: readonly Approximation[] = [
  { opcode: 'sin.approx.f32', exact: Math.sin, operands: between(-6.28, 6.28), isAbsolute: true, most: 2 ** -24 },
  { opcode: 'sin.approx.ftz.f32', exact: Math.sin, operands: between(-314, 314), isAbsolute: true, most: 2 ** -24 },
  { opcode: 'cos.approx.f32', exact: Math.cos, operands: between(-314, 314), isAbsolute: true, most: 2 ** -24 },
  { opcode: 'lg2.approx.f32', exact: Math.log2, operands: anyPower, most: 0.501 },
  { opcode: 'lg2.approx.ftz.f32', exact: Math.log2, operands: between(0.5, 2), most: 0.501 },
  { opcode: 'ex2.approx.f32', exact: (x) => 2 ** x, operands: between(-125, 127), most: 0.501 },
  { opcode: 'tanh.approx.f32', exact: Math.tanh, operands: between(-9, 9), most: 0.501 },
  { opcode: 'tanh.approx.f32', exact: Math.tanh, operands: between(-0.1, 0.1), most: 0.501 },
  { opcode: 'rcp.approx.f32', exact: (x) => 1 / x, operands: anyPower, most: 0.501 },
  { opcode: 'rsqrt.approx.ftz.f32', exact: (x) => 1 / Math.sqrt(x), operands: anyPower, most: 0.501 },
  { opcode: 'sqrt.approx.f32', exact: Math.sqrt, operands: anyPower, most: 0.501 },
];

/** Bits of f32, and of what comes of it. */
const EDGES: readonly (readonly [string, number, number])[] = [
  ['sin.approx.f32', 0x80000000, 0x80000000],
  ['sin.approx.f32', 0x7f800000, 0x7fffffff],
  ['sin.approx.ftz.f32', 0x80000001, 0x80000000],
  ['sin.approx.f32', 0x00000001, 0x00000001],
  ['cos.approx.f32', 0x80000000, 0x3f800000],
  ['cos.approx.f32', 0xff800000, 0x7fffffff],
  ['lg2.approx.f32', 0, 0xff800000],
  ['lg2.approx.f32', 0x80000000, 0xff800000],
  ['lg2.approx.f32', 0x3f800000, 0],
  ['lg2.approx.f32', 0xbf800000, 0x7fffffff],
  ['lg2.approx.f32', 0x7f800000, 0x7f800000],
  ['lg2.approx.f32', 0x00000001, 0xc3150000],
  ['lg2.approx.ftz.f32', 0x00000001, 0xff800000],
  ['ex2.approx.f32', 0xff800000, 0],
  ['ex2.approx.f32', 0x7f800000, 0x7f800000],
  ['ex2.approx.f32', 0x7fc00001, 0x7fffffff],
  ['ex2.approx.f32', 0xc3150000, 0x00000001],
  ['ex2.approx.ftz.f32', 0xc3150000, 0],
  ['ex2.approx.f32', 0x43000000, 0x7f800000],
  ['tanh.approx.f32', 0xff800000, 0xbf800000],
  ['tanh.approx.f32', 0x80000001, 0x80000001],
  ['rcp.approx.f32', 0x80000000, 0xff800000],
  ['rcp.approx.ftz.f32', 0x00000001, 0x7f800000],
  ['rsqrt.approx.f32', 0x80000000, 0xff800000],
  ['rsqrt.approx.f32', 0xbf800000, 0x7fffffff],
  ['sqrt.approx.ftz.f32', 0x00000001, 0],
];

/** Each form has as many threads as others; each thread's operand is a f32. */
async function run(forms: readonly string[], perForm: number, operand: (form: number, i: number) => number) {
  const body = forms.map(
    (opcode, i) => `  setp.ne.u32 %p10, %r30, ${i};\n  @%p10 bra next${i};\n  ${opcode} %f2, %f1;\nnext${i}:`,
  );
  const threads = Math.ceil((forms.length * perForm) / 32) * 32;
  const text = `  div.u32 %r30, %gid, ${perForm};\n  ld.global.f32 %f1, [%in];\n${body.join('\n')}
  mov.b32 %r40, %f2;\n  cvt.u64.u32 %rd30, %r40;\n  st.global.u64 [%out], %rd30;`;
  const input = Array.from({ length: forms.length * perForm }, (_, i) =>
    BigInt(operand(Math.floor(i / perForm), i % perForm)),
  );
  return (await outcomesOf(text, { threads, block: 32, input })).map(Number);
}

test('approximations are within their bounds', async () => {
  const found = await run(
    FORMS.map(({ opcode }) => opcode),
    PER_FORM,
    (form, i) => FORMS[form]!.operands(i),
  );
  FORMS.forEach(({ opcode, exact, operands, isAbsolute, most }, form) => {
    for (let i = 0; i < PER_FORM; i++) {
      const x = fromF32(operands(i));
      const [got, wanted] = [fromF32(found[form * PER_FORM + i]!), exact(x)];
      const place = 2 ** (Math.max(-126, Math.floor(Math.log2(Math.abs(wanted)))) - 23);
      const error = Math.abs(got - wanted) / (isAbsolute || wanted === 0 ? 1 : place);
      assert.ok(error <= most, `${opcode} of ${x}: ${got} for ${wanted}`);
    }
  });
});

test('approximations at the edges', async () => {
  const found = await run(
    EDGES.map(([opcode]) => opcode),
    1,
    (form) => EDGES[form]![1],
  );
  const text = ([opcode, x]: readonly [string, number, number], y: number): string =>
    `${opcode} 0x${x.toString(16)} = 0x${y.toString(16)}`;
  assert.deepEqual(
    EDGES.map((edge, i) => text(edge, found[i]!)),
    EDGES.map((edge) => text(edge, edge[2])),
  );
});
