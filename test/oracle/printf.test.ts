/**
 * The loader's printf against the C library of this host: random conversions and values, compiled once with
 * cc, run as one process. Conversions whose result the standard leaves open, and those where LLVM's library
 * differs from glibc (null pointers, signs of %p), are left out; unit tests have them. A missing compiler
 * fails.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { readArguments } from '../../src/printf/arguments.ts';
import { formatPrintf } from '../../src/printf/format.ts';
import { LLVM_DIALECT, parseFormat } from '../../src/printf/parse.ts';
import { SEED } from '../scale.ts';

const CASES = 30_000;

/** How a value travels through C's variable arguments. */
const KIND = { int: 0, long: 1, double: 2, string: 3 } as const;

interface Case {
  readonly format: string;
  readonly kind: keyof typeof KIND;
  /** Values of `*`. */
  readonly stars: readonly number[];
  readonly value: bigint;
  readonly text: string;
}

// Reads records {kind, star count, 2 bytes pad, star[2], value, format, string (both NUL-padded)}, writes
// {length, bytes}.
const PROGRAM = String.raw`
#include <stdint.h>
#include <stdio.h>
#include <string.h>
struct record { uint8_t kind, stars, pad[2]; int32_t star[2]; uint8_t pad2[4]; uint64_t value; char format[64]; char text[64]; };
static char out[1 << 16];
#define PRINT(v) (r.stars == 0 ? snprintf(out, sizeof out, r.format, v) \
  : r.stars == 1 ? snprintf(out, sizeof out, r.format, r.star[0], v) \
  : snprintf(out, sizeof out, r.format, r.star[0], r.star[1], v))
int main(void) {
  struct record r;
  while (fread(&r, sizeof r, 1, stdin) == 1) {
    double d; memcpy(&d, &r.value, 8);
    int32_t n = r.kind == 0 ? PRINT((int)r.value) : r.kind == 1 ? PRINT((long)r.value) : r.kind == 2 ? PRINT(d) : PRINT(r.text);
    fwrite(&n, 4, 1, stdout);
    fwrite(out, 1, n, stdout);
  }
  return 0;
}
`;
const RECORD_SIZE_BYTES = 152;

const edgeDoubles = [
  0,
  -0,
  1,
  0.1,
  0.5,
  1.5,
  2.5,
  9.5,
  99.95,
  999999.5,
  5e-324,
  2.2250738585072014e-308,
  1.7976931348623157e308,
  1e21,
  1e-5,
  123456789,
  Infinity,
  -Infinity,
  NaN,
];
const doubleBits = (value: number) => new BigUint64Array(new Float64Array([value]).buffer)[0]!;
const anyBits = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const edgeIntegers = [0n, 1n, 7n, 8n, 255n, 2n ** 31n - 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 63n, 2n ** 64n - 1n];
const integerBits = fc.oneof(anyBits, fc.constantFrom(...edgeIntegers), fc.nat(1000).map(BigInt));
const doubles = fc.oneof(
  anyBits,
  fc.constantFrom(...edgeDoubles).map(doubleBits),
  fc.tuple(fc.integer(), fc.nat(20)).map(([digits, scale]) => doubleBits(digits / 10 ** scale)),
);

interface Shape {
  readonly specifiers: string;
  readonly flags: string;
  readonly modifiers: readonly string[];
  readonly kind: keyof typeof KIND;
  readonly values: fc.Arbitrary<bigint>;
  readonly precision: boolean;
}

const SHAPES: readonly Shape[] = [
  { specifiers: 'di', flags: '-+ 0', modifiers: ['', 'h', 'hh'], kind: 'int', values: integerBits, precision: true },
  {
    specifiers: 'di',
    flags: '-+ 0',
    modifiers: ['l', 'll', 'j', 'z', 't'],
    kind: 'long',
    values: integerBits,
    precision: true,
  },
  { specifiers: 'u', flags: '-0', modifiers: ['', 'h', 'hh'], kind: 'int', values: integerBits, precision: true },
  { specifiers: 'oxXbB', flags: '-0#', modifiers: ['', 'h', 'hh'], kind: 'int', values: integerBits, precision: true },
  {
    specifiers: 'uoxXb',
    flags: '-0',
    modifiers: ['l', 'll', 'j', 'z', 't'],
    kind: 'long',
    values: integerBits,
    precision: true,
  },
  { specifiers: 'fFeEgGaA', flags: '-+ 0#', modifiers: ['', 'l'], kind: 'double', values: doubles, precision: true },
  {
    specifiers: 'p',
    flags: '-',
    modifiers: [''],
    kind: 'long',
    values: anyBits.filter((bits) => bits !== 0n),
    precision: false,
  },
  {
    specifiers: 'c',
    flags: '-',
    modifiers: [''],
    kind: 'int',
    values: fc.integer({ min: 32, max: 126 }).map(BigInt),
    precision: false,
  },
  { specifiers: 's', flags: '-', modifiers: [''], kind: 'string', values: fc.constant(1n), precision: true },
];

const measure = (max: number) =>
  fc.oneof(
    fc.constant(undefined),
    fc.nat(max),
    fc.integer({ min: -max, max }).map((star) => ({ star })),
  );

const cases: fc.Arbitrary<Case> = fc.constantFrom(...SHAPES).chain((shape) =>
  fc
    .record({
      specifier: fc.constantFrom(...shape.specifiers),
      flags: fc.subarray([...shape.flags]),
      modifier: fc.constantFrom(...shape.modifiers),
      width: measure(40),
      precision: shape.precision ? fc.oneof(measure(30), fc.constantFrom(100, 350)) : fc.constant(undefined),
      value: shape.values,
      text: fc.string({
        maxLength: 30,
        unit: fc.integer({ min: 32, max: 126 }).map((code) => String.fromCharCode(code)),
      }),
    })
    .map(({ specifier, flags, modifier, width, precision, value, text }) => {
      const stars = [width, precision].flatMap((given) => (typeof given === 'object' ? [given.star] : []));
      const spell = (given: number | object | undefined) => (typeof given === 'object' ? '*' : (given ?? ''));
      // A width of 0 would read as the flag 0.
      const widthText = width === 0 ? '' : spell(width);
      const precisionText = precision === undefined ? '' : `.${spell(precision)}`;
      const format = `<%${flags.join('')}${widthText}${precisionText}${modifier}${specifier}>`;
      return { format, kind: shape.kind, stars, value, text };
    }),
);

function hostPrints(batch: readonly Case[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'wavewright-printf-'));
  try {
    writeFileSync(join(folder, 'print.c'), PROGRAM);
    execFileSync('cc', ['-w', '-O1', '-o', 'print', 'print.c'], { cwd: folder });
    const input = Buffer.alloc(RECORD_SIZE_BYTES * batch.length);
    for (const [index, { format, kind, stars, value, text }] of batch.entries()) {
      const at = RECORD_SIZE_BYTES * index;
      input[at] = KIND[kind];
      input[at + 1] = stars.length;
      for (const [star, given] of stars.entries()) input.writeInt32LE(given, at + 4 + 4 * star);
      input.writeBigUInt64LE(value, at + 16);
      input.write(format, at + 24, 'latin1');
      input.write(text, at + 88, 'latin1');
    }
    const output = execFileSync(join(folder, 'print'), { input, maxBuffer: 2 ** 28 });
    const texts: string[] = [];
    for (let at = 0; at < output.length; ) {
      const length = output.readInt32LE(at);
      texts.push(output.toString('latin1', at + 4, at + 4 + length));
      at += 4 + length;
    }
    return texts;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function weprint({ format, kind, stars, value, text }: Case): string {
  const area = Buffer.alloc(4 * stars.length + 8);
  for (const [star, given] of stars.entries()) area.writeInt32LE(given, 4 * star);
  const bits = kind === 'int' ? BigInt.asUintN(32, value) : value;
  area.writeBigUInt64LE(bits, 4 * stars.length);
  const sections = parseFormat(Buffer.from(format, 'latin1'), LLVM_DIALECT);
  const printed = formatPrintf(
    sections,
    readArguments(sections, area, 'packed'),
    [Buffer.from(text, 'latin1')],
    LLVM_DIALECT,
  );
  return Buffer.from(printed).toString('latin1');
}

/**
 * glibc loses the zeros of `%#g` where rounding carries into the next power of ten: `%#g` of 999999.5 must be
 * 1.00000e+06.
 */
function isCarryOfAlternateG(format: string, printed: string): boolean {
  return /#.*g>$/i.test(format) && /^<[ +-]*0*1\.0*e/i.test(printed);
}

test(`${CASES} random conversions print what the host's C library prints`, () => {
  const batch = fc.sample(cases, { numRuns: CASES, seed: SEED });
  const expected = hostPrints(batch);
  assert.equal(expected.length, batch.length);
  const wrong: string[] = [];
  for (const [index, one] of batch.entries()) {
    const printed = weprint(one);
    if (printed === expected[index] || isCarryOfAlternateG(one.format, printed)) continue;
    wrong.push(
      `${JSON.stringify(one.format)} stars ${one.stars} value 0x${one.value.toString(16)}: ${printed}, the host ${expected[index]}`,
    );
  }
  assert.deepEqual(wrong.slice(0, 20), [], `${wrong.length} of ${CASES} differ (WAVEWRIGHT_SEED=${SEED})`);
});
