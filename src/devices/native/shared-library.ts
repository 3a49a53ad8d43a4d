/**
 * Libraries of drivers through node:ffi, which cannot be called from other threads: who uses one polls, and
 * takes no calls but those that come while a function of the library runs.
 */
import type * as Ffi from 'node:ffi';
import { WavewrightError } from '../../base/errors.ts';
import { importFfi } from '../../base/node-ffi.ts';

export interface SharedLibrary {
  readonly ffi: typeof Ffi;
  /** Where it was found: a path, or a name that the system's loader knows. */
  readonly path: string;
  readonly library: Ffi.DynamicLibrary;
}

export interface LibraryOptions {
  /** The library itself; before what the environment names. */
  readonly path?: string | undefined;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** Where a library is looked for. */
export interface LibraryPlaces {
  /** What errors call it. */
  readonly what: string;
  /** In this order. */
  readonly candidates: readonly string[];
  /** Throws where the file is another library. */
  readonly verify?: (library: SharedLibrary) => void;
  readonly hint: string;
}

/** Throws NO_DEVICE with what was tried where there is no such library. */
export async function openSharedLibrary(places: LibraryPlaces): Promise<SharedLibrary> {
  const ffi = await importFfi();
  const reasons: string[] = [];
  for (const path of places.candidates) {
    try {
      const opened = { ffi, path, library: new ffi.DynamicLibrary(path) };
      places.verify?.(opened);
      return opened;
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw noDevice(`no ${places.what}: ${reasons.join('; ')}`, { hint: places.hint });
}

export function noDevice(what: string, context: { hint?: string; cause?: unknown } = {}): WavewrightError {
  return new WavewrightError('NO_DEVICE', what, context);
}
