import type { Output } from './output.ts';

const BYTES_PER_LINE = 8;

/**
 * Data among code: `[start, end)` of a section at `base`, eight bytes on a line, in hexadecimal and as
 * characters.
 */
export function printData(bytes: Uint8Array, base: number, start: number, end: number, out: Output): void {
  for (let at = start; at < end; at += BYTES_PER_LINE) {
    const line = bytes.subarray(at, Math.min(end, at + BYTES_PER_LINE));
    const address = (base + at).toString(16).padStart(8);
    const hex = Array.from(line, (byte) => ` ${byte.toString(16).padStart(2, '0')}`).join('');
    const characters = Array.from(line, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.'));
    out.line(`${address}:${hex.padEnd(3 * BYTES_PER_LINE)}         ${characters.join('')}`);
  }
}
