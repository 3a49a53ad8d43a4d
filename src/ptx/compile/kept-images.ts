/** Images of texts as bytes, by which they come into another process. */
import { headOf, type KeptForm, withHead } from '../../base/kept-code.ts';
import { ImageLines } from './image-lines.ts';
import type { PtxImage } from './module.ts';

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
    return withHead(head, ...parts);
  },
  fromBytes(all) {
    const { head, rest } = headOf(all);
    let offset = 0;
    const take = (sizeBytes: number): Uint8Array<ArrayBuffer> => {
      offset += sizeBytes;
      return rest.slice(offset - sizeBytes, offset);
    };
    const about: readonly KeptImage[] = JSON.parse(head, (key, value) =>
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
