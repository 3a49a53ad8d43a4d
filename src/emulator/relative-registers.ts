/**
 * Registers whose number M0 completes: v_movrels_b32 and its like. RDNA3 ISA 3.3.1.4 and 3.3.2.2: a source out of range is register 0,
 * a destination out of range is not written.
 */
import type { OperandSpec } from '../isa/amdgpu/row.ts';
import { rowSizeBytes, VGPR_COUNT, WAVE_SGPRS, WAVE_TEMPORARY_ROWS, WAVE_VGPRS } from './layout.ts';

/** SGPRs and VCC. */
const SGPR_COUNT = 108;

/** `part`: the bits of M0 that count; `pair` all but the lowest. */
export interface RelativeRegister {
  readonly file: 'vector' | 'scalar';
  readonly role: 'source' | 'destination';
  readonly part: NonNullable<OperandSpec['relative']> | 'pair';
}

export type RelativeKind =
  `relative ${RelativeRegister['file']} ${RelativeRegister['role']} ${RelativeRegister['part']}`;

export function relativeKind(
  { access, relative }: OperandSpec,
  file: 'vector' | 'scalar',
  dwords: number,
): RelativeKind {
  return `relative ${file} ${access === 'read' ? 'source' : 'destination'} ${dwords === 2 ? 'pair' : relative!}`;
}

export function parseRelativeKind(kind: string): RelativeRegister | undefined {
  const [, file, role, part] = kind.split(' ');
  return part === undefined ? undefined : ({ file, role, part } as RelativeRegister);
}

interface Bounds {
  readonly registerSizeBytes: number;
  readonly count: number;
  /** Offset from the wave's base behind the last register. */
  readonly end: number;
  /** Offset that stands for registers out of range. */
  readonly fallback: number;
}

export function boundsOf({ file, role }: RelativeRegister, waveSize: 32 | 64): Bounds {
  const isVector = file === 'vector';
  const registerSizeBytes = isVector ? rowSizeBytes(waveSize) : 4;
  const count = isVector ? VGPR_COUNT : SGPR_COUNT;
  const first = isVector ? WAVE_VGPRS : WAVE_SGPRS;
  const fallback = role === 'source' ? first : WAVE_TEMPORARY_ROWS;
  return { registerSizeBytes, count, end: first + count * registerSizeBytes, fallback };
}

/** Shift and mask that take the index out of M0. */
export const INDEX_BITS: Readonly<Record<RelativeRegister['part'], readonly [shift: number, mask: number]>> = {
  whole: [0, -1],
  pair: [0, -2],
  low: [0, 0x3ff],
  high: [16, 0x3ff],
};

/** Offset of the register from the wave's base; `offset` is that of the register that the instruction names. */
export function relativeOffset(register: RelativeRegister, waveSize: 32 | 64, offset: number, m0: number): number {
  const { registerSizeBytes, count, end, fallback } = boundsOf(register, waveSize);
  const [shift, mask] = INDEX_BITS[register.part];
  const moved = offset + Math.min(((m0 >>> shift) & mask) >>> 0, count) * registerSizeBytes;
  return moved < end ? moved : fallback;
}
