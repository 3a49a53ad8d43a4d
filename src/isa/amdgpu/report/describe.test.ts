import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodingsOf } from '../encoding/encodings.ts';
import { TARGET_PROCESSORS, targetFor } from '../encoding/targets.ts';
import { allRows } from '../rows/index.ts';
import { countsOf, coverage, exactnessOf } from './coverage.ts';
import { coverageMarkdown, coverageText } from './coverage-text.ts';
import { describe } from './describe.ts';
import { descriptionsText } from './describe-text.ts';
import { manualSection } from './manuals.ts';

test('every instruction of every target is counted once', () => {
  for (const { processor, formats } of coverage()) {
    const target = targetFor(processor);
    const { exact, approximate, missing } = countsOf(formats);
    assert.equal(exact + approximate + missing, allRows().filter((row) => encodingsOf(row, target).length > 0).length);
    for (const format of formats) {
      for (const { name, reason } of format.approximate) assert.match(reason, /^[a-z].{20,}[^.]$/i, name);
    }
  }
});

test('exact, approximate and missing', () => {
  const of = (name: string) => exactnessOf(allRows().find((row) => row.name === name)!);
  assert.equal(of('v_fma_f32'), 'exact');
  assert.equal(of('v_rcp_f32'), 'approximate');
  assert.equal(of('v_mfma_f32_32x32x1f32'), 'approximate');
  assert.equal(of('v_mfma_i32_32x32x4i8'), 'exact');
  assert.equal(of('ds_gws_sema_v'), 'missing');
});

test('a description has encodings, operands, meaning and the section of the manual', () => {
  const [fma, ...others] = describe('v_fma_f32', targetFor('gfx90a'));
  assert.deepEqual(others, []);
  assert.deepEqual(fma!.meaning, ['vdst = f32.fma(src0, src1, src2)']);
  assert.deepEqual(
    fma!.encodings.map(({ format, opcode, sizeBytes }) => [format, opcode, sizeBytes]),
    [['VOP3', 0x1cb, 8]],
  );
  assert.deepEqual(
    fma!.operands.map(({ field, access, widthBits }) => [field, access, widthBits]),
    [
      ['vdst', 'write', 32],
      ['src0', 'read', 32],
      ['src1', 'read', 32],
      ['src2', 'read', 32],
    ],
  );
  assert.equal(fma!.manual, 'CDNA2 ISA 12.11');
  assert.match(
    descriptionsText(describe('ds_append', targetFor('gfx1200'))),
    /effects besides operands:\n {2}reads {4}m0, exec\n {2}memory {3}lds atomic, lds load\n {2}raises {3}dscnt\n/,
  );
  assert.match(descriptionsText([fma!]), /VOP3 {9}opcode 0x1cb, 8 bytes, 110100\.+\n {4}op\[25:16\] vdst\[7:0\]/);
});

test('names of a target, of the oldest one and with a suffix', () => {
  const names = (name: string, processor: string) =>
    describe(name, targetFor(processor)).map((each) => `${each.name} ${each.encodings[0]!.opcode}`);
  assert.deepEqual(names('ds_load_b32', 'gfx1100'), ['ds_load_b32 54']);
  assert.deepEqual(names('ds_read_b32', 'gfx1100'), ['ds_load_b32 54']);
  assert.deepEqual(names('ds_load_b32', 'gfx90a'), []);
  assert.deepEqual(names('V_Mov_B32_e32', 'gfx90a'), ['v_mov_b32 1']);
});

test('every instruction can be described as text on every target', () => {
  const empty = new Set<string>();
  const byTables = new Map(TARGET_PROCESSORS.map((processor) => [targetFor(processor).families.join(), processor]));
  for (const processor of byTables.values()) {
    const target = targetFor(processor);
    const rows = allRows().filter(({ format }) => format !== 'VOPD');
    for (const name of new Set(rows.flatMap((row) => encodingsOf(row, target)[0]?.name ?? []))) {
      const described = describe(name, target);
      assert.ok(described.length > 0, name);
      for (const description of described) {
        assert.match(descriptionsText([description]), new RegExp(`^${name} \\(${processor}\\)`));
        if (description.meaning.length === 0 && description.exactness !== 'missing') empty.add(name);
      }
    }
  }
  // In wave32 there is no other half for v_permlane64_b32.
  const vector = [...empty].filter((name) => /^(v|ds|global|flat|scratch)_/.test(name));
  assert.deepEqual(vector.sort(), [
    'ds_nop',
    'global_inv',
    'global_wb',
    'global_wbinv',
    'v_clrexcp',
    'v_nop',
    'v_permlane64_b32',
    'v_pipeflush',
  ]);
});

test('sections of manuals', () => {
  assert.equal(manualSection('VOP2', ['gfx940', 'gfx90a', 'gfx9']), 'CDNA3 ISA 12.7');
  assert.equal(manualSection('FLAT', ['gfx11', 'gfx10']), 'RDNA3 ISA 16.20');
  assert.equal(manualSection('EXP', ['gfx90a', 'gfx9']), undefined);
});

test('coverage as text and as a page', () => {
  const targets = coverage(['gfx90a']);
  const text = coverageText(targets);
  assert.match(text, /^gfx90a\n {2}format {11}exact approximate {5}missing\n/);
  assert.doesNotMatch(text, /exact, VOP1/);
  assert.match(coverageText(targets, { exact: true }), /\n {2}exact, VOP1\n {4}v_/);
  assert.match(coverageMarkdown(targets), /\n\| {2}\| gfx90a \|\n\|---\|---\|\n\| DS \| \d+ \/ \d+ \/ \d+ \|\n/);
});

test('targets with the same description share it', () => {
  const all = ['gfx940', 'gfx942', 'gfx1100'].flatMap((name) => describe('v_fma_f32', targetFor(name)));
  assert.deepEqual(
    descriptionsText(all)
      .split('\n')
      .filter((line) => line.startsWith('v_fma_f32')),
    ['v_fma_f32 (gfx940, gfx942)', 'v_fma_f32 (gfx1100)'],
  );
});
