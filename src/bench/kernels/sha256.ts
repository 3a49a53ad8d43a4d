/** SHA-256 (FIPS 180-4) of one message in each lane: rotations, and registers by the dozen. */

import { scattered } from './inputs.ts';
import type { KernelBenchmark } from './kernel-benchmark.ts';

const ITEMS = { full: 1 << 13, small: 128, long: 1 << 16 };
const BLOCKS = { full: 8, small: 2, long: 16 };
const WORD_BITS = 32;

const isPrime = (n: number): boolean => {
  for (let divisor = 2; divisor * divisor <= n; divisor++) if (n % divisor === 0) return false;
  return true;
};
const primes = Array.from({ length: 312 }, (_, i) => i).filter((i) => i >= 2 && isPrime(i));

/** The first 32 bits of the fraction of an integer root. */
function rootBits(prime: number, degree: 2n | 3n): number {
  const scaled = BigInt(prime) << (BigInt(WORD_BITS) * degree);
  let [low, high] = [0n, scaled];
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (middle ** degree <= scaled) low = middle;
    else high = middle;
  }
  return Number(BigInt.asUintN(WORD_BITS, low));
}

const rotated = (x: number, by: number): number => (x >>> by) | (x << (WORD_BITS - by));

export const SHA256: KernelBenchmark = {
  name: 'sha256',
  unit: 'block',
  launch: (size) => {
    const [items, blocks] = [ITEMS[size], BLOCKS[size]];
    const args = [{ sizeBytes: items * 32 }, scattered(items * blocks * 16), items, blocks];
    return { grid: [items], workgroup: [64], args };
  },
  operations: (size) => ITEMS[size] * BLOCKS[size],
  model({ args }) {
    const [, words, items, blocks] = args as [unknown, Uint32Array, number, number];
    const start = primes.slice(0, 8).map((prime) => rootBits(prime, 2n));
    const rounds = primes.slice(0, 64).map((prime) => rootBits(prime, 3n));
    const digests = new Uint32Array(items * 8);
    const w = new Int32Array(64);
    for (let i = 0; i < items; i++) {
      const state = Int32Array.from(start);
      for (let block = 0; block < blocks; block++) {
        for (let t = 0; t < 16; t++) w[t] = words[(block * 16 + t) * items + i]!;
        for (let t = 16; t < 64; t++) {
          const [x, y] = [w[t - 15]!, w[t - 2]!];
          const low = rotated(x, 7) ^ rotated(x, 18) ^ (x >>> 3);
          w[t] = w[t - 16]! + w[t - 7]! + low + (rotated(y, 17) ^ rotated(y, 19) ^ (y >>> 10));
        }
        let [a, b, c, d, e, f, g, h] = state as unknown as number[]; // reason: eight of them
        for (let t = 0; t < 64; t++) {
          const choice = (e! & f!) ^ (~e! & g!);
          const first = (h! + (rotated(e!, 6) ^ rotated(e!, 11) ^ rotated(e!, 25)) + choice + rounds[t]! + w[t]!) | 0;
          const majority = (a! & b!) ^ (a! & c!) ^ (b! & c!);
          const second = (rotated(a!, 2) ^ rotated(a!, 13) ^ rotated(a!, 22)) + majority;
          [h, g, f, e, d, c, b, a] = [g, f, e, (d! + first) | 0, c, b, a, (first + second) | 0];
        }
        [a, b, c, d, e, f, g, h].forEach((value, word) => {
          state[word]! += value!;
        });
      }
      state.forEach((value, word) => {
        digests[word * items + i] = value;
      });
    }
    return digests;
  },
};
