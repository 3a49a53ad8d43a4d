/**
 * What kind of unit executes an instruction: as the performance counters SQ_INSTS_* of rocprof tell
 * instructions apart.
 */

import type { FormatName } from './formats.ts';
import type { Row } from './row.ts';

/**
 * `valu`: vector instructions without `matrix`, which are MFMA, SMFMAC and WMMA; `vmem`: global, buffer and
 * image accesses; `flat`: accesses through the flat aperture, whatever they reach; `lds`: DS, cross-lane
 * permutes included; `branch`: branches, jumps and calls; `wait`: waits for wait counters; `barrier`: waits
 * for the waves of the workgroup; `other`: s_nop, s_endpgm and what else the sequencer does by itself.
 */
export const INSTRUCTION_CLASSES = [
  'valu',
  'matrix',
  'salu',
  'smem',
  'vmem',
  'flat',
  'scratch',
  'lds',
  'branch',
  'message',
  'export',
  'wait',
  'barrier',
  'other',
] as const;

export type InstructionClass = (typeof INSTRUCTION_CLASSES)[number];

/** Of formats that are not vector instructions. */
const BY_FORMAT: Readonly<Partial<Record<FormatName, InstructionClass>>> = {
  SOP1: 'salu',
  SOP2: 'salu',
  SOPC: 'salu',
  SOPK: 'salu',
  SOPP: 'other',
  SMEM: 'smem',
  DS: 'lds',
  LDSDIR: 'lds',
  FLAT: 'flat',
  GLOBAL: 'vmem',
  SCRATCH: 'scratch',
  MUBUF: 'vmem',
  MTBUF: 'vmem',
  MIMG: 'vmem',
  VSAMPLE: 'vmem',
  EXP: 'export',
};

/**
 * MFMA and SMFMAC have a third source, which moves between the register files have not; in WMMA matrices are
 * spread over the wave.
 */
const isMatrixProduct = (format: FormatName, operands: Row['operands']): boolean =>
  operands.some(({ field, type }) => (format === 'VOP3P_MAI' && field === 'src2') || type.startsWith('wave'));

export function instructionClass({ format, flags, operands }: Row): InstructionClass {
  if (flags.message) return 'message';
  if (flags.barrier) return 'barrier';
  if (flags.waits !== undefined) return 'wait';
  if (flags.synchronises) return 'other';
  if (flags.terminator !== undefined && flags.terminator !== 'end') return 'branch';
  const byFormat = BY_FORMAT[format];
  if (byFormat !== undefined) return byFormat;
  return isMatrixProduct(format, operands) ? 'matrix' : 'valu';
}

const ATOMIC_UNITS = ['smem', 'vmem', 'flat', 'lds'] as const satisfies readonly InstructionClass[];
type AtomicUnit = (typeof ATOMIC_UNITS)[number];
export type CountedClass = InstructionClass | `${AtomicUnit}-atomic`;

/** What executed instructions are counted by: the classes, and the atomics of some of them apart. */
export const COUNTED_CLASSES: readonly CountedClass[] = [
  ...INSTRUCTION_CLASSES,
  ...ATOMIC_UNITS.map((unit) => `${unit}-atomic` as const),
];

export function countedClass(row: Row, isAtomic: boolean): CountedClass {
  const unit = instructionClass(row);
  const atomicUnit = ATOMIC_UNITS.find((each) => each === unit);
  return isAtomic && atomicUnit !== undefined ? `${atomicUnit}-atomic` : unit;
}

/** Of these classes EXEC decides which lanes do something. */
const VECTOR_CLASSES: ReadonlySet<InstructionClass> = new Set([
  'valu',
  'matrix',
  'vmem',
  'flat',
  'scratch',
  'lds',
  'export',
]);

/** Whether a vector instruction moves a dword between a lane and a scalar register, as v_readlane does. */
function isLaneAccess({ operands }: Row): boolean {
  const registers = operands.filter(({ file }) => file !== 'immediate');
  const scalars = registers.filter(({ file, type }) => file === 'scalar' && type !== 'mask');
  return scalars.length > 0 && registers.length - scalars.length <= 1;
}

/**
 * Whether an instruction runs once for the wave, whatever EXEC says: scalar instructions and lane accesses.
 */
export function runsOncePerWave(row: Row): boolean {
  let isOnce = oncePerWave.get(row);
  if (isOnce === undefined) {
    const kind = instructionClass(row);
    isOnce = !VECTOR_CLASSES.has(kind) || (kind === 'valu' && isLaneAccess(row));
    oncePerWave.set(row, isOnce);
  }
  return isOnce;
}

/** Tools ask it of every instruction. */
const oncePerWave = new WeakMap<Row, boolean>();
