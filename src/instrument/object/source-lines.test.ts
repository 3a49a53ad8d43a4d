import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { LineTable } from '../../codeobject/line-table.ts';
import { encodeLineTable } from '../../codeobject/line-table-writer.ts';
import { PF_R, SHT_PROGBITS } from '../../elf/constants.ts';
import { ElfEdit } from '../../elf/edit.ts';
import { parseElf } from '../../elf/elf.ts';
import { instrumentCodeObject } from '../instrument.ts';

const FILE = path.resolve(import.meta.dirname, '../../../examples/hello/hello.gfx90a.co');

/** The example, each dword of whose code has a line of its own. */
function withLines(): Uint8Array {
  const elf = parseElf(readFileSync(FILE));
  const text = elf.sectionNamed('.text')!;
  const [start, end] = [Number(text.address), Number(text.address) + text.sizeBytes];
  const rows = Array.from({ length: text.sizeBytes / 4 }, (_, i) => ({
    address: start + i * 4,
    source: { file: `${i % 3}.c`, line: 1 + i, column: i % 7 },
  }));
  const edit = new ElfEdit(elf);
  const { lines } = encodeLineTable(rows, end, { lineBytes: 0, abbreviationBytes: 0 });
  edit.addSection({ name: '.debug_line', type: SHT_PROGBITS, flags: 0n, alignmentBytes: 1 }, lines);
  return edit.finish(edit.addSegment(PF_R, new Uint8Array(edit.segmentTableBytes(1))));
}

test('new code has the lines of the old, payload those of what it serves', () => {
  const linked = withLines();
  const edit = () => ({ before: [{ kind: 'instruction', words: [0xbf80_0007] } as const] });
  const once = instrumentCodeObject(linked, { edit });
  const twice = instrumentCodeObject(once.bytes);
  const old = LineTable.read(parseElf(linked));
  for (const { bytes, map } of [once, twice]) {
    const table = LineTable.read(parseElf(bytes));
    const found = map.rows.map(({ address }) => table.lineAt(BigInt(address)));
    assert.deepEqual(
      found,
      map.rows.map(({ address }) => old.lineAt(BigInt(map.originOf(address)))),
    );
    // Filler comes from nowhere, and so does what is made of it where control passes it.
    const isFiller = (address: number): boolean => map.rowAt(address)?.kind === 'filler';
    const origins = map.rows.map(({ address }) => map.originOf(address)).filter((address) => !isFiller(address));
    assert.ok(origins.every((address) => address < map.rows[0]!.address));
    assert.equal(new Set(found.map((line) => line?.line)).size > 1000, true);
  }
});

test('what is written is read again', () => {
  let state = 3;
  const random = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  for (let round = 0; round < 50; round++) {
    let address = 0x1000;
    const rows = Array.from({ length: 1 + random(50) }, () => {
      address += 4 * (1 + random(300));
      const source = { file: `dir/${random(3)}.c`, line: 1 + random(100_000), column: random(200) };
      return { address, source: random(5) === 0 ? undefined : source };
    });
    const { lines } = encodeLineTable(rows, address + 4, { lineBytes: 0, abbreviationBytes: 0 });
    const section = { name: '.debug_line' };
    const table = LineTable.read({
      name: 'x',
      sectionNamed: (name) => (name === '.debug_line' ? { ...EMPTY, ...section } : undefined),
      sectionBytes: () => lines,
    });
    assert.deepEqual(
      rows.map((row) => table.lineAt(BigInt(row.address))),
      rows.map(({ source }) => source),
    );
  }
});

const EMPTY = {
  ...{ index: 1, name: '', type: 1, flags: 0n, address: 0n, offset: 0, sizeBytes: 0 },
  ...{ link: 0, info: 0, alignmentBytes: 1, entrySizeBytes: 0 },
};
