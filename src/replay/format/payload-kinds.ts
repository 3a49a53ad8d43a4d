/** What fields of payloads hold: how each kind lies in bytes. */
import { decodeUtf8 } from '../../base/bytes.ts';

/** A range of a buffer, or of what is in a slot. */
export interface BufferRefRecord {
  /** 0: `slot` counts. */
  readonly bufferId: number;
  readonly offset: number;
  /** Undefined: up to the end. */
  readonly length: number | undefined;
  readonly slot: number;
}

export interface TimepointRecord {
  readonly semaphoreId: number;
  readonly value: number;
}

export interface MemoryBarrierRecord {
  readonly sourceScope: number;
  readonly targetScope: number;
}

export interface BufferBarrierRecord extends MemoryBarrierRecord {
  readonly ref: BufferRefRecord;
}

/** What lies in a payload, of a size that the table says. */
export interface FixedKinds {
  readonly u8: number;
  readonly u16: number;
  readonly u32: number;
  readonly u64: bigint;
  readonly size: number;
  readonly extent: readonly number[];
  readonly bufferRef: BufferRefRecord;
  readonly digest: Uint8Array;
}

/** What lies behind the fields. */
export interface TailKinds {
  readonly data: Uint8Array;
  readonly text: string;
  /** 32 bits each. */
  readonly words: readonly number[];
  readonly ids: readonly number[];
  readonly timepoints: readonly TimepointRecord[];
  readonly bufferRefs: readonly BufferRefRecord[];
  readonly memoryBarriers: readonly MemoryBarrierRecord[];
  readonly bufferBarriers: readonly BufferBarrierRecord[];
}

export interface FixedCodec<Value> {
  readonly none: Value;
  /** Undefined for a number that is too large. */
  get(view: DataView, at: number): Value | undefined;
  set(view: DataView, at: number, value: Value): void;
}

export interface TailCodec<Value> {
  readonly none: Value;
  /** Of one that the length counts. */
  readonly width: number;
  /** Undefined for a number that is too large, and for what is no text. */
  get(bytes: Uint8Array): Value | undefined;
  bytes(value: Value): Uint8Array;
}

/** `IREE_WHOLE_BUFFER`. */
const WHOLE = 2n ** 64n - 1n;
export const NO_BUFFER: BufferRefRecord = { bufferId: 0, offset: 0, length: 0, slot: 0 };
const REF_BYTES = 32;

/** A u64 as a number; undefined above 2^53 - 1. */
function sizeAt(view: DataView, at: number): number | undefined {
  const high = view.getUint32(at + 4, true);
  return high > 0x1f_ffff ? undefined : high * 0x1_0000_0000 + view.getUint32(at, true);
}

const setSize = (view: DataView, at: number, value: number): void => view.setBigUint64(at, BigInt(value), true);

function refAt(view: DataView, at: number): BufferRefRecord | undefined {
  const [bufferId, offset] = [sizeAt(view, at), sizeAt(view, at + 8)];
  const length = sizeAt(view, at + 16);
  if (bufferId === undefined || offset === undefined) return undefined;
  if (length === undefined && view.getBigUint64(at + 16, true) !== WHOLE) return undefined;
  return { bufferId, offset, length, slot: view.getUint32(at + 24, true) };
}

function setRef(view: DataView, at: number, { bufferId, offset, length, slot }: BufferRefRecord): void {
  setSize(view, at, bufferId);
  setSize(view, at + 8, offset);
  view.setBigUint64(at + 16, length === undefined ? WHOLE : BigInt(length), true);
  view.setUint32(at + 24, slot, true);
}

const number = (sizeBytes: 1 | 2 | 4): FixedCodec<number> => ({
  none: 0,
  get: (view, at) =>
    sizeBytes === 1 ? view.getUint8(at) : sizeBytes === 2 ? view.getUint16(at, true) : view.getUint32(at, true),
  set: (view, at, value) => {
    if (sizeBytes === 1) view.setUint8(at, value);
    else if (sizeBytes === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
  },
});

const DIGEST_BYTES = 32;

export const FIXED: { readonly [Kind in keyof FixedKinds]: FixedCodec<FixedKinds[Kind]> } = {
  u8: number(1),
  u16: number(2),
  u32: number(4),
  u64: {
    none: 0n,
    get: (view, at) => view.getBigUint64(at, true),
    set: (view, at, value) => view.setBigUint64(at, value, true),
  },
  size: { none: 0, get: sizeAt, set: setSize },
  extent: {
    none: [0, 0, 0],
    get: (view, at) => [0, 4, 8].map((offset) => view.getUint32(at + offset, true)),
    set: (view, at, value) => {
      for (const [i, each] of value.entries()) view.setUint32(at + 4 * i, each, true);
    },
  },
  bufferRef: { none: NO_BUFFER, get: refAt, set: setRef },
  digest: {
    none: new Uint8Array(DIGEST_BYTES),
    get: (view, at) => new Uint8Array(view.buffer, view.byteOffset + at, DIGEST_BYTES),
    set: (view, at, value) => {
      for (let i = 0; i < DIGEST_BYTES; i++) view.setUint8(at + i, value[i] ?? 0);
    },
  },
};

/** Elements of one size, one behind the other. */
const list = <Element>(
  width: number,
  get: (view: DataView, at: number) => Element | undefined,
  set: (view: DataView, at: number, value: Element) => void,
): TailCodec<readonly Element[]> => ({
  none: [],
  width,
  get: (bytes) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const elements: Element[] = [];
    for (let at = 0; at < bytes.length; at += width) {
      const element = get(view, at);
      if (element === undefined) return undefined;
      elements.push(element);
    }
    return elements;
  },
  bytes: (value) => {
    const bytes = new Uint8Array(width * value.length);
    const view = new DataView(bytes.buffer);
    for (const [i, each] of value.entries()) set(view, width * i, each);
    return bytes;
  },
});

export const TAILS: { readonly [Kind in keyof TailKinds]: TailCodec<TailKinds[Kind]> } = {
  data: { none: new Uint8Array(), width: 1, get: (bytes) => bytes, bytes: (value) => value },
  text: { none: '', width: 1, get: decodeUtf8, bytes: (value) => new TextEncoder().encode(value) },
  words: list(
    4,
    (view, at) => view.getUint32(at, true),
    (view, at, value) => view.setUint32(at, value, true),
  ),
  ids: list(8, sizeAt, setSize),
  timepoints: list(
    16,
    (view, at) => {
      const [semaphoreId, value] = [sizeAt(view, at), sizeAt(view, at + 8)];
      return semaphoreId === undefined || value === undefined ? undefined : { semaphoreId, value };
    },
    (view, at, { semaphoreId, value }) => {
      setSize(view, at, semaphoreId);
      setSize(view, at + 8, value);
    },
  ),
  bufferRefs: list(REF_BYTES, refAt, setRef),
  memoryBarriers: list(
    8,
    (view, at) => ({ sourceScope: view.getUint32(at, true), targetScope: view.getUint32(at + 4, true) }),
    (view, at, { sourceScope, targetScope }) => {
      view.setUint32(at, sourceScope, true);
      view.setUint32(at + 4, targetScope, true);
    },
  ),
  bufferBarriers: list(
    8 + REF_BYTES,
    (view, at) => {
      const ref = refAt(view, at + 8);
      if (ref === undefined) return undefined;
      return { sourceScope: view.getUint32(at, true), targetScope: view.getUint32(at + 4, true), ref };
    },
    (view, at, { sourceScope, targetScope, ref }) => {
      view.setUint32(at, sourceScope, true);
      view.setUint32(at + 4, targetScope, true);
      setRef(view, at + 8, ref);
    },
  ),
};
