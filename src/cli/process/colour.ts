/** Colour on terminals: for words that say how something ended, never for data. */
const CODES = { red: 31, green: 32, yellow: 33, cyan: 36 } as const;

/** `isOn`: a terminal that shows colour reads it. */
export function paint(text: string, colour: keyof typeof CODES, isOn: boolean | undefined): string {
  return isOn ? `\x1b[1;${CODES[colour]}m${text}\x1b[0m` : text;
}

/** Whether a terminal is to get colour: no-color.org's NO_COLOR says no, so does a terminal without any. */
export function wantsColour(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
}
