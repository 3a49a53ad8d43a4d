/** argv and envp of a program in device memory. */

import { concatenate } from '../base/concatenate.ts';
import { WavewrightError } from '../base/errors.ts';

export interface ArgumentBlock {
  /** Pointers, each list ended by a null one, then the strings. */
  readonly bytes: Uint8Array;
  /** Offset of the pointers to the environment; those to the arguments are at 0. */
  readonly environmentOffset: number;
}

const utf8 = new TextEncoder();

/** Lays the block out for an address. Throws USAGE for a string with a NUL in it. */
export function argumentBlock(args: readonly string[], environment: readonly string[], address: bigint): ArgumentBlock {
  const environmentOffset = 8 * (args.length + 1);
  const pointersSizeBytes = environmentOffset + 8 * (environment.length + 1);
  const pointers = new DataView(new ArrayBuffer(pointersSizeBytes));
  const strings: Uint8Array[] = [];
  let at = pointersSizeBytes;
  const place = (texts: readonly string[], offset: number) => {
    for (const [index, text] of texts.entries()) {
      if (text.includes('\0')) throw new WavewrightError('USAGE', `${JSON.stringify(text)} has a NUL in it`);
      const bytes = utf8.encode(`${text}\0`);
      pointers.setBigUint64(offset + 8 * index, address + BigInt(at), true);
      strings.push(bytes);
      at += bytes.length;
    }
  };
  place(args, 0);
  place(environment, environmentOffset);
  return { bytes: concatenate([new Uint8Array(pointers.buffer), ...strings]), environmentOffset };
}
