/** Of an even number of values, the mean of the two in the middle. */
export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const { length } = sorted;
  return (sorted[(length - 1) >> 1]! + sorted[length >> 1]!) / 2;
}
