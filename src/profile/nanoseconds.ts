/** Milliseconds of the host as nanoseconds. */
export const nanoseconds = (ms: number): bigint => BigInt(Math.round(ms * 1e6));
