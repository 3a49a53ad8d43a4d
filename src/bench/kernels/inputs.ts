/** Input data by formula. */
export const ramp = (count: number, of: (i: number) => number): Float32Array =>
  Float32Array.from({ length: count }, (_, i) => of(i));

/** All 32 bits used, in no order: multiples of 2^32 divided by the golden ratio, mixed. */
export const scattered = (count: number): Uint32Array =>
  Uint32Array.from({ length: count }, (_, i) => {
    const value = Math.imul(i + 1, 0x9e3779b1);
    return value ^ (value >>> 15);
  });
