/**
 * Address translation in WebAssembly: GPU addresses to offsets in device memory. Every access is checked against the validity map, the LDS size or the private segment size before it
 * happens; what fails calls the imported fault function, which throws.
 */
import type { MemorySpace } from '../../ir/types.ts';
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import type { FunctionRef } from '../../wasm/types.ts';
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

export type AccessKind = 'read' | 'write' | 'atomic';

/** Number that the fault import gets: what was attempted, and where it was found invalid. */
export const ACCESS_CODES: Readonly<Record<AccessKind, number>> = { read: 0, write: 1, atomic: 2 };
export const FAULT_LDS = 4;
export const FAULT_PRIVATE = 8;
export const FAULT_MISALIGNED = 16;

/** High words of addresses: the device memory window and the flat apertures. */
export interface AddressSpaces {
  readonly windowHi: number;
  readonly sharedApertureHi: number;
  readonly privateApertureHi: number;
  readonly waveSize: 32 | 64;
}

const PERMISSION: Readonly<Record<AccessKind, number>> = {
  read: MAY_READ,
  write: MAY_WRITE,
  atomic: MAY_READ | MAY_WRITE,
};

/**
 * Function (record, wave, lane, address low, address high) -> offset of the first dword in device memory. Dwords follow each other, but
 * for private memory, where they are a row apart: see `dwordStride`.
 */
export function translator(
  context: ModuleContext,
  spaces: AddressSpaces,
  space: MemorySpace,
  access: AccessKind,
  sizeBytes: number,
): FunctionRef {
  const name = `translate ${space} ${access} ${sizeBytes}`;
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
    if (space === 'lds') translateLds(f, wave, low, sizeBytes, fail);
    else if (space === 'private') translatePrivate(f, wave, lane, low, access, sizeBytes, spaces.waveSize, fail);
    else {
      ifHigh(f, high, spaces.windowHi, () => translateGlobal(f, low, access, sizeBytes, fail));
      if (space === 'flat') {
        ifHigh(f, high, spaces.sharedApertureHi, () => translateLds(f, wave, low, sizeBytes, fail));
        ifHigh(f, high, spaces.privateApertureHi, () =>
          translatePrivate(f, wave, lane, low, access, sizeBytes, spaces.waveSize, fail),
        );
      }
      fail(0);
    }
  });
}

/** Runs `then`, which leaves the translated address on the stack, and returns it when the high word is `value`. */
function ifHigh(f: FunctionBuilder, high: Local, value: number, then: () => void): void {
  f.get(high);
  f.i32(value);
  f.op('i32.eq');
  f.if(undefined, () => {
    then();
    f.return();
  });
}

/** Both the first and the last byte are in granules that permit the access; accesses are at most 64 bytes, holes are larger. */
function translateGlobal(
  f: FunctionBuilder,
  low: Local,
  access: AccessKind,
  sizeBytes: number,
  fail: (where: number) => void,
): void {
  pushValidity(f, () => f.get(low));
  if (sizeBytes > 1) {
    pushValidity(f, () => {
      f.get(low);
      f.i32(sizeBytes - 1);
      f.op('i32.add');
    });
    f.op('i32.and');
  }
  f.i32(PERMISSION[access]);
  f.op('i32.and');
  f.i32(PERMISSION[access]);
  f.op('i32.ne');
  f.if(undefined, () => fail(0));
  f.get(low);
}

/** Pushes the validity map's byte of the address that `address` pushes. */
export function pushValidity(f: FunctionBuilder, address: () => void): void {
  address();
  f.i32(GRANULE_LOG2);
  f.op('i32.shr_u');
  f.load('i32.load8_u', VALIDITY_MAP);
}

/** Runs `fail` when low + sizeBytes is above the limit in the wave state. */
function checkLimit(
  f: FunctionBuilder,
  wave: Local,
  low: Local,
  sizeBytes: number,
  limit: number,
  fail: () => void,
): void {
  f.get(low);
  f.op('i64.extend_i32_u');
  f.i64(BigInt(sizeBytes));
  f.op('i64.add');
  f.get(wave);
  f.load('i64.load32_u', limit);
  f.op('i64.gt_u');
  f.if(undefined, fail);
}

function translateLds(
  f: FunctionBuilder,
  wave: Local,
  low: Local,
  sizeBytes: number,
  fail: (where: number) => void,
): void {
  checkLimit(f, wave, low, sizeBytes, WAVE_LDS_SIZE, () => fail(FAULT_LDS));
  f.get(wave);
  f.load('i32.load', WAVE_LDS_BASE);
  f.get(low);
  f.op('i32.add');
}

/**
 * Byte `offset` of a lane is in dword row offset / 4, at the lane's place (CDNA2 ISA 9.1.5.2, swizzled scratch). Accesses that begin
 * inside a dword are split (LLVM's AMDGPU feature unaligned-scratch-access, which every gfx9 has); atomics must be aligned.
 */
function translatePrivate(
  f: FunctionBuilder,
  wave: Local,
  lane: Local,
  low: Local,
  access: AccessKind,
  sizeBytes: number,
  waveSize: 32 | 64,
  fail: (where: number) => void,
): void {
  checkLimit(f, wave, low, sizeBytes, WAVE_PRIVATE_SIZE, () => fail(FAULT_PRIVATE));
  if (access === 'atomic') {
    f.get(low);
    f.i32(3);
    f.op('i32.and');
    f.if(undefined, () => fail(FAULT_PRIVATE | FAULT_MISALIGNED));
  }
  f.get(wave);
  f.load('i32.load', WAVE_PRIVATE_BASE);
  f.get(low);
  f.i32(2);
  f.op('i32.shr_u');
  f.i32(waveSize * 4);
  f.op('i32.mul');
  f.op('i32.add');
  f.get(lane);
  f.i32(2);
  f.op('i32.shl');
  f.op('i32.add');
  f.get(low);
  f.i32(3);
  f.op('i32.and');
  f.op('i32.add');
}

/**
 * Pushes the distance in bytes between consecutive dwords of an access with more than one: a constant, but for flat addresses, whose
 * high word decides.
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
  f.i32(row);
  f.i32(4);
  f.get(high);
  f.i32(spaces.privateApertureHi);
  f.op('i32.eq');
  f.select();
}

/** Whether an access from this place on may touch two rows for one of its dwords. */
export const mayStraddle = (space: MemorySpace, access: AccessKind, sizeBytes: number): boolean =>
  (space === 'private' || space === 'flat') && access !== 'atomic' && sizeBytes > 1;

/** Pushes whether the translated address `base` begins an access whose dwords are each in two rows. */
export function pushStraddles(
  f: FunctionBuilder,
  space: MemorySpace,
  base: Local,
  high: Local,
  sizeBytes: number,
  spaces: AddressSpaces,
): void {
  f.get(base);
  f.i32(3);
  f.op('i32.and');
  f.i32(4 - Math.min(sizeBytes, 4));
  f.op('i32.gt_u');
  if (space === 'private') return;
  f.get(high);
  f.i32(spaces.privateApertureHi);
  f.op('i32.eq');
  f.op('i32.and');
}

/** Pushes base & 3 as a count of bits. */
function pushBitOffset(f: FunctionBuilder, base: Local): void {
  f.get(base);
  f.i32(3);
  f.op('i32.and');
  f.i32(3);
  f.op('i32.shl');
}

/** Pushes the address of the dword that holds the byte at `base`. */
function pushAligned(f: FunctionBuilder, base: Local): void {
  f.get(base);
  f.i32(-4);
  f.op('i32.and');
}

/** Function (address) -> the dword that begins there inside one row and ends in the next; the address is not aligned. */
export function splitLoad(context: ModuleContext, waveSize: 32 | 64): FunctionRef {
  return context.helper('load split', ['i32'], ['i32'], (f) => {
    const base = f.param(0);
    pushAligned(f, base);
    f.load('i32.load', 0, DEVICE_MEMORY);
    pushBitOffset(f, base);
    f.op('i32.shr_u');
    pushAligned(f, base);
    f.load('i32.load', waveSize * 4, DEVICE_MEMORY);
    f.i32(0);
    pushBitOffset(f, base);
    f.op('i32.sub');
    f.op('i32.shl');
    f.op('i32.or');
  });
}

/** Function (address, value, mask of the bits to be written): the counterpart of `splitLoad`. */
export function splitStore(context: ModuleContext, waveSize: 32 | 64): FunctionRef {
  return context.helper('store split', ['i32', 'i32', 'i32'], [], (f) => {
    const [base, value, mask] = [f.param(0), f.param(1), f.param(2)];
    const part = (offset: number, shift: () => void): void => {
      pushAligned(f, base);
      pushAligned(f, base);
      f.load('i32.load', offset, DEVICE_MEMORY);
      f.get(mask);
      shift();
      f.i32(-1);
      f.op('i32.xor');
      f.op('i32.and');
      f.get(value);
      f.get(mask);
      f.op('i32.and');
      shift();
      f.op('i32.or');
      f.store('i32.store', offset, DEVICE_MEMORY);
    };
    part(0, () => {
      pushBitOffset(f, base);
      f.op('i32.shl');
    });
    // Shift counts are modulo 32: this is 32 - the bit offset.
    part(waveSize * 4, () => {
      f.i32(0);
      pushBitOffset(f, base);
      f.op('i32.sub');
      f.op('i32.shr_u');
    });
  });
}
