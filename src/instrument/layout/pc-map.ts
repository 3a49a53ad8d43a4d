/**
 * Which original instruction an instruction of rewritten code is, or serves: the map between new and old
 * addresses, and the form in which a code object keeps it.
 */
import { ByteReader } from '../../base/bytes.ts';
import { concatenate } from '../../base/concatenate.ts';
import type { ErrorContext } from '../../base/errors.ts';
import { putUnsigned } from '../../base/leb128.ts';

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

type OriginalRow = PcRow & { readonly origin: number };

const isOriginal = (row: PcRow): row is OriginalRow => row.kind === 'original' && row.origin !== undefined;

const KINDS: readonly PcKind[] = ['original', 'payload', 'island', 'branch', 'filler'];
/** "WWPC", then the version. */
const MAGIC = 0x43505757;
const VERSION = 1;
const HEADER_BYTES = 12;
/** Bytes of an instruction are a multiple of it, and so are addresses. */
const DWORD_BYTES = 4;

/**
 * Rows in the order of their addresses, without a gap in the code of one rewriting. Code that was rewritten
 * twice has rows for both: the origin of a row may have a row of its own.
 */
export class PcMap {
  readonly rows: readonly PcRow[];
  /** The rows of instructions that are original, by origin. */
  #originals: readonly OriginalRow[] | undefined;

  constructor(rows: readonly PcRow[]) {
    this.rows = rows;
  }

  /** The row that holds a byte of new code. */
  rowAt(address: number): PcRow | undefined {
    const row = this.rows[firstAt(this.rows, (each) => each.address > address) - 1];
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
    const row = this.#byOrigin[this.#firstFrom(origin)];
    return row?.origin === origin ? row.address : undefined;
  }

  /** Bytes of new code from the first to the last instruction of old code. */
  newSizeOf(start: number, sizeBytes: number): number {
    const first = this.#byOrigin[this.#firstFrom(start)];
    const last = this.#byOrigin[this.#firstFrom(start + sizeBytes) - 1];
    return first && last && last.address >= first.address ? last.address + last.sizeBytes - first.address : 0;
  }

  get #byOrigin(): readonly OriginalRow[] {
    this.#originals ??= this.rows.filter(isOriginal).toSorted((a, b) => a.origin - b.origin);
    return this.#originals;
  }

  #firstFrom(origin: number): number {
    return firstAt(this.#byOrigin, (row) => row.origin >= origin);
  }
}

/** Index of the first row for which `isBehind` holds, which then holds for all that follow. */
function firstAt<R extends PcRow>(rows: readonly R[], isBehind: (row: R) => boolean): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBehind(rows[middle]!)) high = middle;
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
export function encodePcMap({ rows }: PcMap): Uint8Array {
  const header = new Uint8Array(HEADER_BYTES);
  const view = new DataView(header.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, VERSION, true);
  view.setUint32(8, rows.length, true);
  const body: number[] = [];
  let [end, origin] = [0, 0];
  for (const row of rows) {
    putUnsigned(body, ((row.address - end) / DWORD_BYTES) * KINDS.length + KINDS.indexOf(row.kind));
    putUnsigned(body, row.sizeBytes / DWORD_BYTES);
    end = row.address + row.sizeBytes;
    const distance = row.origin === undefined ? undefined : (row.origin - origin) / DWORD_BYTES;
    putUnsigned(body, distance === undefined ? 0 : distance < 0 ? -2 * distance : 1 + 2 * distance);
    origin = row.origin ?? origin;
  }
  return concatenate([header, Uint8Array.from(body)]);
}

/** Throws BAD_INPUT for what `encodePcMap` does not write. */
export function decodePcMap(bytes: Uint8Array, at: ErrorContext): PcMap {
  const reader = new ByteReader(bytes, at);
  if (reader.u32('the magic of a map of addresses') !== MAGIC) reader.fail('no map of addresses', 0);
  const version = reader.u32('the version of a map of addresses');
  if (version !== VERSION) reader.fail(`version ${version} of a map of addresses, expected ${VERSION}`, 4);
  const count = reader.u32('the number of rows');
  const rows: PcRow[] = [];
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
    rows.push({ address, sizeBytes, origin: folded === 0 ? undefined : origin, kind: KINDS[first % KINDS.length]! });
    end = address + sizeBytes;
  }
  if (reader.remaining > 0) reader.fail(`${reader.remaining} bytes behind a map of addresses`);
  return new PcMap(rows);
}
