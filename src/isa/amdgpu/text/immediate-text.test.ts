import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodingsOf } from '../encoding/encodings.ts';
import { type Target, targetFor } from '../encoding/targets.ts';
import { allRows } from '../rows/index.ts';
import { spellingOf } from './immediate-text.ts';
import { TextReader } from './reader/text-reader.ts';

const TARGETS = ['gfx9-generic', 'gfx90a', 'gfx942', 'gfx1030', 'gfx1100'].map(targetFor);

const SPELLED = new Map(allRows().flatMap(({ name, flags }) => (flags.spelled ? [[name, flags.spelled]] : [])));

/** What is spelled on a target that has the instruction. */
const SPELLED_ON = allRows()
  .filter(({ name }) => SPELLED.has(name))
  .flatMap((row) =>
    TARGETS.filter((target) => encodingsOf(row, target).length > 0).map((target) => [row.name, target] as const),
  );

/** Spelled otherwise than as a number or as parts that are numbers. */
const isNamed = (text: string): boolean =>
  /[A-Za-z_]\(|^[A-Za-z]/.test(text) && !/^invalid_|\b(UC_VERSION_GFX\d+\))/.test(text);

test('what is spelled reads back as the same text', () => {
  const immediate = fc.tuple(fc.constantFrom(...SPELLED_ON), fc.nat(0xffff));
  fc.assert(
    fc.property(immediate, ([[name, target], value]) => {
      const spelled = SPELLED.get(name)!;
      const [{ field }, spelling] = [spelled, spellingOf(spelled)];
      const limit = field === 'target' ? 63 : field === 'simm16' ? 0xffff : 0xff;
      const text = spelling.print(value & limit, target);
      if (!isNamed(text) || /\(\d+\|/.test(text)) return;
      const reader = new TextReader(text);
      const parsed = spelling.parse(reader, target);
      assert.notEqual(parsed, undefined, text);
      assert.ok(reader.atEnd, text);
      assert.equal(spelling.print(parsed!, target), text);
    }),
    { numRuns: 3000 },
  );
});

test('examples of each target, as LLVM prints them', () => {
  const print = (name: string, value: number, target: Target): string =>
    spellingOf(SPELLED.get(name)!).print(value, target);
  const [gfx9, gfx10, gfx11] = ['gfx9-generic', 'gfx1030', 'gfx1100'].map(targetFor) as [Target, Target, Target];
  assert.equal(print('s_waitcnt', 0xc07f, gfx9), 'lgkmcnt(0)');
  assert.equal(print('s_waitcnt', 0xcf7f, gfx10), 'lgkmcnt(15)');
  assert.equal(print('s_waitcnt', 0xfc07, gfx11), 'lgkmcnt(0)');
  assert.equal(print('s_delay_alu', 0x1b1, gfx11), 'instid0(VALU_DEP_1) | instskip(SKIP_2) | instid1(VALU_DEP_3)');
  assert.equal(
    print('s_waitcnt_depctr', 0x1f, gfx11),
    'depctr_hold_cnt(0) depctr_va_vdst(0) depctr_va_sdst(0) depctr_va_ssrc(0)',
  );
  assert.equal(print('s_sendmsg', 3, gfx11), 'sendmsg(MSG_DEALLOC_VGPRS)');
  assert.equal(print('s_sendmsg', 3, gfx10), 'sendmsg(MSG_GS_DONE, GS_OP_NOP)');
  assert.equal(print('s_getreg_b32', 29 | (19 << 11), gfx11), 'hwreg(HW_REG_SHADER_CYCLES, 0, 20)');
  assert.equal(print('s_version', 0x6009, gfx11), '(UC_VERSION_GFX12|UC_VERSION_W64_BIT)|UC_VERSION_W32_BIT');
});
