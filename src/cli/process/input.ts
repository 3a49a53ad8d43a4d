import { WavewrightError } from '../../base/errors.ts';

const { fstatSync, readFileSync, statSync } = process.getBuiltinModule('node:fs');

/** Node reads at most this much into one buffer. */
const MAX_INPUT_BYTES = 2 ** 31 - 1;

const STDIN = 0;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'a part of the path is not a directory',
  EISDIR: 'is a directory, expected a file',
  EACCES: 'permission denied',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'the name is too long',
};

/**
 * The bytes of a file that the user named; `-` is standard input. Throws IO when it cannot be read, BAD_INPUT
 * when it is empty and not `expected`.
 */
export function readInput(file: string, expected = 'a code object'): Uint8Array {
  const source = file === '-' ? STDIN : file;
  let bytes: Uint8Array;
  try {
    const { size } = source === STDIN ? fstatSync(STDIN) : statSync(source);
    if (size > MAX_INPUT_BYTES) {
      const what = `is ${size} bytes long, expected at most ${MAX_INPUT_BYTES}`;
      throw new WavewrightError('LIMIT_EXCEEDED', what, { file });
    }
    bytes = readFileSync(source);
  } catch (error) {
    throw error instanceof WavewrightError ? error : ioError(error, file);
  }
  if (bytes.length === 0) throw new WavewrightError('BAD_INPUT', `is empty, expected ${expected}`, { file });
  return bytes;
}

/**
 * What the operating system said about `file`, as an IO error. Anything but a system error is thrown on as it
 * is.
 */
function ioError(error: unknown, file: string): WavewrightError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  if (code === undefined) throw error;
  return new WavewrightError('IO', REASONS[code] ?? `cannot be read (${code})`, { file, cause: error });
}
