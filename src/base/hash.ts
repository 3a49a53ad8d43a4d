/** FNV-1a of 32 bits (Fowler, Noll, Vo), for names that differ where contents do; it proves nothing. */
export function fnv1a(bytes: Uint8Array, start = 0x811c9dc5): number {
  let hash = start;
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash >>> 0;
}

/** FNV-1a of 64 bits: a check against damage, and none against intent. */
export function fnv1a64(bytes: Uint8Array): bigint {
  // The basis and the product in four parts of 16 bits; the prime is 2^40 + 0x1b3.
  let [a, b, c, d] = [0x2325, 0x8422, 0x9ce4, 0xcbf2];
  for (let i = 0; i < bytes.length; i++) {
    a ^= bytes[i]!;
    const [first, second] = [a << 8, b << 8];
    a *= 0x1b3;
    b = b * 0x1b3 + (a >>> 16);
    c = c * 0x1b3 + first + (b >>> 16);
    d = (d * 0x1b3 + second + (c >>> 16)) & 0xffff;
    a &= 0xffff;
    b &= 0xffff;
    c &= 0xffff;
  }
  return (BigInt(((d << 16) | c) >>> 0) << 32n) | BigInt(((b << 16) | a) >>> 0);
}
