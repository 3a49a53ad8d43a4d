/**
 * The sections of a code object as text: chunks from symbol to symbol, as code, kernel descriptors or data.
 */
import { checkLimit } from '../../base/limits.ts';
import { identifyCodeObject } from '../../codeobject/elf-flags.ts';
import { KERNEL_DESCRIPTOR_SIZE_BYTES } from '../../codeobject/kernel-descriptor.ts';
import { processorNamed } from '../../codeobject/processors.ts';
import { STT_COMMON, STT_FUNC, STT_NOTYPE, STT_OBJECT } from '../../elf/constants.ts';
import type { ElfFile } from '../../elf/elf.ts';
import type { ElfSection } from '../../elf/header.ts';
import type { ElfRelocation } from '../../elf/relocations.ts';
import { decoderFor } from '../../isa/amdgpu/decoder.ts';
import type { Decoder } from '../../isa/amdgpu/encoding/decode.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import { CodePrinter } from './code-printer.ts';
import { printData } from './data-lines.ts';
import { type DescriptorTarget, kernelDescriptorText } from './kernel-descriptor-text.ts';
import { addressOf, contentsOf, isText, isVirtual, sectionsOf } from './object-view.ts';
import type { ObjdumpOptions } from './options.ts';
import type { Output } from './output.ts';
import { SourceLines } from './source-lines.ts';
import type { SideStreams } from './streams.ts';
import { type CodeLabel, compareLabels, SymbolMap } from './symbol-map.ts';
import { isSelected, relocationsByTarget } from './tables.ts';

/** Everything that disassembling one file needs to know. */
interface Listing {
  readonly elf: ElfFile;
  readonly options: ObjdumpOptions;
  readonly out: Output;
  readonly decoder: Decoder;
  readonly descriptors: DescriptorTarget;
  readonly symbols: SymbolMap;
  /** To show among the instructions, by section index. */
  readonly relocations: ReadonlyMap<number, readonly ElfRelocation[]>;
  /** Names of all labels that were reached, for the report of those that were not. */
  readonly found: Set<string>;
  readonly source: SourceLines | undefined;
}

/**
 * Prints the selected sections. `warn` gets what is remarkable about the options. Errors: UNSUPPORTED for a
 * processor without instruction tables, BAD_INPUT.
 */
export function printDisassembly(
  elf: ElfFile,
  options: ObjdumpOptions,
  out: Output,
  { warn, readSource }: SideStreams,
): void {
  const context = elf.name === undefined ? {} : { file: elf.name };
  const hasLines = elf.sections.some(({ name }) => name.startsWith('.debug_line'));
  const { source = false, lineNumbers = false } = options;
  if (source && !hasLines) warn(`'${elf.name}': failed to parse debug information for ${elf.name}`);
  const { version, target } = identifyCodeObject(elf.header, elf.name);
  const processor = options.processor ?? target.processor;
  const { waveSizes, flatScratch } = targetFor(processor);
  const waveSize =
    options.waveSize !== undefined && waveSizes.includes(options.waveSize) ? options.waveSize : waveSizes[0]!;
  const { family } = processorNamed(processor)!;
  const listing: Listing = {
    elf,
    options,
    out,
    decoder: decoderFor(processor, waveSize),
    descriptors: { family, architectedFlatScratch: flatScratch === 'architected', codeObjectVersion: version },
    symbols: new SymbolMap(elf),
    relocations: options.relocations ? relocationsByTarget(elf) : new Map(),
    found: new Set(),
    source:
      (source && hasLines) || lineNumbers
        ? new SourceLines(elf, out, { warn, readSource }, { source, lineNumbers })
        : undefined,
  };
  const chosen = (options.sections ?? []).length > 0 || options.disassembleAll;
  const sections = sectionsOf(elf).filter(
    (section) =>
      isSelected(section, options) && section.sizeBytes > 0 && (chosen || (isText(section) && !isVirtual(section))),
  );
  const bytes = sections.reduce((sum, section) => sum + (isVirtual(section) ? 0 : section.sizeBytes), 0);
  checkLimit('disassembledBytes', bytes, context);
  for (const section of sections) printSection(listing, section);
  for (const name of options.disassembleSymbols ?? []) {
    if (!listing.found.has(name)) warn(`'${elf.name}': failed to disassemble missing symbol ${name}`);
  }
}

function printSection(listing: Listing, section: ElfSection): void {
  const { elf, options, out, symbols } = listing;
  const base = addressOf(elf, section);
  const bytes = isVirtual(section) ? new Uint8Array() : contentsOf(elf, section);
  const labels = symbols.of(section);
  const relocations = listing.relocations.get(section.index) ?? [];
  const code = new CodePrinter({ ...listing, section, base, bytes, labels, relocations });
  if (options.symbolizeOperands) addTargets(labels, code.branchTargets());
  // Made-up targets outside the section count here too, as they do for LLVM.
  if (labels[0]?.address !== base) {
    labels.push({ address: base, name: section.name, type: isText(section) ? STT_FUNC : STT_OBJECT });
    labels.sort(compareLabels);
  }
  const end = Math.min(base + section.sizeBytes, options.stopAddress ?? Number.POSITIVE_INFINITY);
  let isFirst = true;
  for (let at = 0; at < labels.length; ) {
    const first = at;
    const { address } = labels[first]!;
    while (at < labels.length && labels[at]!.address === address) at++;
    const here = labels.slice(first, at);
    const isData = !options.disassembleAll && isText(section) && here.every(isDataLabel);
    const shown = shownLabels(here, isData, options);
    if (shown.length === 0 || address < base || address >= end) continue;
    for (const { name } of here) listing.found.add(name);
    const chunkEnd = Math.min(end, labels[at]?.address ?? end);
    if (chunkEnd <= (options.startAddress ?? 0)) continue;
    if (isFirst) out.text('\nDisassembly of section ').text(section.name).line(':');
    isFirst = false;
    printLabels(shown, options, out);
    if (isVirtual(section)) {
      out.line('...');
      continue;
    }
    const described = printDescriptor(listing, here, bytes, base, chunkEnd);
    const start = Math.max(address + described, options.startAddress ?? 0) - base;
    if (isData) printData(bytes, base, start, chunkEnd - base, out);
    else code.print(start, chunkEnd - base);
  }
}

const isDataLabel = ({ type }: CodeLabel): boolean => type === STT_OBJECT || type === STT_COMMON;

function printLabels(shown: readonly CodeLabel[], { leadingAddresses = true }: ObjdumpOptions, out: Output): void {
  out.newline();
  for (const { address, name } of shown) {
    if (leadingAddresses) out.hex(address, 16).spaces(1);
    out.text('<').text(name).line('>:');
  }
}

/** Labels L0, L1, ... for branch targets that have no name. */
function addTargets(labels: CodeLabel[], targets: ReadonlySet<number>): void {
  const sorted = [...targets].sort((a, b) => a - b);
  labels.push(...sorted.map((address, i) => ({ address, name: `L${i}`, type: STT_NOTYPE })));
  labels.sort(compareLabels);
}

/**
 * Prints the kernel descriptor that one of the labels `here` names, and returns its size: 0 when there is
 * none.
 */
function printDescriptor(
  { descriptors, out }: Listing,
  here: readonly CodeLabel[],
  bytes: Uint8Array,
  base: number,
  chunkEnd: number,
): number {
  const label = here.find(({ type, name }) => type === STT_OBJECT && name.endsWith('.kd'));
  if (!label) return 0;
  const { address, name } = label;
  const content = bytes.subarray(address - base, chunkEnd - base);
  const result = kernelDescriptorText(name.slice(0, -3), content, address, descriptors);
  if ('text' in result) out.text(result.text);
  else {
    out.line(`; error decoding ${name}: ${result.error}`).line('; decoding failed region as bytes');
    // LLVM 19 shows the first bytes of the section, not those of the descriptor.
    for (const byte of bytes.subarray(0, KERNEL_DESCRIPTOR_SIZE_BYTES)) {
      out.line(`\t.byte\t 0x${byte.toString(16).toUpperCase()}`);
    }
  }
  return KERNEL_DESCRIPTOR_SIZE_BYTES;
}

/**
 * Of several labels at one address those that were asked for, or else the last one; the last of code where
 * there is code.
 */
function shownLabels(
  here: readonly CodeLabel[],
  isData: boolean,
  { disassembleSymbols = [], disassembleAll }: ObjdumpOptions,
): CodeLabel[] {
  if (disassembleSymbols.length > 0) return here.filter(({ name }) => disassembleSymbols.includes(name));
  const code = isData || disassembleAll ? undefined : here.findLast((label) => !isDataLabel(label));
  return [code ?? here.at(-1)!];
}
