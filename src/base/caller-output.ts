/** What GPU code writes to standard output and error, as its caller takes it. */
import { concatenate } from './concatenate.ts';
import { WavewrightError } from './errors.ts';

export interface OutputOptions {
  /**
   * Takes what the program writes to standard output; the bytes are its own. Default: they are collected in
   * the result's `output`.
   */
  onStdout?: (bytes: Uint8Array) => void;
  /** As `onStdout`, for standard error. */
  onStderr?: (bytes: Uint8Array) => void;
}

/** What the program wrote to the streams that no function takes; empty for the others. */
export interface ProgramOutput {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** The same as text, from UTF-8. */
  readonly text: { readonly stdout: string; readonly stderr: string };
}

export type OutputStream = 'stdout' | 'stderr';

/** Both streams together may collect so much. */
const MAX_COLLECTED_BYTES = 2 ** 28;

/** The streams; `output` gives what is collected so far. */
export class CallerOutput {
  readonly stdout: (bytes: Uint8Array) => void;
  readonly stderr: (bytes: Uint8Array) => void;
  readonly #collected: Record<OutputStream, Uint8Array[]> = { stdout: [], stderr: [] };
  #collectedBytes = 0;

  constructor({ onStdout, onStderr }: OutputOptions) {
    this.stdout = onStdout ?? ((bytes) => this.#collect('stdout', bytes));
    this.stderr = onStderr ?? ((bytes) => this.#collect('stderr', bytes));
  }

  get output(): ProgramOutput {
    const bytes = { stdout: concatenate(this.#collected.stdout), stderr: concatenate(this.#collected.stderr) };
    const text = (stream: OutputStream): string => new TextDecoder().decode(bytes[stream]);
    return {
      ...bytes,
      get text() {
        return { stdout: text('stdout'), stderr: text('stderr') };
      },
    };
  }

  #collect(stream: OutputStream, bytes: Uint8Array): void {
    this.#collectedBytes += bytes.length;
    if (this.#collectedBytes > MAX_COLLECTED_BYTES) {
      throw new WavewrightError('LIMIT_EXCEEDED', `more than ${MAX_COLLECTED_BYTES} bytes of output to collect`, {
        hint: 'onStdout and onStderr take output of any length',
      });
    }
    this.#collected[stream].push(bytes);
  }
}
