import type { Row } from '../row.ts';
export const VOP1_CONVERSION_ROWS: readonly Row[] = [];
