import type { Operands, OptionTable, OptionValues } from './options.ts';

/**
 * Where a command writes. Data goes to `stdout`, everything else to `stderr`. Writes are synchronous and
 * complete.
 */
export interface CommandContext {
  readonly stdout: (data: Uint8Array | string) => void;
  readonly stderr: (data: Uint8Array | string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * `stdout` and `stderr` are those of this process: child processes may inherit them, and a terminal may be
   * behind them.
   */
  readonly isProcess?: boolean;
  /** Which of the two a terminal with colour reads. */
  readonly colour?: { readonly stdout: boolean; readonly stderr: boolean };
  /** Warnings and news are not wanted, only results and errors. */
  readonly isQuiet?: boolean;
  /** What time limits are measured with, in milliseconds; by default wall time. */
  readonly clock?: () => number;
}

/** The part of a command that stands in the overview; the rest is loaded when the command is used. */
export interface CommandRow {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

export interface Command<T extends OptionTable = OptionTable> {
  readonly operands: Operands;
  readonly options: T;
  /** LLVM tools accept `-name` for `--name`; a command that stands in for one does so too. */
  readonly singleDash?: boolean;
  /** Flags of one letter may stand together behind one dash: `-dr`. */
  readonly groupedFlags?: boolean;
  /** Values of --format, when the command has that option: for the help text, one line each. */
  readonly formats?: Readonly<Record<string, string>>;
  /** Help text below the options: what the exit status means here, an example. */
  readonly notes?: readonly string[];
  /** Resolves to the exit status. Throws WavewrightError. */
  run(context: CommandContext, options: OptionValues<T>, operands: readonly string[]): Promise<number>;
}

/** Checks a command against its own option table; the identity at run time. */
export function defineCommand<const T extends OptionTable>(command: Command<T>): Command<T> {
  return command;
}
