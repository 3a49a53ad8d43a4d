/** What a launch asks for and the device does not have, as the status that HSA gives it. */
import { WavewrightError } from '../../base/errors.ts';
import { HsaError } from '../objects/status.ts';

/** What `run` gives. Throws INVALID_ALLOCATION where that takes more than the device has. */
export function withinDevice<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof WavewrightError) || error.code !== 'LIMIT_EXCEEDED') throw error;
    throw new HsaError('INVALID_ALLOCATION', error.what, error.context);
  }
}
