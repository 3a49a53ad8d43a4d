/** What a device is and what it can do. */

/**
 * What a device can do besides holding memory and completing launches. `execution`: it runs the code of
 * kernels; `faults`: it stops code that misuses memory, and reports a `Fault` with as much as it knows of the
 * place; `access`: it takes memory away from kernels (`DeviceMemory.setAccess`). Cases of the conformance
 * suite name what they need of these, and are skipped on devices that do not have it.
 */
export type DeviceCapability = 'execution' | 'faults' | 'access';

export interface DeviceProperties {
  readonly capabilities: readonly DeviceCapability[];
  /** Processor as LLVM names it, e.g. `gfx90a`. */
  readonly processor: string;
  /** Full target id with the feature settings of this device, e.g. `gfx90a:sramecc+:xnack-`. */
  readonly targetId: string;
  /** Lanes of a wave that the device prefers; kernels state their own. */
  readonly wavefrontSize: 32 | 64;
  readonly computeUnitCount: number;
  readonly ldsSizeBytes: number;
  /** Private memory (scratch) that a work-item can have. */
  readonly maxPrivateSizeBytes: number;
  readonly maxWorkgroupSize: number;
  readonly maxWavesPerComputeUnit: number;
  readonly memorySizeBytes: number;
  /** Ticks per second of `clock` and of s_memrealtime. */
  readonly timestampFrequencyHz: number;
  /** High words of the flat apertures (group_aperture_hi, private_aperture_hi). */
  readonly sharedApertureHi: number;
  readonly privateApertureHi: number;
  /** What a board adds to a processor; all of it may be absent, for the emulator it is. */
  readonly board?: BoardProperties;
}

/** Figures of a real GPU that only reports and tuning ask for. */
export interface BoardProperties {
  readonly productName?: string;
  /** At most 20 characters; `GPU-` and 16 hexadecimal digits. */
  readonly uuid?: string;
  readonly chipId?: number;
  readonly asicRevision?: number;
  /** Bus, device and function, as 16 bits; and the PCI domain. */
  readonly pciLocation?: number;
  readonly pciDomain?: number;
  readonly maxClockMhz?: number;
  readonly memoryClockMhz?: number;
  readonly memoryWidthBits?: number;
  readonly simdsPerComputeUnit?: number;
  readonly shaderEngineCount?: number;
  readonly shaderArraysPerEngine?: number;
  readonly xccCount?: number;
  readonly cachelineSizeBytes?: number;
  /** The caches, the one nearest to the compute units first. */
  readonly caches?: readonly { readonly name: string; readonly level: number; readonly sizeBytes: number }[];
}
