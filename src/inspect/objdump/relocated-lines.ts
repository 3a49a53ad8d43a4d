/**
 * Line tables of objects that are not linked: all their sections begin at address 0, so each counts from a
 * place of its own here, and the tables' relocations lead there.
 */
import { WavewrightError } from '../../base/errors.ts';
import { LineTable } from '../../codeobject/line-table.ts';
import { R_AMDGPU, relocationType } from '../../codeobject/relocation-types.ts';
import type { ElfFile } from '../../elf/elf.ts';
import type { ElfSection } from '../../elf/header.ts';
import type { ElfRelocation } from '../../elf/relocations.ts';
import { isAllocated, isRelocatable, sectionOf } from './object-view.ts';

/** More than a section of a file can have, and less than makes sums of addresses inexact. */
const SECTION_SPAN = 2 ** 36;

/** From where the addresses of a section count: 0 in a file that is linked, where they are told apart. */
export const sectionPlace = (elf: ElfFile, section: ElfSection): number =>
  isRelocatable(elf) && isAllocated(section) ? section.index * SECTION_SPAN : 0;

/**
 * The line table of a file, by addresses that count from `sectionPlace`. Throws as `LineTable.read` does, and
 * UNSUPPORTED for relocations of tables that no compiler makes.
 */
export function lineTableOf(elf: ElfFile): LineTable {
  if (!isRelocatable(elf)) return LineTable.read(elf);
  return LineTable.read({
    name: elf.name,
    sectionNamed: (name) => elf.sectionNamed(name),
    sectionBytes: (section) => relocated(elf, section),
  });
}

/** The bytes of a section as linking would fill them. */
function relocated(elf: ElfFile, section: ElfSection): Uint8Array {
  const bytes = Uint8Array.from(elf.sectionBytes(section));
  const view = new DataView(bytes.buffer);
  for (const { targetSectionIndex, relocations } of elf.relocationSections) {
    if (targetSectionIndex !== section.index) continue;
    for (const relocation of relocations) apply(elf, section, view, relocation);
  }
  return bytes;
}

function apply(
  elf: ElfFile,
  { name }: ElfSection,
  view: DataView,
  { offset, type, symbol, addend }: ElfRelocation,
): void {
  const at = { ...(elf.name !== undefined && { file: elf.name }), section: name };
  const sizeBytes = type === R_AMDGPU.ABS64 ? 8 : 4;
  if (type !== R_AMDGPU.ABS64 && type !== R_AMDGPU.ABS32) {
    throw new WavewrightError(
      'UNSUPPORTED',
      `a relocation of type ${relocationType(type)?.name ?? type} in a line table`,
      at,
    );
  }
  if (offset + BigInt(sizeBytes) > BigInt(view.byteLength)) {
    throw new WavewrightError('BAD_INPUT', `a relocation at ${offset}, the section has ${view.byteLength} bytes`, at);
  }
  const target = symbol && sectionOf(elf, symbol);
  const place = BigInt(target ? sectionPlace(elf, target) : 0) + (symbol?.value ?? 0n) + (addend ?? 0n);
  if (sizeBytes === 8) view.setBigUint64(Number(offset), BigInt.asUintN(64, place), true);
  else view.setUint32(Number(offset), Number(BigInt.asUintN(32, place)), true);
}
