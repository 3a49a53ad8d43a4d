import { WavewrightError } from '../../base/errors.ts';
import type { Family } from './formats.ts';
import { SCALARS_GFX9, SCALARS_GFX10, SCALARS_GFX11, type ScalarFile } from './registers.ts';

/** What the instruction set of a processor differs in. */
export interface Target {
  readonly processor: string;
  /** Encoding tables, own first. */
  readonly families: readonly Family[];
  readonly waveSizes: readonly (32 | 64)[];
  /** Register files of VGPRs and AGPRs are one; ACCUM_OFFSET splits it (CDNA2 ISA 3.6.4). */
  readonly unifiedVgprs: boolean;
  /** FLAT_SCRATCH is set up by hardware, not by the kernel prologue. */
  readonly architectedFlatScratch: boolean;
  readonly packedWorkItemIds: boolean;
  readonly scalars: ScalarFile;
}

const TARGETS: readonly Target[] = [
  {
    processor: 'gfx900',
    families: ['gfx9'],
    waveSizes: [64],
    unifiedVgprs: false,
    architectedFlatScratch: false,
    packedWorkItemIds: false,
    scalars: SCALARS_GFX9,
  },
  {
    processor: 'gfx906',
    families: ['gfx906', 'gfx9'],
    waveSizes: [64],
    unifiedVgprs: false,
    architectedFlatScratch: false,
    packedWorkItemIds: false,
    scalars: SCALARS_GFX9,
  },
  {
    processor: 'gfx908',
    families: ['gfx908', 'gfx906', 'gfx9'],
    waveSizes: [64],
    unifiedVgprs: false,
    architectedFlatScratch: false,
    packedWorkItemIds: false,
    scalars: SCALARS_GFX9,
  },
  {
    processor: 'gfx90a',
    families: ['gfx90a', 'gfx908', 'gfx906', 'gfx9'],
    waveSizes: [64],
    unifiedVgprs: true,
    architectedFlatScratch: false,
    packedWorkItemIds: true,
    scalars: SCALARS_GFX9,
  },
  {
    processor: 'gfx942',
    families: ['gfx940', 'gfx90a', 'gfx908', 'gfx906', 'gfx9'],
    waveSizes: [64],
    unifiedVgprs: true,
    architectedFlatScratch: true,
    packedWorkItemIds: true,
    scalars: SCALARS_GFX9,
  },
  {
    processor: 'gfx1030',
    families: ['gfx10'],
    waveSizes: [32, 64],
    unifiedVgprs: false,
    architectedFlatScratch: false,
    packedWorkItemIds: false,
    scalars: SCALARS_GFX10,
  },
  {
    processor: 'gfx1100',
    families: ['gfx11', 'gfx10'],
    waveSizes: [32, 64],
    unifiedVgprs: false,
    architectedFlatScratch: true,
    packedWorkItemIds: true,
    scalars: SCALARS_GFX11,
  },
];

export const PROCESSORS: readonly string[] = TARGETS.map((target) => target.processor);

/** Throws UNSUPPORTED for a processor without instruction tables. */
export function targetFor(processor: string): Target {
  const target = TARGETS.find((candidate) => candidate.processor === processor);
  if (target) return target;
  throw new WavewrightError('UNSUPPORTED', `no instruction set for '${processor}'`, {
    hint: `supported processors: ${PROCESSORS.join(', ')}`,
  });
}
