import path from 'node:path';
import { WavewrightError } from '../../base/errors.ts';

const { closeSync, fchmodSync, openSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } =
  process.getBuiltinModule('node:fs');

const NEW_FILE_MODE = 0o666;
const PERMISSIONS = 0o7777;

/**
 * Writes a file that the user named: beside it first, so that an old one stays whole when the disk is full or
 * the process is ended. Devices, pipes, and files in folders where nothing can be made are written in place.
 * Throws IO.
 */
export function writeOutput(file: string, bytes: Uint8Array): void {
  writeOutputParts(file, [bytes]);
}

/** As `writeOutput`, of parts that need not be there together. */
export function writeOutputParts(file: string, parts: Iterable<Uint8Array | string>): void {
  attempt(file, () => {
    const place = placeOf(file);
    const write = (descriptor: number) => {
      for (const part of parts) writeFileSync(descriptor, part);
    };
    if (place.besides === undefined) {
      const descriptor = openSync(file, 'w');
      try {
        write(descriptor);
      } finally {
        closeSync(descriptor);
      }
      return;
    }
    try {
      try {
        write(place.besides.descriptor);
      } finally {
        // A disk of the network may say only now that it has no room.
        closeSync(place.besides.descriptor);
      }
      renameSync(place.besides.name, place.target);
    } catch (error) {
      rmSync(place.besides.name, { force: true });
      throw error;
    }
  });
}

/** Throws IO when the file could not be written now; leaves it as it is. */
export function checkOutput(file: string): void {
  attempt(file, () => {
    const { besides } = placeOf(file);
    if (besides === undefined) closeSync(openSync(file, 'a'));
    else {
      closeSync(besides.descriptor);
      rmSync(besides.name);
    }
  });
}

interface Place {
  /** Behind symbolic links. */
  readonly target: string;
  /**
   * A new file in the same folder, with the old one's permissions; none where the file is to be written in
   * place.
   */
  readonly besides: { readonly name: string; readonly descriptor: number } | undefined;
}

function placeOf(file: string): Place {
  const old = statSync(file, { throwIfNoEntry: false });
  if (old && !old.isFile()) return { target: file, besides: undefined };
  // Somebody's file that may not be written is not replaced either.
  if (old) closeSync(openSync(file, 'r+'));
  const target = old ? realpathSync(file) : file;
  const name = path.join(path.dirname(target), `.${path.basename(target)}.${process.pid}.new`);
  try {
    const descriptor = openSync(name, 'wx', NEW_FILE_MODE);
    // Not what the umask makes of them.
    if (old) fchmodSync(descriptor, old.mode & PERMISSIONS);
    return { target, besides: { name, descriptor } };
  } catch (error) {
    if (old) return { target, besides: undefined };
    throw error;
  }
}

function attempt(file: string, call: () => void): void {
  try {
    call();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new WavewrightError('IO', `cannot be written (${code})`, { file, cause: error });
  }
}
