/** Source lines of new code: those of the original instructions, through the map of addresses. */
import { concatenate } from '../../base/concatenate.ts';
import { WavewrightError } from '../../base/errors.ts';
import { LineTable } from '../../codeobject/line-table.ts';
import { encodeLineTable, type LineRow } from '../../codeobject/line-table-writer.ts';
import { SHT_PROGBITS } from '../../elf/constants.ts';
import type { ElfEdit } from '../../elf/edit.ts';
import type { ElfFile } from '../../elf/elf.ts';
import type { PcMap } from '../layout/pc-map.ts';

/**
 * Adds them, if the file of the original code has source lines that can be read. `map` is that of the new
 * code alone.
 */
export function addSourceLines(edit: ElfEdit, map: PcMap, end: number, original = edit.elf): void {
  const rows = rowsOf(original, map);
  if (rows.length === 0) return;
  const sizeOf = (name: string): number => edit.elf.sectionNamed(name)?.sizeBytes ?? 0;
  const { lines, info, abbreviations } = encodeLineTable(rows, end, {
    ...{ lineBytes: sizeOf('.debug_line'), abbreviationBytes: sizeOf('.debug_abbrev') },
  });
  append(edit, '.debug_line', lines);
  append(edit, '.debug_info', info);
  append(edit, '.debug_abbrev', abbreviations);
}

/** One where the line changes. */
function rowsOf(elf: ElfFile, map: PcMap): LineRow[] {
  if (!elf.sectionNamed('.debug_line')) return [];
  try {
    const table = LineTable.read(elf);
    const rows: LineRow[] = [];
    const { runCount, addresses } = map.columns;
    for (let run = 0; run < runCount; run++) {
      const [address, origin] = [addresses[run]!, map.columns.originOf(run)];
      const source = origin === undefined ? undefined : table.lineAt(BigInt(origin));
      const last = rows.at(-1)?.source;
      const isSame = last?.file === source?.file && last?.line === source?.line && last?.column === source?.column;
      if (rows.length === 0 || !isSame) rows.push({ address, source });
    }
    return rows.some(({ source }) => source) ? rows : [];
  } catch (error) {
    // Damaged tables are no reason to refuse code, here as when it runs.
    if (error instanceof WavewrightError) return [];
    throw error;
  }
}

function append(edit: ElfEdit, name: string, bytes: Uint8Array): void {
  const old = edit.elf.sectionNamed(name);
  if (!old) {
    edit.addSection({ name, type: SHT_PROGBITS, flags: 0n, alignmentBytes: 1 }, bytes);
    return;
  }
  edit.replaceSection(edit.sections[old.index]!, concatenate([edit.elf.sectionBytes(old), bytes]));
}
