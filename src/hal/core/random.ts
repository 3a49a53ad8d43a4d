/** Numbers that follow from a seed alone: for schedules that a seed chooses. */

/** Gives integers from 0 to below `limit` (splitmix32). */
export function seededIntegers(seed: number): (limit: number) => number {
  let state = seed | 0;
  return (limit) => {
    state = (state + 0x9e37_79b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0_aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a_2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) % limit;
  };
}
