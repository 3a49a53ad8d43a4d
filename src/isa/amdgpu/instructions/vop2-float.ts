import { type Row, row } from '../row.ts';
export const VOP2_FLOAT_ROWS: readonly Row[] = [
  row('VOP2', 'v_add_f32', 1, '=vdst:f32 src0:f32 src1:f32', (b, x, y) => b.f32.add(x, y)),
];
