/** The rows of all formats. */
import type { Row } from '../row.ts';
import { DS_ROWS } from './ds.ts';
import { EXP_ROWS } from './exp.ts';
import { FLAT_ROWS } from './flat.ts';
import { LDSDIR_ROWS } from './ldsdir.ts';
import { MIMG_ROWS } from './mimg.ts';
import { MTBUF_ROWS } from './mtbuf.ts';
import { MUBUF_ROWS } from './mubuf.ts';
import { SCALAR_FLOAT_ROWS } from './scalar-float.ts';
import { SMEM_ROWS } from './smem.ts';
import { SOP1_ROWS } from './sop1.ts';
import { SOP2_ROWS } from './sop2.ts';
import { SOPC_ROWS } from './sopc.ts';
import { SOPK_ROWS } from './sopk.ts';
import { SOPP_ROWS } from './sopp.ts';
import { VINTERP_ROWS } from './vinterp.ts';
import { VOP1_ROWS } from './vop1.ts';
import { VOP2_ROWS } from './vop2.ts';
import { VOP3_FLOAT_ROWS } from './vop3-float.ts';
import { VOP3_INTEGER_ROWS } from './vop3-integer.ts';
import { VOP3P_ROWS } from './vop3p.ts';
import { VOPC_ROWS } from './vopc.ts';
import { dualRows } from './vopd.ts';

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
