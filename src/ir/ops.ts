/** The closed set of pure operations. Everything that an instruction computes is composed of these. */
import { FLOAT_OPS } from './float-ops.ts';
import { INT_OPS } from './int-ops.ts';
import type { Op } from './op.ts';

export const OPS = { ...INT_OPS, ...FLOAT_OPS } as const satisfies Record<string, Op>;
export type OpName = keyof typeof OPS;
export const OP_NAMES = Object.keys(OPS) as OpName[];
