import { hex } from './text.ts';

/**
 * The one error class of the project. Every failure that a user can cause carries a code from this closed
 * list; the command line maps the code to an exit status. Anything that is not a `WavewrightError` is a
 * defect of ours (exit 70).
 */
export const ERROR_CODES = {
  USAGE: { exit: 2, what: 'the command line or an API argument is wrong' },
  BAD_INPUT: { exit: 3, what: 'a file or buffer does not hold what it should' },
  LIMIT_EXCEEDED: { exit: 3, what: 'the input is larger than a documented limit' },
  IO: { exit: 3, what: 'a file could not be read or written' },
  UNSUPPORTED: { exit: 4, what: 'a target, instruction or feature that is not implemented' },
  NO_DEVICE: { exit: 5, what: 'no such device' },
  GPU_FAULT: { exit: 6, what: 'the GPU program faulted' },
  RPC_PROTOCOL: { exit: 6, what: 'the GPU program broke the RPC protocol' },
  UNREACHABLE: { exit: 69, what: 'a server could not be reached' },
  INTERNAL: { exit: 70, what: 'a defect of Wavewright' },
  TIMEOUT: { exit: 124, what: 'the time limit ran out' },
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Where in the input the error lies; every part is optional, present parts are printed in this order. */
export interface ErrorContext {
  /** Path as the user wrote it, or a name for an in-memory image. */
  file?: string;
  /** Section, segment, note or symbol that was being read. */
  section?: string;
  /** Byte offset in the file (or in the section when one is given). */
  offset?: number | bigint;
  /** What the user can do about it. */
  hint?: string;
  /** A long message in parts, for those who print it in lines or read it by program. */
  report?: ErrorReport;
  cause?: unknown;
}

export interface ErrorReport {
  /** In place of the message. */
  readonly headline: string;
  /** What else the message says, by label: short words without a colon. */
  readonly fields: Readonly<Record<string, string>>;
  /** The line that a program's source has there; line and column from 1 on, column 0 when it is not known. */
  readonly source?: { readonly file: string; readonly line: number; readonly column: number };
}

export class WavewrightError extends Error {
  readonly code: ErrorCode;
  readonly context: ErrorContext;
  /** The message without the context prefix. */
  readonly what: string;

  constructor(code: ErrorCode, what: string, context: ErrorContext = {}) {
    super(formatMessage(what, context), context.cause === undefined ? undefined : { cause: context.cause });
    this.name = 'WavewrightError';
    this.code = code;
    this.what = what;
    this.context = context;
  }

  /** The first part of the message where it has several, with its place. */
  get headline(): string {
    return formatMessage(this.context.report?.headline ?? this.what, this.context);
  }

  /** The documented exit status of the command line for this code. */
  get exitStatus(): number {
    return ERROR_CODES[this.code].exit;
  }

  /**
   * The same error with more context; context that is already set wins, because it is closer to the cause.
   */
  within(outer: ErrorContext): WavewrightError {
    return new WavewrightError(this.code, this.what, { ...outer, ...this.context });
  }
}

function formatMessage(what: string, context: ErrorContext): string {
  const at = context.offset === undefined ? '' : hex(context.offset);
  const place = context.section === undefined ? at && `at ${at}` : at ? `${context.section} at ${at}` : context.section;
  return [context.file, place, what].filter((part) => part !== undefined && part !== '').join(': ');
}

/**
 * A condition that only a defect of ours can break. A message that takes work is a function: it is not worked
 * out for nothing.
 */
export function assert(condition: unknown, message: string | (() => string)): asserts condition {
  if (!condition) throw new WavewrightError('INTERNAL', typeof message === 'string' ? message : message());
}
