/** Numbers in LEB128 (DWARF 5, 7.6), the one writer of them; WebAssembly's own stands in src/wasm. */

/** The low 64 bits of `value` in at least `sizeBytes` bytes. */
export function leb128(value: bigint, isSigned: boolean, sizeBytes = 1): Uint8Array {
  const bytes: number[] = [];
  let rest = isSigned ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value);
  for (let isLast = false; !isLast; ) {
    const bits = Number(rest & 0x7fn);
    rest >>= 7n;
    const isComplete = isSigned ? rest === (bits & 0x40 ? -1n : 0n) : rest === 0n;
    isLast = isComplete && bytes.length + 1 >= sizeBytes;
    bytes.push(isLast ? bits : bits | 0x80);
  }
  return Uint8Array.from(bytes);
}

/** A safe integer that is not negative, into `bytes` from `at` on. Returns where it ends. */
export function writeUnsigned(bytes: Uint8Array | number[], at: number, value: number): number {
  let rest = value;
  let end = at;
  // Above 32 bits there are no integer operations.
  for (; rest > 0xffff_ffff; rest = Math.floor(rest / 0x80)) bytes[end++] = (rest % 0x80) | 0x80;
  for (; rest >= 0x80; rest >>>= 7) bytes[end++] = (rest & 0x7f) | 0x80;
  bytes[end] = rest;
  return end + 1;
}

/** As `writeUnsigned`, a number of 32 bits, by integer operations alone: for what is written all the time. */
export function writeWord(bytes: Uint8Array, at: number, value: number): number {
  let end = at;
  let rest = value | 0;
  while ((rest & ~0x7f) !== 0) {
    bytes[end++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  bytes[end] = rest;
  return end + 1;
}

/** A safe integer that is not negative. */
export function unsigned(value: number): Uint8Array {
  const bytes: number[] = [];
  writeUnsigned(bytes, 0, value);
  return Uint8Array.from(bytes);
}

/** A safe integer. */
export const signed = (value: number): Uint8Array => leb128(BigInt(value), true);
