import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { WavewrightError } from '../../../src/base/errors.ts';

const folder = import.meta.dirname;

/** The bytes of a prebuilt file of this folder. */
export function readTestFile(name: string): Uint8Array {
  return new Uint8Array(readFileSync(join(folder, name)));
}

/** The prebuilt files that are one code object each. */
export const CODE_OBJECT_FILES = readdirSync(folder).filter((name) => /\.(co|o)$/.test(name));

/** The prebuilt files that hold several. */
export const CONTAINER_FILES = ['fat.bundle', 'fat.ccob', 'host.elf'];

/**
 * Runs `read`; anything it throws must be a WavewrightError that is not a defect of ours. Returns its code.
 */
export function errorCodeOf(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (!(error instanceof WavewrightError)) throw error;
    assert.notEqual(error.code, 'INTERNAL', error.message);
    assert.notEqual(error.code, 'USAGE', error.message);
    return error.code;
  }
}

/**
 * Copies of `bytes` with up to four fields overwritten, mostly by values that matter to a reader of sizes and
 * offsets.
 */
export function mutationsOf(bytes: Uint8Array): fc.Arbitrary<Uint8Array> {
  const interesting = fc.constantFrom(0n, 1n, 2n, 0x7fn, 0xffn, 0xffffn, 0x7fff_ffffn, 0xffff_ffffn, 1n << 53n, 2n ** 63n, 2n ** 64n - 1n);
  const position = fc.oneof(
    { weight: 3, arbitrary: fc.nat(63) },
    { weight: 3, arbitrary: fc.nat(Math.min(bytes.length - 1, 1023)) },
    { weight: 2, arbitrary: fc.nat(bytes.length - 1) },
    { weight: 3, arbitrary: fc.integer({ min: Math.max(0, bytes.length - 1100), max: bytes.length - 1 }) },
  );
  const change = fc.record({
    position,
    width: fc.constantFrom(1, 2, 4, 8),
    value: fc.oneof(interesting, fc.bigInt(0n, 2n ** 64n - 1n), fc.bigInt(0n, BigInt(bytes.length))),
  });
  return fc.array(change, { minLength: 1, maxLength: 4 }).map((changes) => {
    const mutated = bytes.slice();
    for (const { position: at, width, value } of changes) {
      for (let index = 0; index < width && at + index < mutated.length; index++) {
        mutated[at + index] = Number((value >> BigInt(8 * index)) & 0xffn);
      }
    }
    return mutated;
  });
}
