/** The decoder of each processor, over all rows. */
import { Decoder } from './encoding/decode.ts';
import { targetFor } from './encoding/targets.ts';
import { rowsOf } from './rows/index.ts';

const decoders = new Map<string, Decoder>();

/** The decoder of a processor, built on first use. Throws UNSUPPORTED for an unknown processor. */
export function decoderFor(processor: string, waveSize: 32 | 64): Decoder {
  const key = `${processor} ${waveSize}`;
  let decoder = decoders.get(key);
  if (!decoder) {
    decoder = new Decoder(targetFor(processor), waveSize, rowsOf);
    decoders.set(key, decoder);
  }
  return decoder;
}
