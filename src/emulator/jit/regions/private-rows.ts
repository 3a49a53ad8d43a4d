/**
 * Accesses of four lanes at the same offset in private memory, where the lanes' dwords are next to each
 * other.
 */
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import { DEVICE_MEMORY } from '../../machine/layout.ts';
import type { LaneStore } from './lane-accesses.ts';

/** Pushes the dword, or 1 or 2 bytes, at byte `at` of private memory; `address` is that of byte 0. */
export function pushPrivate(f: FunctionBuilder, address: Local, at: number, sizeBytes: number, waveSize: number): void {
  f.get(address);
  f.load('v128.load', (at >> 2) * waveSize * 4, DEVICE_MEMORY);
  if (sizeBytes >= 4) return;
  f.i32((at & 3) * 8);
  f.op('i32x4.shr_u');
  f.i32(sizeBytes === 1 ? 0xff : 0xffff);
  f.op('i32x4.splat');
  f.op('v128.and');
}

/** The same for a store; with `mask`, in its lanes. */
export function storePrivate(
  f: FunctionBuilder,
  address: Local,
  { offset, data, sizeBytes }: LaneStore,
  waveSize: number,
  mask?: Local,
): void {
  data.forEach((dword, i) => {
    const at = ((offset >> 2) + i) * waveSize * 4;
    f.get(address);
    f.get(dword);
    if (sizeBytes < 4) {
      const shift = (offset & 3) * 8;
      f.i32(shift);
      f.op('i32x4.shl');
      f.get(address);
      f.load('v128.load', at, DEVICE_MEMORY);
      f.i32((sizeBytes === 1 ? 0xff : 0xffff) << shift);
      f.op('i32x4.splat');
      f.op('v128.bitselect');
    }
    if (mask) {
      f.get(address);
      f.load('v128.load', at, DEVICE_MEMORY);
      f.get(mask);
      f.op('v128.bitselect');
    }
    f.store('v128.store', at, DEVICE_MEMORY);
  });
}
