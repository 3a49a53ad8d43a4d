import { WavewrightError } from '../base/errors.ts';
import { printable } from '../base/text.ts';
import { paint } from './colour.ts';
import type { CommandContext } from './command.ts';

const INTERNAL_STATUS = 70;
const DEFECT_HINT = 'this is a defect of Wavewright; WAVEWRIGHT_DEBUG=1 shows where it happened';

export interface Report {
  readonly text: string;
  readonly exitStatus: number;
}

/** Something that the user should know although the command goes on. */
export function warn({ stderr, isQuiet, colour }: CommandContext, what: string): void {
  if (!isQuiet) stderr(`wavewright: ${paint('warning:', 'yellow', colour?.stderr)} ${printable(what)}\n`);
}

/** What the user is told about an error, with the exit status that goes with it. */
export function reportError(error: unknown, debug: boolean, hasColour = false): Report {
  const known = error instanceof WavewrightError;
  const exitStatus = known ? error.exitStatus : INTERNAL_STATUS;
  const what = known ? error.message : error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const hint = (known ? error.context.hint : undefined) ?? (exitStatus === INTERNAL_STATUS ? DEFECT_HINT : undefined);
  // Names in messages come from input files: control characters must not reach the terminal.
  const [headline, ...details] = what.split('\n').map(printable);
  const lines = [
    `wavewright: ${paint('error:', 'red', hasColour)} ${headline} [${known ? error.code : 'INTERNAL'}]`,
    ...details,
  ];
  if (hint !== undefined) lines.push(`${paint('hint:', 'cyan', hasColour)} ${printable(hint)}`);
  if (debug && error instanceof Error) {
    for (let at: unknown = error; at instanceof Error; at = at.cause) lines.push(String(at.stack));
  }
  return { text: `${lines.join('\n')}\n`, exitStatus };
}
