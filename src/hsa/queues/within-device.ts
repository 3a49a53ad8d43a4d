/** A launch that asks for more than the device has gets the status that HSA has for that. */
import { WavewrightError } from '../../base/errors.ts';
import { HsaError } from '../objects/status.ts';

/** Returns what `run` returns. Throws INVALID_ALLOCATION where `run` throws LIMIT_EXCEEDED. */
export function withinDevice<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof WavewrightError) || error.code !== 'LIMIT_EXCEEDED') throw error;
    throw new HsaError('INVALID_ALLOCATION', error.what, error.context);
  }
}
