import { alignUp } from '../../base/align.ts';

/**
 * Sets bytes from `start` to before `end`. V8 fills shared memory element by element: of long ranges, most
 * are set as 64-bit words.
 */
export function fillBytes(bytes: Uint8Array, value: number, start: number, end: number): void {
  const first = alignUp(start, 8);
  const count = Math.floor((end - first) / 8);
  if (count <= 0) {
    bytes.fill(value, start, end);
    return;
  }
  bytes.fill(value, start, first);
  new BigInt64Array(bytes.buffer, bytes.byteOffset + first, count).fill(
    BigInt.asIntN(64, 0x0101010101010101n * BigInt(value)),
  );
  bytes.fill(value, first + count * 8, end);
}
