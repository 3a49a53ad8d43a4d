/**
 * The AMD GPU processors: EF_AMDGPU_MACH number, name, which target features can be chosen, and the generic
 * processor that covers each. Source: LLVM "User Guide for AMDGPU Backend", tables of processors, generic
 * processors and e_flags, as of LLVM 19 to 23; gfx1154, gfx11-7-generic, gfx13-generic and gfx1250-strict
 * from the ROCm compiler and runtime of 2026.
 */

/** Processors whose kernel descriptors have the same layout. */
export type ProcessorFamily =
  | 'gfx6'
  | 'gfx7'
  | 'gfx8'
  | 'gfx9'
  | 'gfx90a'
  | 'gfx10'
  | 'gfx11'
  | 'gfx12'
  | 'gfx125'
  | 'gfx13';

export interface Processor {
  name: string;
  /** EF_AMDGPU_MACH_AMDGCN_*, the low byte of e_flags. */
  mach: number;
  /** `gfx90a` stands for gfx90a, gfx94x, gfx950 and gfx9-4-generic. */
  family: ProcessorFamily;
  /** Whether XNACK replay can be chosen by target id. */
  xnack: boolean;
  /** Whether SRAM ECC can be chosen by target id. */
  sramecc: boolean;
  /** Whether the name stands for several processors. */
  isGeneric: boolean;
  /**
   * Name of the generic processor whose code objects it runs, with the lowest generic version that includes
   * it.
   */
  generic: { name: string; sinceVersion: number } | undefined;
}

type Row = readonly [mach: number, name: string, family: ProcessorFamily, features: '' | 'x' | 'xs', generic?: string];

// Features: x = xnack, s = sramecc.
const ROWS: readonly Row[] = [
  [0x20, 'gfx600', 'gfx6', ''],
  [0x21, 'gfx601', 'gfx6', ''],
  [0x3a, 'gfx602', 'gfx6', ''],
  [0x22, 'gfx700', 'gfx7', ''],
  [0x23, 'gfx701', 'gfx7', ''],
  [0x24, 'gfx702', 'gfx7', ''],
  [0x25, 'gfx703', 'gfx7', ''],
  [0x26, 'gfx704', 'gfx7', ''],
  [0x3b, 'gfx705', 'gfx7', ''],
  [0x28, 'gfx801', 'gfx8', 'x'],
  [0x29, 'gfx802', 'gfx8', ''],
  [0x2a, 'gfx803', 'gfx8', ''],
  [0x3c, 'gfx805', 'gfx8', ''],
  [0x2b, 'gfx810', 'gfx8', 'x'],
  [0x2c, 'gfx900', 'gfx9', 'x', 'gfx9-generic'],
  [0x2d, 'gfx902', 'gfx9', 'x', 'gfx9-generic'],
  [0x2e, 'gfx904', 'gfx9', 'x', 'gfx9-generic'],
  [0x2f, 'gfx906', 'gfx9', 'xs', 'gfx9-generic'],
  [0x30, 'gfx908', 'gfx9', 'xs'],
  [0x31, 'gfx909', 'gfx9', 'x', 'gfx9-generic'],
  [0x32, 'gfx90c', 'gfx9', 'x', 'gfx9-generic'],
  [0x3f, 'gfx90a', 'gfx90a', 'xs'],
  [0x40, 'gfx940', 'gfx90a', 'xs', 'gfx9-4-generic'],
  [0x4b, 'gfx941', 'gfx90a', 'xs', 'gfx9-4-generic'],
  [0x4c, 'gfx942', 'gfx90a', 'xs', 'gfx9-4-generic'],
  [0x4f, 'gfx950', 'gfx90a', 'xs', 'gfx9-4-generic'],
  [0x33, 'gfx1010', 'gfx10', 'x', 'gfx10-1-generic'],
  [0x34, 'gfx1011', 'gfx10', 'x', 'gfx10-1-generic'],
  [0x35, 'gfx1012', 'gfx10', 'x', 'gfx10-1-generic'],
  [0x42, 'gfx1013', 'gfx10', 'x', 'gfx10-1-generic'],
  [0x36, 'gfx1030', 'gfx10', '', 'gfx10-3-generic'],
  [0x37, 'gfx1031', 'gfx10', '', 'gfx10-3-generic'],
  [0x38, 'gfx1032', 'gfx10', '', 'gfx10-3-generic'],
  [0x39, 'gfx1033', 'gfx10', '', 'gfx10-3-generic'],
  [0x3e, 'gfx1034', 'gfx10', '', 'gfx10-3-generic'],
  [0x3d, 'gfx1035', 'gfx10', '', 'gfx10-3-generic'],
  [0x45, 'gfx1036', 'gfx10', '', 'gfx10-3-generic'],
  [0x41, 'gfx1100', 'gfx11', '', 'gfx11-generic'],
  [0x46, 'gfx1101', 'gfx11', '', 'gfx11-generic'],
  [0x47, 'gfx1102', 'gfx11', '', 'gfx11-generic'],
  [0x44, 'gfx1103', 'gfx11', '', 'gfx11-generic'],
  [0x43, 'gfx1150', 'gfx11', '', 'gfx11-generic'],
  [0x4a, 'gfx1151', 'gfx11', '', 'gfx11-generic'],
  [0x55, 'gfx1152', 'gfx11', '', 'gfx11-generic'],
  [0x58, 'gfx1153', 'gfx11', '', 'gfx11-generic'],
  [0x57, 'gfx1154', 'gfx11', '', 'gfx11-generic'],
  [0x5d, 'gfx1170', 'gfx11', '', 'gfx11-7-generic'],
  [0x5e, 'gfx1171', 'gfx11', '', 'gfx11-7-generic'],
  [0x5c, 'gfx1172', 'gfx11', '', 'gfx11-7-generic'],
  [0x48, 'gfx1200', 'gfx12', '', 'gfx12-generic'],
  [0x4e, 'gfx1201', 'gfx12', '', 'gfx12-generic'],
  [0x49, 'gfx1250', 'gfx125', '', 'gfx12-5-generic'],
  [0x5a, 'gfx1251', 'gfx125', '', 'gfx12-5-generic'],
  [0xeb, 'gfx1250-strict', 'gfx125', ''],
  [0x50, 'gfx1310', 'gfx13', '', 'gfx13-generic'],
  [0x51, 'gfx9-generic', 'gfx9', 'x'],
  [0x5f, 'gfx9-4-generic', 'gfx90a', 'xs'],
  [0x52, 'gfx10-1-generic', 'gfx10', 'x'],
  [0x53, 'gfx10-3-generic', 'gfx10', ''],
  [0x54, 'gfx11-generic', 'gfx11', ''],
  [0x62, 'gfx11-7-generic', 'gfx11', ''],
  [0x59, 'gfx12-generic', 'gfx12', ''],
  [0x5b, 'gfx12-5-generic', 'gfx125', ''],
  [0x63, 'gfx13-generic', 'gfx13', ''],
];

export const PROCESSORS: readonly Processor[] = ROWS.map(([mach, name, family, features, generic]) => ({
  name,
  mach,
  family,
  xnack: features.includes('x'),
  sramecc: features.includes('s'),
  isGeneric: name.endsWith('-generic'),
  // Every generic processor is still at version 1 in LLVM 23.
  generic: generic === undefined ? undefined : { name: generic, sinceVersion: 1 },
}));

const byName = new Map(PROCESSORS.map((processor) => [processor.name, processor]));
const byMach = new Map(PROCESSORS.map((processor) => [processor.mach, processor]));

/** The processor with this name, e.g. `gfx90a`. */
export function processorNamed(name: string): Processor | undefined {
  return byName.get(name);
}

/** The processor with this EF_AMDGPU_MACH number. */
export function processorWithMach(mach: number): Processor | undefined {
  return byMach.get(mach);
}
