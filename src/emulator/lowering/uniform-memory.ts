/** One memory access of the whole wave, e.g. s_load_dwordx4; what orders it. */
import type { LeafOf } from '../../ir/types.ts';
import { and, eqz, push } from '../../wasm/expression.ts';
import type { BlockLabel, FunctionBuilder, Local } from '../../wasm/function.ts';
import { DEVICE_MEMORY, THREADS_RUN } from '../machine/layout.ts';
import type { Emitter } from './emitter.ts';
import { updateAt } from './lane-atomics.ts';
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
  /**
   * Where it goes that may not load there; without it, that is a fault, unless the address stands for another
   * one.
   */
  readonly refused?: BlockLabel | undefined;
  /** Whether it is permitted, where that is known; with `refused` it is, or the wave is there by now. */
  readonly permits?: Local | undefined;
}

/** The wave that makes an access; `pushRecord` is for a fault. */
interface UniformPlace {
  readonly pushRecord: () => void;
  readonly wave: Local;
}

/** Locals with the dwords. */
export function emitUniformLoad(
  e: Emitter,
  spaces: AddressSpaces,
  at: UniformPlace,
  { leaf, address, predicate, refused, permits }: UniformLoad,
): Local[] {
  const { f } = e;
  const translate = translator(e.context, spaces, leaf.space, { ...leaf, kind: 'read' });
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
    const check = (): void => {
      pushHigh();
      f.i32(spaces.windowHi);
      f.op('i32.eq');
      pushPermitted(f, base, 'read', leaf.sizeBytes);
      f.op('i32.and');
      if (leaf.alignmentBytes !== undefined) {
        push(f, eqz(and(base, leaf.alignmentBytes - 1)));
        f.op('i32.and');
      }
      f.op('i32.eqz');
      if (refused) f.brIf(refused);
      else
        f.ifRare(() => {
          at.pushRecord();
          f.get(at.wave);
          f.i32(-1);
          f.get(base);
          pushHigh();
          f.call(translate);
          f.set(base);
        });
    };
    if (permits && !refused) {
      push(f, eqz(permits));
      f.ifRare(check);
    } else if (!permits && (refused || e.context.checksAccesses)) check();
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

/** An access of the whole wave that writes; none where `predicate` is off. */
interface UniformWrite<L> {
  readonly leaf: L;
  readonly address: Local;
  /** What is stored, or what an update takes besides the old value. */
  readonly data: readonly Local[];
  readonly predicate: Local | undefined;
}

export function emitUniformStore(
  e: Emitter,
  spaces: AddressSpaces,
  at: UniformPlace,
  write: UniformWrite<LeafOf<'store'>>,
): void {
  const { f } = e;
  const { sizeBytes } = write.leaf;
  const name = sizeBytes === 1 ? 'i32.store8' : sizeBytes === 2 ? 'i32.store16' : 'i32.store';
  atWrittenPlace(e, spaces, at, write, (base) => {
    for (const [i, dword] of write.data.entries()) {
      f.get(base);
      f.get(dword);
      f.store(name, i * 4, DEVICE_MEMORY);
    }
  });
}

/** Pushes the value before. */
export function emitUniformAtomic(
  e: Emitter,
  spaces: AddressSpaces,
  at: UniformPlace,
  write: UniformWrite<LeafOf<'atomic'>>,
): void {
  const { f } = e;
  const type = write.leaf.sizeBytes === 8 ? 'i64' : 'i32';
  const before = f.local(type);
  if (type === 'i64') f.i64(0n);
  else f.i32(0);
  f.set(before);
  const operands = write.data.map((local) => () => f.get(local));
  atWrittenPlace(e, spaces, at, write, (base) =>
    updateAt(e, { leaf: write.leaf, type }, operands, { base, stride: 4 }, (old) => {
      f.get(old);
      f.set(before);
    }),
  );
  f.get(before);
  f.free(before);
}

/** Emits what `body` does at the offset in device memory, once that is known to be permitted. */
function atWrittenPlace(
  e: Emitter,
  spaces: AddressSpaces,
  at: UniformPlace,
  { leaf, address, predicate }: UniformWrite<LeafOf<'store' | 'atomic'>>,
  body: (base: Local) => void,
): void {
  const { f } = e;
  const access = leaf.kind === 'store' ? 'write' : 'atomic';
  const translate = translator(e.context, spaces, leaf.space, { ...leaf, kind: access });
  const emit = (): void => {
    const base = f.local('i32');
    at.pushRecord();
    f.get(at.wave);
    f.i32(-1);
    f.get(address);
    f.op('i32.wrap_i64');
    f.get(address);
    f.i64(32n);
    f.op('i64.shr_u');
    f.op('i32.wrap_i64');
    f.call(translate);
    f.set(base);
    body(base);
    f.free(base);
  };
  if (!predicate) {
    emit();
    return;
  }
  f.get(predicate);
  f.if(undefined, emit);
}
