/**
 * What an access of a wave to memory costs, by the addresses of its lanes: the one definition of segments and
 * of bank conflicts, for tools and for the emulator's counters.
 */

/** Banks of the LDS have 4 bytes; 32 of them give a dword each in a cycle (CDNA3 ISA, 11.1). */
export const BANK_BYTES = 4;
export const LDS_BANKS = 32;

/**
 * Into how many pieces of memory the lanes of a global access fall: pieces of `segmentBytes` at multiples of
 * that. 1 or 2 for dwords of neighbouring lanes, as many as lanes at worst.
 */
export function segmentCount(addresses: readonly number[], sizeBytes: number, segmentBytes: number): number {
  const touched = new Set<number>();
  let last = -1;
  for (const address of addresses) {
    const end = Math.floor((address + sizeBytes - 1) / segmentBytes);
    for (let at = Math.floor(address / segmentBytes); at <= end; at++) {
      if (at === last) continue;
      touched.add(at);
      last = at;
    }
  }
  return touched.size;
}

/**
 * Cycles that an access to the LDS takes, and how many it would take without conflicts. In a cycle as many
 * neighbouring lanes are served as the banks have room for, and those of equal dwords together; lanes that
 * ask for different dwords of one bank wait for each other. `lanes`: number of the lane of each address.
 */
export function ldsCycles(
  lanes: readonly number[],
  addresses: readonly number[],
  sizeBytes: number,
  banks: number = LDS_BANKS,
): { readonly cycles: number; readonly needed: number } {
  const together = Math.max(1, Math.floor((banks * BANK_BYTES) / Math.max(sizeBytes, BANK_BYTES)));
  const groups = new Map<number, Set<number>>();
  for (const [i, lane] of lanes.entries()) {
    const group = Math.floor(lane / together);
    const dwords = groups.get(group) ?? new Set();
    groups.set(group, dwords);
    const end = Math.floor((addresses[i]! + sizeBytes - 1) / BANK_BYTES);
    for (let dword = Math.floor(addresses[i]! / BANK_BYTES); dword <= end; dword++) dwords.add(dword);
  }
  let cycles = 0;
  const asked = new Uint32Array(banks);
  for (const dwords of groups.values()) {
    asked.fill(0);
    let most = 0;
    for (const dword of dwords) most = Math.max(most, ++asked[dword % banks]!);
    cycles += most;
  }
  return { cycles, needed: groups.size };
}
