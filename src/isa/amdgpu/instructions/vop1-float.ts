import type { Row } from '../row.ts';
export const VOP1_FLOAT_ROWS: readonly Row[] = [];
