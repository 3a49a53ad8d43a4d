/**
 * Hazards of gfx11 and gfx12 that the hardware does not resolve, as LLVM's GCNHazardRecognizer knows them;
 * gfx1030 has none. Other instructions resolve them, above all s_waitcnt_depctr. Missing are those of gfx1010
 * to gfx1013, and that of SGPRs which vector instructions read on gfx12 (fixVALUReadSGPRHazard): LLVM 19 does
 * not know it either, so that all code that it made would have it.
 */
import type { RegisterRange } from '../../../ir/effects.ts';
import { SGPR_M0, SGPR_VCC_LO } from '../encoding/registers.ts';
import {
  dependencyLeft,
  type Facts,
  type Hazard,
  isExport,
  isFactor,
  isLds,
  isLdsDirect,
  isMatrix,
  isPlainVector,
  isScalar,
  isTranscendental,
  isVector,
  isVectorMemory,
  type Part,
  reads,
  waitsForVectors,
  whenever,
  writes,
} from './hazard.ts';
import { overlaps, rangesWhere } from './operand-ranges.ts';

/** All of VA_VDST that can be counted. */
const MOST_VECTORS = 15;
const TRANSCENDENTAL_VECTORS = 6;
/** From the first of three to the last: 2 between the first two, 4 behind them, and the second itself. */
const FORWARDED_VECTORS = 8;

const WAIT_FOR_VECTORS = 's_waitcnt_depctr depctr_va_vdst(0)';

const isWave = ({ format }: Facts['instruction']): boolean => format.name === 'VOP1' || format.name === 'VOP3';
/** Reads lanes of its row in turn: v_permlane. */
const permutes = (facts: Facts): boolean =>
  isPlainVector(facts) &&
  isWave(facts.instruction) &&
  !facts.instruction.hasDpp &&
  facts.effects.reads.some(({ file, isCrossLane }) => file === 'vector' && isCrossLane) &&
  facts.effects.writes.some(({ file }) => file === 'vector');

/** The masks of carries and choices; VCC where no operand says so. */
function masks(facts: Facts): Part {
  if (!isPlainVector(facts)) return undefined;
  const { instruction, effects } = facts;
  const named = rangesWhere(instruction, ({ type, access }) => type === 'mask' && access !== 'write');
  const isHidden = named.length === 0 && effects.readsState.has('vcc');
  const dwords = instruction.waveSize / 32;
  const ranges = isHidden ? [{ file: 'scalar' as const, first: SGPR_VCC_LO, dwords }] : named;
  return ranges.length > 0 ? ranges : undefined;
}

const scalars = (ranges: readonly RegisterRange[]): readonly RegisterRange[] =>
  ranges.filter(({ file, first }) => file === 'scalar' && first < SGPR_M0);

/** A vector instruction that reads an SGPR or a literal, but for one that reads the mask as such. */
function readsOther(facts: Facts, masked: readonly RegisterRange[]): boolean {
  if (!isVector(facts)) return false;
  const own = masks(facts);
  if (typeof own === 'object' && own.some((range) => masked.some((mask) => overlaps(mask, range)))) return false;
  return facts.instruction.literal !== undefined || scalars(facts.effects.reads).length > 0;
}

/** s_waitcnt that leaves nothing of anything; what waits for one counter alone does not do. */
const waitsForAll = ({ effects: { waits } }: Facts): boolean =>
  waits.size > 1 && [...waits.values()].every((left) => left === 0);

const touchesVectors =
  (is: (facts: Facts) => boolean) =>
  (facts: Facts): Part =>
    is(facts) ? [...facts.effects.reads, ...facts.effects.writes].filter(({ file }) => file === 'vector') : undefined;

/** How many vector instructions may be left when LDSDIR writes; its name differs between generations. */
const vectorsLeft = ({ instruction }: Facts): number =>
  instruction.field('wait_vdst') + instruction.field('wait_va_vdst');
/** LDSDIR that waits, but not for all vector instructions. */
const countsVectors = (facts: Facts): boolean => isLdsDirect(facts) && vectorsLeft(facts) > 0;
const waitsForSources = ({ instruction }: Facts): boolean =>
  instruction.has('wait_vm_vsrc') && instruction.field('wait_vm_vsrc') === 0;

const LLVM = { family: 'gfx11', source: "LLVM's GCNHazardRecognizer" } as const;
const FOREVER = { waitStates: Number.POSITIVE_INFINITY, most: Number.POSITIVE_INFINITY, counts: 'vectors' } as const;
const LDS_DIRECT = {
  ...({ most: MOST_VECTORS, counts: 'vectors', cure: WAIT_FOR_VECTORS } as const),
  cured: (facts: Facts) => (waitsForVectors(facts) ? 1 : 0),
  // The last that uses a register is waited for, and so are those before it.
  replaced: touchesVectors(isVector),
};

export const RDNA_HAZARDS: readonly Hazard[] = [
  {
    ...{ ...LLVM, until: 'gfx115', name: 'trans-use', text: 'a transcendental result is used too soon' },
    ...{ counts: 'vectors', waitStates: TRANSCENDENTAL_VECTORS, most: TRANSCENDENTAL_VECTORS },
    before: writes(isTranscendental, 'vector'),
    after: reads(isVector, 'vector'),
    // Two more of the unit are as good: it works in order.
    cured: (facts) => (waitsForVectors(facts) ? 1 : isTranscendental(facts) ? 0.5 : 0),
    cure: WAIT_FOR_VECTORS,
  },
  {
    ...{ ...LLVM, ...FOREVER, name: 'cmpx-permlane', text: 'v_cmpx writes EXEC before v_permlane' },
    before: whenever((facts) => isPlainVector(facts) && facts.effects.writesState.has('exec')),
    after: whenever(permutes),
    // v_nop, which has no operands, is thrown away.
    cured: (facts) => (isVector(facts) && facts.instruction.row.operands.length > 0 ? 1 : 0),
    cure: 'v_mov_b32 vN, vN',
  },
  {
    ...{ ...LLVM, until: 'gfx12', waveSize: 64, name: 'partial-forwarding' },
    text: 'results from before and from behind a change of EXEC are used together too soon',
    ...{ counts: 'vectors', waitStates: FORWARDED_VECTORS, most: FORWARDED_VECTORS },
    before: writes(isVector, 'vector'),
    armedBy: whenever((facts) => isScalar(facts) && facts.effects.writesState.has('exec')),
    partner: { part: writes(isVector, 'vector'), mostBetween: 2, mostBehind: 4 },
    after: reads(isVector, 'vector'),
    replaced: writes(isVector, 'vector'),
    cured: (facts) => (waitsForVectors(facts) ? 1 : 0),
    cure: WAIT_FOR_VECTORS,
  },
  {
    ...{ ...LLVM, ...FOREVER, until: 'gfx12', waveSize: 64, name: 'valu-mask-write' },
    text: 'an SGPR that a vector instruction reads as a mask is written and read again',
    before: masks,
    armedBy: writes(isScalar, 'scalar'),
    after: (facts) => (isScalar(facts) ? scalars(facts.effects.reads) : undefined),
    cured: (facts, masked) => (dependencyLeft(facts, 'sa_sdst') === 0 || readsOther(facts, masked) ? 1 : 0),
    cure: 's_waitcnt_depctr depctr_sa_sdst(0)',
  },
  {
    ...{ ...LLVM, ...FOREVER, name: 'wmma-factor', text: 'the result of a WMMA is a factor of the next' },
    before: writes(isMatrix, 'vector'),
    after: (facts) => (isMatrix(facts) ? rangesWhere(facts.instruction, isFactor) : undefined),
    cured: (facts) => (isVector(facts) ? 1 : 0),
    cure: 'v_nop',
  },
  {
    ...{ ...LLVM, ...LDS_DIRECT, name: 'valu-lds-direct', text: 'LDSDIR writes what a vector instruction still uses' },
    ...{ before: touchesVectors(isVector), after: writes(isLdsDirect, 'vector') },
    waitStates: (_, after) => vectorsLeft(after),
  },
  {
    ...{ ...LLVM, ...LDS_DIRECT, name: 'trans-lds-direct' },
    text: 'LDSDIR counts vector instructions among which are transcendental ones, in no order',
    ...{ before: touchesVectors(isTranscendental), after: writes(countsVectors, 'vector'), waitStates: MOST_VECTORS },
  },
  {
    ...{ ...LLVM, ...LDS_DIRECT, name: 'valu-trans-lds-direct' },
    text: 'LDSDIR counts vector instructions among which are transcendental ones, in no order',
    before: touchesVectors((facts) => isVector(facts) && !isTranscendental(facts)),
    armedBy: whenever(isTranscendental),
    ...{ after: writes(countsVectors, 'vector'), waitStates: MOST_VECTORS },
  },
  {
    ...{ ...LLVM, ...FOREVER, name: 'vmem-lds-direct', text: 'LDSDIR writes what an access still uses' },
    before: touchesVectors((facts) => isVectorMemory(facts) || isLds(facts)),
    after: (facts) => (waitsForSources(facts) ? undefined : writes(isLdsDirect, 'vector')(facts)),
    cured: (facts) => {
      const waits = waitsForAll(facts) || waitsForSources(facts) || dependencyLeft(facts, 'vm_vsrc') === 0;
      return isVector(facts) || isExport(facts) || waits ? 1 : 0;
    },
    cure: 's_waitcnt_depctr depctr_vm_vsrc(0)',
  },
];
