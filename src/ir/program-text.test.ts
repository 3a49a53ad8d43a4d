import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Builder } from './builder.ts';
import { formatProgram } from './program-text.ts';

const MODE = {
  round32: 0,
  round64: 0,
  flush32: { inputs: false, results: false },
  flush64: { inputs: false, results: false },
  ieee: false,
  dx10Clamp: true,
} as const;
const NAMES = {
  name: (operand: number) => ['d', 'x', 'y'][operand]!,
  dwords: (operand: number) => (operand === 1 ? 2 : 1),
};

function text(build: (b: Builder) => void): string[] {
  const b = new Builder(64, MODE);
  build(b);
  return formatProgram(b.finish(), NAMES);
}

test('expressions nest; what is used twice gets a name; halves of an operand are the operand', () => {
  const lines = text((b) => {
    const y = b.operand({ operand: 2, dword: 0 }, true);
    const x = b.pack(b.operand({ operand: 1, dword: 0 }, true), b.operand({ operand: 1, dword: 1 }, true));
    const sum = b.add(b.low(x), y);
    b.setState('scc', b.ltU(sum, y));
    b.setOperand({ operand: 0, dword: 0 }, b.add(sum, b.i32(-70_000)), true);
  });
  assert.deepEqual(lines, ['t1 = i32.add(x[0], y)', 'scc = i32.ltU(t1, y)', 'd = i32.add(t1, 0xfffeee90)']);
});

test('both halves of one value are one write', () => {
  const lines = text((b) => {
    const x = b.pack(b.operand({ operand: 1, dword: 0 }, false), b.operand({ operand: 1, dword: 1 }, false));
    const value = b.add(x, b.i64(5n));
    b.setOperand({ operand: 1, dword: 0 }, b.low(value), false);
    b.setOperand({ operand: 1, dword: 1 }, b.high(value), false);
  });
  assert.deepEqual(lines, ['t1 = i64.add(x, 5)', 'x = t1']);
});

test('memory, atomics, lanes and control', () => {
  const lines = text((b) => {
    const address = b.operand({ operand: 2, dword: 0 }, true);
    const [low, high] = b.load('lds', 8, address);
    b.store('lds', 4, address, [high!]);
    const old = b.atomic('lds', address, [low!], (inner, before, data) => inner.add(before, data));
    b.setOperand({ operand: 0, dword: 0 }, old, true);
    b.writeLane({ operand: 0, dword: 0 }, b.i32(3), b.i32(1));
    b.branch(b.laneMask(b.state('exec')));
    b.exit('barrier');
  });
  assert.deepEqual(lines, [
    't1 = load.lds.8(y)',
    'store.lds.4(y, t1[1])',
    't2 = atomic.lds.4(y, t1[0]; p0, p1 => i32.add(p0, p1))',
    'd = t2',
    'd[lane 3] = 1',
    'if exec[lane] goto label',
    'barrier',
  ]);
});
