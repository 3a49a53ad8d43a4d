import type { Decompress } from './compressed-bundle.ts';

/** Node takes no smaller ones. */
const MIN_CHUNK_BYTES = 64;

/** The decompressor for Node. */
export const nodeDecompress: Decompress = (method, data, uncompressedSizeBytes) => {
  // Loaded when it is needed: few files are compressed.
  const { inflateSync, zstdDecompressSync } = process.getBuiltinModule('node:zlib');
  // One byte more than announced is enough to see that the data are longer; 0 is not a valid limit. In one
  // piece: pieces are joined by copying.
  const options = {
    maxOutputLength: uncompressedSizeBytes + 1,
    chunkSize: Math.max(MIN_CHUNK_BYTES, uncompressedSizeBytes + 1),
  };
  const { buffer, byteOffset, length } =
    method === 'zstd' ? zstdDecompressSync(data, options) : inflateSync(data, options);
  // Not a Buffer, whose slice() shares memory where a Uint8Array's copies.
  return new Uint8Array(buffer, byteOffset, length);
};
