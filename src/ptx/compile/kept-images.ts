/** Images of texts as bytes, by which they come into another process. */
import { concatenate } from '../../base/concatenate.ts';
import type { KeptForm } from '../../base/kept-code.ts';
import { ImageLines } from './image-lines.ts';
import type { PtxImage } from './module.ts';

const NEW_LINE = 10;
/** How numbers of any size are written, which JSON has not. */
const BIG = /^-?\d+n$/;
const BIG_FIELDS: ReadonlySet<string> = new Set(['addend', 'mask']);

/** A line of JSON, then code and lines of each image. */
export const IMAGES_FORM: KeptForm<readonly PtxImage[]> = {
  asBytes(images) {
    const about = images.map(({ bytes, lines, ...others }) => ({
      ...others,
      sizeBytes: bytes.length,
      lines: lines.pairs.length,
    }));
    const head = JSON.stringify(about, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
    const parts = images.flatMap(({ bytes, lines }) => [bytes, new Uint8Array(lines.pairs.buffer)]);
    return concatenate([new TextEncoder().encode(`${head}\n`), ...parts]);
  },
  fromBytes(all) {
    const end = all.indexOf(NEW_LINE);
    let offset = end + 1;
    const take = (sizeBytes: number): Uint8Array<ArrayBuffer> => {
      offset += sizeBytes;
      return all.slice(offset - sizeBytes, offset);
    };
    const about: readonly KeptImage[] = JSON.parse(new TextDecoder().decode(all.subarray(0, end)), (key, value) =>
      BIG_FIELDS.has(key) && BIG.test(value) ? BigInt(value.slice(0, -1)) : value,
    );
    return about.map(({ sizeBytes, lines, ...others }) => {
      const bytes = take(sizeBytes);
      const pairs = new Uint32Array(take(lines * Uint32Array.BYTES_PER_ELEMENT).buffer);
      return { ...others, bytes, lines: new ImageLines(pairs) };
    });
  },
};

/** `lines`: numbers of its pairs. */
type KeptImage = Omit<PtxImage, 'bytes' | 'lines'> & { readonly sizeBytes: number; readonly lines: number };
