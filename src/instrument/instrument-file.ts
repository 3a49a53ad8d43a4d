/** Rewrites files that hold code objects: bundles, and host programs with bundles in them. */
import { alignUp } from '../base/align.ts';
import { concatenate } from '../base/concatenate.ts';
import { WavewrightError } from '../base/errors.ts';
import { parseCodeObject } from '../codeobject/code-object.ts';
import { type ContainerOptions, FAT_BINARY_SECTION, type FoundBundle, openContainer } from '../codeobject/container.ts';
import { writeBundle } from '../codeobject/offload-bundle.ts';
import { DT_RELA, ET_REL, PF_R } from '../elf/constants.ts';
import { ElfEdit } from '../elf/edit.ts';
import type { ElfFile } from '../elf/elf.ts';
import { RELA_ENTRY_SIZE_BYTES } from '../elf/relocations.ts';
import { isArchive } from '../linker/archive.ts';
import { type InstrumentedCode, type InstrumentOptions, instrumentCodeObject } from './instrument.ts';

export interface RewrittenImage extends InstrumentedCode {
  /** What messages call it: the file, and the entry of the bundle in brackets. */
  readonly name: string;
}

export interface RewrittenFile {
  readonly bytes: Uint8Array;
  /** In the order of the file. */
  readonly images: readonly RewrittenImage[];
}

export interface RewriteOptions {
  /** What makes a new code object of one; by default `instrumentCodeObject`. */
  readonly rewrite?: (code: Uint8Array, name: string) => InstrumentedCode;
}

/** Of bundles in programs, as clang aligns them. */
const BUNDLE_ALIGNMENT_BYTES = 4096;
/**
 * What registers a fat binary with HIP's runtime: magic, version, a pointer to the bundle, and another
 * (clang, CGCUDANV).
 */
const WRAPPER_SECTION = '.hipFatBinSegment';
const ADDEND_AT = 16;
const WRAPPER = { magic: 0x48495046, sizeBytes: 24, pointerAt: 8 } as const;

/**
 * The same kind of file with new code in each code object for an AMD GPU; everything else in it stays.
 * Bundles come out uncompressed.
 *
 * Throws as `openContainer` and `instrumentCodeObject` do, UNSUPPORTED for archives and for programs whose
 * bundles nothing names.
 */
export function instrumentFile(
  bytes: Uint8Array,
  name: string,
  options: Omit<InstrumentOptions, 'name'> & ContainerOptions & RewriteOptions = {},
): RewrittenFile {
  const images: RewrittenImage[] = [];
  const rewrite = (code: Uint8Array, what: string): Uint8Array => {
    const image = options.rewrite?.(code, what) ?? instrumentCodeObject(code, { ...options, name: what });
    images.push({ ...image, name: what });
    return image.bytes;
  };
  if (isArchive(bytes)) {
    const what = 'an archive: link it, or give its members one by one';
    throw new WavewrightError('UNSUPPORTED', what, { file: name });
  }
  const container = openContainer(bytes, name, options);
  const { isChosen } = options;
  const hasChosen = (code: Uint8Array, what: string): boolean =>
    !isChosen || parseCodeObject(code, what).kernels.some((kernel) => isChosen(kernel.name));
  if (container.kind === 'code-object') return { bytes: rewrite(bytes, name), images };
  const bundles = container.bundles.map((bundle) =>
    rewriteBundle(bundle, name, (code, what) => (hasChosen(code, what) ? rewrite(code, what) : code)),
  );
  if (images.length === 0) {
    const what = isChosen ? 'no kernel in it is chosen' : 'the file holds no code object for an AMD GPU';
    throw new WavewrightError('BAD_INPUT', what, { file: name });
  }
  if (container.kind === 'offload-bundle') return { bytes: bundles[0]!, images };
  return { bytes: replaceFatBinaries(container.host, container.bundles, bundles), images };
}

function rewriteBundle(
  { entries }: FoundBundle,
  name: string,
  rewrite: (code: Uint8Array, what: string) => Uint8Array,
): Uint8Array {
  const changed = entries.map(({ id, target, bytes }) => ({
    id,
    bytes: target === undefined ? bytes : rewrite(bytes, `${name}[${id}]`),
  }));
  return writeBundle(changed, BUNDLE_ALIGNMENT_BYTES);
}

/** Puts bundles into a segment of their own, and lets what the program registers lead there. */
function replaceFatBinaries(host: ElfFile, old: readonly FoundBundle[], bundles: readonly Uint8Array[]): Uint8Array {
  const sections = host.sections.filter(({ name }) => name === FAT_BINARY_SECTION);
  const [section] = sections;
  const at = host.name === undefined ? {} : { file: host.name };
  if (!section || sections.length > 1 || host.header.type === ET_REL) {
    throw new WavewrightError('UNSUPPORTED', 'an object that is not linked yet: link the program first', at);
  }
  const edit = new ElfEdit(host);
  const headerBytes = alignUp(edit.segmentTableBytes(1), BUNDLE_ALIGNMENT_BYTES);
  const start = edit.nextAddress;
  const parts: Uint8Array[] = [new Uint8Array(headerBytes)];
  const places = new Map<bigint, bigint>();
  let end = headerBytes;
  for (const [i, bundle] of bundles.entries()) {
    places.set(section.address + BigInt(old[i]!.offset - section.offset), BigInt(start + end));
    const sizeBytes = alignUp(bundle.length, BUNDLE_ALIGNMENT_BYTES);
    parts.push(bundle, new Uint8Array(sizeBytes - bundle.length));
    end += sizeBytes;
  }
  redirectWrappers(edit, places);
  const segment = edit.addSegment(PF_R, concatenate(parts));
  Object.assign(edit.sections[section.index]!, {
    ...{ address: segment.virtualAddress + BigInt(headerBytes), offset: segment.offset + headerBytes },
    sizeBytes: end - headerBytes,
  });
  return edit.finish(segment);
}

function redirectWrappers(edit: ElfEdit, places: ReadonlyMap<bigint, bigint>): void {
  const { elf } = edit;
  const left = new Set(places.keys());
  const word = (value: bigint): Uint8Array => new Uint8Array(BigUint64Array.of(value).buffer);
  const relocations = new Map(elf.dynamicRelocations.map((each, index) => [each.offset, { ...each, index }]));
  const table = elf.dynamic.find(({ tag }) => tag === DT_RELA)?.value;
  const wrappers = elf.sections.filter(({ name }) => name === WRAPPER_SECTION);
  for (const section of wrappers) {
    const bytes = elf.sectionBytes(section);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0; at + WRAPPER.sizeBytes <= bytes.length; at += WRAPPER.sizeBytes) {
      if (view.getUint32(at, true) !== WRAPPER.magic) continue;
      const address = section.address + BigInt(at + WRAPPER.pointerAt);
      const relocation = relocations.get(address);
      const bundle = relocation?.addend ?? view.getBigUint64(at + WRAPPER.pointerAt, true);
      const place = places.get(bundle);
      if (place === undefined) continue;
      left.delete(bundle);
      edit.patch(address, word(place), 'what registers a fat binary');
      // The relocations of DT_RELA are the first.
      if (!relocation || table === undefined) continue;
      const addendAt = BigInt(relocation.index * RELA_ENTRY_SIZE_BYTES + ADDEND_AT);
      edit.patch(table + addendAt, word(place), 'its relocation');
    }
  }
  if (left.size === 0 || wrappers.length === 0) return;
  const what = `${left.size} of its fat binaries are registered in a way that is not known`;
  throw new WavewrightError('UNSUPPORTED', what, elf.name === undefined ? {} : { file: elf.name });
}
