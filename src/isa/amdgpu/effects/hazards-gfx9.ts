/**
 * Hazards of gfx9 but those of matrix products: so many wait states must lie between an instruction and a
 * later one ("Manually Inserted Wait States (NOPs)", CDNA2 ISA 4.5, CDNA3 ISA 4.5). Where the manuals are
 * silent or mild, LLVM's GCNHazardRecognizer says what hardware needs.
 */
import { SGPR_M0, SRC_EXECZ, SRC_LDS_DIRECT, SRC_VCCZ } from '../encoding/registers.ts';
import {
  byStates,
  classOf,
  type Facts,
  type Hazard,
  isDot,
  isLds,
  isPlainVector,
  isScalar,
  isTranscendental,
  isVector,
  isVectorMemory,
  LANE_FILES,
  type Part,
  reads,
  takesVectors,
  whenever,
  writes,
} from './hazard.ts';
import { overlaps, rangesWhere } from './operand-ranges.ts';

const writesExec = (facts: Facts): boolean => isPlainVector(facts) && facts.effects.writesState.has('exec');
/** What operands read; halves that a result leaves as they were are no operands. */
const sources = (facts: Facts): Part =>
  isVector(facts) ? rangesWhere(facts.instruction, ({ access }) => access !== 'write') : undefined;
/** What is kept in lanes without a source counts as well, for LLVM. */
const dppSources = (facts: Facts): Part =>
  facts.instruction.hasDpp ? [...facts.effects.reads, ...facts.effects.writes] : undefined;
const hasDpp = ({ instruction }: Facts): boolean => instruction.hasDpp;

/** A scalar src1 that is no mask selects a lane. */
function laneSelect(facts: Facts): Part {
  if (!isPlainVector(facts)) return undefined;
  const ranges = rangesWhere(
    facts.instruction,
    ({ field, file, type }) => field === 'src1' && file === 'scalar' && type !== 'mask',
  );
  return ranges.length > 0 ? ranges : undefined;
}

/** A vector source of which single lanes go to scalar registers. */
const readsLane = (facts: Facts): boolean =>
  isPlainVector(facts) &&
  facts.instruction.row.operands.some(({ field, file }) => field === 'vdst' && file === 'scalar');
const accessesLane = (facts: Facts): boolean => readsLane(facts) || laneSelect(facts) !== undefined;

/** VCC is read as a mask that no operand is. */
const readsHiddenVcc = ({ instruction }: Facts): boolean => instruction.row.flags.readsVcc === true;

/** Data of more than 64 bits that is stored. With an SGPR as offset, buffers take it in time. */
function wideStoreData(facts: Facts): Part {
  const { instruction, effects } = facts;
  if (!isVectorMemory(facts) || effects.memory.every(({ access }) => access === 'load')) return undefined;
  const offset = instruction.row.operands.findIndex(({ field }) => field === 'soffset');
  if (/^M[UT]BUF$/.test(instruction.format.name) && instruction.operand(offset).kind === 'scalar') return undefined;
  const ranges = rangesWhere(instruction, ({ field }) => /^v?data$/.test(field)).filter(({ dwords }) => dwords > 2);
  return ranges.length > 0 ? ranges : undefined;
}

/** Counters in the LDS, whose address M0 has: not in the manual's list, and LLVM does not wait there. */
const isLdsCounter = ({ instruction, effects }: Facts): boolean =>
  instruction.field('gds') === 0 && effects.memory.some(({ access }) => access === 'atomic');

const special =
  (...encodings: readonly number[]) =>
  (facts: Facts): boolean =>
    isVector(facts) &&
    facts.instruction.row.operands.some((_, index) => {
      const operand = facts.instruction.operand(index);
      return operand.kind === 'special' && encodings.includes(operand.encoding);
    });

const readsLdsDirect = special(SRC_LDS_DIRECT);

/**
 * What M0 means something to without being an operand: where the LDS ends, a base, a message. Vector
 * instructions whose VGPRs it numbers (MODE.gpr_idx_en) are not in the manual's list, and LLVM does not
 * wait there.
 */
const usesM0 = (facts: Facts): boolean =>
  facts.effects.readsState.has('m0') &&
  !facts.instruction.row.operands.some((_, index) => {
    const operand = facts.instruction.operand(index);
    return operand.kind === 'scalar' && operand.register === SGPR_M0;
  }) &&
  ((isLds(facts) && !isLdsCounter(facts)) ||
    isVectorMemory(facts) ||
    readsLdsDirect(facts) ||
    isScalar(facts) ||
    classOf(facts) === 'message');

/** Hardware registers by number, behind those of the scalar file, which they are none of. */
const FIRST_HARDWARE_REGISTER = 512;
const hardwareRegister =
  (isWritten: boolean) =>
  ({ instruction }: Facts): Part => {
    const { flags, operands } = instruction.row;
    if (flags.spelled?.as !== 'hardwareRegister') return undefined;
    if (operands.some(({ access }) => access === 'write') === isWritten) return undefined;
    return [{ file: 'scalar', first: FIRST_HARDWARE_REGISTER + (instruction.field('simm16') & 0x3f), dwords: 1 }];
  };

/** Results of 16 bits that go to the high half alone, or to a part that SDWA selects. */
const SELECTS_DWORD = 6;
const RESULT_BIT = 8;
function writesPart(facts: Facts): boolean {
  const { instruction } = facts;
  if (!isPlainVector(facts)) return false;
  if (instruction.has('dst_sel')) return instruction.field('dst_sel') !== SELECTS_DWORD;
  return instruction.has('op_sel') && (instruction.field('op_sel') & RESULT_BIT) !== 0;
}

const ALL = { ...byStates, family: 'gfx9', source: 'CDNA2 ISA 4.5' } as const;
const CDNA3 = { ...byStates, family: 'gfx940', source: 'CDNA3 ISA 4.5' } as const;
const states = (count: number) => ({ waitStates: count, most: count });

const DOT_STATES = 3;
/** What another instruction than a product of matrices does with the result of a dot product. */
const dotUse = (facts: Facts): Part =>
  isPlainVector(facts) || takesVectors(facts) ? [...facts.effects.reads, ...facts.effects.writes] : undefined;
/** Equal dot products hand on their sums. */
const isSum = (before: Facts, after: Facts): boolean =>
  before.instruction.row === after.instruction.row &&
  !rangesWhere(after.instruction, ({ field }) => /^src[01]$/.test(field)).some((factor) =>
    before.effects.writes.some((result) => overlaps(result, factor)),
  );

/** SGPRs and VCC that a vector instruction reads, EXEC left out, which it always does. */
function scalarSources(facts: Facts): Part {
  if (!isVector(facts)) return undefined;
  const ranges = facts.effects.reads.filter(({ file, first }) => file === 'scalar' && first < SGPR_M0);
  return ranges.length > 0 ? ranges : undefined;
}

export const GFX9_HAZARDS: readonly Hazard[] = [
  {
    ...{ ...ALL, ...states(5), name: 'valu-sgpr-vmem', text: 'a vector instruction writes an SGPR of an access' },
    ...{ before: writes(isVector, 'scalar'), after: reads(isVectorMemory, 'scalar') },
  },
  {
    ...{ ...ALL, ...states(4), name: 'valu-sgpr-lane-select', text: 'a vector instruction writes a lane select' },
    ...{ before: writes(isVector, 'scalar'), after: laneSelect },
  },
  {
    ...{ ...ALL, ...states(4), name: 'valu-vcc-div-fmas', text: 'a vector instruction writes VCC of v_div_fmas' },
    before: whenever((facts) => isVector(facts) && facts.effects.writesState.has('vcc')),
    after: whenever(readsHiddenVcc),
  },
  {
    ...{ ...ALL, ...states(2), name: 'valu-vgpr-dpp', text: 'a vector instruction writes a source of DPP' },
    ...{ before: writes(isVector, 'vector'), after: dppSources },
  },
  {
    ...{ ...ALL, ...states(5), name: 'valu-exec-dpp', text: 'a vector instruction writes EXEC before DPP' },
    ...{ before: whenever(writesExec), after: whenever(hasDpp) },
  },
  {
    ...{ ...ALL, ...states(5), name: 'valu-vccz', text: 'a vector instruction writes VCC before VCCZ is a source' },
    before: whenever((facts) => isVector(facts) && facts.effects.writesState.has('vcc')),
    after: whenever(special(SRC_VCCZ)),
  },
  {
    ...{ ...ALL, ...states(5), name: 'valu-execz', text: 'a vector instruction writes EXEC before EXECZ is a source' },
    ...{ before: whenever(writesExec), after: whenever(special(SRC_EXECZ)) },
  },
  {
    ...{ ...ALL, ...states(2), name: 'setreg-hwreg', text: 's_setreg before the same register is used' },
    before: hardwareRegister(true),
    after: (facts) => hardwareRegister(true)(facts) ?? hardwareRegister(false)(facts),
  },
  {
    ...{ ...ALL, ...states(1), name: 'salu-m0', text: 'M0 is written before it is used without being an operand' },
    before: whenever((facts) => isScalar(facts) && facts.effects.writesState.has('m0')),
    after: whenever(usesM0),
  },
  {
    ...{ ...ALL, ...states(1), name: 'wide-store-data', text: 'data of more than 64 bits is overwritten' },
    ...{ until: 'gfx940', before: wideStoreData, after: writes(isVector, ...LANE_FILES) },
  },
  {
    ...{ ...CDNA3, ...states(2), name: 'wide-store-data', text: 'data of more than 64 bits is overwritten' },
    ...{ before: wideStoreData, after: writes(isVector, ...LANE_FILES) },
  },
  {
    ...{ ...CDNA3, ...states(1), name: 'trans-result', text: 'a transcendental result is used by another unit' },
    before: writes(isTranscendental, 'vector'),
    after: (facts) => (isTranscendental(facts) ? undefined : sources(facts)),
  },
  {
    ...{ ...CDNA3, ...states(1), name: 'part-result', text: 'a result that is part of a register is used' },
    ...{ before: writes(writesPart, 'vector'), after: sources },
  },
  {
    ...{ ...CDNA3, ...states(2), name: 'valu-sgpr-valu', text: 'a vector instruction reads an SGPR that one wrote' },
    ...{ before: writes(isVector, 'scalar'), after: scalarSources },
  },
  {
    ...{
      ...CDNA3,
      ...states(4),
      name: 'valu-exec-lane',
      text: 'a vector instruction writes EXEC before a lane access',
    },
    ...{ before: whenever(writesExec), after: whenever(accessesLane) },
  },
  {
    ...{ ...CDNA3, ...states(1), name: 'valu-vgpr-read-lane', text: 'a lane is read of what was just written' },
    ...{ before: writes(isVector, ...LANE_FILES), after: reads(readsLane, 'vector') },
  },
  {
    ...{ ...byStates, ...states(DOT_STATES), family: 'gfx90a', name: 'dot-result' },
    text: 'a dot product is used or overwritten by another instruction',
    source: "LLVM's GCNHazardRecognizer, checkMAIVALUHazards",
    before: writes(isDot, 'vector'),
    after: dotUse,
    waitStates: (before, after) => (isSum(before, after) ? 0 : DOT_STATES),
  },
];
