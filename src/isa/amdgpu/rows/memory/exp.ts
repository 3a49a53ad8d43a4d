/** EXP: export of pixels, positions and parameters; known by name. RDNA2 ISA 13.9, RDNA3 ISA chapter 14. */
import type { Row } from '../../encoding/row.ts';
import { row } from '../table/row.ts';

// biome-ignore format: one row per line, as the tables of the manual
export const expRows = (): readonly Row[] => [
  row('EXP', 'exp', { gfx9: 0x00, gfx90a: -1, gfx10: 0x00, gfx12: ['export', 0x00] }, 'vsrc0:address vsrc1:address vsrc2:address vsrc3:address', undefined, { spelled: { field: 'target', as: 'exportTarget', first: true, bare: true } }),
];
