/**
 * Hazards of matrix products of CDNA2 and CDNA3: what others do with their registers before they are over,
 * and how soon they begin ("Dependency Resolution: Required Independent Instructions", CDNA2 ISA 7.5,
 * CDNA3 ISA 7.5; LLVM's GCNHazardRecognizer, checkMAIHazards90A and checkMAIVALUHazards). Those of gfx908
 * are missing.
 */
import type { RegisterRange } from '../../../ir/effects.ts';
import {
  byStates,
  type Facts,
  type Hazard,
  isDot,
  isFactor,
  isMatrix,
  isPlainVector,
  isVector,
  isVectorMemory,
  LANE_FILES,
  type Part,
  reads,
  takesVectors,
  whenever,
  writes,
} from './hazard.ts';
import { matrixPasses } from './matrix-passes.ts';
import { overlaps, rangesWhere } from './operand-ranges.ts';

const isCdna3 = ({ instruction }: Facts): boolean => instruction.target.matrixTiming === 'cdna3';
const formatOf = ({ instruction }: Facts): string | undefined => instruction.row.flags.product?.format;
const isDouble = (facts: Facts): boolean => formatOf(facts) === 'f64';
/** CDNA3 multiplies f32 slower than what is narrower; CDNA2 makes no difference. */
const isNarrow = (facts: Facts): boolean =>
  isMatrix(facts) && !isDouble(facts) && !(isCdna3(facts) && formatOf(facts) === 'f32');
const passesOf = ({ instruction: { row, target } }: Facts): number => matrixPasses(row, target)!;
/** Of doubles: 4 rows, or 16. */
const isSmall = (facts: Facts): boolean => facts.instruction.row.flags.product!.m === 4;

const factorsOf = (facts: Facts): readonly RegisterRange[] => rangesWhere(facts.instruction, isFactor);
const sumsOf = (facts: Facts): readonly RegisterRange[] =>
  rangesWhere(facts.instruction, (spec) => spec.access !== 'write' && !isFactor(spec));
const ofMatrix =
  (ranges: (facts: Facts) => readonly RegisterRange[]) =>
  (facts: Facts): Part =>
    isMatrix(facts) && ranges(facts).length > 0 ? ranges(facts) : undefined;

/** Until a result can be used by anything but a sum: 3 wait states more than passes, or 2. */
const resultStates = (facts: Facts): number => passesOf(facts) + (isNarrow(facts) ? 3 : 2);
const double = (facts: Facts, small: number, large: number): number => (isSmall(facts) ? small : large);

const factorStates = (before: Facts): number => (isDouble(before) ? double(before, 6, 11) : resultStates(before));
const readStates = (before: Facts, after: Facts): number =>
  isDouble(before) && takesVectors(after) ? double(before, 9, 18) : factorStates(before);

/** A sum that begins with the whole result of another goes on without waiting, or nearly so. */
function sumStates(before: Facts, after: Facts): number {
  const isWhole = sumsOf(after).some((sum) =>
    before.effects.writes.some(
      (result) => overlaps(result, sum) && result.first === sum.first && result.dwords === sum.dwords,
    ),
  );
  if (!isCdna3(before) && isDouble(before) && !isDouble(after)) return 0;
  if (isWhole) {
    if (isDouble(before)) return isDouble(after) && isSmall(before) && isSmall(after) ? 4 : 0;
    return isCdna3(before) && passesOf(before) === 2 ? 2 : 0;
  }
  if (isDouble(before)) return isNarrow(after) ? 0 : double(before, 4, 9);
  if (!isCdna3(before)) return passesOf(before) + (isDouble(after) ? 1 : 0);
  if (isNarrow(after) && !isNarrow(before)) return 0;
  return passesOf(before) + (isNarrow(before) ? 1 : 0);
}

const usesRows = (facts: Facts): boolean => isPlainVector(facts) || takesVectors(facts);
/** The most that a result needs: f32 in 16 passes, read outside of the unit. */
const MOST = 19;
const RESULT = { before: writes(isMatrix, ...LANE_FILES), replaced: writes(isMatrix, ...LANE_FILES), most: MOST };
const CDNA = { ...byStates, family: 'gfx90a', source: 'CDNA2 ISA 7.5, CDNA3 ISA 7.5' } as const;
const states = (count: number) => ({ waitStates: count, most: count });
export const MATRIX_HAZARDS: readonly Hazard[] = [
  {
    ...{ ...CDNA, name: 'matrix-result-factor', text: 'the result of a matrix product is a factor of another' },
    ...{ ...RESULT, after: ofMatrix(factorsOf), waitStates: factorStates },
  },
  {
    ...{ ...CDNA, name: 'matrix-result-sum', text: 'the result of a matrix product is added to another' },
    ...{ ...RESULT, after: ofMatrix(sumsOf), waitStates: sumStates },
  },
  {
    ...{ ...CDNA, name: 'matrix-result-read', text: 'the result of a matrix product is read' },
    ...{ ...RESULT, after: reads(usesRows, ...LANE_FILES), waitStates: readStates },
  },
  {
    ...{ ...CDNA, name: 'matrix-result-overwritten', text: 'the result of a matrix product is overwritten' },
    ...{ ...RESULT, after: writes(usesRows, ...LANE_FILES), waitStates: factorStates },
  },
  {
    ...{ ...CDNA, name: 'matrix-sum-overwritten', text: 'what a matrix product adds to is overwritten' },
    before: (facts) => (isNarrow(facts) ? ofMatrix(sumsOf)(facts) : undefined),
    after: writes(isPlainVector, ...LANE_FILES),
    ...{ waitStates: (before) => passesOf(before) - 1, most: MOST },
  },
  {
    ...{ ...CDNA, ...states(2), name: 'valu-vgpr-matrix', text: 'a matrix product reads what was just written' },
    before: writes((facts) => isPlainVector(facts) && !isDot(facts), ...LANE_FILES),
    after: reads(isMatrix, ...LANE_FILES),
  },
  {
    ...{ ...CDNA, ...states(4), name: 'valu-exec-matrix', text: 'a vector instruction writes EXEC before a product' },
    before: whenever((facts) => isPlainVector(facts) && facts.effects.writesState.has('exec')),
    after: whenever(isMatrix),
  },
  {
    ...{ ...CDNA, ...states(2), name: 'matrix-double-fma', text: 'a product of f64 matrices before a v_fma_f64' },
    before: whenever((facts) => isMatrix(facts) && isDouble(facts)),
    after: whenever(({ instruction }) => instruction.row.flags.doubleFma === true),
  },
  {
    ...{ ...CDNA, ...states(2), until: 'gfx940', name: 'valu-vgpr-double-vmem' },
    text: 'a product of f64 matrices lies between a vector instruction and an access that reads its result',
    before: writes(isVector, ...LANE_FILES),
    armedBy: whenever((facts) => isMatrix(facts) && isDouble(facts)),
    after: reads((facts) => isVectorMemory(facts) || takesVectors(facts), ...LANE_FILES),
  },
];
