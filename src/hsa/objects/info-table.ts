/** Attributes by the numbers of the specification: what the hsa_*_get_info functions have in common. */
import { hex } from '../../base/text.ts';
import { HsaError } from './status.ts';

/**
 * A function for each attribute, which finds it of a subject; undefined where the subject does not have it.
 */
export type Questions<Subject, Value> = Readonly<Record<number, (subject: Subject) => Value | undefined>>;

/** Throws INVALID_ARGUMENT for a number that is not in the table, or that the subject has no answer to. */
export function answer<Subject, Value>(
  questions: Questions<Subject, Value>,
  id: number,
  subject: Subject,
  what: string,
): Value {
  const value = questions[id]?.(subject);
  if (value !== undefined) return value;
  throw new HsaError('INVALID_ARGUMENT', `${what} has no information ${hex(id)}`);
}

/** hsa_profile_t, hsa_default_float_rounding_mode_t and hsa_machine_model_t. */
export const PROFILES = { base: 0, full: 1 } as const;
export const ROUNDING_MODES = { default: 0, zero: 1, near: 2 } as const;
export const MACHINE_MODEL_LARGE = 1;

/** hsa_region_segment_t and hsa_amd_segment_t. */
export const SEGMENT_GLOBAL = 0;
export const SEGMENT_GROUP = 3;

/** Work-items of a grid in each dimension and altogether: what dispatch packets can say. */
export const GRID_MAX_DIM = [0xffff_ffff, 0xffff_ffff, 0xffff_ffff] as const;
export const GRID_MAX_SIZE = 0xffff_ffff;
/** The ring of a queue has so many packets at most. */
export const MAX_QUEUE_SIZE_PACKETS = 131_072;
export const FBARRIER_MAX_SIZE = 32;
