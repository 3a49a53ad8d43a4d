/**
 * Address translation in WebAssembly: GPU addresses to offsets in device memory. Every access is checked
 * against the validity map, the LDS size or the private segment size before it happens; what fails calls the
 * imported fault function, which throws.
 */
import type { MemorySpace } from '../../ir/types.ts';
import {
  add64,
  and,
  eq,
  gtU,
  gtU64,
  loadFrom,
  ne,
  or,
  type Push,
  push,
  select,
  shl,
  shrU,
  sub,
  sum,
  type Term,
  xor,
  zext64,
} from '../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import type { FunctionRef } from '../../wasm/types.ts';
import { ACCESS_CODES, type AccessKind, FAULT_LDS, FAULT_PRIVATE, misalignedCode } from '../machine/access-codes.ts';
import {
  DEVICE_MEMORY,
  GRANULE_LOG2,
  MAY_READ,
  MAY_WRITE,
  VALIDITY_MAP,
  WAVE_LDS_BASE,
  WAVE_LDS_SIZE,
  WAVE_PRIVATE_BASE,
  WAVE_PRIVATE_SIZE,
} from '../machine/layout.ts';
import type { ModuleContext } from './module-context.ts';
import { privateByte } from './private-address.ts';

/** High words of addresses: the device memory window and the flat apertures. */
export interface AddressSpaces {
  readonly windowHi: number;
  readonly sharedApertureHi: number;
  readonly privateApertureHi: number;
  readonly waveSize: 32 | 64;
  /** Number of the scalar with the lanes that are stopped, in languages whose lanes take turns. */
  readonly stoppedScalar?: number | undefined;
}

const PERMISSION: Readonly<Record<AccessKind, number>> = {
  read: MAY_READ,
  write: MAY_WRITE,
  atomic: MAY_READ | MAY_WRITE,
};

/** What an access does, and to how many bytes; what its address has to be a multiple of. */
export interface AccessExtent {
  readonly kind: AccessKind;
  readonly sizeBytes: number;
  readonly alignmentBytes?: number | undefined;
}

/**
 * Function (record, wave, lane, address low, address high) -> offset of the first dword in device memory.
 * Dwords follow each other, but for private memory, where they are a row apart: see `dwordStride`.
 */
export function translator(
  context: ModuleContext,
  spaces: AddressSpaces,
  space: MemorySpace,
  { kind: access, sizeBytes, alignmentBytes = 1 }: AccessExtent,
): FunctionRef {
  const name = `translate ${space} ${access} ${sizeBytes} ${alignmentBytes}`;
  return context.helper(name, ['i32', 'i32', 'i32', 'i32', 'i32'], ['i32'], (f) => {
    const [record, wave, lane, low, high] = [0, 1, 2, 3, 4].map((i) => f.param(i)) as [
      Local,
      Local,
      Local,
      Local,
      Local,
    ];
    const fail = (where: number): void => {
      f.get(record);
      f.get(wave);
      f.i32(ACCESS_CODES[access] | where);
      f.get(lane);
      f.get(low);
      f.get(high);
      f.call(context.fault);
      f.unreachable();
    };
    if (alignmentBytes > 1) {
      push(f, and(low, alignmentBytes - 1));
      f.ifRare(() => fail(misalignedCode(access, space)));
    }
    const own: SegmentAccess = { wave, lane, low, kind: access, sizeBytes };
    const toLds = (): void => translateLds(f, own, fail);
    const toPrivate = (): void => translatePrivate(f, own, spaces.waveSize, fail);
    if (space === 'lds') toLds();
    else if (space === 'private') toPrivate();
    else {
      ifHigh(f, high, spaces.windowHi, () => translateGlobal(f, low, access, sizeBytes, fail));
      if (space === 'flat') {
        ifHigh(f, high, spaces.sharedApertureHi, toLds);
        ifHigh(f, high, spaces.privateApertureHi, toPrivate);
      }
      fail(0);
    }
  });
}

/**
 * Runs `then`, which leaves the translated address on the stack, and returns it when the high word is
 * `value`.
 */
function ifHigh(f: FunctionBuilder, high: Local, value: number, then: () => void): void {
  push(f, eq(high, value));
  f.if(undefined, () => {
    then();
    f.return();
  });
}

/**
 * Both the first and the last byte are in granules that permit the access; accesses are at most 64 bytes,
 * holes are larger.
 */
function translateGlobal(
  f: FunctionBuilder,
  low: Local,
  access: AccessKind,
  sizeBytes: number,
  fail: (where: number) => void,
): void {
  const first = validityOf(low);
  const permissions = sizeBytes > 1 ? and(first, validityOf(sum(low, sizeBytes - 1))) : first;
  push(f, ne(and(permissions, PERMISSION[access]), PERMISSION[access]));
  f.ifRare(() => fail(0));
  f.get(low);
}

/** The validity map's byte of an address. */
export const validityOf = (address: Term): Push => loadFrom('i32.load8_u', shrU(address, GRANULE_LOG2), VALIDITY_MAP);

/** Runs `fail` when an access ends above the limit in the wave state. */
function checkLimit(
  f: FunctionBuilder,
  { wave, low, sizeBytes }: SegmentAccess,
  limit: number,
  fail: () => void,
): void {
  push(f, gtU64(add64(zext64(low), BigInt(sizeBytes)), loadFrom('i64.load32_u', wave, limit)));
  f.ifRare(fail);
}

/** An access to LDS or private memory from the byte `low` of the segment on. */
interface SegmentAccess {
  readonly wave: Local;
  readonly lane: Local;
  readonly low: Local;
  readonly kind: AccessKind;
  readonly sizeBytes: number;
}

type Fail = (where: number) => void;

function translateLds(f: FunctionBuilder, access: SegmentAccess, fail: Fail): void {
  checkLimit(f, access, WAVE_LDS_SIZE, () => fail(FAULT_LDS));
  push(f, sum(loadFrom('i32.load', access.wave, WAVE_LDS_BASE), access.low));
}

/**
 * Accesses that begin inside a dword are split (LLVM's AMDGPU feature unaligned-scratch-access, which every
 * gfx9 has); atomics must be aligned.
 */
function translatePrivate(f: FunctionBuilder, access: SegmentAccess, waveSize: 32 | 64, fail: Fail): void {
  const { wave, lane, low, kind } = access;
  checkLimit(f, access, WAVE_PRIVATE_SIZE, () => fail(FAULT_PRIVATE));
  if (kind === 'atomic') {
    push(f, and(low, 3));
    f.ifRare(() => fail(misalignedCode(kind, 'private')));
  }
  push(f, privateByte(loadFrom('i32.load', wave, WAVE_PRIVATE_BASE), low, lane, waveSize));
}

/**
 * Pushes the distance in bytes between consecutive dwords of an access with more than one: a constant, but
 * for flat addresses, whose high word decides.
 */
export function pushDwordStride(
  f: FunctionBuilder,
  space: MemorySpace,
  high: Local | undefined,
  spaces: AddressSpaces,
): void {
  const row = spaces.waveSize * 4;
  if (space !== 'flat' || !high) {
    f.i32(space === 'private' ? row : 4);
    return;
  }
  push(f, select(row, 4, eq(high, spaces.privateApertureHi)));
}

/** Whether an access from this place on may touch two rows for one of its dwords. */
export const mayStraddle = (space: MemorySpace, access: AccessKind, sizeBytes: number): boolean =>
  (space === 'private' || space === 'flat') && access !== 'atomic' && sizeBytes > 1;

/** Pushes whether the translated address `base` begins an access whose dwords are each in two rows. */
export function pushStraddles(
  f: FunctionBuilder,
  { space, sizeBytes }: { readonly space: MemorySpace; readonly sizeBytes: number },
  base: Local,
  high: Local,
  spaces: AddressSpaces,
): void {
  const isSplit = gtU(and(base, 3), 4 - Math.min(sizeBytes, 4));
  push(f, space === 'private' ? isSplit : and(isSplit, eq(high, spaces.privateApertureHi)));
}

/** base & 3 as a count of bits, and the same from the other end: shift counts are modulo 32. */
const bitOffset = (base: Local): Push => shl(and(base, 3), 3);
const bitsBefore = (base: Local): Push => sub(0, bitOffset(base));

/** Address of the dword that holds the byte at `base`. */
const aligned = (base: Local): Push => and(base, -4);

/**
 * Function (address) -> the dword that begins there inside one row and ends in the next; the address is not
 * aligned.
 */
export function splitLoad(context: ModuleContext, waveSize: 32 | 64): FunctionRef {
  return context.helper('load split', ['i32'], ['i32'], (f) => {
    const base = f.param(0);
    const low = loadFrom('i32.load', aligned(base), 0, DEVICE_MEMORY);
    const high = loadFrom('i32.load', aligned(base), waveSize * 4, DEVICE_MEMORY);
    push(f, or(shrU(low, bitOffset(base)), shl(high, bitsBefore(base))));
  });
}

/** Function (address, value, mask of the bits to be written): the counterpart of `splitLoad`. */
export function splitStore(context: ModuleContext, waveSize: 32 | 64): FunctionRef {
  return context.helper('store split', ['i32', 'i32', 'i32'], [], (f) => {
    const [base, value, mask] = [f.param(0), f.param(1), f.param(2)];
    const part = (offset: number, shifted: (bits: Term) => Push): void => {
      const old = loadFrom('i32.load', aligned(base), offset, DEVICE_MEMORY);
      const kept = and(old, xor(shifted(mask), -1));
      push(f, aligned(base));
      push(f, or(kept, shifted(and(value, mask))));
      f.store('i32.store', offset, DEVICE_MEMORY);
    };
    part(0, (bits) => shl(bits, bitOffset(base)));
    part(waveSize * 4, (bits) => shrU(bits, bitsBefore(base)));
  });
}
