/** Instructions as lines: text, address and words, where a branch goes, relocations. */

import { firstAbove } from '../../base/search.ts';
import { hex } from '../../base/text.ts';
import { STT_NOTYPE } from '../../elf/constants.ts';
import type { ElfFile } from '../../elf/elf.ts';
import type { ElfSection } from '../../elf/header.ts';
import type { ElfRelocation } from '../../elf/relocations.ts';
import type { Decoder } from '../../isa/amdgpu/encoding/decode.ts';
import { generationOf } from '../../isa/amdgpu/encoding/formats.ts';
import type { Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import { formatInstruction } from '../../isa/amdgpu/text/disassemble.ts';
import { alignmentRemark } from './alignment-remark.ts';
import type { ObjdumpOptions } from './options.ts';
import type { Output } from './output.ts';
import type { SourceLines } from './source-lines.ts';
import type { CodeLabel, SymbolMap } from './symbol-map.ts';
import { relocationName, relocationValue } from './tables.ts';

/** Column of the comment with address and words; the text starts behind a tab. */
const TEXT_WIDTH = 59;
const MIN_SKIPPED_ZEROS = 8;

interface CodeSection {
  readonly elf: ElfFile;
  readonly section: ElfSection;
  /** Its address. */
  readonly base: number;
  readonly bytes: Uint8Array;
  /** Of the section, sorted. More may be added before printing. */
  readonly labels: readonly CodeLabel[];
  readonly symbols: SymbolMap;
  /** To show among the instructions, by offset. */
  readonly relocations: readonly ElfRelocation[];
  readonly decoder: Decoder;
  readonly options: ObjdumpOptions;
  readonly out: Output;
  /** Where source lines are wanted. */
  readonly source: SourceLines | undefined;
}

export class CodePrinter {
  readonly #code: CodeSection;
  readonly #view: DataView;
  #nextRelocation = 0;

  constructor(code: CodeSection) {
    this.#code = code;
    const { buffer, byteOffset, byteLength } = code.bytes;
    this.#view = new DataView(buffer, byteOffset, byteLength);
  }

  /** Where the branches of the whole section go, except for what has a name. */
  branchTargets(): Set<number> {
    const { base, bytes } = this.#code;
    const targets = new Set<number>();
    for (let at = 0; at < bytes.length; ) {
      const instruction = this.#decode(at);
      const target = instruction?.labelTarget(base + at);
      if (target !== undefined && this.#nameOf(target) === undefined) targets.add(target);
      at += instruction?.sizeBytes ?? 4;
    }
    return targets;
  }

  /** Prints `[start, end)`, offsets in the section; the last instruction may reach beyond the end. */
  print(start: number, end: number): void {
    this.#skipRelocations(start);
    for (let at = start; at < end; ) {
      const zeros = this.#skippableZeros(at, end);
      if (zeros > 0) {
        this.#code.out.line('\t\t...');
        at += zeros;
        continue;
      }
      this.#code.source?.print(this.#code.section, this.#code.base + at);
      const size = this.#printInstruction(at);
      this.#printRelocations(at, at + size);
      at += size;
    }
  }

  /** Zeros from `at` on that three dots stand for: whole dwords, none of which has a relocation. */
  #skippableZeros(at: number, end: number): number {
    const { bytes } = this.#code;
    if (bytes[at] !== 0) return 0;
    const relocated = this.#relocationOffset();
    const limit = relocated >= at ? Math.min(end, relocated) : end;
    let zerosEnd = at;
    while (zerosEnd < limit && bytes[zerosEnd] === 0) zerosEnd++;
    const count = zerosEnd - at;
    return count < MIN_SKIPPED_ZEROS ? 0 : count - (count % 4);
  }

  #decode(at: number): Instruction | undefined {
    const instruction = this.#code.decoder.decode(this.#view, at);
    return typeof instruction === 'object' ? instruction : undefined;
  }

  /** Returns its size. */
  #printInstruction(at: number): number {
    const { base, bytes, out } = this.#code;
    const instruction = this.#decode(at);
    if (!instruction) {
      const size = Math.min(4, bytes.length - at);
      out.padded(this.#undecoded(at, size), TEXT_WIDTH + 1);
      this.#printBytes(at, size);
      out.newline();
      return size;
    }
    const target = instruction.labelTarget(base + at);
    const name = target === undefined ? undefined : this.#nameOf(target);
    out.text('\t').padded(formatInstruction(instruction, name), TEXT_WIDTH);
    this.#printBytes(at, instruction.sizeBytes);
    // A call has its target behind a register, where LLVM does not look.
    if (target !== undefined && name === undefined && instruction.row.operands.length === 1) this.#printTarget(target);
    out.line(alignmentRemark(instruction));
    return instruction.sizeBytes;
  }

  #undecoded(at: number, size: number): string {
    const { decoder } = this.#code;
    const { namesZero } = generationOf(decoder.target.families);
    if (size === 4 && namesZero && this.#view.getUint32(at, true) === 0) return '\tv_illegal';
    if (size === 4) return `\t.long ${hex(this.#view.getUint32(at, true), 8)}`;
    const bytes = this.#code.bytes.subarray(at, at + size);
    return `\t.byte ${Array.from(bytes, (byte) => hex(byte, 2)).join(', ')}`;
  }

  #printBytes(at: number, size: number): void {
    const { out, base, bytes } = this.#code;
    out
      .text('// ')
      .hex(base + at, 12, true)
      .text(':');
    if (size < 4) for (let i = 0; i < size; i++) out.spaces(1).hex(bytes[at + i]!, 2, true);
    else for (let i = 0; i < size; i += 4) out.spaces(1).word(this.#view.getUint32(at + i, true));
  }

  /**
   * The name of an address in the section; symbols with a type, functions say, are none that a branch is
   * shown with.
   */
  #nameOf(address: number): string | undefined {
    const { labels } = this.#code;
    let name: string | undefined;
    for (let i = firstAbove(labels, address) - 1; i >= 0 && labels[i]!.address === address; i--) {
      if (labels[i]!.type === STT_NOTYPE) name = labels[i]!.name;
    }
    return name;
  }

  #printTarget(target: number): void {
    const { symbols, section, out } = this.#code;
    // Addresses wrap at 2^64.
    const address = target < 0 ? 2 ** 64 + target : target;
    const label = symbols.before(address, section);
    if (!label) return;
    const distance = BigInt.asUintN(64, BigInt(target) - BigInt(label.address));
    out.text(' <').text(label.name);
    if (distance !== 0n) out.text('+0x').text(distance.toString(16));
    out.text('>');
  }

  /** Offset in the section of the next relocation to show. */
  #relocationOffset(): number {
    const next = this.#code.relocations[this.#nextRelocation];
    return next === undefined ? Number.POSITIVE_INFINITY : Number(next.offset);
  }

  #skipRelocations(offset: number): void {
    while (this.#relocationOffset() < offset) this.#nextRelocation++;
  }

  #printRelocations(start: number, end: number): void {
    const { elf, relocations, out, base, options } = this.#code;
    this.#skipRelocations(Math.max(start, (options.startAddress ?? 0) - base));
    while (this.#relocationOffset() < end) {
      const relocation = relocations[this.#nextRelocation++]!;
      out.text('\t\t');
      if (options.leadingAddresses ?? true) out.hex(base + Number(relocation.offset), 16).text(':  ');
      out.text(relocationName(relocation)).text('\t').line(relocationValue(elf, relocation));
    }
  }
}
