/** The most registers that code can name: what a function needs that cannot be looked into. */
import { type ProcessorFamily, processorNamed } from '../codeobject/processors.ts';

export interface RegisterCounts {
  readonly vgprCount: number;
  readonly agprCount: number;
  /** Without VCC and what follows it. */
  readonly sgprCount: number;
  /** SGPRs behind the numbered ones that a wave must have allocated: none from gfx10 on. */
  readonly specialSgprCount: number;
}

const WITH_AGPRS = ['gfx908'];
const counts = (vgprCount: number, agprCount: number, sgprCount: number, specialSgprCount: number): RegisterCounts => ({
  ...{ vgprCount, agprCount, sgprCount, specialSgprCount },
});

/** LLVM AMDGPU usage, "Register Identifier": numbered registers of each kind. */
const MOST: Readonly<Record<ProcessorFamily, RegisterCounts>> = {
  gfx6: counts(256, 0, 104, 2),
  gfx7: counts(256, 0, 104, 4),
  gfx8: counts(256, 0, 102, 6),
  gfx9: counts(256, 0, 102, 6),
  gfx90a: counts(256, 256, 102, 6),
  gfx10: counts(256, 0, 106, 0),
  gfx11: counts(256, 0, 106, 0),
  gfx12: counts(256, 0, 106, 0),
  gfx125: counts(1024, 0, 106, 0),
  gfx13: counts(1024, 0, 106, 0),
};

export function mostRegisters(processor: string): RegisterCounts {
  const most = MOST[processorNamed(processor)!.family];
  return WITH_AGPRS.includes(processor) ? { ...most, agprCount: 256 } : most;
}
