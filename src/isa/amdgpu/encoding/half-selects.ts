/**
 * What the bits of op_sel say: halves of registers, a byte, or nothing. RDNA3 ISA 7.4 and 7.5, RDNA4 ISA 7.5.
 */
import { type Family, generationOf } from './formats.ts';
import { is16Bit, type Row } from './row.ts';

export const sourceCount = ({ operands }: Row): number => operands.filter(({ field }) => /^src\d$/.test(field)).length;

/**
 * VOP3: a bit for each source and one for the destination, of instructions that are not promoted from another
 * format.
 */
export function selectsHalves({ format, operands, flags }: Row, families: readonly Family[]): boolean {
  if (flags.opSelText === 'all') return generationOf(families).namesHalves;
  if (flags.opSelText !== undefined) return flags.opSelText === 'halves';
  return format === 'VOP3' && operands.some(({ type }) => is16Bit(type));
}

/** VOP3P: a move of an accumulator has one source. */
export const isPackedOperation = (row: Row): boolean => sourceCount(row) !== 1;

/**
 * VOP3P: bits for sources, or for the indices of a sparse product; of matrices, only 16-bit results stand in
 * halves.
 */
export const usesHalfSelects = (row: Row): boolean => isPackedOperation(row) && row.flags.opSelText !== 'none';
