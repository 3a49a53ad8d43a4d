/** Containers of code for NVIDIA's GPUs, as their tools write them. */
import { zstdCompressSync } from 'node:zlib';
import { concatenate } from '../base/concatenate.ts';
import { EM_CUDA } from '../codeobject/elf-flags.ts';
import { STB_GLOBAL, STT_FUNC, STT_OBJECT } from '../elf/constants.ts';
import { StringTableBuilder, writeElf } from '../elf/writer.ts';

export const ptxFor = (processor: string, name = 'k'): Uint8Array =>
  new TextEncoder().encode(
    `\n\n.version 7.8\n.target ${processor}\n.address_size 64\n.visible .entry ${name}()\n{\n  ret;\n}\n\0`,
  );

/** Literals alone: what any encoder may write. */
export function literalBlock(bytes: Uint8Array): Uint8Array {
  if (bytes.length < 15) return concatenate([Uint8Array.of(bytes.length << 4), bytes]);
  const rest = bytes.length - 15;
  const lengths = [...Array(Math.floor(rest / 255)).fill(255), rest % 255];
  return concatenate([Uint8Array.of(0xf0, ...lengths), bytes]);
}

export interface EntryToWrite {
  readonly kind: number;
  readonly processor: number;
  readonly bytes: Uint8Array;
  readonly compression?: 'lz4' | 'zstd';
}

/** As fatbinary of CUDA 13 writes it: entries with headers of 64 bytes, padded to 8. */
export function fatBinary(entries: readonly EntryToWrite[]): Uint8Array {
  const parts = entries.map(({ kind, processor, bytes, compression }) => {
    const stored = compression === 'zstd' ? zstdCompressSync(bytes) : compression ? literalBlock(bytes) : bytes;
    const padded = new Uint8Array(Math.ceil(stored.length / 8) * 8);
    padded.set(stored);
    const header = new DataView(new ArrayBuffer(64));
    header.setUint16(0, kind, true);
    header.setUint16(2, 0x101, true);
    header.setUint32(4, 64, true);
    header.setBigUint64(8, BigInt(padded.length), true);
    header.setUint32(16, compression ? stored.length : 0, true);
    header.setUint16(24, 8, true);
    header.setUint16(26, 7, true);
    header.setUint32(28, processor, true);
    header.setBigUint64(40, compression === 'zstd' ? 0x8011n : compression ? 0x2011n : 0x11n, true);
    header.setBigUint64(56, compression ? BigInt(bytes.length) : 0n, true);
    return concatenate([new Uint8Array(header.buffer), padded]);
  });
  const body = concatenate(parts);
  const header = new DataView(new ArrayBuffer(16));
  header.setUint32(0, 0xba55_ed50, true);
  header.setUint16(4, 1, true);
  header.setUint16(6, 16, true);
  header.setBigUint64(8, BigInt(body.length), true);
  return concatenate([new Uint8Array(header.buffer), body]);
}

/** Version 1 has one image; `version` 2 writes the same with its sizes of strings. */
export function offloadBinary(triple: string, processor: string, image: Uint8Array, version: 1 | 2 = 1): Uint8Array {
  const texts = ['triple', triple, 'arch', processor].map((text) => new TextEncoder().encode(`${text}\0`));
  const stringBytes = version === 1 ? 16 : 24;
  const [entryAt, stringsAt] = [32, 80];
  const textAt = stringsAt + 2 * stringBytes;
  const imageAt = Math.ceil((textAt + texts.reduce((sum, { length }) => sum + length, 0)) / 8) * 8;
  const bytes = new Uint8Array(Math.ceil((imageAt + image.length) / 8) * 8);
  const view = new DataView(bytes.buffer);
  const put = (at: number, value: number): void => view.setBigUint64(at, BigInt(value), true);
  bytes.set([0x10, 0xff, 0x10, 0xad, version]);
  put(8, bytes.length);
  put(16, entryAt);
  put(24, version === 1 ? 48 : 1);
  view.setUint16(entryAt + 2, 1, true);
  put(entryAt + 8, stringsAt);
  put(entryAt + 16, 2);
  put(entryAt + 24, imageAt);
  put(entryAt + 32, image.length);
  let at = textAt;
  for (const [index, text] of texts.entries()) {
    put(stringsAt + (index >> 1) * stringBytes + (index & 1) * 8, at);
    bytes.set(text, at);
    at += text.length;
  }
  bytes.set(image, imageAt);
  return bytes;
}

/** An ELF file of x86-64 with sections, or a cubin. */
export function elfWith(sections: Readonly<Record<string, Uint8Array>>, cubin?: { abiVersion: number; flags: number }) {
  const [SHT_PROGBITS, SHT_STRTAB, ET_DYN, X86_64] = [1, 3, 3, 62];
  const plain = { flags: 0n, alignmentBytes: 8 };
  return writeElf({
    ...{ type: ET_DYN, machine: cubin ? EM_CUDA : X86_64, osAbi: 0, abiVersion: cubin?.abiVersion ?? 0 },
    ...{ flags: cubin?.flags ?? 0, segments: [], nameSection: '.shstrtab' },
    sections: [
      ...Object.entries(sections).map(([name, bytes]) => ({ ...plain, name, bytes, type: SHT_PROGBITS })),
      { ...plain, name: '.shstrtab', bytes: new Uint8Array(), type: SHT_STRTAB },
    ],
  });
}

/** A kernel of a cubin by the offsets and sizes of its parameters. */
export interface KernelToWrite {
  readonly name: string;
  readonly parameters: readonly (readonly [offset: number, sizeBytes: number])[];
  /** Written so, and not one by one, where they are many. */
  readonly isListed?: boolean;
}

/** A linked cubin without code, as ptxas 13 writes what launches need to know; variables by their sizes. */
export function cubinWith(
  kernels: readonly KernelToWrite[],
  processor: number,
  variables: Readonly<Record<string, number>> = {},
): Uint8Array {
  const [SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, ET_EXEC, STO_ENTRY] = [1, 2, 3, 2, 0x10];
  const plain = { flags: 0n, alignmentBytes: 8 };
  const strings = new StringTableBuilder();
  const named = [
    ...kernels.map(({ name }) => ({ name, type: STT_FUNC, other: STO_ENTRY, sizeBytes: 0 })),
    ...Object.entries(variables).map(([name, sizeBytes]) => ({ name, type: STT_OBJECT, other: 0, sizeBytes })),
  ];
  const symbols = new Uint8Array(24 * (named.length + 1));
  for (const [i, { name, type, other, sizeBytes }] of named.entries()) {
    const view = new DataView(symbols.buffer, 24 * (i + 1));
    view.setUint32(0, strings.add(name), true);
    view.setBigUint64(16, BigInt(sizeBytes), true);
    symbols.set([(STB_GLOBAL << 4) | type, other, 1], 24 * (i + 1) + 4);
  }
  const infos = kernels.map((kernel) => ({
    ...{ ...plain, name: `.nv.info.${kernel.name}`, bytes: kernelInfo(kernel), type: SHT_PROGBITS },
  }));
  return writeElf({
    ...{ type: ET_EXEC, machine: EM_CUDA, osAbi: 0x41, abiVersion: 8, flags: 0x0600_0004 | (processor << 8) },
    ...{ segments: [], nameSection: '.shstrtab' },
    sections: [
      ...infos,
      { ...plain, name: '.strtab', bytes: strings.bytes(), type: SHT_STRTAB },
      { ...plain, name: '.symtab', bytes: symbols, type: SHT_SYMTAB, link: kernels.length + 1, entrySizeBytes: 24 },
      { ...plain, name: '.shstrtab', bytes: new Uint8Array(), type: SHT_STRTAB },
    ],
  });
}

function kernelInfo({ parameters, isListed = true }: KernelToWrite): Uint8Array {
  const total = Math.max(0, ...parameters.map(([offset, sizeBytes]) => offset + sizeBytes));
  const records = [...parameters.entries()].reverse().map(([ordinal, [offset, sizeBytes]]) => {
    const record = new DataView(new ArrayBuffer(16));
    record.setUint32(0, 0x000c_1704, true);
    record.setUint16(8, ordinal, true);
    record.setUint16(10, offset, true);
    record.setUint32(12, (sizeBytes << 18) | 0x1_f000, true);
    return new Uint8Array(record.buffer);
  });
  return concatenate([Uint8Array.of(3, 0x19, total & 0xff, total >> 8), ...(isListed ? records : [])]);
}
