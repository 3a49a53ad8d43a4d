/** `0x` and lower-case hexadecimal digits, at least `digits` of them. */
export function hex(value: number | bigint, digits = 1): string {
  return `0x${value.toString(16).padStart(digits, '0')}`;
}

/** Text from input made fit for a terminal: control characters and line separators become `\xNN`. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, (c) => `\\x${c.codePointAt(0)!.toString(16).padStart(2, '0')}`);
}
