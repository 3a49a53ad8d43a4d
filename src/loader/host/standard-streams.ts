/** Standard input, output and error as the caller of a program gives and takes them. */

import { CallerOutput, type OutputOptions } from '../../base/caller-output.ts';
import type { OpenFile } from './file-system.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import type { StandardStreams } from './streams.ts';

export interface StreamOptions extends OutputOptions {
  /** Standard input: all of it (text as UTF-8), or where it comes from. Default: empty. */
  stdin?: Uint8Array | string | Pick<OpenFile, 'read'>;
}

/** The streams of one program. */
export class CallerStreams extends CallerOutput implements StandardStreams {
  readonly stdin: Pick<OpenFile, 'read'>;

  constructor({ stdin = new Uint8Array(), ...output }: StreamOptions) {
    super(output);
    this.stdin = typeof stdin === 'string' || stdin instanceof Uint8Array ? fileOf(stdin) : stdin;
  }
}

function fileOf(contents: Uint8Array | string): Pick<OpenFile, 'read'> {
  const files = new MemoryFileSystem();
  files.set('stdin', typeof contents === 'string' ? new TextEncoder().encode(contents) : contents);
  const mode = { read: true, write: false, append: false, create: false, truncate: false, exclusive: false };
  return files.open('stdin', mode)!;
}
