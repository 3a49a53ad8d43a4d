/** FNV-1a of 32 bits (Fowler, Noll, Vo), for names that differ where contents do; it proves nothing. */
export function fnv1a(bytes: Uint8Array, start = 0x811c9dc5): number {
  let hash = start;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
