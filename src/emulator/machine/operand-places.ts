/** Where in the wave state the registers of an operand are. Offsets are from the wave's base. */
import { assert } from '../../base/errors.ts';
import type { RegisterOperand, RelativeIndex, StepOperand } from '../../ir/step.ts';
import { rowSizeBytes, SCALAR_COUNT, VGPR_COUNT, WAVE_SGPRS, WAVE_VGPRS, WAVE_ZEROS, waveAgprs } from './layout.ts';

/** Dwords at WAVE_ZEROS. */
const ZERO_DWORDS = 2;

type File = RegisterOperand['file'];

const fileStart = (file: File, waveSize: 32 | 64): number =>
  file === 'scalar' ? WAVE_SGPRS : file === 'vector' ? WAVE_VGPRS : waveAgprs(waveSize);

const registerSizeBytes = (file: File, waveSize: 32 | 64): number => (file === 'scalar' ? 4 : rowSizeBytes(waveSize));

export const fileSize = (file: File): number => (file === 'scalar' ? SCALAR_COUNT : VGPR_COUNT);

/** Of the first register that an operand names. */
export const registerOffset = ({ file, first }: RegisterOperand, waveSize: 32 | 64): number =>
  fileStart(file, waveSize) + first * registerSizeBytes(file, waveSize);

/**
 * What of an operand code depends on that is not emitted for one place: a register's number and a constant's
 * value are parameters of the code. `row`: a register with a value for each lane.
 */
export type OperandForm =
  | { readonly kind: 'row' | 'scalar' | 'constant' | 'laneTable' }
  | { readonly kind: 'relative'; readonly register: RelativeRegister };

/** A register that is looked up when the instruction runs. */
export type RelativeRegister = Pick<RegisterOperand, 'file' | 'dwords'> & { readonly index: RelativeIndex };

const ROW: OperandForm = { kind: 'row' };
const SCALAR: OperandForm = { kind: 'scalar' };
const CONSTANT: OperandForm = { kind: 'constant' };
const LANE_TABLE: OperandForm = { kind: 'laneTable' };

export function operandForm(operand: StepOperand): OperandForm {
  if (operand.kind === 'constant') return CONSTANT;
  if (operand.kind === 'laneTable') return LANE_TABLE;
  const { file, dwords, relative } = operand;
  if (relative) return { kind: 'relative', register: { file, dwords, index: relative } };
  return file === 'scalar' ? SCALAR : ROW;
}

/** Offsets that a relative register can have. */
export interface Reach {
  readonly registerSizeBytes: number;
  /** Registers of the file: a larger index counts as this. */
  readonly count: number;
  /** Of the last register that the operand can begin with. */
  readonly last: number;
  /** What a source out of range is. */
  readonly fallback: number;
}

export function reachOf({ file, dwords, index }: RelativeRegister, waveSize: 32 | 64): Reach {
  const { count, missing } = index;
  const sizeBytes = registerSizeBytes(file, waveSize);
  const first = fileStart(file, waveSize);
  assert(count <= fileSize(file), () => `${count} registers of the ${file} file`);
  assert(dwords >= 1 && dwords <= (missing === 'zero' ? ZERO_DWORDS : count), () => `${dwords} relative registers`);
  return {
    registerSizeBytes: sizeBytes,
    count,
    last: first + (count - dwords) * sizeBytes,
    fallback: missing === 'zero' ? WAVE_ZEROS : first,
  };
}

/**
 * Offset of the register that M0 leads to from the one at `offset`, which the instruction names; undefined: a
 * destination out of range.
 */
export function movedOffset(
  register: RelativeRegister,
  waveSize: 32 | 64,
  offset: number,
  m0: number,
): number | undefined {
  const { role, shift, mask, enabledBy } = register.index;
  const { registerSizeBytes: sizeBytes, count, last, fallback } = reachOf(register, waveSize);
  const isEnabled = (m0 & enabledBy) === enabledBy;
  const distance = isEnabled ? Math.min(((m0 >>> shift) & mask) >>> 0, count) : 0;
  const moved = offset + distance * sizeBytes;
  if (moved <= last) return moved;
  return role === 'source' ? fallback : undefined;
}
