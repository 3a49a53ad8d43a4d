import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../assembler/assemble-file.ts';
import { parseElf } from '../elf/elf.ts';
import { waveSizeOfCode } from './wave-size.ts';

function sizeOf(source: string, processor = 'gfx1100', features: string[] = []) {
  const elf = parseElf(assembleFile(`${source}\n s_setpc_b64 s[30:31]\n`, { processor, features }), 'test');
  return waveSizeOfCode(elf.sectionBytes(elf.sectionNamed('.text')!), processor);
}

test('the wave size shows where EXEC is used', () => {
  assert.equal(sizeOf('s_or_saveexec_b64 s[4:5], -1'), 64);
  assert.equal(sizeOf('s_mov_b64 exec, s[4:5]'), 64);
  assert.equal(sizeOf('s_and_b64 vcc, exec, s[4:5]'), 64);
  assert.equal(sizeOf('s_and_saveexec_b32 s4, vcc_lo'), 32);
  assert.equal(sizeOf('s_mov_b32 exec_lo, s4'), 32);
});

test('code that leaves EXEC alone, or takes half of it, is for waves of any size', () => {
  assert.equal(sizeOf('s_nop 0'), undefined);
  assert.equal(sizeOf('s_mov_b32 s4, exec_lo'), undefined);
  assert.equal(sizeOf('.long 0xffffffff'), undefined);
});
