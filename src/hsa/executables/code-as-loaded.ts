/** The file of a loaded code object with its code as it runs: what the loader filled in stands there. */
import { type CodeObject, parseCodeObject } from '../../codeobject/code-object.ts';
import { DT_RELA, PF_X, PT_LOAD } from '../../elf/constants.ts';
import type { ElfSegment } from '../../elf/header.ts';
import { RELA_ENTRY_SIZE_BYTES } from '../../elf/relocations.ts';
import type { LoadedCodeObject } from './loaded-code-object.ts';

/**
 * Image addresses are those of the file; relocations of code are gone, those of data are there. It holds for
 * this place in memory alone, and from freezing on.
 */
export function codeAsLoaded(loaded: LoadedCodeObject): CodeObject {
  const { codeObject, loadDelta } = loaded;
  const { elf, name } = codeObject;
  const bytes = new Uint8Array(elf.bytes);
  const loads = elf.segments.filter(({ type }) => type === PT_LOAD);
  const code = loads.filter(({ flags }) => (flags & PF_X) !== 0);
  for (const { virtualAddress, fileSizeBytes, offset } of code)
    bytes.set(loaded.loadedBytes(virtualAddress + loadDelta, fileSizeBytes), offset);
  const table = elf.dynamic.find(({ tag }) => tag === DT_RELA)?.value;
  const home = table === undefined ? undefined : loads.find((segment) => holds(segment, table));
  if (table === undefined || !home) return parseCodeObject(bytes, name);
  const start = home.offset + Number(table - home.virtualAddress);
  // The relocations of DT_RELA are the first.
  for (const [index, { offset }] of elf.dynamicRelocations.entries()) {
    const at = start + index * RELA_ENTRY_SIZE_BYTES;
    if (code.some((segment) => holds(segment, offset))) bytes.fill(0, at, at + RELA_ENTRY_SIZE_BYTES);
  }
  return parseCodeObject(bytes, name);
}

const holds = ({ virtualAddress, fileSizeBytes }: ElfSegment, address: bigint): boolean =>
  address >= virtualAddress && address < virtualAddress + BigInt(fileSizeBytes);
