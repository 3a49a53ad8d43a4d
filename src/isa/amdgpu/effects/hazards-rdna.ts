/**
 * Hazards of gfx11 and gfx12 that the hardware does not resolve, as LLVM's GCNHazardRecognizer knows them;
 * gfx1030 has none. Other instructions resolve them, above all s_waitcnt_depctr. Missing are those of gfx1010
 * to gfx1013, that of results which are forwarded in part around a change of EXEC in wave64
 * (fixVALUPartialForwardingHazard), and that of SGPRs which vector instructions read on gfx12, which LLVM 19
 * does not know either.
 */
import type { RegisterRange } from '../../../ir/effects.ts';
import { SGPR_M0, SGPR_VCC_LO } from '../encoding/registers.ts';
import {
  dependencyLeft,
  type Facts,
  type Hazard,
  isExport,
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

/** A vector instruction that reads another SGPR, or a literal. */
const readsOther = (facts: Facts, masked: readonly RegisterRange[]): boolean =>
  isVector(facts) &&
  (facts.instruction.literal !== undefined ||
    scalars(facts.effects.reads).some((range) => !masked.some((mask) => overlaps(mask, range))));

const waitsForAll = (facts: Facts): boolean => [...facts.effects.waits.values()].some((left) => left === 0);

const LLVM = { family: 'gfx11', source: "LLVM's GCNHazardRecognizer" } as const;
const FOREVER = { waitStates: Number.POSITIVE_INFINITY, most: Number.POSITIVE_INFINITY, counts: 'vectors' } as const;

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
    ...{ ...LLVM, ...FOREVER, until: 'gfx115', waveSize: 64, name: 'valu-mask-write' },
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
    after: (facts) =>
      isMatrix(facts) ? rangesWhere(facts.instruction, ({ field }) => /^src[01]$/.test(field)) : undefined,
    cured: (facts) => (isVector(facts) ? 1 : 0),
    cure: 'v_nop',
  },
  {
    ...{ ...LLVM, name: 'valu-lds-direct', text: 'LDSDIR writes what a vector instruction still uses' },
    before: (facts) => (isVector(facts) ? [...facts.effects.reads, ...facts.effects.writes] : undefined),
    after: writes(isLdsDirect, 'vector'),
    // Its field is how many vector instructions may be left.
    waitStates: (_, { instruction }) => instruction.field('wait_vdst') + instruction.field('wait_va_vdst'),
    ...{ most: MOST_VECTORS, counts: 'vectors' },
    cured: (facts) => (waitsForVectors(facts) ? 1 : 0),
    cure: WAIT_FOR_VECTORS,
  },
  {
    ...{ ...LLVM, ...FOREVER, name: 'vmem-lds-direct', text: 'LDSDIR writes what an access still reads' },
    before: reads((facts) => isVectorMemory(facts) || isLds(facts), 'vector'),
    after: (facts) =>
      facts.instruction.has('wait_vm_vsrc') && facts.instruction.field('wait_vm_vsrc') === 0
        ? undefined
        : writes(isLdsDirect, 'vector')(facts),
    cured: (facts) =>
      isVector(facts) || isExport(facts) || waitsForAll(facts) || dependencyLeft(facts, 'vm_vsrc') === 0 ? 1 : 0,
    cure: 's_waitcnt_depctr depctr_vm_vsrc(0)',
  },
];
