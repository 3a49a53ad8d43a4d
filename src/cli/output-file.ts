import { writeFileSync } from 'node:fs';
import { WavewrightError } from '../base/errors.ts';

/** Writes a file that the user named. Throws IO. */
export function writeOutput(file: string, bytes: Uint8Array): void {
  try {
    writeFileSync(file, bytes);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new WavewrightError('IO', `cannot be written (${code})`, { file, cause: error });
  }
}
