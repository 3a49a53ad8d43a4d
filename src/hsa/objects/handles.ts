/**
 * Objects that stand for handles: JavaScript passes anything, null for one, where a function expects them.
 */
import { HsaError, type HsaStatus } from './status.ts';

/** Throws `status` for what is no object of the class. */
export function expectHandle(value: unknown, type: abstract new (...args: never[]) => object, status: HsaStatus): void {
  if (value instanceof type) return;
  throw new HsaError(status, `${typeOf(value)} in place of an object of class ${type.name}`, {}, 'USAGE');
}

/** Throws INVALID_ARGUMENT for what cannot be called. */
export function expectCallback(value: unknown): void {
  if (typeof value === 'function') return;
  throw new HsaError('INVALID_ARGUMENT', `${typeOf(value)} in place of a function`);
}

const typeOf = (value: unknown): string => (value === null ? 'null' : typeof value);
