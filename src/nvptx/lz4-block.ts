/**
 * Expands one block of LZ4 without a frame, as fat binaries of CUDA hold it (LZ4 Block Format Description):
 * sequences of a token, literals, and a match at a distance of up to 65,535 bytes.
 */
import type { ByteReader } from '../base/bytes.ts';

/** What a nibble of the token says when more bytes follow that are added to it. */
const MORE = 15;
const FULL_BYTE = 255;
const MIN_MATCH_BYTES = 4;

/** Exactly `sizeBytes` bytes; throws BAD_INPUT where the block holds more, fewer, or no LZ4. */
export function expandLz4Block(block: ByteReader, sizeBytes: number): Uint8Array {
  // A byte of a length adds 255 bytes at most: what cannot be takes no memory.
  if (sizeBytes > (block.length + 1) * FULL_BYTE) {
    block.fail(`${block.length} bytes of LZ4 cannot expand to ${sizeBytes}`);
  }
  const out = new Uint8Array(sizeBytes);
  let end = 0;
  const room = (count: number, what: string): void => {
    if (count > sizeBytes - end) block.fail(`${what} go beyond the ${sizeBytes} bytes that the block expands to`);
  };
  while (block.remaining > 0) {
    const token = block.u8('token');
    const literals = lengthOf(block, token >> 4);
    room(literals, 'literals');
    out.set(block.take(literals, 'literals'), end);
    end += literals;
    // The last sequence has no match.
    if (block.remaining === 0) break;
    const distance = block.u16('distance of a match');
    if (distance === 0 || distance > end) block.fail(`a match at a distance of ${distance}, ${end} bytes are there`);
    const count = lengthOf(block, token & 15) + MIN_MATCH_BYTES;
    room(count, 'a match');
    copyMatch(out, end, distance, count);
    end += count;
  }
  if (end !== sizeBytes) block.fail(`the block expands to ${end} bytes, expected ${sizeBytes}`);
  return out;
}

function lengthOf(block: ByteReader, nibble: number): number {
  let length = nibble;
  if (nibble !== MORE) return length;
  for (let more = FULL_BYTE; more === FULL_BYTE; length += more) more = block.u8('length');
  return length;
}

/** A match may reach into what it writes itself: what repeats doubles each time. */
function copyMatch(out: Uint8Array, end: number, distance: number, count: number): void {
  const start = end - distance;
  for (let done = 0; done < count; ) {
    const step = Math.min(count - done, distance + done);
    out.copyWithin(end + done, start, start + step);
    done += step;
  }
}
