/** How far a direct branch leads. */

export const DWORD_BYTES = 4;
/** Dwords in 16 bits with a sign, from the instruction behind the branch (RDNA3 ISA 16.5, S_BRANCH). */
export const [MIN_DWORDS, MAX_DWORDS] = [-(2 ** 15), 2 ** 15 - 1];

/** The 16 bits that lead from behind a branch to a target; undefined where it is too far. */
export function displacement(behind: number, target: number): number | undefined {
  const dwords = (target - behind) / DWORD_BYTES;
  return dwords >= MIN_DWORDS && dwords <= MAX_DWORDS && Number.isInteger(dwords) ? dwords & 0xffff : undefined;
}
