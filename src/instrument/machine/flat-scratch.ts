/**
 * FLAT_SCRATCH, by which scratch and flat instructions find private memory: two SGPRs or two hardware
 * registers, which the application may have set to something else than payloads need.
 */
import type { VirtualRegister } from './machine-code.ts';
import { high, low, type PayloadBuilder, type Placeholder } from './payload-builder.ts';

type Half = 'LO' | 'HI';

export function readFlatScratch(b: PayloadBuilder, to: Placeholder, half: Half): void {
  if (b.code.target.flatScratch === 'sgprs') b.emit`s_mov_b32 ${to}, flat_scratch_${half.toLowerCase()}`;
  else b.emit`s_getreg_b32 ${to}, hwreg(HW_REG_FLAT_SCR_${half})`;
}

function writeFlatScratch(b: PayloadBuilder, from: Placeholder, half: Half): void {
  if (b.code.target.flatScratch === 'sgprs') b.emit`s_mov_b32 flat_scratch_${half.toLowerCase()}, ${from}`;
  else b.emit`s_setreg_b32 hwreg(HW_REG_FLAT_SCR_${half}), ${from}`;
}

/** Gives it the value of two SGPRs; what it had before. */
export function exchangeFlatScratch(b: PayloadBuilder, first: number): VirtualRegister {
  const copy = b.scalar(2);
  readFlatScratch(b, low(copy), 'LO');
  readFlatScratch(b, high(copy), 'HI');
  writeFlatScratch(b, `s${first}`, 'LO');
  writeFlatScratch(b, `s${first + 1}`, 'HI');
  return copy;
}

export function restoreFlatScratch(b: PayloadBuilder, copy: VirtualRegister): void {
  writeFlatScratch(b, low(copy), 'LO');
  writeFlatScratch(b, high(copy), 'HI');
}
