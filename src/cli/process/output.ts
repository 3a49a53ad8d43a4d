import { WavewrightError } from '../../base/errors.ts';

const { writeSync } = process.getBuiltinModule('node:fs');

const encoder = new TextEncoder();
/** Status of a process that SIGPIPE ended, as shells report it. */
const BROKEN_PIPE_STATUS = 141;
const RETRY_MS = 1;

/**
 * Writes everything, unbuffered: what a GPU program printed is out before the next instruction runs. When the
 * reader has gone away the process ends quietly, as other tools do. Throws IO, with `name` as the file.
 */
export function writeAll(fd: number, data: Uint8Array | string, name: string): void {
  let rest = typeof data === 'string' ? encoder.encode(data) : data;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code === 'EPIPE') process.exit(BROKEN_PIPE_STATUS);
      if (code !== 'EAGAIN') {
        throw new WavewrightError('IO', `cannot be written (${code ?? String(error)})`, { file: name, cause: error });
      }
      // Someone made the pipe non-blocking and it is full.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}
