import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assembleFile } from '../assembler/assemble-file.ts';
import { WavewrightError } from '../base/errors.ts';
import { parseElf } from '../elf/elf.ts';
import { readFunctionInfo } from './function-info.ts';

const FUNCTION = '.text\n.globl f\n.type f,@function\nf:\n s_setpc_b64 s[30:31]\n.size f, .-f\n';
const object = (entries: string): Uint8Array =>
  assembleFile(`${FUNCTION}.type inner,@function\ninner:\n s_nop 0\n.section .amdgpu.info,"e",@progbits\n${entries}`, {
    processor: 'gfx90a',
  });
const read = (entries: string) => readFunctionInfo(parseElf(object(entries), 'a.o'));

test('entries belong to the function before them; a local one is found by its place', () => {
  const infos = read(`.byte 1, 8
.quad f
.byte 4, 4
.long 17
.byte 7, 8
.quad other
.byte 8, 8
.quad inner
.byte 1, 8
.quad inner
.byte 2, 4
.long 7
`);
  assert.deepEqual([...infos.keys()], ['f', 'inner']);
  assert.deepEqual(
    [infos.get('f')?.vgprCount, infos.get('f')?.callees, infos.get('f')?.hasDynamicStack],
    [17, ['inner'], false],
  );
  assert.deepEqual([infos.get('inner')?.specialSgprCount, infos.get('inner')?.hasDynamicStack], [6, true]);
});

test('an object without the section says nothing', () => {
  assert.equal(readFunctionInfo(parseElf(assembleFile(FUNCTION, { processor: 'gfx90a' }), 'a.o')).size, 0);
});

test('what is cut off or names nothing is refused', () => {
  const cases: [string, RegExp][] = [
    ['.byte 1, 8\n.long 0\n', /an entry of 8 bytes/],
    ['.byte 1, 8\n.quad 0\n', /names no symbol/],
    ['.byte 4, 4\n.long 1\n', /before that of a function/],
    ['.byte 1, 8\n.quad f\n.byte 4, 2, 0, 0\n', /a number of 2 bytes/],
    ['.byte 1\n', /length of an entry/],
  ];
  for (const [entries, message] of cases) {
    assert.throws(
      () => read(entries),
      (error: unknown) => error instanceof WavewrightError && error.code === 'BAD_INPUT' && message.test(error.message),
      entries,
    );
  }
});

test('any bytes are entries or are refused', () => {
  const bytes = object('.byte 1, 8\n.quad f\n.byte 4, 4\n.long 17\n.byte 8, 8\n.quad inner\n');
  const { offset } = parseElf(bytes, 'a.o').sectionNamed('.amdgpu.info')!;
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 26 }), fc.nat(25), (damage, at) => {
      const changed = bytes.slice();
      changed.set(damage.subarray(0, 26 - at), offset + at);
      try {
        readFunctionInfo(parseElf(changed, 'a.o'));
      } catch (error) {
        assert.ok(error instanceof WavewrightError && error.code === 'BAD_INPUT', String(error));
      }
    }),
  );
});
