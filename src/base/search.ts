/**
 * Index of the first element above `address`, in a list in the order of addresses; the length of the list
 * when there is none.
 */
export function firstAbove<A extends number | bigint>(sorted: readonly { readonly address: A }[], address: A): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]!.address <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}
