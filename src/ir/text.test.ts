import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../base/errors.ts';
import { Builder } from './builder.ts';
import { KEEP_DENORMALS, randomProgram } from './random-program.test-support.ts';
import { parseProgram, printProgram } from './text.ts';
import { problemsOf } from './verify.ts';

const MASKED_AND = `wave64
v0:i32.lane = op1[0]
v1:i32 = 255
v2:i32.lane = i32.and v0, v1
v3:i1.lane = i32.eq v2, v1
v4:i64 = ballot v3
vcc = v4
op0[0].lane = v2 if v3
`;

test('a program reads like SSA', () => {
  const b = new Builder(64, KEEP_DENORMALS);
  const low = b.and(b.operand({ operand: 1, dword: 0 }, true), b.i32(255));
  const isFull = b.eq(low, b.i32(255));
  b.setState('vcc', b.ballot(isFull));
  b.setOperand({ operand: 0, dword: 0 }, low, true, isFull);
  assert.equal(printProgram(b.finish()), MASKED_AND);
});

test('accesses, an update and control', () => {
  const b = new Builder(32, KEEP_DENORMALS);
  const address = b.pc();
  const isOn = b.state('scc');
  const [low, high] = b.load('global', 8, address, { predicate: isOn, isRare: true });
  b.store('global', 4, address, [high!]);
  const index = b.laneId();
  const old = b.atomic('lds', index, [low!], (inner, before, data) => inner.add(before, data), { predicate: isOn });
  b.writeLane({ operand: 2, dword: 1 }, low!, high!);
  b.setOperand({ operand: 0, dword: 0 }, old, true);
  b.exit('gws-init');
  assert.equal(
    printProgram(b.finish()),
    `wave32
v0:i64 = pc
v1:i1 = scc
v2:i32 = load.global.8 v0 if rare v1
v3:i32 = loaded.1 v2
store.global.4 v0, v3
v5:i32.lane = laneId
v6:i32.lane = atomic.lds.4 v5, v2 if v1 {
  v0:i32 = param.0
  v1:i32 = param.1
  v2:i32 = i32.add v0, v1
  return v2
}
writeLane.op2[1] v2, v3
op0[0].lane = v6
exit.gws-init
`,
  );
});

test('what is read may have other names, remarks and empty lines', () => {
  const text = `
    wave64      # a wave
    vx:i32.lane = op1[0]

    vfull:i32 = 0xff
    v2:i32.lane = i32.and vx, vfull
    v3:i1.lane = i32.eq v2,vfull
    v1:i64 = ballot v3
    vcc = v1
    op0[0].lane = v2 if v3`;
  assert.equal(printProgram(parseProgram(text)), MASKED_AND);
});

const program = fc
  .tuple(fc.infiniteStream(fc.nat()), fc.integer({ min: 1, max: 40 }))
  .map(([stream, size]) => randomProgram(() => stream.next().value as number, size));

test('random programs are right, and come back from their text', () => {
  fc.assert(
    fc.property(program, (built) => {
      assert.deepEqual(problemsOf(built), []);
      const text = printProgram(built);
      const read = parseProgram(text);
      assert.equal(printProgram(read), text);
      assert.deepEqual(read, built);
    }),
    { numRuns: 300 },
  );
});

test('constants come back as they are, at the ends of their types and beyond', () => {
  for (const [type, text, value, printed] of [
    ['i1', '10000000000', 10n ** 10n, '0x2540be400'],
    ['i1', '-5000', -5000n, '-5000'],
    ['i32', '4294967295', -1n, '-1'],
    ['i32', '2147483648', -(2n ** 31n), '0x80000000'],
    ['i32', '4294967296', 2n ** 32n, '0x100000000'],
    ['i32', '-2147483649', -(2n ** 31n) - 1n, '-2147483649'],
    ['i64', '18446744073709551615', 2n ** 64n - 1n, '0xffffffffffffffff'],
    ['i64', '18446744073709551616', 2n ** 64n, '18446744073709551616'],
    ['i64', '-9223372036854775808', -(2n ** 63n), '-9223372036854775808'],
  ] as const) {
    const read = parseProgram(`wave64\nv0:${type} = ${text}`);
    assert.deepEqual(read.values[0]?.leaf, { kind: 'const', value }, `${type} ${text}`);
    assert.equal(printProgram(read).trim().split(' ').at(-1), printed);
    assert.deepEqual(parseProgram(printProgram(read)), read);
  }
});

test('damaged text ends in an error with its place, or is a program', () => {
  fc.assert(
    fc.property(
      program,
      fc.nat(),
      fc.constantFrom('', 'v', '{', '}', '.', '9', ' if ', '\n', '€'),
      (built, at, text) => {
        const whole = printProgram(built);
        const place = at % whole.length;
        try {
          const read = parseProgram(whole.slice(0, place) + text + whole.slice(place + 1));
          assert.deepEqual(parseProgram(printProgram(read)), read);
        } catch (error) {
          assert.ok(error instanceof WavewrightError, String(error));
          assert.match(error.message, /^line \d+, column \d+: /);
        }
      },
    ),
    { numRuns: 300 },
  );
});

for (const [text, message] of [
  ['wave16', 'line 1, column 1: expected wave32 or wave64'],
  ['wave64\nv0:i32 = op1[0', "line 2, column 10: there is no 'op1[0'"],
  ['wave64\nv0:i8 = 1', "line 2, column 4: 'i8' is no type"],
  ['wave64\nv0:i32 = 1\nv0:i32 = 2', "line 3, column 1: expected a new name instead of 'v0'"],
  ['wave64\n\nv0:i32 = i32.add v1, v2', "line 3, column 18: no value before is called 'v1'"],
  ['wave64\nv0:i32 = 1\nv1:i32 = i32.add v0 v0', "line 3, column 21: expected ','"],
  [
    'wave64\nv0:i32 = 1\nv1:i32 = load.moon.4 v0',
    "line 3, column 10: expected one of global flat lds private, got 'moon'",
  ],
  [
    'wave64\nv0:i32 = 1\nv1:i32 = load.lds.4.4.4 v0',
    "line 3, column 10: load has less behind it than 'load.lds.4.4.4'",
  ],
  ['wave64\nv0:i32 = 1\nv1:i32 = i32.clz v0 if v0', 'line 3, column 10: only accesses to memory have a predicate'],
  ['wave64\nv0:i32 = 1\nv1:i32 = atomic.lds.4 v0, v0', 'line 3, column 10: expected an update in { }'],
  ['wave64\nv0:i32 = 1\nv1:i32 = atomic.lds.4 v0, v0 {', 'line 3, column 1: expected return'],
  [
    'wave64\nv0:i32 = 1\nv1:i32.lane = matrixProduct v0 {\nf99\n}',
    "line 4, column 1: expected 'TYPE: left N, right N, results N, steps N'",
  ],
  ['wave64\nfence fence', "line 2, column 7: no value before is called 'fence'"],
  [
    'wave64\nexit.now',
    "line 2, column 1: expected one of end barrier sleep trap interrupt turn gws-init gws-barrier named-barrier, got 'now'",
  ],
  ['wave64\nv0:i32 = 1 $', "line 2, column 12: unexpected '$'"],
] as const) {
  test(`an error names line and column: ${message}`, () => {
    assert.throws(() => parseProgram(text), { name: 'WavewrightError', code: 'BAD_INPUT', message });
  });
}
