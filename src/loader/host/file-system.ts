/**
 * The files that a GPU program sees through RPC. All calls are synchronous; where the answer may take long,
 * it is that there is none yet. What fails says so by its result, as in C; a GPU program then sees NULL, EOF
 * or -1.
 */

export interface OpenMode {
  readonly read: boolean;
  readonly write: boolean;
  /** Every write goes to the end. */
  readonly append: boolean;
  /** Make the file if it is not there. */
  readonly create: boolean;
  readonly truncate: boolean;
  /** Fail if the file is there. */
  readonly exclusive: boolean;
}

/** Bytes behind an open file, with a position. */
export interface OpenFile {
  /**
   * Fills `into` from its start; returns the bytes read, 0 at the end, `undefined` on failure, and `waiting`
   * when there is nothing yet, as in a pipe: then it is asked again.
   */
  read(into: Uint8Array): number | 'waiting' | undefined;
  /** Writes all of `bytes`, or returns false. */
  write(bytes: Uint8Array): boolean;
  /** The position, in bytes from the start; `undefined` where there is none, as on a pipe. */
  readonly position: number | undefined;
  readonly sizeBytes: number | undefined;
  /** `position` is at least 0 and may lie behind the end. */
  seek(position: number): void;
  close(): boolean;
}

export interface FileSystem {
  /** `undefined` when the file cannot be opened so. */
  open(path: string, mode: OpenMode): OpenFile | undefined;
  remove(path: string): boolean;
  rename(from: string, to: string): boolean;
}

/** A C mode string: r, w or a, then +, b, x and e in any order. `undefined` for anything else. */
export function parseOpenMode(text: string): OpenMode | undefined {
  const match = /^([rwa])([+bxe]*)$/.exec(text);
  if (match === null) return undefined;
  const [, kind, modifiers = ''] = match;
  const plus = modifiers.includes('+');
  return {
    read: kind === 'r' || plus,
    write: kind !== 'r' || plus,
    append: kind === 'a',
    create: kind !== 'r',
    truncate: kind === 'w',
    exclusive: modifiers.includes('x'),
  };
}
