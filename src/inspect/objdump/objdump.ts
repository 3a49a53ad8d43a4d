/** What llvm-objdump 19 prints of code objects, byte for byte. */
import { hex } from '../../base/text.ts';
import { ET_REL } from '../../elf/constants.ts';
import { type ElfFile, parseElf } from '../../elf/elf.ts';
import { printDisassembly } from './disassembly.ts';
import { isAllocated, sectionsOf } from './object-view.ts';
import type { ObjdumpOptions } from './options.ts';
import { Output } from './output.ts';
import type { ObjdumpStreams } from './streams.ts';
import {
  printDynamicRelocations,
  printDynamicSymbols,
  printFileHeader,
  printRelocations,
  printSectionHeaders,
  printSymbols,
} from './tables.ts';

/**
 * Prints what `options` ask for of one AMDGPU ELF file: executable, shared or relocatable. What was printed
 * before an error stays printed. Errors: BAD_INPUT, LIMIT_EXCEEDED; UNSUPPORTED for disassembly of a
 * processor without instruction tables.
 *
 * @param name what the listing and errors call the file
 */
export function objdump(
  bytes: Uint8Array,
  name: string,
  options: ObjdumpOptions,
  { write, warn, readSource = () => undefined }: ObjdumpStreams,
): void {
  const elf = parseElf(bytes, name);
  const out = new Output(write);
  try {
    out.line(`\n${name}:\tfile format elf64-amdgpu`);
    checkRange(elf, options, warn);
    if (options.fileHeaders) printFileHeader(elf, out);
    if (options.sectionHeaders) printSectionHeaders(elf, options, out);
    if (options.symbols) printSymbols(elf, options, out);
    if (options.dynamicSymbols) printDynamicSymbols(elf, options, out);
    const { disassembleAll, source, lineNumbers, disassembleSymbols = [] } = options;
    const disassemble = options.disassemble || disassembleAll || source || lineNumbers || disassembleSymbols.length > 0;
    if (options.relocations && !disassemble) printRelocations(elf, options, out);
    if (options.dynamicRelocations) printDynamicRelocations(elf, out);
    if (disassemble) printDisassembly(elf, options, out, { warn, readSource });
  } finally {
    out.flush();
  }
}

/** Warns when no section lies in the range of addresses. */
function checkRange(
  elf: ElfFile,
  { startAddress, stopAddress }: ObjdumpOptions,
  warn: (message: string) => void,
): void {
  if ((startAddress === undefined && stopAddress === undefined) || elf.header.type === ET_REL) return;
  const [start, stop] = [startAddress ?? 0, stopAddress ?? Number.POSITIVE_INFINITY];
  const overlaps = sectionsOf(elf).some(
    (section) => isAllocated(section) && start < section.address + BigInt(section.sizeBytes) && stop > section.address,
  );
  if (overlaps) return;
  const what =
    startAddress === undefined
      ? `no section has address less than ${hex(stop)} specified by --stop-address`
      : stopAddress === undefined
        ? `no section has address greater than or equal to ${hex(start)} specified by --start-address`
        : `no section overlaps the range [${hex(start)},${hex(stop)}) specified by --start-address/--stop-address`;
  warn(`'${elf.name}': ${what}`);
}

/**
 * The sections of `wanted` that none of the files has, when they have none of them at all: what llvm-objdump
 * warns about.
 */
export function missingSections(files: readonly ElfFile[], wanted: readonly string[]): string[] {
  const names = new Set(files.flatMap((elf) => sectionsOf(elf).map(({ name }) => name)));
  return wanted.some((name) => names.has(name)) ? [] : [...new Set(wanted.filter((name) => name !== ''))];
}
