/**
 * How deep the maps and arrays of a msgpack value nest, found without building it: a decoder needs hundreds
 * of bytes for every level, so hostile nesting must be refused before. Stops at `limit + 1`, and at the end
 * of cut-off bytes, which the decoder reports. Source: the msgpack specification, "Formats".
 */
export function msgpackDepth(bytes: Uint8Array, limit: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** Values still to come at every open level. */
  const open: number[] = [];
  let deepest = 0;
  for (let at = 0; at < bytes.length; ) {
    const head = bytes[at++]!;
    let items = 0;
    if (head >= 0x80 && head <= 0x8f) items = 2 * (head & 0xf);
    else if (head >= 0x90 && head <= 0x9f) items = head & 0xf;
    else if (head >= 0xa0 && head <= 0xbf) at += head & 0x1f;
    else if (head >= 0xc0 && head <= 0xdf) {
      const [lengthBytes, payloadBytes, itemsPerCount] = FORMATS[head - 0xc0]!;
      if (at + lengthBytes > bytes.length) return deepest;
      const length =
        lengthBytes === 0
          ? 0
          : lengthBytes === 1
            ? bytes[at]!
            : lengthBytes === 2
              ? view.getUint16(at)
              : view.getUint32(at);
      at += lengthBytes + payloadBytes;
      if (itemsPerCount === 0) at += length;
      else items = length * itemsPerCount;
    }
    if (items > 0) {
      deepest = Math.max(deepest, open.push(items));
      if (deepest > limit) return deepest;
      continue;
    }
    while (open.length > 0 && --open[open.length - 1]! === 0) open.pop();
    if (open.length === 0) return deepest;
  }
  return deepest;
}

/**
 * The heads 0xc0 to 0xdf: bytes of the length field, fixed payload bytes, values per unit of length (0: the
 * unit is a byte).
 */
const FORMATS: readonly (readonly [lengthBytes: 0 | 1 | 2 | 4, payloadBytes: number, itemsPerCount: 0 | 1 | 2])[] = [
  [0, 0, 0], // nil
  [0, 0, 0], // never used
  [0, 0, 0], // false
  [0, 0, 0], // true
  [1, 0, 0], // bin 8
  [2, 0, 0], // bin 16
  [4, 0, 0], // bin 32
  [1, 1, 0], // ext 8
  [2, 1, 0], // ext 16
  [4, 1, 0], // ext 32
  [0, 4, 0], // float 32
  [0, 8, 0], // float 64
  [0, 1, 0], // uint 8
  [0, 2, 0], // uint 16
  [0, 4, 0], // uint 32
  [0, 8, 0], // uint 64
  [0, 1, 0], // int 8
  [0, 2, 0], // int 16
  [0, 4, 0], // int 32
  [0, 8, 0], // int 64
  [0, 2, 0], // fixext 1
  [0, 3, 0], // fixext 2
  [0, 5, 0], // fixext 4
  [0, 9, 0], // fixext 8
  [0, 17, 0], // fixext 16
  [1, 0, 0], // str 8
  [2, 0, 0], // str 16
  [4, 0, 0], // str 32
  [2, 0, 1], // array 16
  [4, 0, 1], // array 32
  [2, 0, 2], // map 16
  [4, 0, 2], // map 32
];
