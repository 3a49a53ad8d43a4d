/** The next multiple of `alignment`; an alignment of 0 is none. */
export const alignUp = (value: number, alignment: number): number =>
  alignment > 1 ? Math.ceil(value / alignment) * alignment : value;
