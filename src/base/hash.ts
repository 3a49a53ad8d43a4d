/** FNV-1a of 32 bits (Fowler, Noll, Vo), for names that differ where contents do; it proves nothing. */
export function fnv1a(bytes: Uint8Array, start = 0x811c9dc5): number {
  let hash = start;
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash >>> 0;
}
