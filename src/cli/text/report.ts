import { ERROR_CODES, type ErrorReport, WavewrightError } from '../../base/errors.ts';
import { printable } from '../../base/text.ts';
import type { CommandContext } from '../arguments/command.ts';
import { paint } from '../process/colour.ts';
import { sourceExcerpt } from './source-excerpt.ts';

const INTERNAL_STATUS = ERROR_CODES.INTERNAL.exit;
const DEFECT_HINT = 'this is a defect of Wavewright; WAVEWRIGHT_DEBUG=1 shows where it happened';

export interface Report {
  readonly text: string;
  readonly exitStatus: number;
}

/**
 * What the error says besides its headline, a line for each label, with the line of the source where that can
 * be read.
 */
function reportLines({ fields, source }: ErrorReport): string[] {
  const width = Math.max(...Object.keys(fields).map(({ length }) => length)) + 2;
  return Object.entries(fields).flatMap(([label, value]) => [
    `  ${`${label}:`.padEnd(width)}${printable(value)}`,
    ...(label === 'source' && source ? sourceExcerpt(source) : []),
  ]);
}

/** The error as an object for programs that asked for JSON. */
export function errorJson(error: WavewrightError): string {
  const { code, message, context } = error;
  const { hint, report } = context;
  const fields = report && { headline: report.headline, ...report.fields };
  const object = {
    schema: 'wavewright.error',
    version: 1,
    code,
    message,
    ...(hint && { hint }),
    ...(fields && { fields }),
  };
  return `${JSON.stringify(object, undefined, 2)}\n`;
}

/** Something that the user should know although the command goes on. */
export function warn({ stderr, isQuiet, colour }: CommandContext, what: string): void {
  if (!isQuiet) stderr(`wavewright: ${paint('warning:', 'yellow', colour?.stderr)} ${printable(what)}\n`);
}

/** What the user is told about an error, with the exit status that goes with it. */
export function reportError(error: unknown, debug: boolean, hasColour = false): Report {
  const known = error instanceof WavewrightError;
  const exitStatus = known ? error.exitStatus : INTERNAL_STATUS;
  const report = known ? error.context.report : undefined;
  const what = known ? error.headline : error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const hint = (known ? error.context.hint : undefined) ?? (exitStatus === INTERNAL_STATUS ? DEFECT_HINT : undefined);
  // Names in messages come from input files: control characters must not reach the terminal.
  const [headline, ...details] = what.split('\n').map(printable);
  const lines = [
    `wavewright: ${paint('error:', 'red', hasColour)} ${headline} [${known ? error.code : 'INTERNAL'}]`,
    ...details,
  ];
  if (report) lines.push(...reportLines(report));
  if (hint !== undefined) lines.push(`${paint('hint:', 'cyan', hasColour)} ${printable(hint)}`);
  if (debug && error instanceof Error) {
    for (let at: unknown = error; at instanceof Error; at = at.cause) lines.push(String(at.stack));
  }
  return { text: `${lines.join('\n')}\n`, exitStatus };
}
