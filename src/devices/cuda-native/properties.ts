/** What the driver says of the machine's GPUs. */
import type { BoardProperties, DeviceProperties } from '../../device/properties.ts';
import { noDevice } from '../native/shared-library.ts';
import { type CudaLibrary, cudaHint } from './library.ts';
import { NO_DEVICE } from './results.ts';

/** CUdevice_attribute. */
const ATTRIBUTE = {
  maxBlockThreads: 1,
  maxBlockX: 2,
  maxBlockY: 3,
  maxBlockZ: 4,
  maxGridX: 5,
  maxGridY: 6,
  maxGridZ: 7,
  warpSize: 10,
  clockKhz: 13,
  multiprocessorCount: 16,
  hasWatchdog: 17,
  pciBus: 33,
  pciDevice: 34,
  memoryClockKhz: 36,
  memoryWidthBits: 37,
  l2SizeBytes: 38,
  maxMultiprocessorThreads: 39,
  hasUnifiedAddresses: 41,
  pciDomain: 50,
  computeMajor: 75,
  computeMinor: 76,
  maxSharedBytes: 97,
} as const;

const NAME_BYTES = 256;
/** CUDA C++ programming guide, "Technical specifications": local memory of a thread. */
const MAX_LOCAL_BYTES = 512 * 1024;
/** Events and %globaltimer count nanoseconds. */
const NANOSECONDS_PER_SECOND = 1_000_000_000;

/** A GPU of the machine, as far as it is known without a context. */
export interface CudaGpu {
  /** `cuda:0`. */
  readonly name: string;
  readonly productName: string;
  /** `9.0`. */
  readonly computeCapability: string;
  readonly properties: DeviceProperties;
  /** Whether the system ends kernels that take long, as it does where a display hangs on the GPU. */
  readonly hasWatchdog: boolean;
}

/** Largest blocks and grids in x, y and z. */
export interface LaunchLimits {
  readonly block: readonly number[];
  readonly grid: readonly number[];
}

export class GpuQueries {
  readonly #library: CudaLibrary;
  readonly index: number;
  /** CUdevice. */
  readonly handle: number;

  constructor(library: CudaLibrary, index: number) {
    this.#library = library;
    this.index = index;
    this.handle = library.number((out) => library.call.cuDeviceGet(out, index), 'cuDeviceGet');
  }

  attribute(name: keyof typeof ATTRIBUTE): number {
    const { call } = this.#library;
    const ask = (out: Uint8Array) => call.cuDeviceGetAttribute(out, ATTRIBUTE[name], this.handle);
    return this.#library.number(ask, `cuDeviceGetAttribute of ${name}`);
  }

  get gpu(): CudaGpu {
    return {
      name: `cuda:${this.index}`,
      productName: this.#productName,
      computeCapability: `${this.attribute('computeMajor')}.${this.attribute('computeMinor')}`,
      properties: this.properties,
      hasWatchdog: this.attribute('hasWatchdog') !== 0,
    };
  }

  get #productName(): string {
    const name = new Uint8Array(NAME_BYTES);
    const result = this.#library.call.cuDeviceGetName(name, NAME_BYTES, this.handle);
    this.#library.check(result, 'cuDeviceGetName');
    return new TextDecoder().decode(name.subarray(0, Math.max(0, name.indexOf(0))));
  }

  get limits(): LaunchLimits {
    const all = (...names: (keyof typeof ATTRIBUTE)[]) => names.map((name) => this.attribute(name));
    return { block: all('maxBlockX', 'maxBlockY', 'maxBlockZ'), grid: all('maxGridX', 'maxGridY', 'maxGridZ') };
  }

  get properties(): DeviceProperties {
    const { call } = this.#library;
    const size = this.#library.word((out) => call.cuDeviceTotalMem_v2(out, this.handle), 'cuDeviceTotalMem_v2');
    const processor = `sm_${this.attribute('computeMajor')}${this.attribute('computeMinor')}`;
    return {
      ...{ capabilities: ['execution', 'faults'], processor, targetId: processor, wavefrontSize: 32 },
      ...{ memorySizeBytes: Number(size), maxPrivateSizeBytes: MAX_LOCAL_BYTES },
      computeUnitCount: this.attribute('multiprocessorCount'),
      ldsSizeBytes: this.attribute('maxSharedBytes'),
      maxWorkgroupSize: this.attribute('maxBlockThreads'),
      maxWavesPerComputeUnit: Math.floor(this.attribute('maxMultiprocessorThreads') / this.attribute('warpSize')),
      timestampFrequencyHz: NANOSECONDS_PER_SECOND,
      // What HSA has of a GPU besides; CUDA's windows are nobody's business.
      ...{ sharedApertureHi: 0, privateApertureHi: 0 },
      board: this.#board(this.#productName),
    };
  }

  #board(productName: string): BoardProperties {
    const l2SizeBytes = this.attribute('l2SizeBytes');
    return {
      productName,
      pciLocation: (this.attribute('pciBus') << 8) | (this.attribute('pciDevice') << 3),
      pciDomain: this.attribute('pciDomain'),
      maxClockMhz: Math.round(this.attribute('clockKhz') / 1000),
      memoryClockMhz: Math.round(this.attribute('memoryClockKhz') / 1000),
      memoryWidthBits: this.attribute('memoryWidthBits'),
      caches: l2SizeBytes > 0 ? [{ name: 'L2', level: 2, sizeBytes: l2SizeBytes }] : [],
    };
  }
}

/** Initializes the driver; how many GPUs it has. Throws NO_DEVICE. */
export function countGpus(library: CudaLibrary): number {
  const result = library.call.cuInit(0);
  if (result === NO_DEVICE) return 0;
  library.check(result, 'cuInit');
  return library.number((out) => library.call.cuDeviceGetCount(out), 'cuDeviceGetCount');
}

/** Throws NO_DEVICE where there is no GPU of that number. */
export function findGpu(library: CudaLibrary, index: number): GpuQueries {
  const count = countGpus(library);
  if (index < count) return new GpuQueries(library, index);
  const what = count === 0 ? `no GPU (${library.describe(NO_DEVICE)})` : `GPUs cuda:0 to cuda:${count - 1}`;
  throw noDevice(`no device 'cuda:${index}': ${library.path} has ${what}`, count === 0 ? { hint: cudaHint() } : {});
}
