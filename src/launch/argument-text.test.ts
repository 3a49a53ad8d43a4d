import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../base/errors.ts';
import { parseArgument } from './argument-text.ts';

const FILE = Uint8Array.of(1, 2, 3, 4);
const parse = (text: string) => parseArgument(text, () => FILE);
const bytes = (text: string): string => {
  const argument = parse(text);
  assert.ok(argument.kind === 'value');
  return Buffer.from(argument.bytes).toString('hex');
};

test('values in the bytes of memory', () => {
  assert.equal(bytes('u8:255'), 'ff');
  assert.equal(bytes('i16:-2'), 'feff');
  assert.equal(bytes('u32:5'), '05000000');
  assert.equal(bytes('i32:0xffffffff'), 'ffffffff');
  assert.equal(bytes('i64:-1'), 'ffffffffffffffff');
  assert.equal(bytes('u64:0x0123456789abcdef'), 'efcdab8967452301');
  assert.equal(bytes('f16:1.5'), '003e');
  assert.equal(bytes('f32:-2'), '000000c0');
  assert.equal(bytes('f32:inf'), '0000807f');
  assert.equal(bytes('f64:1e300'), '9c7500883ce4377e');
  assert.equal(bytes('f32:1,2'), '0000803f00000040');
  assert.equal(bytes('hex:00fF10'), '00ff10');
});

test('memory, workgroup memory and functions', () => {
  const none = new Uint8Array(0);
  assert.deepEqual(parse('in:a:b'), {
    kind: 'buffer',
    text: 'in:a:b',
    contents: FILE,
    sizeBytes: 4,
    output: undefined,
  });
  assert.deepEqual(parse('inout:a'), { kind: 'buffer', text: 'inout:a', contents: FILE, sizeBytes: 4, output: 'a' });
  assert.deepEqual(parse('out:C:x:0x10'), {
    ...{ kind: 'buffer', text: 'out:C:x:0x10', contents: none, sizeBytes: 16, output: 'C:x' },
  });
  assert.deepEqual(parse('zero:8'), {
    kind: 'buffer',
    text: 'zero:8',
    contents: none,
    sizeBytes: 8,
    output: undefined,
  });
  assert.deepEqual(parse('local:64'), { kind: 'local', text: 'local:64', sizeBytes: 64 });
  assert.deepEqual(parse('fn:f'), { kind: 'function', text: 'fn:f', name: 'f' });
});

test('what is no argument is named', () => {
  const cases: [string, RegExp][] = [
    ['5', /'5' is no argument/],
    ['u32:', /argument u32:: '' is no u32/],
    ['u8:256', /'256' is no u8/],
    ['i8:-129', /'-129' is no i8/],
    ['u16:-1', /is no u16/],
    ['f32:x', /'x' is no number/],
    ['f32:', /'' is no number/],
    ['hex:123', /even number/],
    ['f16:70000', /'70000' is too large/],
    ['f32:1,1e39', /'1e39' is too large/],
    ['f64:1e999', /is too large/],
    ['in:', /argument in:: expected in:FILE/],
    ['inout:', /expected inout:FILE/],
    ['out:file', /expected out:FILE:BYTES/],
    ['out::8', /expected out:FILE:BYTES/],
    ['out:file:0', /'0' is no size/],
    ['zero:0', /'0' is no size/],
    ['local:-1', /is no size/],
    ['fn:', /is no argument/],
    ['toString:1', /is no argument/],
  ];
  for (const [text, message] of cases) {
    assert.throws(
      () => parse(text),
      (error: unknown) => error instanceof WavewrightError && error.code === 'USAGE' && message.test(error.message),
      text,
    );
  }
});

test('any text is an argument or a usage error', () => {
  const kinds = fc.constantFrom('u8', 'i64', 'f16', 'hex', 'in', 'out', 'zero', 'local', 'fn', 'x');
  fc.assert(
    fc.property(kinds, fc.string(), (kind, value) => {
      try {
        parse(`${kind}:${value}`);
      } catch (error) {
        assert.ok(error instanceof WavewrightError && error.code === 'USAGE', String(error));
      }
    }),
  );
});
