/** EXP: export of pixels, positions and parameters; known by name. RDNA2 ISA 13.9, RDNA3 ISA chapter 14. */
import { type Row, row } from '../row.ts';

export const EXP_ROWS: readonly Row[] = [
  row(
    'EXP',
    'exp',
    { gfx9: 0, gfx90a: -1, gfx10: 0, gfx12: ['export', 0] },
    'vsrc0:address vsrc1:address vsrc2:address vsrc3:address',
  ),
];
