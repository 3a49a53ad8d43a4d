/** The allocation around an address of device memory, as code finds it (PAGE_EXTENTS in layout.ts). */
import {
  and,
  assign,
  eq,
  eqz,
  loadFrom,
  ne,
  operation,
  or,
  type Push,
  push,
  shl,
  shrU,
  type Term,
} from '../../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import { GRANULE_SIZE_BYTES, MAY_READ, MAY_WRITE, PAGE_EXTENTS, PAGE_SIZE_BYTES } from '../../machine/layout.ts';

const PAGE_LOG2 = Math.log2(PAGE_SIZE_BYTES);

export interface AllocationAt {
  /** Where it starts. */
  readonly start: Push;
  /** How many bytes of it may be accessed; 0 where not all of it may, or not alike, or nothing is there. */
  readonly sizeBytes: Push;
  /** Whether all of that may be read, or written. */
  permits(access: { readonly writes: boolean }): Push;
  release(): void;
}

/** Emits the look-up; what it gives is good until `release`. */
export function allocationAt(f: FunctionBuilder, address: Local): AllocationAt {
  const [pair, extent] = [f.local('i64'), f.local('i32')];
  assign(f, pair, loadFrom('i64.load', shl(shrU(address, PAGE_LOG2), 3), PAGE_EXTENTS));
  assign(f, extent, operation('i32.wrap_i64', operation('i64.shr_u', pair, 32n)));
  return {
    start: operation('i32.wrap_i64', pair),
    sizeBytes: and(extent, -GRANULE_SIZE_BYTES),
    permits: ({ writes }) => ne(and(extent, writes ? MAY_WRITE : MAY_READ), 0),
    release: () => f.free(pair, extent),
  };
}

/** Whether an address may be in an allocation, of which this is the start. */
export function mayBeIn(address: Term, allocation: Local): Push {
  return (f) => {
    const local = f.local('i32');
    assign(f, local, address);
    const { start, sizeBytes, release } = allocationAt(f, local);
    push(f, or(eqz(sizeBytes), eq(start, allocation)));
    release();
    f.free(local);
  };
}
