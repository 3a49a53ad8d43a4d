/**
 * LDSDIR: loads from the LDS for all lanes, of a parameter or from the address in M0. RDNA3 ISA 12.2.1 and
 * 12.4. Known by name: they write the lanes that EXEC turns off, too, where another lane of the quad is on.
 */
import type { Row, RowFlags } from '../../encoding/row.ts';
import { row } from '../table/row.ts';

/** M0 has the address; where a lane of a quad is on, the others are written, too. */
const FROM_M0: RowFlags = { touches: { readsState: ['m0'], isPartial: true } };

export const ldsdirRows = (): readonly Row[] => [
  row('LDSDIR', 'lds_param_load', { gfx11: 0x00, gfx12: ['ds_param_load', 0x00] }, '=vdst:b32', undefined, {
    ...FROM_M0,
    spelled: { field: 'attr', as: 'attribute' },
  }),
  row('LDSDIR', 'lds_direct_load', { gfx11: 0x01, gfx12: ['ds_direct_load', 0x01] }, '=vdst:b32', undefined, FROM_M0),
];
