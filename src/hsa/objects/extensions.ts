/** Extensions of the core runtime (hsa_extension_t): the AMD loader is the one that is there. */

/** hsa_extension_t. */
export const EXTENSION = {
  finalizer: 0,
  images: 1,
  performanceCounters: 2,
  profilingEvents: 3,
  amdProfiler: 0x200,
  amdLoader: 0x201,
  amdAqlProfile: 0x202,
  amdPcSampling: 0x203,
} as const;

/** Major version and the highest minor one of what is there. */
export const EXTENSION_VERSIONS: ReadonlyMap<number, { readonly major: number; readonly minor: number }> = new Map([
  [EXTENSION.amdLoader, { major: 1, minor: 3 }],
]);

const BITMAP_BYTES = 128;

/** HSA_SYSTEM_INFO_EXTENSIONS and HSA_AGENT_INFO_EXTENSIONS: bit n for extension n. */
export function extensionBits(): Uint8Array {
  const bits = new Uint8Array(BITMAP_BYTES);
  for (const id of EXTENSION_VERSIONS.keys()) bits[id >> 3]! |= 1 << (id & 7);
  return bits;
}
