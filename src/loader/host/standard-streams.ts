/** Standard input, output and error as the caller of a program gives and takes them. */

import { concatenate } from '../../base/concatenate.ts';
import { WavewrightError } from '../../base/errors.ts';
import type { OpenFile } from './file-system.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import type { StandardStreams } from './streams.ts';

export interface StreamOptions {
  /** Standard input: all of it (text as UTF-8), or where it comes from. Default: empty. */
  stdin?: Uint8Array | string | Pick<OpenFile, 'read'>;
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

type Stream = 'stdout' | 'stderr';

/** Both streams together may collect so much. */
const MAX_COLLECTED_BYTES = 2 ** 28;

/** The streams; `output` gives what is collected so far. */
export class CallerStreams implements StandardStreams {
  readonly stdin: Pick<OpenFile, 'read'>;
  readonly stdout: (bytes: Uint8Array) => void;
  readonly stderr: (bytes: Uint8Array) => void;
  readonly #collected: Record<Stream, Uint8Array[]> = { stdout: [], stderr: [] };
  #collectedBytes = 0;

  constructor({ stdin = new Uint8Array(), onStdout, onStderr }: StreamOptions) {
    this.stdin = typeof stdin === 'string' || stdin instanceof Uint8Array ? fileOf(stdin) : stdin;
    this.stdout = onStdout ?? ((bytes) => this.#collect('stdout', bytes));
    this.stderr = onStderr ?? ((bytes) => this.#collect('stderr', bytes));
  }

  get output(): ProgramOutput {
    const bytes = { stdout: concatenate(this.#collected.stdout), stderr: concatenate(this.#collected.stderr) };
    const text = (stream: Stream): string => new TextDecoder().decode(bytes[stream]);
    return {
      ...bytes,
      get text() {
        return { stdout: text('stdout'), stderr: text('stderr') };
      },
    };
  }

  #collect(stream: Stream, bytes: Uint8Array): void {
    this.#collectedBytes += bytes.length;
    if (this.#collectedBytes > MAX_COLLECTED_BYTES) {
      throw new WavewrightError('LIMIT_EXCEEDED', `more than ${MAX_COLLECTED_BYTES} bytes of output to collect`, {
        hint: 'onStdout and onStderr take output of any length',
      });
    }
    this.#collected[stream].push(bytes);
  }
}

function fileOf(contents: Uint8Array | string): Pick<OpenFile, 'read'> {
  const files = new MemoryFileSystem();
  files.set('stdin', typeof contents === 'string' ? new TextEncoder().encode(contents) : contents);
  const mode = { read: true, write: false, append: false, create: false, truncate: false, exclusive: false };
  return files.open('stdin', mode)!;
}
