/**
 * The tables that a loader reads: dynamic symbols, hash tables (System V ABI, "Hash Table"; the GNU one as
 * lld writes it).
 */

import { concatenate } from '../base/concatenate.ts';
import type { ElfFile } from '../elf/elf.ts';
import { encodeSymbols, StringTableBuilder, type SymbolToWrite } from '../elf/writer.ts';

/** Sections that the linker makes, of the kinds of access of their segments, in the order of lld. */
export const LINKER_TABLES = {
  readOnly: ['.dynsym', '.gnu.hash', '.hash', '.dynstr', '.rela.dyn'],
  relocatedOnce: ['.dynamic', '.got'],
  notLoaded: ['.symtab', '.shstrtab', '.strtab'],
} as const;

function elfHash(name: string): number {
  let hash = 0;
  for (const byte of new TextEncoder().encode(name)) {
    hash = ((hash << 4) + byte) >>> 0;
    const high = hash & 0xf0000000;
    hash = (hash ^ (high >>> 24)) & ~high;
  }
  return hash >>> 0;
}

export function gnuHash(name: string): number {
  let hash = 5381;
  for (const byte of new TextEncoder().encode(name)) hash = (Math.imul(hash, 33) + byte) >>> 0;
  return hash;
}

const words = (values: readonly number[]): Uint8Array => new Uint8Array(Uint32Array.from(values).buffer);

/** .hash of symbols whose numbers start at 1. */
export function hashTable(names: readonly string[]): Uint8Array {
  const count = names.length + 1;
  const buckets = new Array<number>(count).fill(0);
  const chains = new Array<number>(count).fill(0);
  names.forEach((name, i) => {
    const bucket = elfHash(name) % count;
    chains[i + 1] = buckets[bucket]!;
    buckets[bucket] = i + 1;
  });
  return words([count, count, ...buckets, ...chains]);
}

const BLOOM_SHIFT = 26;

/** Symbols that .gnu.hash finds must be in the order of their buckets. */
export const bucketCount = (count: number): number => Math.max(1, Math.floor(count / 4));

/** .gnu.hash of `names`, which are the symbols from number `first` on. */
export function gnuHashTable(names: readonly string[], first: number): Uint8Array {
  const count = bucketCount(names.length);
  const bloom = names.reduce((bits, name) => {
    const hash = gnuHash(name);
    return bits | (1n << BigInt(hash % 64)) | (1n << BigInt((hash >>> BLOOM_SHIFT) % 64));
  }, 0n);
  const buckets = new Array<number>(count).fill(0);
  const chain = names.map((name, i) => {
    const bucket = gnuHash(name) % count;
    if (buckets[bucket] === 0) buckets[bucket] = first + i;
    const isLast = i + 1 === names.length || gnuHash(names[i + 1]!) % count !== bucket;
    return ((gnuHash(name) & ~1) | (isLast ? 1 : 0)) >>> 0;
  });
  const header = words([count, first, 1, BLOOM_SHIFT]);
  const filter = words([Number(bloom & 0xffffffffn), Number(bloom >> 32n)]);
  return concatenate([header, filter, words(buckets), words(chain)]);
}

/** Undefined symbols first, then the others by their buckets. */
export function dynamicOrder<T extends { readonly name: string; readonly isDefined: boolean }>(
  symbols: readonly T[],
): T[] {
  const defined = symbols.filter(({ isDefined }) => isDefined);
  const count = bucketCount(defined.length);
  return [
    ...symbols.filter(({ isDefined }) => !isDefined),
    ...defined.toSorted((a, b) => (gnuHash(a.name) % count) - (gnuHash(b.name) % count)),
  ];
}

export function symbolTable(symbols: readonly SymbolToWrite[]): { bytes: Uint8Array; strings: Uint8Array } {
  const strings = new StringTableBuilder();
  const bytes = encodeSymbols(symbols, strings);
  return { bytes, strings: strings.bytes() };
}

/** Of .dynamic, with the end. */
export function tagBytes(tags: readonly (readonly [tag: number, value: number])[]): Uint8Array {
  const bytes = new Uint8Array((tags.length + 1) * 16);
  const view = new DataView(bytes.buffer);
  tags.forEach(([tag, value], index) => {
    view.setBigUint64(index * 16, BigInt(tag), true);
    view.setBigUint64(index * 16 + 8, BigInt(value), true);
  });
  return bytes;
}

/** The strings of the tools that made the objects, each once. */
export function commentOf(files: readonly ElfFile[]): Uint8Array {
  const sections = files.flatMap((file) => {
    const section = file.sectionNamed('.comment');
    return section ? [file.sectionBytes(section)] : [];
  });
  const texts = new Set(sections.flatMap((bytes) => new TextDecoder().decode(bytes).split('\0')).filter(Boolean));
  return texts.size === 0
    ? new Uint8Array(0)
    : concatenate([Uint8Array.of(0), ...[...texts].map((text) => new TextEncoder().encode(`${text}\0`))]);
}
