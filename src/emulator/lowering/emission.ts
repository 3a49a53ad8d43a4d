import type { OpName } from '../../ir/ops.ts';
import type { Emission } from './emitter.ts';
import { FLOAT_EMISSION } from './float-emission.ts';
import { INT_EMISSION } from './int-emission.ts';

/** The WebAssembly of every pure operation; the property test holds it against src/ir/ops.ts. */
export const EMISSION: Readonly<Record<OpName, Emission>> = { ...INT_EMISSION, ...FLOAT_EMISSION };
