/** One memory access of the whole wave, e.g. s_load_dwordx4; what orders it. */
import type { LeafOf } from '../../ir/types.ts';
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import { DEVICE_MEMORY, THREADS_RUN } from '../machine/layout.ts';
import type { Emitter } from './emitter.ts';
import { pushPermitted } from './lane-memory.ts';
import { type AddressSpaces, translator } from './memory-access.ts';

/** What the machine may let a load overtake is one's own stores, which matters to other threads alone. */
export function emitFence(f: FunctionBuilder): void {
  f.i32(0);
  f.load('i32.load', THREADS_RUN);
  f.if(undefined, () => f.atomicFence());
}

/** A load of the whole wave: at `address` (i64), 0 where `predicate` is off. */
interface UniformLoad {
  readonly leaf: LeafOf<'load'>;
  readonly address: Local;
  readonly predicate: Local | undefined;
}

/** Locals with the dwords. `pushRecord` is for a fault. */
export function emitUniformLoad(
  e: Emitter,
  spaces: AddressSpaces,
  at: { readonly pushRecord: () => void; readonly wave: Local },
  { leaf, address, predicate }: UniformLoad,
): Local[] {
  const { f } = e;
  const translate = translator(e.context, spaces, leaf.space, 'read', leaf.sizeBytes);
  const dwords = Array.from({ length: leaf.dwords }, () => f.local('i32'));
  const pushHigh = (): void => {
    f.get(address);
    f.i64(32n);
    f.op('i64.shr_u');
    f.op('i32.wrap_i64');
  };
  const load = (): void => {
    const base = f.local('i32');
    f.get(address);
    f.op('i32.wrap_i64');
    f.set(base);
    if (e.context.checksAccesses) {
      pushHigh();
      f.i32(spaces.windowHi);
      f.op('i32.eq');
      pushPermitted(f, base, 'read', leaf.sizeBytes);
      f.op('i32.and');
      f.op('i32.eqz');
      f.if(undefined, () => {
        at.pushRecord();
        f.get(at.wave);
        f.i32(-1);
        f.get(base);
        pushHigh();
        f.call(translate);
        f.set(base);
      });
    }
    dwords.forEach((dword, i) => {
      f.get(base);
      f.load(
        leaf.sizeBytes === 1 ? 'i32.load8_u' : leaf.sizeBytes === 2 ? 'i32.load16_u' : 'i32.load',
        i * 4,
        DEVICE_MEMORY,
      );
      f.set(dword);
    });
    f.free(base);
  };
  if (!predicate) load();
  else {
    for (const dword of dwords) {
      f.i32(0);
      f.set(dword);
    }
    f.get(predicate);
    f.if(undefined, load);
  }
  return dwords;
}
