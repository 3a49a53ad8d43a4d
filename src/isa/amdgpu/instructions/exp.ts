/** EXP: export of pixels, positions and parameters; known by name. RDNA3 ISA chapter 14. */
import { type Row, row } from '../row.ts';

export const EXP_ROWS: readonly Row[] = [
  row('EXP', 'exp', { gfx10: 0 }, 'vsrc0:address vsrc1:address vsrc2:address vsrc3:address'),
];
