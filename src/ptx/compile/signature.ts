/** Bytes of variables, and where results and parameters of a function lie in its frame. */
import { alignUp } from '../../base/align.ts';
import { type Elements, elementsOfType, type PtxType, sizeOf } from '../machine/types.ts';
import type { PtxSource } from '../text/source.ts';
import type { Variable } from '../text/syntax.ts';

/** Whether variables of a space are there for all threads and kernels. */
export const isGlobalSpace = (space: string): boolean => space === '.global' || space === '.const';

/** Bytes of a variable in memory, and to what they are aligned. */
export function variableExtent(
  variable: Variable,
  source: PtxSource,
): { readonly sizeBytes: number; readonly alignmentBytes: number } {
  const { type, length = 1 } = variableElements(variable, source);
  if (type === 'pred' && variable.space !== '.reg') throw unsupported(variable, source);
  const element = sizeOf(type) * length;
  const sizeBytes = variable.dimensions.reduce((product, count) => product * count, element);
  if (sizeBytes > MAX_VARIABLE_BYTES) {
    throw source.error(
      variable.offset,
      `'${variable.name}' has ${sizeBytes} bytes, at most ${MAX_VARIABLE_BYTES} are supported`,
      'LIMIT_EXCEEDED',
    );
  }
  return { sizeBytes, alignmentBytes: variable.alignmentBytes ?? element };
}

const unsupported = ({ offset, vector = '', type }: Variable, source: PtxSource): Error =>
  source.error(offset, `a variable of type ${vector}${type}`, 'UNSUPPORTED');

/** What each element of an array holds. Throws UNSUPPORTED. */
export function variableElements(variable: Variable, source: PtxSource): Elements {
  const elements = elementsOfType(variable.type, variable.vector);
  if (!elements) throw unsupported(variable, source);
  return elements;
}

const MAX_VARIABLE_BYTES = 2 ** 31;

/** Offsets in a frame. What calls know of each other stands first, at the same place for all functions. */
export const LINK_OFFSET = 0;
export const ACTIVATION_OFFSET = 4;
export const CALLER_FRAME_OFFSET = 8;
export const CALL_HEADER_BYTES = 16;
/** Results and parameters of a function at most. */
const MAX_PARAMETERS_BYTES = 2 ** 17;

/** A result or parameter, by its offset in the frame of the function. */
export interface ParameterSlot {
  readonly variable: Variable;
  readonly offset: number;
  readonly sizeBytes: number;
}

/** A predicate is in memory as in its row: 32 bits that are 0 or 1. */
export const memoryTypeOf = (type: PtxType): PtxType => (type === 'pred' ? 'b32' : type);

export interface CallSignature {
  readonly results: readonly ParameterSlot[];
  readonly parameters: readonly ParameterSlot[];
  /** Behind the last of them. */
  readonly end: number;
}

/** Throws LIMIT_EXCEEDED for more than a function takes. */
export function callSignature(
  source: PtxSource,
  results: readonly Variable[],
  parameters: readonly Variable[],
): CallSignature {
  let end = CALL_HEADER_BYTES;
  const place = (variable: Variable): ParameterSlot => {
    const { sizeBytes, alignmentBytes } = variableExtent(variable, source);
    const offset = alignUp(end, Math.max(4, alignmentBytes));
    end = offset + alignUp(sizeBytes, 4);
    if (end > MAX_PARAMETERS_BYTES) {
      throw source.error(variable.offset, `more than ${MAX_PARAMETERS_BYTES} bytes of parameters`, 'LIMIT_EXCEEDED');
    }
    return { variable, offset, sizeBytes };
  };
  return { results: results.map(place), parameters: parameters.map(place), end };
}
