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

/**
 * Rows to be, column by column: code has many. The instructions of one payload are a run, which takes as much
 * memory as one row.
 */
export class PcRows {
  /** How many rows there are, and in how many runs. */
  length = 0;
  runCount = 0;
  /** Of the first rows of runs. */
  addresses: Float64Array;
  /** Of runs, with NO_ORIGIN. */
  origins: Float64Array;
  /** Indices of `KINDS`, of runs. */
  kinds: Uint8Array;
  /** Of the row of a run, or of its rows. */
  readonly sizesBytes: (number | readonly number[])[] = [];

  /** `capacity`: how many runs there may be before memory has to grow. */
  constructor(capacity = FIRST_CAPACITY) {
    this.addresses = new Float64Array(capacity);
    this.origins = new Float64Array(capacity);
    this.kinds = new Uint8Array(capacity);
  }

  add(address: number, sizeBytes: number, origin: number | undefined, kind: PcKind): void {
    this.#addRun(address, sizeBytes, origin ?? NO_ORIGIN, KIND_NUMBERS[kind]);
    this.length++;
  }

  /** Instructions one behind the other; an empty payload has no rows. */
  addPayload(address: number, sizesBytes: readonly number[], origin: number): void {
    if (sizesBytes.length === 0) return;
    this.#addRun(address, sizesBytes, origin, KIND_NUMBERS.payload);
    this.length += sizesBytes.length;
  }

  addAll(other: PcRows): void {
    const { runCount, addresses, sizesBytes, origins, kinds } = other;
    for (let run = 0; run < runCount; run++) {
      this.#addRun(addresses[run]!, sizesBytes[run]!, origins[run]!, kinds[run]!);
    }
    this.length += other.length;
  }

  /** The rows in their order. */
  forEach(visit: (row: PcRow) => void): void {
    for (let run = 0; run < this.runCount; run++) {
      const sizesBytes = this.sizesBytes[run]!;
      if (typeof sizesBytes === 'number') {
        visit(this.firstOf(run));
        continue;
      }
      let { address, ...others } = this.firstOf(run);
      for (const sizeBytes of sizesBytes) {
        visit({ ...others, address, sizeBytes });
        address += sizeBytes;
      }
    }
  }

  /** The first row of a run. */
  firstOf(run: number): PcRow {
    const sizesBytes = this.sizesBytes[run]!;
    return {
      address: this.addresses[run]!,
      sizeBytes: typeof sizesBytes === 'number' ? sizesBytes : sizesBytes[0]!,
      origin: this.originOf(run),
      kind: KINDS[this.kinds[run]!]!,
    };
  }

  originOf(run: number): number | undefined {
    const origin = this.origins[run]!;
    return origin === NO_ORIGIN ? undefined : origin;
  }

  /** The row of a run that holds a byte. */
  rowIn(run: number, byte: number): PcRow | undefined {
    let { address, sizeBytes, ...others } = this.firstOf(run);
    const sizesBytes = this.sizesBytes[run]!;
    for (let i = 1; typeof sizesBytes === 'object' && byte >= address + sizeBytes && i < sizesBytes.length; i++) {
      address += sizeBytes;
      sizeBytes = sizesBytes[i]!;
    }
    return byte < address + sizeBytes ? { ...others, address, sizeBytes } : undefined;
  }

  #addRun(address: number, sizesBytes: number | readonly number[], origin: number, kind: number): void {
    const at = this.runCount++;
    if (at === this.addresses.length) this.#grow();
    this.addresses[at] = address;
    this.sizesBytes.push(sizesBytes);
    this.origins[at] = origin;
    this.kinds[at] = kind;
  }

  #grow(): void {
    const grown = <T extends Float64Array | Uint8Array>(made: T, old: T): T => {
      made.set(old);
      return made;
    };
    const capacity = this.runCount * 2;
    this.addresses = grown(new Float64Array(capacity), this.addresses);
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
  /** Runs of instructions that are original, each of one row, by origin. */
  #originals: Uint32Array | undefined;

  constructor(rows: PcRows | readonly PcRow[]) {
    if (rows instanceof PcRows) this.columns = rows;
    else {
      this.columns = new PcRows();
      for (const { address, sizeBytes, origin, kind } of rows) this.columns.add(address, sizeBytes, origin, kind);
    }
  }

  get rows(): readonly PcRow[] {
    if (!this.#rows) {
      const rows: PcRow[] = [];
      this.columns.forEach((row) => {
        rows.push(row);
      });
      this.#rows = rows;
    }
    return this.#rows;
  }

  /** The row that holds a byte of new code. */
  rowAt(address: number): PcRow | undefined {
    const { addresses, runCount } = this.columns;
    const run = firstAt(runCount, (each) => addresses[each]! > address) - 1;
    return run < 0 ? undefined : this.columns.rowIn(run, address);
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
    const run = this.#byOrigin[index];
    return run === undefined ? undefined : this.columns.firstOf(run);
  }

  get #byOrigin(): Uint32Array {
    if (!this.#originals) {
      const { kinds, origins, runCount } = this.columns;
      const found = new Uint32Array(runCount);
      let [count, last] = [0, NO_ORIGIN];
      let isInOrder = true;
      for (let run = 0; run < runCount; run++) {
        const origin = origins[run]!;
        if (kinds[run] !== ORIGINAL || origin === NO_ORIGIN) continue;
        isInOrder &&= last <= origin;
        last = origin;
        found[count++] = run;
      }
      const own = found.subarray(0, count);
      this.#originals = isInOrder ? own : own.sort((a, b) => origins[a]! - origins[b]! || a - b);
    }
    return this.#originals;
  }

  #firstFrom(origin: number): number {
    const runs = this.#byOrigin;
    const { origins } = this.columns;
    return firstAt(runs.length, (each) => origins[runs[each]!]! >= origin);
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
  const { length, runCount, addresses, sizesBytes, origins, kinds } = columns;
  let bytes = new Uint8Array(HEADER_BYTES + MOST_ROW_BYTES + length * ROW_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, VERSION, true);
  view.setUint32(8, length, true);
  let at = HEADER_BYTES;
  let [end, origin] = [0, 0];
  for (let run = 0; run < runCount; run++) {
    const sizes = sizesBytes[run]!;
    const rowCount = typeof sizes === 'number' ? 1 : sizes.length;
    if (at + MOST_ROW_BYTES * rowCount > bytes.length) {
      const larger = new Uint8Array(bytes.length * 2 + MOST_ROW_BYTES * rowCount);
      larger.set(bytes);
      bytes = larger;
    }
    const address = addresses[run]!;
    const from = origins[run]!;
    const kind = kinds[run]!;
    for (let i = 0; i < rowCount; i++) {
      const sizeBytes = typeof sizes === 'number' ? sizes : sizes[i]!;
      at = writeUnsigned(bytes, at, i > 0 ? kind : ((address - end) / DWORD_BYTES) * KINDS.length + kind);
      at = writeUnsigned(bytes, at, sizeBytes / DWORD_BYTES);
      end = i > 0 ? end + sizeBytes : address + sizeBytes;
      if (from === NO_ORIGIN) at = writeUnsigned(bytes, at, 0);
      else {
        const distance = (from - origin) / DWORD_BYTES;
        at = writeUnsigned(bytes, at, distance < 0 ? -2 * distance : 1 + 2 * distance);
        origin = from;
      }
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
