/** IREE's notation of values, files of numpy, and what is said of differences. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { elementTypeNamed, floatText } from './element-type.ts';
import { InputFiles, Outputs, parseInputs, viewResultText } from './inputs.ts';
import { readNpy, writeNpy } from './npy.ts';
import { differenceText, elementCount, parseElements, parseTensorType, type Tensor, tensorText } from './tensor.ts';

const noFiles = new InputFiles(() => {
  throw new Error('no file is named');
});

function tensorIn(text: string, files = noFiles): Tensor {
  const [input] = parseInputs(text, files);
  assert.equal(input?.kind, 'tensor');
  return input.tensor;
}

const again = (text: string): string => tensorText(tensorIn(text));

test('buffers are printed as they were written', () => {
  const same = [
    'f32=1.2',
    '4xf32=1 2 3 4',
    '2x3xi32=[1 2 3][4 5 6]',
    '2x2x2xui8=[[1 2][3 255]][[5 6][7 8]]',
    '3xsi16=-32768 0 32767',
    '2xi64=-9223372036854775808 9223372036854775807',
    '2xui64=0 18446744073709551615',
    '4xf16=0.5 -0 65504 INF',
    '3xbf16=1 -2.5 NAN',
    '2xf64=1E-05 1E+20',
    '2xi1=0 1',
    '2xx32=01020304 FFEEDDCC',
    '1xcf64=0000803F00000040',
    '0xf32=',
    '2x0xf32=[][]',
  ];
  assert.deepEqual(same.map(again), same);
});

test("brackets, commas and quotes are the writer's; one element stands for all, none for zeros", () => {
  assert.equal(again('2x2xi32=[[1 2][3 4]]'), '2x2xi32=[1 2][3 4]');
  assert.equal(again('2x2xi32=1,2, 3,4'), '2x2xi32=[1 2][3 4]');
  assert.equal(again('"3xf32=7"'), '3xf32=7 7 7');
  assert.equal(again('3xi8'), '3xi8=0 0 0');
  assert.equal(again('2xi8=-1 255'), '2xi8=-1 -1');
  assert.equal(again('2xi32=0x10 -0x10'), '2xi32=16 -16');
  assert.equal(again('2x*16=0a0b'), '2xx16=0A0B 0A0B');
});

test('what is no value is refused with what was expected', () => {
  const refused = [
    ['4xi32=1 2 3', 'OUT_OF_RANGE', /3 elements for 4xi32, expected 4 or 1/],
    ['2xi8=1 256', 'INVALID_ARGUMENT', /'256' is no i8/],
    ['ui8=-1', 'INVALID_ARGUMENT', /'-1' is no ui8/],
    ['si8=128', 'INVALID_ARGUMENT', /'128' is no si8/],
    ['f32=one', 'INVALID_ARGUMENT', /'one' is no f32/],
    ['i1=2', 'INVALID_ARGUMENT', /'2' is no i1/],
    ['2xx32=0102', 'INVALID_ARGUMENT', /'0102' is no x32, which is 8 hexadecimal digits/],
    ['4xf8E4M3FN=1', 'INVALID_ARGUMENT', /no element type 'f8E4M3FN'/],
    ['', 'INVALID_ARGUMENT', /no element type ''/],
    ['@numbers.bin', 'INVALID_ARGUMENT', /'@numbers.bin' has neither a type nor the end .npy/],
    ['4294967296xf32', 'OUT_OF_RANGE', /4294967296xf32 has 17179869184 bytes, at most 4294967296/],
    [`${'1x'.repeat(129)}f32`, 'OUT_OF_RANGE', /129 dimensions, at most 128/],
  ] as const;
  for (const [text, status, message] of refused) {
    assert.throws(() => parseInputs(text, noFiles), { status, message }, text);
  }
});

test('plain numbers take the type of their parameter; null and ignored are words', () => {
  const kinds = ['123', '-3.5', '(null)', '(ignored)', '&4xf32', 'f32=1'].map((text) => parseInputs(text, noFiles)[0]!);
  assert.deepEqual(
    kinds.map((input) => (input.kind === 'tensor' ? `tensor ${input.isStorage}` : input.kind)),
    ['value', 'value', 'null', 'ignored', 'tensor true', 'tensor false'],
  );
});

test('files: from the start, from where the last one ended, all that follow', () => {
  const bytes = Uint8Array.from({ length: 12 }, (_, i) => i);
  const arrays = new Uint8Array([...writeNpy(tensorIn('2xi32=1 2')), ...writeNpy(tensorIn('f64=0.5'))]);
  const files = new InputFiles((name) => (name === 'a.bin' ? bytes : arrays));
  const texts = (text: string) =>
    parseInputs(text, files).map((input) => tensorText((input as { tensor: Tensor }).tensor));
  assert.deepEqual(texts('4xui8=@a.bin'), ['4xui8=0 1 2 3']);
  assert.deepEqual(texts('2xui8=+a.bin'), ['2xui8=4 5']);
  assert.deepEqual(texts('1xui8=@a.bin'), ['1xui8=0']);
  assert.deepEqual(texts('@b.npy'), ['2xi32=1 2']);
  assert.deepEqual(texts('+b.npy'), ['f64=0.5']);
  assert.throws(() => texts('+b.npy'), { status: 'INVALID_ARGUMENT', message: /no further array/ });
  assert.deepEqual(texts('@b.npy'), ['2xi32=1 2']);
  assert.deepEqual(texts('*b.npy'), ['f64=0.5']);
  assert.throws(() => texts('4xi32=@a.bin'), { message: /a.bin: 4xi32 needs 16 bytes, 12 follow/ });
});

test('outputs: printed, written, added, left', () => {
  const outputs = new Outputs((name) => (name === 'old.bin' ? Uint8Array.of(9) : undefined));
  const tensor = tensorIn('2xui8=1 2');
  assert.equal(outputs.take(0, '', tensor), '');
  assert.equal(outputs.take(1, '-', tensor), 'result[1]: hal.buffer_view\n2xui8=1 2\n');
  outputs.take(2, '@new.bin', tensor);
  outputs.take(3, '+new.bin', tensor);
  outputs.take(4, '+old.bin', tensor);
  assert.deepEqual(
    [...outputs.files].map(([name, bytes]) => [name, ...bytes]),
    [
      ['new.bin', 1, 2, 1, 2],
      ['old.bin', 9, 1, 2],
    ],
  );
  assert.throws(() => outputs.take(0, 'file', tensor), { status: 'INVALID_ARGUMENT', message: /expected -, @FILE/ });
});

test('only so many elements are printed', () => {
  assert.equal(viewResultText(0, tensorIn('5xi32=1 2 3 4 5'), 3), 'result[0]: hal.buffer_view\n5xi32=1 2 3...\n');
  assert.equal(tensorText(tensorIn('3x2xi32=1'), 3), '3x2xi32=[1 1][1...][...]');
});

test("differences are told in the words of IREE's tools, floats within their threshold", () => {
  const difference = (a: string, b: string) => differenceText(tensorIn(a), tensorIn(b));
  assert.equal(difference('2xf32=1 2', '2xf32=1 2.00005'), undefined);
  assert.match(
    difference('2xf32=1 2', '2xf32=1 2.001')!,
    /^element at index 1 \(2.001\) does not match the expected \(2\)/,
  );
  assert.match(difference('2xi32=1 2', '2xf32=1 2')!, /^metadata is 2xf32; expected that the view matches 2xi32$/);
  assert.equal(difference('f32=nan', 'f32=nan'), undefined);
  assert.match(difference('f32=nan', 'f32=1')!, /index 0/);
  assert.equal(difference('2xf16=1 2', '2xf16=1 2'), undefined);
});

test('numbers are printed as C prints %G', () => {
  const values = [0, -0, 1, 0.1, 1234567, 1e-5, 1.5e300, Number.NaN, Number.NEGATIVE_INFINITY, 123456.7];
  const texts = ['0', '-0', '1', '0.1', '1.23457E+06', '1E-05', '1.5E+300', 'NAN', '-INF', '123457'];
  assert.deepEqual(values.map(floatText), texts);
});

const NAMES = ['i1', 'i8', 'si16', 'ui32', 'i64', 'f16', 'bf16', 'f32', 'f64', 'x8', 'cf64'];
const tensors = fc.record({
  name: fc.constantFrom(...NAMES),
  shape: fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 3 }),
  fill: fc.uint8Array({ minLength: 1, maxLength: 16 }),
});

function tensorFrom({ name, shape, fill }: { name: string; shape: number[]; fill: Uint8Array }): Tensor {
  const type = elementTypeNamed(name);
  const bytes = Uint8Array.from({ length: elementCount({ shape }) * type.sizeBytes }, (_, i) => fill[i % fill.length]!);
  return { type, shape, bytes: name === 'i1' ? bytes.map((byte) => byte & 1) : bytes };
}

test('integers and bytes survive their text, every array its file', () => {
  fc.assert(
    fc.property(tensors, (record) => {
      const tensor = tensorFrom(record);
      if (tensor.type.kind !== 'float' && elementCount(tensor) !== 1) {
        const text = tensorText(tensor, Number.POSITIVE_INFINITY);
        assert.deepEqual(tensorIn(text).bytes, tensor.bytes, text);
      }
      const { tensor: read, end } = readNpy(writeNpy(tensor), 0, 'a.npy');
      assert.equal(end, writeNpy(tensor).length);
      assert.deepEqual(read.bytes, tensor.bytes);
      if (tensor.type.numpy !== undefined) assert.deepEqual(read.shape, tensor.shape);
    }),
  );
});

test('damaged files of numpy are refused by name, or hold another array', () => {
  const mutation = fc.array(fc.tuple(fc.nat(200), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(tensors, mutation, fc.nat(200), (record, changes, length) => {
      const file = writeNpy(tensorFrom(record));
      for (const [at, byte] of changes) file[at % file.length] = byte;
      for (const bytes of [file, file.subarray(0, length)]) {
        try {
          readNpy(bytes, 0, 'a.npy');
        } catch (error) {
          assert.match(
            String((error as { status?: string }).status),
            /^(INVALID_ARGUMENT|UNIMPLEMENTED|OUT_OF_RANGE)$/,
          );
        }
      }
    }),
    { numRuns: 2000 },
  );
});

test('text that is no tensor type never gets through', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        const type = parseTensorType(text);
        if (elementCount(type) < 1000) parseElements(type, text);
      } catch (error) {
        assert.match(String((error as { status?: string }).status), /^(INVALID_ARGUMENT|OUT_OF_RANGE)$/);
      }
    }),
  );
});
