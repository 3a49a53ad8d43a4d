export interface ObjdumpStreams {
  /** Gets a view of a buffer that is used again afterwards. */
  readonly write: (bytes: Uint8Array) => void;
  /** A line without its newline: what the options name and the file lacks. */
  readonly warn: (message: string) => void;
  /**
   * The text of a source file that a line table names; undefined where it cannot be read. Default: none can.
   */
  readonly readSource?: (file: string) => string | undefined;
}

/** All but where the text goes, each given. */
export type SideStreams = Required<Omit<ObjdumpStreams, 'write'>>;
