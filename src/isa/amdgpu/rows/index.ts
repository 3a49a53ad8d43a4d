/** The rows of all formats. */

import type { Row } from '../encoding/row.ts';
import { DS_ROWS } from './memory/ds.ts';
import { EXP_ROWS } from './memory/exp.ts';
import { FLAT_ROWS } from './memory/flat.ts';
import { LDSDIR_ROWS } from './memory/ldsdir.ts';
import { MIMG_ROWS } from './memory/mimg.ts';
import { MTBUF_ROWS } from './memory/mtbuf.ts';
import { MUBUF_ROWS } from './memory/mubuf.ts';
import { SCALAR_FLOAT_ROWS } from './scalar/scalar-float.ts';
import { SMEM_ROWS } from './scalar/smem.ts';
import { SOP1_ROWS } from './scalar/sop1.ts';
import { SOP2_ROWS } from './scalar/sop2.ts';
import { SOPC_ROWS } from './scalar/sopc.ts';
import { SOPK_ROWS } from './scalar/sopk.ts';
import { SOPP_ROWS } from './scalar/sopp.ts';
import { VINTERP_ROWS } from './vector/vinterp.ts';
import { VOP1_ROWS } from './vector/vop1.ts';
import { VOP2_ROWS } from './vector/vop2.ts';
import { VOP3_FLOAT_ROWS } from './vector/vop3-float.ts';
import { VOP3_INTEGER_ROWS } from './vector/vop3-integer.ts';
import { VOP3P_ROWS } from './vector/vop3p.ts';
import { VOPC_ROWS } from './vector/vopc.ts';
import { dualRows } from './vector/vopd.ts';

export const ROWS: readonly Row[] = [
  ...DS_ROWS,
  ...EXP_ROWS,
  ...FLAT_ROWS,
  ...LDSDIR_ROWS,
  ...MIMG_ROWS,
  ...MTBUF_ROWS,
  ...MUBUF_ROWS,
  ...SCALAR_FLOAT_ROWS,
  ...SMEM_ROWS,
  ...SOP1_ROWS,
  ...SOP2_ROWS,
  ...SOPC_ROWS,
  ...SOPK_ROWS,
  ...SOPP_ROWS,
  ...VOP1_ROWS,
  ...VOP2_ROWS,
  ...VOP3_FLOAT_ROWS,
  ...VOP3_INTEGER_ROWS,
  ...VOP3P_ROWS,
  ...VOPC_ROWS,
  ...VINTERP_ROWS,
  ...dualRows([...VOP1_ROWS, ...VOP2_ROWS]),
];
