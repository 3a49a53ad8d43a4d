/** The argument area of a printf call, see `parse.ts`. */
import { alignUp } from '../base/align.ts';
import { WavewrightError } from '../base/errors.ts';
import type { Measure, Section } from './parse.ts';

/**
 * `packed`: no padding, as AMD GPU clients send it. `natural`: every argument aligned to its own size, as
 * NVIDIA GPU clients send it.
 */
export type ArgumentLayout = 'packed' | 'natural';

export interface ConversionArguments {
  readonly width: number | undefined;
  readonly precision: number | undefined;
  /** The raw value, unsigned: an integer, the bits of a double, or an address. */
  readonly value: bigint;
}

class AreaCursor {
  offset = 0;
  readonly #layout: ArgumentLayout;

  constructor(layout: ArgumentLayout) {
    this.#layout = layout;
  }

  /** Offset of the next argument of this size. */
  next(sizeBytes: 4 | 8): number {
    const at = this.#layout === 'packed' ? this.offset : alignUp(this.offset, sizeBytes);
    this.offset = at + sizeBytes;
    return at;
  }
}

/** Bytes of the argument area. */
export function argumentAreaSizeBytes(sections: readonly Section[], layout: ArgumentLayout): number {
  const cursor = new AreaCursor(layout);
  for (const { conversion } of sections) {
    if (conversion?.width === 'argument') cursor.next(4);
    if (conversion?.precision === 'argument') cursor.next(4);
    if (conversion !== undefined && conversion.argumentSizeBytes !== 0) cursor.next(conversion.argumentSizeBytes);
  }
  return cursor.offset;
}

/**
 * The arguments of each section, `undefined` for text. Throws RPC_PROTOCOL when the area is smaller than
 * `argumentAreaSizeBytes`.
 */
export function readArguments(
  sections: readonly Section[],
  area: Uint8Array,
  layout: ArgumentLayout,
): (ConversionArguments | undefined)[] {
  const sizeBytes = argumentAreaSizeBytes(sections, layout);
  if (area.length < sizeBytes) {
    throw new WavewrightError('RPC_PROTOCOL', `printf sent ${area.length} bytes of arguments, expected ${sizeBytes}`);
  }
  const data = new DataView(area.buffer, area.byteOffset, area.byteLength);
  const cursor = new AreaCursor(layout);
  const measure = (given: Measure) => (given === 'argument' ? data.getInt32(cursor.next(4), true) : given);
  return sections.map(({ conversion }) => {
    if (conversion === undefined) return undefined;
    const width = measure(conversion.width);
    const precision = measure(conversion.precision);
    const { argumentSizeBytes } = conversion;
    if (argumentSizeBytes === 0) return { width, precision, value: 0n };
    const at = cursor.next(argumentSizeBytes);
    const value = argumentSizeBytes === 4 ? BigInt(data.getUint32(at, true)) : data.getBigUint64(at, true);
    return { width, precision, value };
  });
}

/** Addresses of the strings that the server must ask for, in order; a null `%s` needs none. */
export function stringAddresses(
  sections: readonly Section[],
  values: readonly (ConversionArguments | undefined)[],
): bigint[] {
  const addresses: bigint[] = [];
  for (const [index, { conversion }] of sections.entries()) {
    const value = values[index]?.value ?? 0n;
    if (conversion?.specifier === 's' && value !== 0n) addresses.push(value);
  }
  return addresses;
}
