/** Which lanes DPP reads: the values of dpp_ctrl. CDNA2 ISA 13.3.9, RDNA3 ISA 7.7.1. */
import { type Family, ofFamily } from './format.ts';

export interface LaneControl {
  readonly name: string;
  /** Control of `name:0` (or of the name alone), and the numbers that it has. */
  readonly base: number;
  readonly first: number;
  readonly last: number;
  /** The one number that is written, of a control without others. */
  readonly fixed?: number;
}

/** DPP controls (CDNA2 ISA 13.3.9): a range is one control for each number of lanes, in the low bits. */
const LANE_CONTROLS: readonly LaneControl[] = [
  { name: 'row_shl', base: 0x100, first: 1, last: 15 },
  { name: 'row_shr', base: 0x110, first: 1, last: 15 },
  { name: 'row_ror', base: 0x120, first: 1, last: 15 },
  { name: 'wave_shl', base: 0x130, first: 1, last: 1, fixed: 1 },
  { name: 'wave_rol', base: 0x134, first: 1, last: 1, fixed: 1 },
  { name: 'wave_shr', base: 0x138, first: 1, last: 1, fixed: 1 },
  { name: 'wave_ror', base: 0x13c, first: 1, last: 1, fixed: 1 },
  { name: 'row_bcast', base: 0x142, first: 15, last: 15, fixed: 15 },
  { name: 'row_bcast', base: 0x143, first: 31, last: 31, fixed: 31 },
  { name: 'row_newbcast', base: 0x150, first: 0, last: 15 },
];
/** Those of gfx10 and later (RDNA3 ISA 7.7.1). */
const ROW_CONTROLS: readonly LaneControl[] = [
  ...LANE_CONTROLS.slice(0, 3),
  { name: 'row_share', base: 0x150, first: 0, last: 15 },
  { name: 'row_xmask', base: 0x160, first: 0, last: 15 },
];

export const controlsOf = (families: readonly Family[]): readonly LaneControl[] =>
  ofFamily({ gfx9: LANE_CONTROLS, gfx10: ROW_CONTROLS }, families);
export const PLAIN_LANE_CONTROLS: Readonly<Record<string, number>> = { row_mirror: 0x140, row_half_mirror: 0x141 };

/** Whether a lane control is not reserved. */
export const isLaneControl = (control: number, families: readonly Family[]): boolean =>
  control <= 0xff ||
  Object.values(PLAIN_LANE_CONTROLS).includes(control) ||
  controlsOf(families).some(({ base, first, last, fixed }) =>
    fixed === undefined ? control >= base + first && control <= base + last : control === base,
  );
