/**
 * What needs no other tool: bad input, options, the shape of the output. test/oracle/objdump.test.ts holds
 * the text against llvm-objdump.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../../base/errors.ts';
import { encodeLineTable } from '../../codeobject/line-table-writer.ts';
import { PF_R, SHT_PROGBITS } from '../../elf/constants.ts';
import { ElfEdit } from '../../elf/edit.ts';
import { parseElf } from '../../elf/elf.ts';
import { objdump } from './objdump.ts';
import { type ObjdumpOptions, parseAddress, waveSizeOf } from './options.ts';
import { Output } from './output.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const data = (name: string): Uint8Array => new Uint8Array(readFileSync(path.join(ROOT, 'test/data/codeobjects', name)));

function dump(bytes: Uint8Array, options: ObjdumpOptions, name = 'x.co'): { text: string; warnings: string[] } {
  const chunks: Buffer[] = [];
  const warnings: string[] = [];
  objdump(bytes, name, options, {
    write: (chunk) => chunks.push(Buffer.from(chunk)),
    warn: (message) => warnings.push(message),
  });
  return { text: Buffer.concat(chunks).toString(), warnings };
}

const EVERYTHING: ObjdumpOptions = {
  fileHeaders: true,
  sectionHeaders: true,
  symbols: true,
  dynamicSymbols: true,
  relocations: true,
  disassembleAll: true,
  symbolizeOperands: true,
};

test('a listing has the parts that were asked for, in the order of llvm-objdump', () => {
  const { text } = dump(data('kernels.gfx90a.v5.co'), EVERYTHING);
  const parts = [
    'file format elf64-amdgpu',
    'architecture: amdgcn',
    'Sections:',
    'SYMBOL TABLE:',
    'DYNAMIC SYMBOL TABLE:',
  ];
  const places = [...parts, 'Disassembly of section .note', '.amdhsa_kernel', 'Disassembly of section .text'].map(
    (part) => text.indexOf(part),
  );
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  );
  assert.ok(places[0]! > 0);
  assert.match(text, /^\ts_endpgm {51}\/\/ 0000[0-9A-F]{8}: BF810000$/m);
});

test('start and stop address bound the instructions', () => {
  const { text } = dump(data('kernels.gfx90a.v5.co'), { disassemble: true, startAddress: 0x2108, stopAddress: 0x2110 });
  assert.deepEqual(text.match(/(?<=\/\/ )[0-9A-F]+(?=:)/g), ['000000002108', '00000000210C']);
});

test('what is not supported is refused by name', () => {
  const cases: [string, ObjdumpOptions, RegExp][] = [
    ['arguments.gfx803.v5.co', { disassemble: true }, /no instruction set for 'gfx803'/],
    ['kernels.gfx90a.v5.co', { disassemble: true, processor: 'gfx7' }, /no instruction set for 'gfx7'/],
    ['kernels.gfx90a.v5.o', { dynamicRelocations: true }, /not a dynamic object/],
  ];
  for (const [file, options, message] of cases) {
    assert.throws(
      () => dump(data(file), options),
      (error) => error instanceof WavewrightError && message.test(error.message),
    );
  }
  assert.match(dump(data('arguments.gfx803.v5.co'), { symbols: true }).text, /\.kd\n/);
});

test('addresses and features as the options take them', () => {
  const address = (text: string): number => parseAddress('start-address', text);
  assert.deepEqual(['0', '10', '0x10', '0b11', '010', '0X1f'].map(address), [0, 10, 16, 3, 8, 31]);
  for (const text of ['', '-1', '08', '0x', '1g', '1e3', '0x20000000000000', ' 1']) {
    assert.throws(
      () => address(text),
      (error) => error instanceof WavewrightError && error.code === 'USAGE',
      text,
    );
  }
  assert.equal(waveSizeOf(['-wavefrontsize32', '+wavefrontsize64']), 64);
  assert.equal(waveSizeOf([]), undefined);
  assert.throws(() => waveSizeOf(['+xnack']), /unknown feature '\+xnack'/);
});

test('output: digits, padding, long and non-ASCII text, more than the buffer holds', () => {
  const chunks: string[] = [];
  const out = new Output((bytes) => chunks.push(Buffer.from(bytes).toString()));
  out
    .hex(0x1f, 4)
    .spaces(1)
    .hex(0xabcdef0123456, 4, true)
    .spaces(-1)
    .text(' ')
    .word(0xdeadbeef)
    .padded(' ö', 4)
    .line('|');
  out
    .hex(0, 1)
    .hex(2 ** 53 - 1, 16)
    .newline();
  const long = 'x'.repeat(200_000);
  out.text(long).flush();
  assert.equal(chunks.join(''), `001f ABCDEF0123456 DEADBEEF ö  |\n0001fffffffffffff\n${long}`);
});

test('a section without a type that goes beyond the file is refused', () => {
  const bytes = data('kernels.gfx90a.v5.co').slice();
  const view = new DataView(bytes.buffer);
  // sh_size of the null section, whose range reading the headers does not look at.
  view.setBigUint64(Number(view.getBigUint64(40, true)) + 32, 0xffffn, true);
  assert.throws(() => dump(bytes, EVERYTHING), { code: 'BAD_INPUT' });
});

test('mutated files end in a listing or a clear error', () => {
  for (const name of [
    'kernels.gfx90a.v5.co',
    'kernels.gfx90a.v5.o',
    'kernels.gfx1100.v5.co',
    'kernels.gfx90a.v5.stripped.co',
  ]) {
    const bytes = data(name);
    const interesting = fc.constantFrom(0, 1, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff);
    const change = fc.record({
      at: fc.oneof(
        fc.nat(1023),
        fc.nat(bytes.length - 8),
        fc.integer({ min: bytes.length - 2000, max: bytes.length - 8 }),
      ),
      value: fc.oneof(interesting, fc.nat(0xffff)),
      wide: fc.boolean(),
    });
    const property = fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
      const mutated = bytes.slice();
      const view = new DataView(mutated.buffer);
      for (const { at, value, wide } of changes) {
        view.setUint32(at & ~3, value, true);
        if (wide) view.setUint32((at & ~3) + 4, value, true);
      }
      try {
        const { text } = dump(mutated, EVERYTHING);
        assert.ok(text.length < 2 ** 24, 'no more text than the file can have');
      } catch (error) {
        assert.ok(error instanceof WavewrightError && error.code !== 'INTERNAL', String(error));
      }
    });
    fc.assert(property, { numRuns: 150 });
  }
});

/** The example, whose first instructions have lines. */
function withLines(): Uint8Array {
  const elf = parseElf(new Uint8Array(readFileSync(path.join(ROOT, 'examples/kernels/vadd.gfx90a.co'))));
  const start = Number(elf.sectionNamed('.text')!.address);
  const source = (line: number) => ({ file: '/src/vadd.cl', line, column: 1 });
  const rows = [
    { address: start, source: source(3) },
    { address: start + 16, source: source(4) },
    { address: start + 20, source: undefined },
    { address: start + 28, source: source(4) },
  ];
  const { lines } = encodeLineTable(rows, start + 32, { lineBytes: 0, abbreviationBytes: 0 });
  const edit = new ElfEdit(elf);
  edit.addSection({ name: '.debug_line', type: SHT_PROGBITS, flags: 0n, alignmentBytes: 1 }, lines);
  return edit.finish(edit.addSegment(PF_R, new Uint8Array(edit.segmentTableBytes(1))));
}

test('functions and numbers of lines stand where they change', () => {
  const { text } = dump(withLines(), { lineNumbers: true, stopAddress: 0x1924 });
  const lines = text.split('\n').filter((line) => /^; |^\t/.test(line));
  assert.deepEqual(
    lines.map((line) => line.replace(/ *\/\/.*|^\t(\S+).*/, '$1')),
    [
      ...['; vadd():', '; /src/vadd.cl:3', 's_load_dword', 's_load_dword', '; /src/vadd.cl:4', 's_waitcnt'],
      ...['s_and_b32', '; /src/vadd.cl:4', 's_mul_i32', 'v_add_u32_e32'],
    ],
  );
});
