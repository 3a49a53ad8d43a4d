/**
 * FLAT_SCRATCH, by which scratch and flat instructions find private memory: two SGPRs or two hardware
 * registers, which the application may have set to something else than payloads need.
 */
import type { VirtualRegister } from './machine-code.ts';
import { high, low, type PayloadBuilder, type Placeholder } from './payload-builder.ts';

type Half = 'LO' | 'HI';

/** Where a value for it is kept: two SGPRs from the first on, or lanes 0 and 1 of a VGPR. */
export interface FlatScratchCopy {
  readonly file: 'scalar' | 'vector';
  readonly first: number;
}

export const copyKey = (copy: FlatScratchCopy | undefined): string => (copy ? `${copy.file} ${copy.first}` : 'none');

export function readFlatScratch(b: PayloadBuilder, to: Placeholder, half: Half): void {
  if (b.code.target.flatScratch === 'sgprs') b.emit`s_mov_b32 ${to}, flat_scratch_${half.toLowerCase()}`;
  else b.emit`s_getreg_b32 ${to}, hwreg(HW_REG_FLAT_SCR_${half})`;
}

function writeFlatScratch(b: PayloadBuilder, from: Placeholder, half: Half): void {
  if (b.code.target.flatScratch === 'sgprs') b.emit`s_mov_b32 flat_scratch_${half.toLowerCase()}, ${from}`;
  else b.emit`s_setreg_b32 hwreg(HW_REG_FLAT_SCR_${half}), ${from}`;
}

/** Gives it a value that is kept; what it had before. */
export function exchangeFlatScratch(b: PayloadBuilder, { file, first }: FlatScratchCopy): VirtualRegister {
  const copy = b.scalar(2);
  readFlatScratch(b, low(copy), 'LO');
  readFlatScratch(b, high(copy), 'HI');
  for (const [i, half] of (['LO', 'HI'] as const).entries()) {
    if (file === 'scalar') writeFlatScratch(b, `s${first + i}`, half);
    else {
      // By way of an SGPR: what a vector instruction writes is not at once there for memory instructions.
      const value = b.scalar();
      b.emit`v_readlane_b32 ${value}, ${`v${first}`}, ${i}`;
      writeFlatScratch(b, value, half);
    }
  }
  return copy;
}

export function restoreFlatScratch(b: PayloadBuilder, copy: VirtualRegister): void {
  writeFlatScratch(b, low(copy), 'LO');
  writeFlatScratch(b, high(copy), 'HI');
}
