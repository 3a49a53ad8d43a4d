import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../base/errors.ts';
import { type ArgumentLayout, argumentAreaSizeBytes, readArguments, stringAddresses } from './arguments.ts';
import { formatPrintf } from './format.ts';
import { GLIBC_DIALECT, LLVM_DIALECT, type PrintfDialect, parseFormat } from './parse.ts';

type Argument = number | bigint | string | { readonly double: number } | null;

const encoder = new TextEncoder();

/**
 * sprintf on arguments without padding: numbers are 32-bit integers, bigints 64-bit ones, null is a null
 * pointer.
 */
function print(format: string, args: readonly Argument[] = [], dialect: PrintfDialect = LLVM_DIALECT): string {
  const area = new DataView(new ArrayBuffer(8 * args.length));
  const strings: Uint8Array[] = [];
  let at = 0;
  for (const argument of args) {
    if (typeof argument === 'number') area.setInt32(at, argument, true);
    else if (typeof argument === 'bigint') area.setBigUint64(at, BigInt.asUintN(64, argument), true);
    else if (typeof argument === 'string') area.setBigUint64(at, BigInt(strings.push(encoder.encode(argument))), true);
    else if (argument !== null) area.setFloat64(at, argument.double, true);
    at += typeof argument === 'number' ? 4 : 8;
  }
  const sections = parseFormat(encoder.encode(format), dialect);
  assert.equal(argumentAreaSizeBytes(sections, 'packed'), at, `size of the arguments of ${format}`);
  const values = readArguments(sections, new Uint8Array(area.buffer, 0, at), 'packed');
  return new TextDecoder().decode(formatPrintf(sections, values, strings, dialect));
}

const d = (double: number) => ({ double });

const cases: [expected: string, format: string, ...args: Argument[]][] = [
  // What the tests of LLVM's GPU C library fix about bad formats.
  ['%**d', '%**d', 1],
  ['%**d     1', '%**d%6d', 1, 1],
  ['%**.**f', '%**.**f', 1],
  ['(nullptr)', '%p', null],
  ['(null)', '%s', null],
  ['00000000000000000000000000000101', '%032b', 5],
  ['%', '%%'],
  ['%', '%5%'],
  ['100%', '%d%%', 100],
  ['%', '%'],
  ['%-', '%-'],
  ['%y', '%y'],
  ['%n', '%n'],
  ['%wd', '%wd'],
  ['%w0d', '%w0d'],
  ['%qd', '%qd'],
  ['a%5', 'a%5'],
  ['5', '%d', 5],
  ['-5', '%i', -5],
  ['4294967291', '%u', -5],
  ['-1', '%ld', -1n],
  ['18446744073709551615', '%zu', -1n],
  ['9223372036854775807 -9223372036854775808', '%jd %td', 2n ** 63n - 1n, -(2n ** 63n)],
  ['-56 200', '%hhd %hhu', 200, 200],
  ['-1 65535', '%hd %hu', 0x1ffff, 0x1ffff],
  ['-1 127', '%w8d %w7u', 255, 255],
  ['-1', '%wf8d', 255],
  ['70000', '%wf16d', 70_000],
  ['-1 -1', '%w64d %Ld', -1n, -1n],
  ['  +7', '%+4d', 7],
  ['+007', '%+04d', 7],
  [' 7', '% d', 7],
  ['7   |', '%-4d|', 7],
  ['7   |', '%-04d|', 7],
  [' 007', '%04.3d', 7],
  ['', '%.d', 0],
  ['   ', '%3.0u', 0],
  ['0x1f 0X1F 037 0b11 0B11', '%#x %#X %#o %#b %#B', 31, 31, 31, 3, 3],
  ['0 0 0 ', '%#x %#b %#o %#.x', 0, 0, 0, 0],
  ['0', '%#.o', 0],
  ['0x001f', '%#06x', 31],
  ['   42|42   ', '%*d|%-*d', 5, 42, 5, 42],
  ['42   |', '%*d|', -5, 42],
  ['0042', '%.*d', 4, 42],
  ['42', '%.*d', -4, 42],
  ['A', '%c', 0x4241],
  ['  A|A  ', '%3c|%-3c', 65, 65],
  ['text', '%s', 'text'],
  ['  te|te  ', '%4.2s|%-4.2s', 'text', 'text'],
  ['', '%.0s', 'text'],
  ['te', '%.*s', 2, 'text'],
  ['(nu', '%.3s', null],
  ['one (null) two', '%s %s %s', 'one', null, 'two'],
  ['0x1a2b3c4d', '%p', 0x1a2b3c4dn],
  ['          0x1a2b3c4d', '%20p', 0x1a2b3c4dn],
  ['0x00000000001a2b3c4d', '%020p', 0x1a2b3c4dn],
  ['           (nullptr)|(nullptr)  ', '%20p|%-11p', null, null],
  ['0.100000 1.000000e-01 0.1', '%f %e %g', d(0.1), d(0.1), d(0.1)],
  ['inf -INF nan NAN', '%f %F %g %G', d(Infinity), d(-Infinity), d(NaN), d(NaN)],
  ['  inf|+inf', '%05f|%+a', d(Infinity), d(Infinity)],
  ['-0 -0.0', '%g %.1f', d(-0), d(-0)],
  ['1e+06 100000 0.0001 1e-05', '%g %g %g %g', d(1e6), d(1e5), d(1e-4), d(1e-5)],
  ['1.00000 1.', '%#g %#.0f', d(1), d(1)],
  ['1.00000e+06 1e+06', '%#g %g', d(999999.5), d(999999.5)],
  ['1e+01', '%.0e', d(9.5)],
  ['2 2 4', '%.0f %.0f %.0f', d(1.5), d(2.5), d(3.5)],
  ['0x1p+0 0x1.8p+1 -0X1P-1', '%a %a %A', d(1), d(3), d(-0.5)],
  ['0x0p+0 0x0.0000000000001p-1022', '%a %a', d(0), d(5e-324)],
  ['0x2p+0 0x1.0000p+0', '%.0a %.4a', d(1.5), d(1)],
  ['0x0001.8p+0', '%011a', d(1.5)],
];

test('conversions', () => {
  for (const [expected, format, ...args] of cases) assert.equal(print(format, args), expected, format);
});

test('all digits of the largest double', () => {
  assert.equal(print('%.1f', [d(Number.MAX_VALUE)]), `${BigInt(Number.MAX_VALUE)}.0`);
});

test('the dialect of LLVM 23 is that of glibc', () => {
  assert.equal(print('%p|%n|%qd', [null, 1n, -2n], GLIBC_DIALECT), '(nil)||-2');
});

test('all digits of the smallest double, and zeros behind them', () => {
  const digits = print('%.1080f', [d(5e-324)]);
  assert.equal(digits.slice(2).length, 1080);
  assert.match(digits, /^0\.0{323}494065645841246544.*625000000$/);
  assert.equal(print('%.800e', [d(5e-324)]).slice(-54), `${'0'.repeat(49)}e-324`);
});

test('doubles read back as themselves', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      assert.ok(Object.is(Number(print('%.17g', [d(value)])), value));
      assert.ok(Object.is(Number(print('%.16e', [d(value)])), value));
      assert.ok(Object.is(Number(print('%.1074f', [d(value)])), value));
    }),
    { numRuns: 200 },
  );
});

test('fixed and scientific digits are those of JavaScript, except where it does not round ties to even', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e20, noNaN: true }), fc.nat(100), (value, precision) => {
      const exact = print('%.1074f', [d(value)]);
      const fraction = exact.slice(exact.indexOf('.') + 1);
      const significant = exact.replace('.', '').replace(/^0+/, '');
      fc.pre(![fraction.slice(precision), significant.slice(precision + 1)].some((rest) => /^50*$/.test(rest)));
      assert.equal(print(`%.${precision}f`, [d(value)]), value.toFixed(precision));
      const scientific = value.toExponential(precision).replace(/e([+-])(\d)$/, 'e$10$2');
      assert.equal(print(`%.${precision}e`, [d(value)]), scientific);
    }),
    { numRuns: 200 },
  );
});

test('arguments with natural alignment', () => {
  const sections = parseFormat(encoder.encode('%d %ld %c %f %*s'), LLVM_DIALECT);
  const size = (layout: ArgumentLayout) => argumentAreaSizeBytes(sections, layout);
  assert.deepEqual([size('packed'), size('natural')], [36, 48]);
  const area = new Uint8Array(48);
  const data = new DataView(area.buffer);
  for (const [offset, value] of [
    [0, 1],
    [16, 3],
    [32, 5],
  ] as const)
    data.setInt32(offset, value, true);
  for (const [offset, value] of [
    [8, 2n],
    [24, 4n],
    [40, 6n],
  ] as const)
    data.setBigUint64(offset, value, true);
  const values = readArguments(sections, area, 'natural');
  assert.deepEqual(
    values.filter((value) => value !== undefined).map(({ value }) => value),
    [1n, 2n, 3n, 4n, 6n],
  );
  assert.equal(values.at(-1)?.width, 5);
  assert.deepEqual(stringAddresses(sections, values), [6n]);
});

test('output beyond the limit and missing arguments are errors', () => {
  const failing: [string, Argument[], string][] = [
    ['%2147483647d', [1], 'LIMIT_EXCEEDED'],
    ['%.99999999999f', [d(1)], 'LIMIT_EXCEEDED'],
    ['%*c', [-2147483648, 65], 'LIMIT_EXCEEDED'],
    ['%67108860d%5d', [1, 1], 'LIMIT_EXCEEDED'],
  ];
  for (const [format, args, code] of failing) {
    assert.throws(
      () => print(format, args),
      (error: unknown) => error instanceof WavewrightError && error.code === code,
    );
  }
  assert.equal(print('%.2147483647s', ['short']), 'short');
  const sections = parseFormat(encoder.encode('%d'), LLVM_DIALECT);
  assert.throws(() => readArguments(sections, new Uint8Array(3), 'packed'), /3 bytes of arguments, expected 4/);
});

test('any bytes as a format print or exceed a limit; the text is complete', () => {
  const format = fc
    .array(
      fc.oneof(
        fc.constantFrom(...'%%%*.-+ #0123dioxXubBcspaAeEfFgGhlLjztwqn'),
        fc.string({ minLength: 1, maxLength: 1 }),
      ),
      { maxLength: 20 },
    )
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(format, fc.uint8Array({ minLength: 200, maxLength: 200 }), (text, noise) => {
      const sections = parseFormat(encoder.encode(text), LLVM_DIALECT);
      const covered = sections.map((section) => new TextDecoder().decode(section.text)).join('');
      assert.equal(covered, text);
      const values = readArguments(sections, noise, 'packed');
      const strings = stringAddresses(sections, values).map(() => encoder.encode('s'));
      try {
        formatPrintf(sections, values, strings, LLVM_DIALECT);
      } catch (error) {
        if (!(error instanceof WavewrightError) || error.code !== 'LIMIT_EXCEEDED') throw error;
      }
    }),
    { numRuns: 1000 },
  );
});
