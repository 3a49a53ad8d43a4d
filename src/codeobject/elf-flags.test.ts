import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../base/errors.ts';
import type { ElfHeader } from '../elf/header.ts';
import { identifyCodeObject } from './elf-flags.ts';
import { formatTargetId } from './target-id.ts';

const header = (changes: Partial<ElfHeader>): ElfHeader => ({
  osAbi: 64,
  abiVersion: 3,
  type: 3,
  machine: 224,
  flags: 0x3f,
  entry: 0n,
  segmentTableOffset: 64,
  segmentCount: 0,
  sectionTableOffset: 0,
  sectionCount: 0,
  sectionNameIndex: 0,
  ...changes,
});

test('e_flags of version 4 and higher have two bits a feature', () => {
  const target = (flags: number) => identifyCodeObject(header({ flags }), undefined).target;
  assert.deepEqual(target(0x53f), { processor: 'gfx90a', xnack: 'any', sramecc: 'any', genericVersion: 0 });
  assert.equal(formatTargetId(target(0xe3f)), 'gfx90a:sramecc+:xnack-');
  assert.equal(formatTargetId(target(0xb3f)), 'gfx90a:sramecc-:xnack+');
  assert.deepEqual(target(0x41), {
    processor: 'gfx1100',
    xnack: 'unsupported',
    sramecc: 'unsupported',
    genericVersion: 0,
  });
});

test('e_flags of version 3 have one bit a feature', () => {
  const target = (flags: number) => identifyCodeObject(header({ abiVersion: 1, flags }), undefined).target;
  assert.equal(formatTargetId(target(0x13f)), 'gfx90a:sramecc-:xnack+');
  assert.equal(formatTargetId(target(0x23f)), 'gfx90a:sramecc+:xnack-');
  assert.equal(formatTargetId(target(0x02c)), 'gfx900:xnack-');
});

test('a generic processor has its version in the top byte of version 6', () => {
  const { version, target } = identifyCodeObject(header({ abiVersion: 4, flags: 0x0300_0054 }), undefined);
  assert.equal(version, 6);
  assert.deepEqual([target.processor, target.genericVersion], ['gfx11-generic', 3]);
});

const REFUSED: [what: string, changes: Partial<ElfHeader>, code: string, message: RegExp][] = [
  ['another machine', { machine: 62 }, 'BAD_INPUT', /x: at 0x12: e_machine is x86-64 \(62\), expected AMD GPU \(224\)/],
  ['another OS ABI', { osAbi: 65 }, 'UNSUPPORTED', /EI_OSABI is 65 \(AMDGPU PAL\), expected 64/],
  [
    'version 2',
    { abiVersion: 0 },
    'UNSUPPORTED',
    /code object version 2 \(EI_ABIVERSION 0\), expected version 3, 4, 5 or 6/,
  ],
  ['version 7', { abiVersion: 5 }, 'UNSUPPORTED', /code object version 7/],
  ['an unknown processor', { flags: 0x5ff }, 'UNSUPPORTED', /at 0x30: e_flags 0x5ff name processor 0xff/],
  ['a generic one in version 5', { flags: 0x0100_0054 }, 'BAD_INPUT', /gfx11-generic needs code object version 6/],
  ['a generic one without version', { abiVersion: 4, flags: 0x54 }, 'BAD_INPUT', /generic version above 0/],
];

for (const [what, changes, expected, message] of REFUSED) {
  test(`${what} is refused`, () => {
    assert.throws(
      () => identifyCodeObject(header(changes), 'x'),
      (error) => error instanceof WavewrightError && error.code === expected && message.test(error.message),
    );
  });
}
