import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../base/errors.ts';
import type { ElfFile } from '../elf/elf.ts';
import { LineTable } from './line-table.ts';

const ascii = (text: string): number[] => [...new TextEncoder().encode(text), 0];
const u16 = (value: number): number[] => [value & 255, value >> 8];
const u32 = (value: number): number[] => [...u16(value & 0xffff), ...u16(value >>> 16)];
const u64 = (value: number): number[] => [...u32(value), ...u32(0)];

/** A file that has nothing but these sections. */
function elfOf(
  sections: Readonly<Record<string, readonly number[]>>,
): Pick<ElfFile, 'name' | 'sectionNamed' | 'sectionBytes'> {
  type Section = NonNullable<ReturnType<ElfFile['sectionNamed']>>;
  return {
    name: 'a.co',
    sectionNamed: (name) => (name in sections ? ({ name } as Section) : undefined),
    sectionBytes: ({ name }) => Uint8Array.from(sections[name]!),
  };
}

const OPERAND_COUNTS = [0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
/** Instructions of 4 bytes, lines from -3 in 12 steps, 13 as the first special opcode. */
const COMMON = [4, 1, 1, 0xfd, 12, 13, ...OPERAND_COUNTS];

/** Lines 10, 12 and 9 of `file`, each of 8 bytes, from 0x1000 on; then code of no line. */
const program = (file: number): number[] => [
  ...[0, 9, 2, ...u64(0x1000)],
  ...[4, file, 5, 7, 3, 9, 1],
  // Special opcodes: 2 instructions and 2 lines on; 2 instructions and 3 lines back.
  ...[13 + 2 * 12 + (2 + 3), 13 + 2 * 12 + (-3 + 3)],
  ...[2, 2, 3, 0x77, 1],
  ...[2, 1, 0, 1, 1],
];

function version4(): number[] {
  const tables = [...ascii('/src'), 0, ...ascii('a.cl'), 0, 0, 0, ...ascii('b.h'), 1, 0, 0, 0];
  const header = [...COMMON, ...tables];
  const unit = [...u16(4), ...u32(header.length), ...header, ...program(2)];
  return [...u32(unit.length), ...unit];
}

function version5(): { line: number[]; strings: number[] } {
  const strings = [...ascii('/project'), ...ascii('sub'), ...ascii('main.cl'), ...ascii('lib.h')];
  const at = (text: string): number[] => u32(new TextDecoder().decode(Uint8Array.from(strings)).indexOf(text));
  const folders = [1, 1, 0x1f, 2, ...at('/project'), ...at('sub')];
  const checksum = new Array<number>(16).fill(9);
  const files = [3, 1, 0x1f, 2, 0x0b, 5, 0x1e, 2, ...at('main.cl'), 0, ...checksum, ...at('lib.h'), 1, ...checksum];
  const header = [...COMMON, ...folders, ...files];
  const unit = [...u16(5), 8, 0, ...u32(header.length), ...header, ...program(1)];
  return { line: [...u32(unit.length), ...unit], strings };
}

const EXPECTED = [
  [0xfff, undefined],
  [0x1000, [10, 7]],
  [0x1007, [10, 7]],
  [0x1008, [12, 7]],
  [0x1010, [9, 7]],
  [0x1018, undefined],
  [0x101c, undefined],
] as const;

function check(table: LineTable, file: string): void {
  for (const [address, place] of EXPECTED) {
    const expected = place && { file, line: place[0], column: place[1] };
    assert.deepEqual(table.lineAt(BigInt(address)), expected, `0x${address.toString(16)}`);
  }
}

test('line tables of version 4 and 5', () => {
  check(LineTable.read(elfOf({ '.debug_line': version4() })), '/src/b.h');
  const { line, strings } = version5();
  check(LineTable.read(elfOf({ '.debug_line': line, '.debug_line_str': strings })), '/project/sub/lib.h');
  check(LineTable.read(elfOf({ '.debug_line': [...version4(), ...line], '.debug_line_str': strings })), '/src/b.h');
});

test('a file without line tables has no lines', () => {
  assert.equal(LineTable.read(elfOf({})).lineAt(0x1000n), undefined);
});

test('other versions and formats are refused by name', () => {
  const refuses = (bytes: number[], code: string, pattern: RegExp) =>
    assert.throws(
      () => LineTable.read(elfOf({ '.debug_line': bytes })),
      (error) => error instanceof WavewrightError && error.code === code && pattern.test(error.message),
    );
  refuses([...u32(0xffff_ffff), ...u64(0)], 'UNSUPPORTED', /64-bit format/);
  refuses([...u32(2), ...u16(3)], 'UNSUPPORTED', /version 3/);
  refuses([...u32(2), ...u16(4)], 'BAD_INPUT', /line table header/);
  refuses(u32(2), 'BAD_INPUT', /line table/);
});

test('damaged line tables end in a WavewrightError', () => {
  const { line, strings } = version5();
  fc.assert(
    fc.property(fc.nat(line.length - 1), fc.nat(255), fc.boolean(), (at, value, isFifth) => {
      const bytes = isFifth ? [...line] : version4();
      bytes[at % bytes.length] = value;
      try {
        LineTable.read(elfOf({ '.debug_line': bytes, '.debug_line_str': strings })).lineAt(0x1008n);
      } catch (error) {
        assert.ok(error instanceof WavewrightError, String(error));
      }
    }),
    { numRuns: 2000 },
  );
});
