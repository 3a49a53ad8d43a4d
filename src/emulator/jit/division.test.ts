/**
 * Divisions by steps, which compiled code makes in one: with the bits of the reference executor in every
 * MODE.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DEFAULT_MODE, EmulatorRig, type RigOptions } from '../emulator-rig.test-support.ts';

const LANES = 64;
const TURNS = 4;

interface Format {
  readonly name: 'f32' | 'f64';
  readonly bits: number;
  readonly fractionBits: number;
  readonly bias: number;
}

const F32: Format = { name: 'f32', bits: 32, fractionBits: 23, bias: 127 };
const F64: Format = { name: 'f64', bits: 64, fractionBits: 52, bias: 1023 };

/** v[2:3] / v[4:5] in v[2:3], as clang divides. */
const steps = ({ name }: Format): string => `
  v_div_scale_${name} ${at(name, 6)}, s[4:5], ${at(name, 4)}, ${at(name, 4)}, ${at(name, 2)}
  v_rcp_${name} ${at(name, 8)}, ${at(name, 6)}
  v_div_scale_${name} ${at(name, 10)}, vcc, ${at(name, 2)}, ${at(name, 4)}, ${at(name, 2)}
${`
  v_fma_${name} ${at(name, 12)}, -${at(name, 6)}, ${at(name, 8)}, 1.0
  v_fma_${name} ${at(name, 8)}, ${at(name, 12)}, ${at(name, 8)}, ${at(name, 8)}`.repeat(name === 'f64' ? 2 : 1)}
  v_mul_${name} ${at(name, 12)}, ${at(name, 10)}, ${at(name, 8)}
${`
  v_fma_${name} ${at(name, 14)}, -${at(name, 6)}, ${at(name, 12)}, ${at(name, 10)}
  v_fma_${name} ${at(name, 12)}, ${at(name, 14)}, ${at(name, 8)}, ${at(name, 12)}`.repeat(name === 'f32' ? 1 : 0)}
  v_fma_${name} ${at(name, 14)}, -${at(name, 6)}, ${at(name, 12)}, ${at(name, 10)}
  v_div_fmas_${name} ${at(name, 14)}, ${at(name, 14)}, ${at(name, 8)}, ${at(name, 12)}
  v_div_fixup_${name} ${at(name, 2)}, ${at(name, 14)}, ${at(name, 4)}, ${at(name, 2)}`;

const at = (name: 'f32' | 'f64', register: number): string =>
  name === 'f64' ? `v[${register}:${register + 1}]` : `v${register}`;

/** Quotients of the pairs in the buffer, each in place of its numerator. */
const STORED = (format: Format): string => `
  v_lshlrev_b32 v1, 4, v0
  s_movk_i32 s20, ${TURNS}
1:
  global_load_dwordx4 v[2:5], v1, s[0:1]
  s_waitcnt vmcnt(0)
  ${steps(format)}
  global_store_dwordx2 v1, v[2:3], s[0:1]
  v_add_u32 v1, ${16 * LANES}, v1
  s_sub_u32 s20, s20, 1
  s_cmp_lg_u32 s20, 0
  s_cbranch_scc1 1b
  s_endpgm`;

/** A number that depends on all bits of all quotients of a lane, in place of its first numerator. */
const SUMMED = (format: Format): string => `
  v_lshlrev_b32 v1, 4, v0
  v_mov_b32 v16, 0
  s_movk_i32 s20, ${TURNS}
1:
  global_load_dwordx4 v[2:5], v1, s[0:1]
  s_waitcnt vmcnt(0)
  ${steps(format)}
  v_mul_lo_u32 v16, v16, 31
  v_add_u32 v16, v16, v2
  v_mul_lo_u32 v16, v16, 31
  v_add_u32 v16, v16, v3
  v_add_u32 v1, ${16 * LANES}, v1
  s_sub_u32 s20, s20, 1
  s_cmp_lg_u32 s20, 0
  s_cbranch_scc1 1b
  v_lshlrev_b32 v1, 4, v0
  global_store_dword v1, v16, s[0:1]
  s_endpgm`;

type Pair = readonly [numerator: bigint, denominator: bigint];

const TIERS = { regions: STORED, loops: SUMMED } as const;
type Tier = keyof typeof TIERS;

/** What the buffer holds when pairs were divided; what is compiled runs in `tier` alone. */
function divided(text: string, pairs: readonly Pair[], options: RigOptions, mode: number, tier?: Tier) {
  using rig = new EmulatorRig({ bufferSizeBytes: 2 ** 13, memorySizeBytes: 2 ** 24, ...options });
  const { view } = rig.emulator.memory;
  for (const [i, [numerator, denominator]] of pairs.entries()) {
    view.setBigUint64(rig.buffer + 16 * i, numerator, true);
    view.setBigUint64(rig.buffer + 16 * i + 8, denominator, true);
  }
  const dispatch = rig.run(text, { mode });
  assert.equal(dispatch.fault, undefined);
  if (tier) assert.ok(dispatch.tiers[tier] > 0, tier);
  return pairs.map((_, i) => view.getBigUint64(rig.buffer + 16 * i, true).toString(16));
}

function compare(format: Format, tier: Tier, pairs: readonly Pair[], mode: number): void {
  const text = TIERS[tier](format);
  const compiled = { executor: 'jit', compileThreshold: 1, vertical: tier === 'loops' ? 'always' : 'never' } as const;
  const found = divided(text, pairs, compiled, mode, tier);
  const expected = divided(text, pairs, { executor: 'reference' }, mode);
  const describe = (results: readonly string[]): string[] =>
    results.map((result, i) => `${pairs[i]!.map((bits) => bits.toString(16)).join(' / ')}: ${result}`);
  assert.deepEqual(describe(found), describe(expected), `${format.name}, ${tier}, MODE ${mode.toString(16)}`);
}

/** Significands, without the first bit. */
const fraction = ({ fractionBits }: Format): fc.Arbitrary<bigint> => {
  const all = (1n << BigInt(fractionBits)) - 1n;
  const few = fc.bigInt(0n, 8n);
  return fc.oneof(
    fc.bigInt(0n, all),
    few,
    few.map((x) => all - x),
    fc.nat(fractionBits - 1).map((i) => 1n << BigInt(i)),
    fc.nat(fractionBits - 1).map((i) => all ^ (1n << BigInt(i))),
  );
};

/** Numbers of both signs. */
const number = (format: Format, exponent: fc.Arbitrary<number>): fc.Arbitrary<bigint> =>
  fc
    .tuple(fc.bigInt(0n, 1n), exponent, fraction(format))
    .map(
      ([sign, e, f]) =>
        (((sign << BigInt(format.bits - 1 - format.fractionBits)) | BigInt(e)) << BigInt(format.fractionBits)) | f,
    );

const clamped = (format: Format, exponent: number): number => Math.min(Math.max(exponent, 0), 2 * format.bias + 1);

/** Divisors, and numerators with which the quotient is close to the middle between two numbers. */
function hardPair(format: Format): fc.Arbitrary<Pair> {
  const { fractionBits, bias } = format;
  const one = 1n << BigInt(fractionBits);
  return fc
    .tuple(fraction(format), fraction(format), fc.bigInt(-2n, 2n), fc.integer({ min: -9, max: 9 }))
    .map(([d, q, off, exponent]) => {
      const middle = 2n * (one | q) + 1n;
      let n = ((one | d) * middle) >> BigInt(fractionBits + 1);
      if (n >= 2n * one) n >>= 1n;
      n = (n + off) & (one - 1n);
      return [(BigInt(bias + exponent) << BigInt(fractionBits)) | n, (BigInt(bias) << BigInt(fractionBits)) | d];
    });
}

/** Both exponents at once, most of them where the ways of a division part. */
function exponents(format: Format): fc.Arbitrary<readonly [number, number]> {
  const { bias, fractionBits } = format;
  const near = fc.integer({ min: -2, max: 2 });
  const any = fc.integer({ min: 0, max: 2 * bias + 1 });
  const differences = fc.constantFrom(-bias - fractionBits, -bias, 2 - bias, 0, bias - 32, bias - 256, bias);
  return fc.oneof(
    fc.tuple(any, any),
    fc.tuple(fc.constantFrom(0, fractionBits, 2 * bias), near, any).map(([n, off, d]) => [n + off, d] as const),
    fc.tuple(fc.constantFrom(0, fractionBits, 2 * bias), near, near).map(([n, off, d]) => [n + off, n + d] as const),
    fc.tuple(differences, near, any).map(([n, off, d]) => [d + n + off, d] as const),
  );
}

/**
 * The quotient is next to the middle between two numbers, and its remainder no multiple of the smallest
 * denormal.
 */
const ROUNDED_REMAINDERS: readonly Pair[] = [
  [0x0c05712fn, 0x0b76acd7n],
  [0x0c0eedd9n, 0x0bcb6c07n],
];

/**
 * Pairs for each turn of each lane. In half of all groups of lanes that a loop takes together none is rare.
 */
function operands(format: Format): fc.Arbitrary<readonly Pair[]> {
  const middle = fc.integer({ min: format.bias - 20, max: format.bias + 20 });
  const usual = fc.oneof(fc.tuple(number(format, middle), number(format, middle)), hardPair(format));
  const border = exponents(format).chain(([n, d]) =>
    fc.tuple(number(format, fc.constant(clamped(format, n))), number(format, fc.constant(clamped(format, d)))),
  );
  const repeated = <T>(arbitrary: fc.Arbitrary<T>, times: number): fc.Arbitrary<T[]> =>
    fc.array(arbitrary, { minLength: times, maxLength: times, size: 'max' });
  // Four lanes are computed together in a region, sixteen in a loop.
  const chunk = fc.oneof(
    repeated(usual, 4),
    repeated(border, 4),
    fc.tuple(border, repeated(usual, 3)).map(([one, others]) => [one, ...others]),
    ...(format === F32 ? [repeated(fc.constantFrom(...ROUNDED_REMAINDERS), 4)] : []),
  );
  const group = fc.oneof(
    repeated(usual, 16 * TURNS),
    repeated(chunk, 4 * TURNS).map((chunks) => chunks.flat()),
  );
  return repeated(group, LANES / 16).map((groups) =>
    Array.from({ length: TURNS }, (_, turn) =>
      groups.flatMap((pairs) => pairs.slice(16 * turn, 16 * (turn + 1))),
    ).flat(),
  );
}

for (const format of [F32, F64]) {
  for (const tier of ['regions', 'loops'] as const) {
    test(`${format.name}: a division by steps has the same bits in ${tier}`, () => {
      fc.assert(
        fc.property(operands(format), (pairs) => compare(format, tier, pairs, DEFAULT_MODE)),
        { numRuns: 4, endOnFailure: true },
      );
    });
  }

  test(`${format.name}: a division by steps has the same bits in every MODE`, () => {
    for (let mode = 0; mode < 16; mode++) {
      const [rounding, denormals] = [mode & 3, mode >> 2];
      const [pairs] = fc.sample(operands(format), { numRuns: 1, seed: mode });
      // The same of both widths; each way of compiling sees each rounding, and each kind of denormals.
      const bits = 5 * (rounding | (denormals << 4));
      compare(format, ((rounding ^ denormals) & 1) === 0 ? 'regions' : 'loops', pairs!, (DEFAULT_MODE & ~0xff) | bits);
    }
  });
}
