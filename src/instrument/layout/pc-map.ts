/**
 * Which original instruction an instruction of rewritten code is, or serves: the map between new and old
 * addresses, and the form in which a code object keeps it.
 */
import { ByteReader } from '../../base/bytes.ts';
import type { ErrorContext } from '../../base/errors.ts';
import { writeUnsigned } from '../../base/leb128.ts';

/**
 * What new code is: the `original` instruction itself, `payload` that serves it, an `island` that its branch
 * goes through, a `branch` or an end that keeps control on its old way behind it, or `filler`, which nothing
 * in the original code asks for.
 */
export type PcKind = 'original' | 'payload' | 'island' | 'branch' | 'filler';

export interface PcRow {
  /** Image address of the instruction in the new code; of filler, that of all that stands together. */
  readonly address: number;
  readonly sizeBytes: number;
  /**
   * Image address of the original instruction that it belongs to. Filler has none: what aligns the entries of
   * kernels and functions, and what stands behind all code for instruction prefetch.
   */
  readonly origin: number | undefined;
  readonly kind: PcKind;
}

const KINDS: readonly PcKind[] = ['original', 'payload', 'island', 'branch', 'filler'];
const KIND_NUMBERS: Readonly<Record<PcKind, number>> = { original: 0, payload: 1, island: 2, branch: 3, filler: 4 };
/** "WWPC", then the version. */
const MAGIC = 0x43505757;
const VERSION = 1;
const HEADER_BYTES = 12;
/** Three numbers of 53 bits, and what is enough for most. */
const MOST_ROW_BYTES = 24;
const ROW_BYTES = 4;
/** Bytes of an instruction are a multiple of it, and so are addresses. */
const DWORD_BYTES = 4;

/** In place of an origin that there is not. */
const NO_ORIGIN = -1;
const FIRST_CAPACITY = 1024;

/** Rows to be, column by column: code has many. */
export class PcRows {
  length = 0;
  addresses: Float64Array;
  sizesBytes: Float64Array;
  origins: Float64Array;
  /** Indices of `KINDS`. */
  kinds: Uint8Array;

  /** `capacity`: how many there may be before memory has to grow. */
  constructor(capacity = FIRST_CAPACITY) {
    this.addresses = new Float64Array(capacity);
    this.sizesBytes = new Float64Array(capacity);
    this.origins = new Float64Array(capacity);
    this.kinds = new Uint8Array(capacity);
  }

  add(address: number, sizeBytes: number, origin: number | undefined, kind: PcKind): void {
    const at = this.length++;
    if (at === this.addresses.length) this.#grow();
    this.addresses[at] = address;
    this.sizesBytes[at] = sizeBytes;
    this.origins[at] = origin ?? NO_ORIGIN;
    this.kinds[at] = KIND_NUMBERS[kind];
  }

  /** One behind the other. */
  addRun(address: number, sizesBytes: readonly number[], origin: number | undefined, kind: PcKind): void {
    const from = origin ?? NO_ORIGIN;
    const number = KIND_NUMBERS[kind];
    let [at, place] = [this.length, address];
    this.length += sizesBytes.length;
    while (this.length > this.addresses.length) this.#grow();
    for (let i = 0; i < sizesBytes.length; i++, at++) {
      const sizeBytes = sizesBytes[i]!;
      this.addresses[at] = place;
      this.sizesBytes[at] = sizeBytes;
      this.origins[at] = from;
      this.kinds[at] = number;
      place += sizeBytes;
    }
  }

  addAll(other: PcRows): void {
    for (let i = 0; i < other.length; i++) {
      const { address, sizeBytes, origin, kind } = other.at(i);
      this.add(address, sizeBytes, origin, kind);
    }
  }

  at(index: number): PcRow {
    const origin = this.origins[index]!;
    return {
      address: this.addresses[index]!,
      sizeBytes: this.sizesBytes[index]!,
      origin: origin === NO_ORIGIN ? undefined : origin,
      kind: KINDS[this.kinds[index]!]!,
    };
  }

  #grow(): void {
    const grown = <T extends Float64Array | Uint8Array>(made: T, old: T): T => {
      made.set(old);
      return made;
    };
    const capacity = this.length * 2;
    this.addresses = grown(new Float64Array(capacity), this.addresses);
    this.sizesBytes = grown(new Float64Array(capacity), this.sizesBytes);
    this.origins = grown(new Float64Array(capacity), this.origins);
    this.kinds = grown(new Uint8Array(capacity), this.kinds);
  }
}

const ORIGINAL = KIND_NUMBERS.original;

/**
 * Rows in the order of their addresses, without a gap in the code of one rewriting. Code that was rewritten
 * twice has rows for both: the origin of a row may have a row of its own.
 */
export class PcMap {
  readonly columns: PcRows;
  #rows: readonly PcRow[] | undefined;
  /** Indices of the rows of instructions that are original, by origin. */
  #originals: Uint32Array | undefined;

  constructor(rows: PcRows | readonly PcRow[]) {
    if (rows instanceof PcRows) this.columns = rows;
    else {
      this.columns = new PcRows();
      for (const { address, sizeBytes, origin, kind } of rows) this.columns.add(address, sizeBytes, origin, kind);
    }
  }

  get rows(): readonly PcRow[] {
    this.#rows ??= Array.from({ length: this.columns.length }, (_, index) => this.columns.at(index));
    return this.#rows;
  }

  /** The row that holds a byte of new code. */
  rowAt(address: number): PcRow | undefined {
    const { addresses, length } = this.columns;
    const index = firstAt(length, (each) => addresses[each]! > address) - 1;
    const row = index < 0 ? undefined : this.columns.at(index);
    return row && address < row.address + row.sizeBytes ? row : undefined;
  }

  /**
   * The address that the instruction had before all rewriting; where there was none, the one that it had
   * when it was written: that of code that was never rewritten, and of filler.
   */
  originOf(address: number): number {
    let at = address;
    // Each rewriting puts its code behind what was there, so origins fall.
    for (;;) {
      const origin = this.rowAt(at)?.origin;
      if (origin === undefined || origin >= at) return at;
      at = origin;
    }
  }

  /** Where the instruction from an old address is now, as itself and not as what serves it. */
  newAddressOf(origin: number): number | undefined {
    const row = this.#original(this.#firstFrom(origin));
    return row?.origin === origin ? row.address : undefined;
  }

  /** Bytes of new code from the first to the last instruction of old code. */
  newSizeOf(start: number, sizeBytes: number): number {
    const first = this.#original(this.#firstFrom(start));
    const last = this.#original(this.#firstFrom(start + sizeBytes) - 1);
    return first && last && last.address >= first.address ? last.address + last.sizeBytes - first.address : 0;
  }

  /** By the order of origins. */
  #original(index: number): PcRow | undefined {
    const row = this.#byOrigin[index];
    return row === undefined ? undefined : this.columns.at(row);
  }

  get #byOrigin(): Uint32Array {
    if (!this.#originals) {
      const { kinds, origins, length } = this.columns;
      const found: number[] = [];
      for (let i = 0; i < length; i++) if (kinds[i] === ORIGINAL && origins[i] !== NO_ORIGIN) found.push(i);
      const isInOrder = found.every((row, i) => i === 0 || origins[found[i - 1]!]! <= origins[row]!);
      if (!isInOrder) found.sort((a, b) => origins[a]! - origins[b]!);
      this.#originals = Uint32Array.from(found);
    }
    return this.#originals;
  }

  #firstFrom(origin: number): number {
    const rows = this.#byOrigin;
    const { origins } = this.columns;
    return firstAt(rows.length, (each) => origins[rows[each]!]! >= origin);
  }
}

/** The first number below `end` for which `isBehind` holds, which then holds for all that follow. */
function firstAt(end: number, isBehind: (index: number) => boolean): number {
  let [low, high] = [0, end];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBehind(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * The section `.wavewright.map`: magic, version and number of rows as 32-bit words, then for each row three
 * numbers in unsigned LEB128: `gap * 5 + kind` (0 original, 1 payload, 2 island, 3 branch, 4 filler), with
 * the dwords between the row before and this one (from address 0 for the first); its own dwords; and 0 where
 * it has no origin, else the dwords from the last origin before to this one: 2n + 1 for n, 2n for -n.
 */
export function encodePcMap({ columns }: PcMap): Uint8Array {
  const { length, addresses, sizesBytes, origins, kinds } = columns;
  let bytes = new Uint8Array(HEADER_BYTES + MOST_ROW_BYTES + length * ROW_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, VERSION, true);
  view.setUint32(8, length, true);
  let at = HEADER_BYTES;
  let [end, origin] = [0, 0];
  for (let i = 0; i < length; i++) {
    if (at + MOST_ROW_BYTES > bytes.length) {
      const larger = new Uint8Array(bytes.length * 2);
      larger.set(bytes);
      bytes = larger;
    }
    const address = addresses[i]!;
    const sizeBytes = sizesBytes[i]!;
    const from = origins[i]!;
    at = writeUnsigned(bytes, at, ((address - end) / DWORD_BYTES) * KINDS.length + kinds[i]!);
    at = writeUnsigned(bytes, at, sizeBytes / DWORD_BYTES);
    end = address + sizeBytes;
    if (from === NO_ORIGIN) at = writeUnsigned(bytes, at, 0);
    else {
      const distance = (from - origin) / DWORD_BYTES;
      at = writeUnsigned(bytes, at, distance < 0 ? -2 * distance : 1 + 2 * distance);
      origin = from;
    }
  }
  return bytes.slice(0, at);
}

/** Throws BAD_INPUT for what `encodePcMap` does not write. */
export function decodePcMap(bytes: Uint8Array, at: ErrorContext): PcMap {
  const reader = new ByteReader(bytes, at);
  if (reader.u32('the magic of a map of addresses') !== MAGIC) reader.fail('no map of addresses', 0);
  const version = reader.u32('the version of a map of addresses');
  if (version !== VERSION) reader.fail(`version ${version} of a map of addresses, expected ${VERSION}`, 4);
  const count = reader.u32('the number of rows');
  const rows = new PcRows();
  let [end, origin] = [0, 0];
  for (let i = 0; i < count; i++) {
    const first = reader.uleb128('a number');
    const address = end + Math.floor(first / KINDS.length) * DWORD_BYTES;
    const sizeBytes = reader.uleb128('a number') * DWORD_BYTES;
    const folded = reader.uleb128('a number');
    origin += (folded % 2 === 0 ? -folded / 2 : (folded - 1) / 2) * DWORD_BYTES;
    if (sizeBytes === 0 || origin < 0 || !Number.isSafeInteger(address + sizeBytes)) {
      reader.fail(`row ${i} of a map of addresses, which nothing can mean`);
    }
    rows.add(address, sizeBytes, folded === 0 ? undefined : origin, KINDS[first % KINDS.length]!);
    end = address + sizeBytes;
  }
  if (reader.remaining > 0) reader.fail(`${reader.remaining} bytes behind a map of addresses`);
  return new PcMap(rows);
}
