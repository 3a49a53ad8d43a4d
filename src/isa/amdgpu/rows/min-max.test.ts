/**
 * Minimum, maximum, median, the clamp bit and DX9 products of every kind of number, by the pseudocode of
 * CDNA3 ISA 12.7 (V_MIN_F32, V_MAX_F32), 12.11 (V_MIN3_F32, V_MAX3_F32, V_MED3_F32, V_MUL_LEGACY_F32) and
 * 6.5, in both settings of MODE.IEEE and DX10_CLAMP.
 */
import { test } from 'node:test';
import { DEFAULT_MODE } from '../semantics/machine.test-support.ts';
import {
  combinations,
  expectAll,
  F16_EDGES,
  F32_EDGES,
  F64_EDGES,
  f16,
  f32,
  f64,
  fromF16,
  fromF32,
  fromF64,
  rounded,
} from './vector.test-support.ts';

type Type = 'f16' | 'f32' | 'f64';
type Model = (...sources: bigint[]) => bigint;

const TYPES = {
  f16: { edges: [...F16_EDGES, 0xfc01n, 0xfe55n], read: fromF16, write: f16, quiet: 0x0200n },
  f32: { edges: [...F32_EDGES, 0xff812345n], read: fromF32, write: f32, quiet: 0x0040_0000n },
  f64: {
    edges: [...F64_EDGES, 0xfff8_0000_0000_0055n, 0xfff0_1234_0000_0000n],
    read: fromF64,
    write: f64,
    quiet: 1n << 51n,
  },
} as const;

/** The one of two sources that the pseudocode takes. */
function choose(type: Type, isMinimum: boolean, ieee: boolean): Model {
  const { read, quiet } = TYPES[type];
  const isSignalling = (x: bigint): boolean => Number.isNaN(read(x)) && (x & quiet) === 0n;
  return (x, y) => {
    const [p, q] = [read(x!), read(y!)];
    if (ieee && isSignalling(x!)) return x! | quiet;
    if (ieee && isSignalling(y!)) return y! | quiet;
    if (Number.isNaN(p)) return y!;
    if (Number.isNaN(q)) return x!;
    if (p === 0 && q === 0) return Object.is(p, -0) === isMinimum ? x! : y!;
    return (isMinimum ? p < q : p > q) ? x! : y!;
  };
}

function ofThree(type: Type, ieee: boolean): { min3: Model; max3: Model; med3: Model } {
  const { read } = TYPES[type];
  const [min, max] = [choose(type, true, ieee), choose(type, false, ieee)];
  const min3: Model = (x, y, z) => min(min(x!, y!), z!);
  const max3: Model = (x, y, z) => max(max(x!, y!), z!);
  const med3: Model = (x, y, z) => {
    if ([x!, y!, z!].some((source) => Number.isNaN(read(source)))) return min3(x!, y!, z!);
    const largest = read(max3(x!, y!, z!));
    if (largest === read(x!)) return max(y!, z!);
    return largest === read(y!) ? max(x!, z!) : max(x!, y!);
  };
  return { min3, max3, med3 };
}

for (const ieee of [false, true]) {
  const mode = { ...DEFAULT_MODE, ieee };
  for (const type of ['f16', 'f32', 'f64'] as const) {
    const { edges } = TYPES[type];
    test(`v_min_${type} and v_max_${type}, IEEE ${ieee}`, () => {
      const pairs = combinations(edges, edges);
      const before = { before: 0n };
      expectAll(`v_min_${type}`, pairs, choose(type, true, ieee), { mode, ...before });
      expectAll(`v_max_${type}`, pairs, choose(type, false, ieee), { mode, ...before });
    });
    if (type === 'f64') continue;
    test(`v_min3_${type}, v_max3_${type}, v_med3_${type}, IEEE ${ieee}`, () => {
      const few = edges.filter((_, i) => i % 2 === 0 || i < 6);
      const triples = combinations(few, few, edges);
      const models = Object.entries(ofThree(type, ieee));
      for (const [name, model] of models) expectAll(`v_${name}_${type}`, triples, model, { mode, before: 0n });
    });
  }
}

for (const dx10Clamp of [false, true]) {
  test(`clamp to 0..1, DX10_CLAMP ${dx10Clamp}`, () => {
    for (const [type, name, neutral] of [
      ['f16', 'v_mul_f16', f16(1)],
      ['f32', 'v_mul_f32', f32(1)],
      ['f64', 'v_mul_f64', f64(1)],
    ] as const) {
      const { edges, read, write, quiet } = TYPES[type];
      const model: Model = (x) => {
        const value = read(x!);
        if (Number.isNaN(value)) return dx10Clamp ? 0n : x! | quiet;
        return value > 0 ? write(Math.min(value, 1)) : 0n;
      };
      const options = {
        format: 'VOP3',
        fields: { clamp: 1 },
        mode: { ...DEFAULT_MODE, dx10Clamp },
        before: 0n,
      } as const;
      expectAll(name, combinations(edges, [neutral]), model, options);
    }
  });
}

test('v_mul_legacy_f32: zero times anything is zero', () => {
  const product = rounded('f32', (x, y) => x * y);
  const model: Model = (x, y) => (fromF32(x!) === 0 || fromF32(y!) === 0 ? 0n : product(x!, y!));
  expectAll('v_mul_legacy_f32', combinations(TYPES.f32.edges, TYPES.f32.edges), model, { format: 'VOP3' });
});
