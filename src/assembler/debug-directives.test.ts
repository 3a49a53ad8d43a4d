import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../base/errors.ts';
import { LineTable } from '../codeobject/line-table.ts';
import { parseElf } from '../elf/elf.ts';
import { assembleFile } from './assemble-file.ts';

const assemble = (source: string) => parseElf(assembleFile(source, { processor: 'gfx90a', file: 'f.s' }));

test('a line table says where instructions come from', () => {
  const table = LineTable.read(
    assemble(`.file 1 "lib/a.c"
      .file 2 "/x" "b.h"
      .loc 1 5
      s_nop 0
      s_nop 0
      .loc 2 7 3 prologue_end is_stmt 0
      s_nop 0
      .skip 4000
      .loc 1 100000 9 discriminator 2
      s_nop 0
      .loc 1 0
      s_endpgm`),
  );
  const line = (address: number) => Object.values(table.lineAt(BigInt(address)) ?? {});
  assert.deepEqual(line(0), ['lib/a.c', 5, 0]);
  assert.deepEqual(line(4), ['lib/a.c', 5, 0]);
  assert.deepEqual(line(8), ['/x/b.h', 7, 3]);
  assert.deepEqual(line(4000), ['/x/b.h', 7, 3]);
  assert.deepEqual(line(4012), ['lib/a.c', 100000, 9]);
  assert.deepEqual(line(4016), []);
});

test('the line table of DWARF 5 has the bytes that LLVM writes', () => {
  const elf = assemble(`.file 0 "/here" "a.c" md5 0x000102030405060708090a0b0c0d0e0f
    .file 1 "/here" "sub/b.h" md5 0x101112131415161718191a1b1c1d1e1f
    .loc 0 3 1
    s_nop 0
    .loc 1 4 2
    s_endpgm`);
  const hex = (name: string) => Buffer.from(elf.sectionBytes(elf.sectionNamed(name)!)).toString('hex');
  assert.equal(
    hex('.debug_line'),
    '7200000005000800' + // Length, version, sizes of addresses and segments.
      '50000000040101fb0e0d000101010100000001000001' +
      '01011f02' + // Directories.
      '0000000000000000' +
      '03011f020f051e02' + // Files.
      '0000000000000102030405060708090a0b0c0d0e0f' +
      '0000000001101112131415161718191a1b1c1d1e1f' +
      '0400' + // The program.
      '0501' +
      '0009020000000000000000' +
      '14' +
      '0401050221' +
      '0201000101',
  );
  assert.equal(Buffer.from(hex('.debug_line_str'), 'hex').toString(), '/here\0sub\0a.c\0b.h\0');
});

test('frames have the bytes that LLVM writes', () => {
  const elf = assemble(`.cfi_sections .debug_frame
    .cfi_startproc
    s_nop 0
    .cfi_def_cfa 40, 8
    .cfi_offset 33, -4
    .skip 256
    .cfi_undefined 100
    s_endpgm
    .cfi_endproc`);
  const bytes = Buffer.from(elf.sectionBytes(elf.sectionNamed('.debug_frame')!)).toString('hex');
  const common = '0c000000ffffffff0400080004041000';
  const rules = '41' + '0c2808' + '11217f' + '0240' + '0764';
  assert.equal(bytes, `${common}24000000${'0'.repeat(24)}0801000000000000${rules}${'0'.repeat(10)}`);
});

test('what is wrong with debug directives', () => {
  for (const [source, message] of [
    ['.loc 1 2 3', 'f.s:1:6: no .file 1'],
    ['.file 1 "a"\n.file 1 "b"', 'f.s:2:1: file number 1 is already taken'],
    ['.file 1 "a"\n.loc 1 2 3 never', "f.s:2:1: 'never' in '.loc'"],
    ['.file 1 "a" md5 0x12', 'f.s:1:17: expected 0x and 32 hexadecimal digits'],
    ['.file 9999999 "a"', 'f.s:1:1: file 9999999, expected at most 1048576'],
    ['.cfi_endproc', 'f.s:1:1: expected between .cfi_startproc and .cfi_endproc'],
    ['.cfi_startproc', 'f.s:1:1: .cfi_startproc without .cfi_endproc'],
    ['.cfi_startproc\n.cfi_endproc', 'f.s:1:1: frames in .eh_frame'],
  ] as const) {
    assert.throws(
      () => assemble(source),
      (error) => error instanceof WavewrightError && error.message.split('\n')[0] === message,
      source,
    );
  }
});
