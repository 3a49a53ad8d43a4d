/** GPU code for NVIDIA's processors, wherever it lies: PTX, cubins and bitcode in files and containers. */
import { ByteReader } from '../base/bytes.ts';
import { WavewrightError } from '../base/errors.ts';
import { checkLimit } from '../base/limits.ts';
import { isCompressedBundle } from '../codeobject/compressed-bundle.ts';
import { type ContainerOptions, FAT_BINARY_SECTION, isBitcode, openContainer } from '../codeobject/container.ts';
import { EM_AMDGPU, EM_CUDA } from '../codeobject/elf-flags.ts';
import { isBundle } from '../codeobject/offload-bundle.ts';
import { parseElf } from '../elf/elf.ts';
import { elfMachine, isElf } from '../elf/header.ts';
import { isArchive, readArchive } from '../linker/archive.ts';
import { isPtxText, ptxHead } from '../ptx/text/recognize.ts';
import { cubinProcessor } from './cubin.ts';
import { isFatBinary, readFatBinaries } from './fat-binary.ts';
import { isOffloadBinary, type OffloadImage, readOffloadBinaries } from './offload-binary.ts';

/** Sections of host programs and objects: of linked code, of code that nvlink is still to link, of clang. */
const CUDA_SECTIONS = ['.nv_fatbin', '__nv_relfatbin', '__nv_fatbin'];
const OFFLOADING_SECTION = '.llvm.offloading';
/** Containers within one another. */
const MAX_DEPTH = 4;

export interface NvptxImage {
  /** What errors call it: the file, and the place in it in brackets. */
  readonly name: string;
  readonly kind: 'ptx' | 'cubin' | 'bitcode';
  /** `sm_80`: of PTX the lowest one that runs it; undefined where it is not said. */
  readonly processor: string | undefined;
  /** Of PTX, as far as it is known without expanding it. */
  readonly ptxVersion: string | undefined;
  readonly compression: 'lz4' | 'zstd' | undefined;
  /** From the start of the file; of the member, section or expanded bundle that the name says. */
  readonly offset: number;
  readonly storedSizeBytes: number;
  /** Expanded. */
  readonly sizeBytes: number;
  /** Images of one unit are the same code for several processors. */
  readonly unit: number;
  /** Throws BAD_INPUT, UNSUPPORTED without a decompressor, LIMIT_EXCEEDED. */
  expand(): Uint8Array;
}

export interface NvptxFile {
  readonly kind:
    | 'ptx'
    | 'cubin'
    | 'bitcode'
    | 'cuda-fat-binary'
    | 'offload-binary'
    | 'offload-bundle'
    | 'host-elf'
    | 'archive';
  readonly images: readonly NvptxImage[];
}

/**
 * The code for NVIDIA's GPUs in a file; undefined where there is none. Throws BAD_INPUT for a file that
 * holds some and is malformed, and what opening its bundles throws.
 */
export function openNvptx(bytes: Uint8Array, name: string, options: ContainerOptions = {}): NvptxFile | undefined {
  const opener = new Opener(options);
  const kind = opener.open(bytes, { name, prefix: name, depth: 0, offset: 0 });
  return kind && opener.images.length > 0 ? { kind, images: opener.images } : undefined;
}

interface Place {
  /** The file, for errors. */
  readonly name: string;
  /** The file and what leads to the place. */
  readonly prefix: string;
  readonly depth: number;
  readonly offset: number;
  /** Of an image in a container that says it. */
  readonly processor?: string;
  readonly unit?: number;
}

class Opener {
  readonly images: NvptxImage[] = [];
  readonly #options: ContainerOptions;
  #units = 0;

  constructor(options: ContainerOptions) {
    this.#options = options;
  }

  open(bytes: Uint8Array, place: Place): NvptxFile['kind'] | undefined {
    if (place.depth > MAX_DEPTH) {
      throw new WavewrightError('LIMIT_EXCEEDED', `containers in more than ${MAX_DEPTH} containers`, {
        file: place.name,
      });
    }
    if (isElf(bytes)) return this.#openElf(bytes, place);
    if (isFatBinary(bytes)) {
      this.#fatBinaries(new ByteReader(bytes, { file: place.prefix }), place);
      return 'cuda-fat-binary';
    }
    if (isOffloadBinary(bytes)) {
      this.#offloadBinaries(new ByteReader(bytes, { file: place.prefix }), place);
      return 'offload-binary';
    }
    if (isBundle(bytes) || isCompressedBundle(bytes)) return this.#openBundle(bytes, place);
    if (isArchive(bytes)) return this.#openArchive(bytes, place);
    if (isBitcode(bytes)) return this.#plain('bitcode', bytes, place);
    if (!isPtxText(bytes)) return undefined;
    return this.#plain('ptx', bytes, { ...place, ...ptxHead(bytes) });
  }

  #plain<Kind extends NvptxImage['kind']>(kind: Kind, bytes: Uint8Array, place: Place & { version?: string }): Kind {
    const { prefix, processor, offset, version, unit = this.#units++ } = place;
    const sizes = { storedSizeBytes: bytes.length, sizeBytes: bytes.length };
    this.#add({
      ...{ name: prefix, kind, processor, ptxVersion: version, compression: undefined, offset, ...sizes, unit },
      expand: () => bytes,
    });
    return kind;
  }

  #add(image: NvptxImage): void {
    this.images.push(image);
    checkLimit('bundleEntries', this.images.length, { file: image.name });
  }

  #openElf(bytes: Uint8Array, place: Place): NvptxFile['kind'] | undefined {
    const machine = elfMachine(bytes);
    if (machine === EM_AMDGPU) return undefined;
    const elf = parseElf(bytes, place.name);
    if (machine === EM_CUDA) return this.#plain('cubin', bytes, { ...place, processor: cubinProcessor(elf.header) });
    for (const section of elf.sections) {
      const region = () => new ByteReader(elf.sectionBytes(section), { file: place.prefix, section: section.name });
      const inside = { ...place, prefix: `${place.prefix}[${section.name}]`, offset: section.offset };
      if (CUDA_SECTIONS.includes(section.name)) this.#fatBinaries(region(), inside);
      if (section.name === OFFLOADING_SECTION) this.#offloadBinaries(region(), inside);
    }
    // Bundles in a section of HIP's hold code for NVIDIA's GPUs where they were built for both.
    if (elf.sectionNamed(FAT_BINARY_SECTION)) this.#openBundle(bytes, place);
    return this.images.length > 0 ? 'host-elf' : undefined;
  }

  #fatBinaries(region: ByteReader, place: Place): void {
    for (const [index, { entries }] of readFatBinaries(region).entries()) {
      const unit = place.unit ?? this.#units++;
      for (const entry of entries) {
        const { kind, processor, version, compression, offset, storedSizeBytes, sizeBytes } = entry;
        const where = `${index === 0 ? '' : `fat binary ${index + 1}, `}${kind} for ${processor}`;
        this.#add({
          ...{ name: `${place.prefix}[${where}]`, kind, processor, compression, storedSizeBytes, sizeBytes, unit },
          ptxVersion: kind === 'ptx' ? version : undefined,
          offset: place.offset + offset,
          expand: () => {
            this.#checkExpanded(sizeBytes, place.name);
            return entry.expand(this.#options.decompress);
          },
        });
      }
    }
  }

  #checkExpanded(sizeBytes: number, file: string): void {
    const { maxExpandedBytes = Number.POSITIVE_INFINITY } = this.#options;
    if (sizeBytes <= maxExpandedBytes) return;
    const what = `it expands to ${sizeBytes} bytes, there is memory for ${maxExpandedBytes}`;
    throw new WavewrightError('LIMIT_EXCEEDED', what, { file });
  }

  #offloadBinaries(region: ByteReader, place: Place): void {
    const unit = this.#units++;
    const nvidia = readOffloadBinaries(region).filter(({ triple }) => triple.startsWith('nvptx'));
    for (const image of nvidia)
      this.#inside(image, `${image.offloadKind}-${image.triple}-${image.processor}`, place, unit);
  }

  #inside(
    { bytes, offset, processor }: Pick<OffloadImage, 'bytes' | 'offset' | 'processor'>,
    id: string,
    place: Place,
    unit: number,
  ) {
    const { name, depth } = place;
    const inner = { name, prefix: `${place.prefix}[${id}]`, depth: depth + 1, offset: place.offset + offset, unit };
    this.open(bytes, { ...inner, ...(processor !== '' && { processor }) });
  }

  #openBundle(bytes: Uint8Array, place: Place): NvptxFile['kind'] {
    const { bundles } = openContainer(bytes, place.prefix, this.#options);
    for (const { entries } of bundles) {
      const unit = this.#units++;
      for (const entry of entries.filter(({ triple }) => triple.startsWith('nvptx'))) {
        const processor = /\bsm_\w+$/.exec(entry.id)?.[0] ?? '';
        this.#inside({ ...entry, processor }, entry.id, place, unit);
      }
    }
    return 'offload-bundle';
  }

  #openArchive(bytes: Uint8Array, place: Place): NvptxFile['kind'] {
    for (const member of readArchive(bytes, place.name)) {
      const { name, depth } = place;
      this.open(member.bytes, { name, prefix: `${place.prefix}(${member.name})`, depth: depth + 1, offset: 0 });
    }
    return 'archive';
  }
}
