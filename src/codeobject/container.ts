import { ByteReader } from '../base/bytes.ts';
import { WavewrightError } from '../base/errors.ts';
import { checkLimit } from '../base/limits.ts';
import { type ElfFile, parseElf } from '../elf/elf.ts';
import { type ElfSection, isElf } from '../elf/header.ts';
import {
  type CompressedBundleHeader,
  type Decompress,
  expandCompressedBundle,
  isCompressedBundle,
  readCompressedBundleHeader,
} from './compressed-bundle.ts';
import { describeMachine, EM_AMDGPU, EM_CUDA, identifyCodeObject } from './elf-flags.ts';
import { type BundleEntry, isBundle, readBundle } from './offload-bundle.ts';
import { processorNamed } from './processors.ts';
import {
  type CodeObjectTarget,
  explainIncompatibility,
  formatTargetId,
  parseTargetId,
  type TargetId,
} from './target-id.ts';

/** An offload bundle that was found in a file. */
export interface FoundBundle {
  /** From the start of the file. */
  offset: number;
  /** `undefined` when it is not compressed. */
  compression: CompressedBundleHeader | undefined;
  entries: readonly ContainerEntry[];
}

/** Code for one target in a bundle. */
export interface ContainerEntry {
  /** The bundle's id, e.g. `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+`. */
  id: string;
  /** What the code is for: `host`, `hip`, `hipv4`, `openmp`, … */
  offloadKind: string;
  /** e.g. `amdgcn-amd-amdhsa-`; for an AMD GPU without the target id. */
  triple: string;
  /** `undefined` unless it is code for an AMD GPU that `PROCESSORS` lists. */
  target: TargetId | undefined;
  bytes: Uint8Array;
  /** From the start of the file, or of the uncompressed bundle when it is compressed. */
  offset: number;
}

/** A code object in a file that may hold several. */
export interface CodeObjectImage {
  /** What errors call it: the file, and the bundle entry's id in brackets. */
  name: string;
  /** Bundle entry id; `undefined` for a file that is the code object itself. */
  id: string | undefined;
  target: CodeObjectTarget;
  bytes: Uint8Array;
  /** From the start of the file, or of the uncompressed bundle. */
  offset: number;
  /** Number of its bundle in the file; 0 for a file that is the code object itself. */
  bundle: number;
}

/** What a file is: a code object, one bundle, or a host program with fat binaries in .hip_fatbin. */
export type Container =
  | { kind: 'code-object'; bundles: readonly []; host: undefined }
  | { kind: 'offload-bundle'; bundles: readonly FoundBundle[]; host: undefined }
  | { kind: 'host-elf'; bundles: readonly FoundBundle[]; host: ElfFile };

export interface ContainerOptions {
  /** Needed for compressed bundles. */
  decompress?: Decompress | undefined;
  /**
   * What a compressed bundle may expand to, and all of one file together, where that is less than
   * `LIMITS.decompressedBytes`.
   */
  maxExpandedBytes?: number | undefined;
}

export const FAT_BINARY_SECTION = '.hip_fatbin';
/**
 * Of objects whose GPU code is linked together with the program (clang's new offloading driver, -fgpu-rdc).
 */
const OFFLOADING_SECTION = '.llvm.offloading';

/**
 * Finds out what a file is and lists the bundles in it. Errors: `BAD_INPUT` when it is nothing of this or is
 * malformed, `UNSUPPORTED` for a compressed bundle without a decompressor, `LIMIT_EXCEEDED`.
 */
export function openContainer(bytes: Uint8Array, name: string, options: ContainerOptions = {}): Container {
  const file = new ByteReader(bytes, { file: name });
  if (isBundle(bytes) || isCompressedBundle(bytes)) {
    return { kind: 'offload-bundle', bundles: [openBundle(file, 0, 0, options).bundle], host: undefined };
  }
  if (isBitcode(bytes)) throw bitcodeError(name);
  if (!isElf(bytes)) {
    if (bytes.length === 0) file.fail('the file is empty');
    const what = 'neither an ELF file nor an offload bundle';
    const hint = 'expected a code object (.co, .hsaco), a clang offload bundle or a host program built by hipcc';
    throw new WavewrightError('BAD_INPUT', what, { file: name, offset: 0, hint });
  }
  const elf = parseElf(bytes, name);
  if (elf.header.machine === EM_AMDGPU) return { kind: 'code-object', bundles: [], host: undefined };
  if (elf.header.machine === EM_CUDA) {
    const what = `the code is for NVIDIA GPUs (e_machine ${EM_CUDA}), which take PTX and cubins: expected AMD GPU (${EM_AMDGPU})`;
    throw new WavewrightError('UNSUPPORTED', what, { file: name, offset: 18 });
  }
  // An object that is not linked yet may have several of them.
  const sections = elf.sections.filter((section) => section.name === FAT_BINARY_SECTION);
  if (sections.length === 0) {
    const what = `e_machine is ${describeMachine(elf.header.machine)}, expected AMD GPU (${EM_AMDGPU})`;
    const hint =
      elf.sectionNamed(OFFLOADING_SECTION) === undefined
        ? `a host program needs a section ${FAT_BINARY_SECTION} with its GPU code`
        : `its section ${OFFLOADING_SECTION} waits for the compiler to link GPU code: link the program first`;
    throw new WavewrightError('BAD_INPUT', what, { file: name, offset: 18, hint });
  }
  const bundles: FoundBundle[] = [];
  for (const section of sections) readFatBinary(elf, section, bundles, name, options);
  return { kind: 'host-elf', bundles, host: elf };
}

const expandedSize = (bundles: readonly FoundBundle[]): number =>
  bundles.reduce((sum, { compression }) => sum + (compression?.uncompressedSizeBytes ?? 0), 0);

function readFatBinary(
  elf: ElfFile,
  section: ElfSection,
  bundles: FoundBundle[],
  name: string,
  options: ContainerOptions,
): void {
  const region = new ByteReader(elf.sectionBytes(section), { file: name, section: FAT_BINARY_SECTION });
  const { maxExpandedBytes = Number.POSITIVE_INFINITY } = options;
  // One bundle per linked object file, each padded with zeros to its alignment.
  for (let at = skipZeros(region.bytes, 0); at < region.length; ) {
    const rest = { ...options, maxExpandedBytes: maxExpandedBytes - expandedSize(bundles) };
    const { bundle, sizeBytes } = openBundle(region, at, section.offset, rest);
    bundles.push(bundle);
    const expandedBytes = expandedSize(bundles);
    checkLimit('decompressedBytes', expandedBytes, { file: name, section: FAT_BINARY_SECTION, offset: at });
    at = skipZeros(region.bytes, at + sizeBytes);
  }
}

/**
 * Lists the AMD GPU code objects of a file: a code object itself, a bundle, a compressed bundle, or a host
 * program's fat binaries. Errors: as `openContainer`; `BAD_INPUT` when there is none.
 */
export function openCodeObjects(bytes: Uint8Array, name: string, options: ContainerOptions = {}): CodeObjectImage[] {
  const images = listCodeObjects(openContainer(bytes, name, options), bytes, name);
  if (images.length === 0) {
    throw new WavewrightError('BAD_INPUT', 'the file holds no code object for an AMD GPU', { file: name });
  }
  return images;
}

/** The AMD GPU code objects of an opened file, in file order; `bytes` and `name` as for `openContainer`. */
export function listCodeObjects(container: Container, bytes: Uint8Array, name: string): CodeObjectImage[] {
  if (container.kind === 'code-object') {
    return [{ name, id: undefined, target: readTarget(bytes, name), bytes, offset: 0, bundle: 0 }];
  }
  return container.bundles.flatMap(({ entries }, bundle) =>
    entries.flatMap(({ id, target, bytes: entryBytes, offset }) => {
      if (target === undefined) return [];
      const entryName = `${name}[${bundle === 0 ? '' : `bundle ${bundle + 1}, `}${id}]`;
      return { name: entryName, id, target: readTarget(entryBytes, entryName), bytes: entryBytes, offset, bundle };
    }),
  );
}

/**
 * The image that runs on `agent`: the exact processor before a generic one, chosen features before `any`, and
 * the first in the file among equals. Errors: `UNSUPPORTED` when none does, with the reasons.
 */
export function pickCodeObject(images: readonly CodeObjectImage[], agent: TargetId): CodeObjectImage {
  const specificity = ({ target }: CodeObjectImage) =>
    (target.processor === agent.processor ? 4 : 0) +
    (target.xnack === 'any' ? 0 : 1) +
    (target.sramecc === 'any' ? 0 : 1);
  let best: CodeObjectImage | undefined;
  const reasons: string[] = [];
  for (const image of images) {
    const reason = explainIncompatibility(image.target, agent);
    if (reason !== undefined) reasons.push(`${image.name}: ${reason}`);
    else if (best === undefined || specificity(image) > specificity(best)) best = image;
  }
  if (best !== undefined) return best;
  throw new WavewrightError('UNSUPPORTED', `no code object for ${formatTargetId(agent)} (${reasons.join('; ')})`);
}

/**
 * The images of a file that run on `agent`: one of each bundle, which are different code. Errors: as
 * `pickCodeObject`.
 */
export function pickCodeObjects(images: readonly CodeObjectImage[], agent: TargetId): CodeObjectImage[] {
  const bundles = Map.groupBy(images, ({ bundle }) => bundle);
  return [...bundles.values()].map((each) => pickCodeObject(each, agent));
}

const BITCODE_MAGICS = ['BC\xc0\xde', '\xde\xc0\x17\x0b'];

/**
 * Whether it is LLVM's representation of a program, also with the wrapper that Apple's linker wants (LLVM,
 * "Bitcode File Format").
 */
export const isBitcode = (bytes: Uint8Array): boolean =>
  BITCODE_MAGICS.includes(String.fromCharCode(...bytes.subarray(0, 4)));

export function bitcodeError(file: string): WavewrightError {
  return new WavewrightError('BAD_INPUT', 'LLVM bitcode (of -flto, -emit-llvm or -fgpu-rdc), not machine code', {
    file,
    hint:
      'let clang make code of it: compile with -fno-lto, or clang --target=amdgcn-amd-amdhsa -mcpu=PROCESSOR -c -x ir FILE.bc -o FILE.o; ' +
      'of bitcode for NVIDIA GPUs clang --target=nvptx64-nvidia-cuda -march=sm_70 -S -x ir FILE.bc -o FILE.ptx',
  });
}

function readTarget(bytes: Uint8Array, name: string): CodeObjectTarget {
  if (isBitcode(bytes)) throw bitcodeError(name);
  return identifyCodeObject(parseElf(bytes, name).header, name).target;
}

/** `fileOffset`: where the region starts in the file. */
function openBundle(
  region: ByteReader,
  at: number,
  fileOffset: number,
  { decompress, maxExpandedBytes = Number.POSITIVE_INFINITY }: ContainerOptions,
): { bundle: FoundBundle; sizeBytes: number } {
  const reader = region.region(at, region.length - at, region.source.section ?? 'offload bundle');
  const offset = fileOffset + at;
  if (!isCompressedBundle(reader.bytes)) {
    const { entries, sizeBytes } = readBundle(reader);
    return {
      bundle: { offset, compression: undefined, entries: entries.map((e) => describeEntry(e, offset)) },
      sizeBytes,
    };
  }
  const compression = readCompressedBundleHeader(reader);
  const { uncompressedSizeBytes } = compression;
  if (uncompressedSizeBytes > maxExpandedBytes) {
    const what = `the bundle expands to ${uncompressedSizeBytes} bytes, there is memory for ${maxExpandedBytes}`;
    throw new WavewrightError('LIMIT_EXCEEDED', what, { ...reader.source, offset });
  }
  const expanded = expandCompressedBundle(reader, compression, decompress);
  const { entries } = readBundle(
    new ByteReader(expanded, { ...reader.source, section: 'uncompressed offload bundle' }),
  );
  const bundle = { offset, compression, entries: entries.map((entry) => describeEntry(entry, 0)) };
  return { bundle, sizeBytes: compression.totalSizeBytes };
}

/** An id is KIND-ARCH-VENDOR-OS-ENVIRONMENT[-TARGETID] (clang-offload-bundler, "Bundle Entry ID"). */
function describeEntry({ id, bytes, offset }: BundleEntry, bundleOffset: number): ContainerEntry {
  const [offloadKind = '', ...rest] = id.split('-');
  const described = { id, offloadKind, bytes, offset: bundleOffset + offset };
  if (!rest[0]?.startsWith('amdgcn')) return { ...described, triple: rest.join('-'), target: undefined };
  const targetText = rest.slice(4).join('-');
  const isKnown = processorNamed(targetText.split(':')[0]!) !== undefined;
  const target = isKnown ? parseTargetId(targetText, { code: 'BAD_INPUT', context: { section: id } }) : undefined;
  return { ...described, triple: rest.slice(0, 4).join('-'), target };
}

function skipZeros(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at] === 0) at++;
  return at;
}
