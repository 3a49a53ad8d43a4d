/**
 * MODE.FP_ROUND against this machine's fesetround: the same operands through `test/data/rounding/rounding.c`,
 * built by clang, and through instructions between two s_setreg, on every executor; and through the float
 * builder, which also has the operations that no instruction rounds.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { EmulatorRig } from '../../src/emulator/emulator-rig.test-support.ts';
import { Builder } from '../../src/ir/builder.ts';
import { MODES, type Mode, patterns, type RoundedType } from '../../src/ir/exact-rounding.test-support.ts';
import type { Value } from '../../src/ir/types.ts';

const SOURCE = path.resolve(import.meta.dirname, '../data/rounding/rounding.c');
const HOST_FLAGS = ['-O1', '-frounding-math', '-ffp-contract=off', '-mfma', '-mf16c', '-lm'];

type Build = (b: Builder, x: Value, y: Value, z: Value) => Value;

interface Operation {
  readonly name: string;
  readonly operands: 'i32' | RoundedType;
  readonly result: RoundedType;
  /** Operands in v[4:5], v[6:7], v[8:9], result in v[10:11]. */
  readonly code?: string;
  readonly build: Build;
}

/**
 * Quotient by the instructions for it: refined to the nearest number, whose remainder is exact, before the
 * last steps round as the mode says.
 */
const DIVISION_F64 = `
  v_div_scale_f64 v[12:13], s[4:5], v[6:7], v[6:7], v[4:5]
  v_div_scale_f64 v[16:17], vcc, v[4:5], v[6:7], v[4:5]
  v_rcp_f64 v[14:15], v[12:13]
  v_fma_f64 v[20:21], -v[12:13], v[14:15], 1.0
  v_fma_f64 v[14:15], v[14:15], v[20:21], v[14:15]
  v_mul_f64 v[18:19], v[16:17], v[14:15]
  v_fma_f64 v[20:21], -v[12:13], v[18:19], v[16:17]
  v_fma_f64 v[18:19], v[20:21], v[14:15], v[18:19]
  v_fma_f64 v[20:21], -v[12:13], v[18:19], v[16:17]
  MODE
  v_div_fmas_f64 v[12:13], v[20:21], v[14:15], v[18:19]
  v_div_fixup_f64 v[10:11], v[12:13], v[6:7], v[4:5]`;
const DIVISION_F32 = DIVISION_F64.replaceAll('f64', 'f32').replaceAll(/v\[(\d+):\d+\]/g, 'v$1');

function arithmetic(type: 'f32' | 'f64'): Operation[] {
  const [x, y, z, result] = [4, 6, 8, 10].map((first) => (type === 'f32' ? `v${first}` : `v[${first}:${first + 1}]`));
  const operation = (name: string, build: Build, code?: string): Operation => ({
    name: `${name}_${type}`,
    operands: type,
    result: type,
    build,
    ...(code !== undefined && { code: `MODE\n${code}` }),
  });
  const subtract = type === 'f32' ? `v_sub_f32 ${result}, ${x}, ${y}` : `v_add_f64 ${result}, ${x}, -${y}`;
  return [
    operation('add', (b, p, q) => b[type].add(p, q), `v_add_${type} ${result}, ${x}, ${y}`),
    operation('sub', (b, p, q) => b[type].sub(p, q), subtract),
    operation('mul', (b, p, q) => b[type].mul(p, q), `v_mul_${type} ${result}, ${x}, ${y}`),
    {
      ...operation('div', (b, p, q) => b[type].div(p, q)),
      code: type === 'f64' ? DIVISION_F64 : DIVISION_F32,
    },
    operation('sqrt', (b, p) => b[type].sqrt(p)),
    operation('fma', (b, p, q, r) => b[type].fma(p, q, r), `v_fma_${type} ${result}, ${x}, ${y}, ${z}`),
  ];
}

const conversion = (name: string, operands: Operation['operands'], code: string, build: Build): Operation => ({
  name,
  operands,
  result: name.slice(0, 3) as RoundedType,
  code: `MODE\n${code}`,
  build,
});

/** In the order of rounding.c. */
const OPERATIONS: readonly Operation[] = [
  ...arithmetic('f32'),
  ...arithmetic('f64'),
  conversion('f32_from_f64', 'f64', 'v_cvt_f32_f64 v10, v[4:5]', (b, x) => b.f32.fromF64(x)),
  conversion('f32_from_i32', 'i32', 'v_cvt_f32_i32 v10, v4', (b, x) => b.f32.fromI32S(x)),
  conversion('f32_from_u32', 'i32', 'v_cvt_f32_u32 v10, v4', (b, x) => b.f32.fromI32U(x)),
  conversion('f16_from_f32', 'f32', 'v_cvt_f16_f32 v10, v4', (b, x) => b.f16.fromF32(x)),
];

const GROUPS = 32;
const COUNT = GROUPS * 64;
const OPERAND_COUNT = 3;
const RECORD_SIZE = 32;

/**
 * Operands of all kinds: f64 patterns, and f32 patterns in the low dwords, some of them equal but for a few
 * bits.
 */
function operands(): bigint[][] {
  const doubles = fc.array(patterns('f64'), { minLength: OPERAND_COUNT, maxLength: OPERAND_COUNT });
  const singles = fc.array(patterns('f32'), { minLength: OPERAND_COUNT, maxLength: OPERAND_COUNT });
  const near = fc
    .tuple(patterns('f64'), patterns('f32'), fc.array(fc.bigInt(0n, 7n), { minLength: 3, maxLength: 3 }))
    .map(([double, single, low]) => low.map((bits, i) => (i === 1 ? double ^ bits : single ^ bits)));
  return fc.sample(fc.oneof(doubles, singles, near), { numRuns: COUNT, seed: 20 });
}

/** Results of this machine by operation, mode and tuple. */
function hostResults(tuples: readonly bigint[][]): (operation: number, mode: Mode, tuple: number) => bigint {
  const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-rounding-'));
  try {
    const program = path.join(folder, 'rounding');
    execFileSync('clang-19', [SOURCE, '-o', program, ...HOST_FLAGS]);
    const input = BigUint64Array.from(tuples.flat());
    const { stdout } = spawnSync(program, { input: Buffer.from(input.buffer), maxBuffer: 2 ** 26 });
    const results = new BigUint64Array(stdout.buffer, stdout.byteOffset, stdout.byteLength / 8);
    assert.equal(results.length, tuples.length * OPERATIONS.length * MODES.length);
    return (operation, mode, tuple) => results[(tuple * OPERATIONS.length + operation) * MODES.length + mode]!;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const INFINITY: Readonly<Record<RoundedType, bigint>> = { f16: 0x7c00n, f32: 0x7f800000n, f64: 0x7ff0000000000000n };

/** NaNs have other bits on other machines. */
function shown(type: RoundedType, bits: bigint): string {
  const size = Number(type.slice(1));
  return BigInt.asUintN(size - 1, bits) > INFINITY[type] ? 'NaN' : `0x${BigInt.asUintN(size, bits).toString(16)}`;
}

/** Record i of the buffer in s[0:1] belongs to work-item i. */
const kernel = (code: string, mode: Mode): string => `
  s_lshl_b32 s3, s2, 11
  v_lshlrev_b32 v1, 5, v0
  v_add_u32 v1, s3, v1
  global_load_dwordx4 v[4:7], v1, s[0:1]
  global_load_dwordx2 v[8:9], v1, s[0:1] offset:16
  s_waitcnt vmcnt(0)
  ${code.replace('MODE', `s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), ${mode * 5}`)}
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0
  global_store_dwordx2 v1, v[10:11], s[0:1] offset:24
  s_endpgm`;

/** Where an operand is; behind the operands stands the result. */
const at = (rig: EmulatorRig, tuple: number, operand: number): number => rig.buffer + tuple * RECORD_SIZE + operand * 8;

function run(rig: EmulatorRig, code: string, tuples: readonly bigint[][]): bigint[] {
  const { view } = rig.emulator.memory;
  tuples.forEach((tuple, i) => {
    for (const [operand, bits] of tuple.entries()) view.setBigUint64(at(rig, i, operand), bits, true);
  });
  const dispatch = rig.run(code, { gridSize: [tuples.length, 1, 1] });
  assert.equal(dispatch.fault, undefined);
  assert.equal(dispatch.state, 'complete');
  return tuples.map((_, i) => view.getBigUint64(at(rig, i, OPERAND_COUNT), true));
}

const tuples = operands();
const expected = hostResults(tuples);

function compare(
  operation: number,
  mode: Mode,
  found: readonly bigint[],
  host: (operation: number, mode: Mode, tuple: number) => bigint = expected,
): void {
  const { name, result } = OPERATIONS[operation]!;
  found.forEach((bits, i) => {
    const what = `${name}(${tuples[i]!.map((x) => `0x${x.toString(16)}`)}), rounding ${mode}`;
    assert.equal(shown(result, bits), shown(result, host(operation, mode, i)), what);
  });
}

for (const executor of ['handlers', 'jit', 'reference'] as const) {
  const rig = new EmulatorRig({ executor, compileThreshold: 1, bufferSizeBytes: COUNT * RECORD_SIZE });
  const chosen = tuples.slice(0, executor === 'reference' ? 512 : COUNT);
  OPERATIONS.forEach(({ name, code }, operation) => {
    if (code === undefined) return;
    test(`${name} rounds as this machine does: ${executor}`, () => {
      for (const mode of MODES) compare(operation, mode, run(rig, kernel(code, mode), chosen));
    });
  });
}

OPERATIONS.forEach(({ name, operands: type, build }, operation) => {
  test(`${name} rounds as this machine does: float builder`, () => {
    const keep = { inputs: false, results: false };
    for (const mode of MODES) {
      const b = new Builder(64, {
        round32: mode,
        round64: mode,
        flush32: keep,
        flush64: keep,
        ieee: true,
        dx10Clamp: true,
      });
      const constant = (bits: bigint): Value => (type === 'f64' ? b.i64(bits) : b.i32(Number(BigInt.asIntN(32, bits))));
      const found = tuples.map((tuple) => {
        const { leaf } = build(b, ...(tuple.map(constant) as [Value, Value, Value]));
        assert.ok(leaf.kind === 'const');
        return leaf.value;
      });
      compare(operation, mode, found);
    }
  });
});
