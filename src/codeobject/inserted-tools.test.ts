import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../base/errors.ts';
import { SHT_PROGBITS, SHT_STRTAB } from '../elf/constants.ts';
import { parseElf } from '../elf/elf.ts';
import { writeElf } from '../elf/writer.ts';
import { encodeInsertedTools, type InsertedTool, readInsertedTools, TOOLS_SECTION } from './inserted-tools.ts';

const TOOLS: readonly InsertedTool[] = [
  {
    ...{
      name: 'instruction-count',
      summary: 'executed instructions',
      options: { level: 'wave', top: 4 },
      kernels: '^v',
    },
    variables: [
      {
        ...{ name: 'counts', symbol: '__wavewright_0_00000000_counts', sizeBytes: 16, kind: 'counters', parts: [] },
        points: [
          { index: 0, address: 6400, where: 'before', amount: 'waves', function: 'vadd', line: 'vadd.cl:7' },
          { index: 1, address: 6404, where: 'taken', amount: 'lanes', function: 'vadd', line: '' },
        ],
      },
      {
        ...{ name: 'hook.bss', symbol: 'b', sizeBytes: 8, kind: 'bytes', points: [] },
        parts: [{ name: 'waves', offset: 0, sizeBytes: 8 }],
      },
    ],
  },
];

function fileWith(bytes: Uint8Array) {
  const common = { flags: 0n, alignmentBytes: 1 };
  const sections = [
    { name: TOOLS_SECTION, type: SHT_PROGBITS, bytes, ...common },
    { name: '.shstrtab', type: SHT_STRTAB, bytes: new Uint8Array(0), ...common },
  ];
  const header = { type: 3, machine: 224, osAbi: 64, abiVersion: 3, flags: 0, segments: [] };
  return parseElf(writeElf({ ...header, sections, nameSection: '.shstrtab' }), 'file.co');
}

test('what is written is read', () => {
  assert.deepEqual(readInsertedTools(fileWith(encodeInsertedTools(TOOLS))), TOOLS);
});

test('what is changed is read as something else, or refused', () => {
  const good = encodeInsertedTools(TOOLS);
  for (const at of good.keys()) {
    for (const byte of [0x00, 0x2d, 0x39, 0x5b, 0x7d, 0xff]) {
      const bytes = good.with(at, byte);
      try {
        readInsertedTools(fileWith(bytes));
      } catch (error) {
        assert.ok(error instanceof WavewrightError && error.code === 'BAD_INPUT', `${error}`);
      }
    }
  }
  assert.throws(() => readInsertedTools(fileWith(new TextEncoder().encode('{"schema":"x"}'))), /expected 'wavewright/);
});
