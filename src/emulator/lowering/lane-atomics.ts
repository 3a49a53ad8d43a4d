/** Atomics of one chunk of 4 lanes, and what they share with those of a wave. */
import type { OpName } from '../../ir/ops.ts';
import type { LeafOf, Type, Update, Value } from '../../ir/types.ts';
import type { BlockLabel, FunctionBuilder, Local } from '../../wasm/function.ts';
import { DEVICE_MEMORY, THREADS_RUN } from '../machine/layout.ts';
import { EMISSION } from './emission.ts';
import {
  type Emitter,
  emitScalar,
  extract,
  freshLanes,
  insert,
  type LaneArgument,
  type Lanes,
  wasmType,
} from './emitter.ts';
import { accessOf, forEachLane, isWide, type LaneAccess } from './lane-memory.ts';
import type { AddressSpaces } from './memory-access.ts';

/** An atomic of the program, or of a region's graph. */
export interface Atomic {
  readonly leaf: LeafOf<'atomic'>;
  readonly type: Type;
}

/**
 * Read, update, write, one lane after the other; returns the old values. Device memory may change under it
 * while several threads run: then the write happens only if it did not, and starts again otherwise.
 */
export function emitAtomic(
  e: Emitter,
  spaces: AddressSpaces,
  at: LaneAccess,
  atomic: Atomic,
  args: readonly LaneArgument[],
): Lanes {
  const { f } = e;
  const { leaf, type } = atomic;
  const access = accessOf(leaf, 'atomic', args);
  const result = freshLanes(e, type);
  for (const local of result) {
    f.v128([0, 0, 0, 0]);
    f.set(local);
  }
  const operands = args.slice(1, leaf.predicated ? -1 : undefined);
  const whole = (lane: number, base: Local, stride: number | Local): void =>
    updateLane(e, atomic, operands, { lane, base, stride }, result);
  forEachLane(e, spaces, at, access, { whole });
  return result;
}

/** Where a lane's access is in linear memory, and the distance between the dwords of a pair. */
interface LanePlace {
  readonly lane: number;
  readonly base: Local;
  readonly stride: number | Local;
}

/** The atomic of one lane; the old value becomes that lane of `result`. */
export function updateLane(
  e: Emitter,
  atomic: Atomic,
  operands: readonly LaneArgument[],
  { lane, base, stride }: LanePlace,
  result: Lanes | undefined,
): void {
  const pushOperands = operands.map((operand) => () => extract(e, operand.lanes, atomic.type, lane));
  const take = (old: Local): void => {
    if (result) insert(e, result, atomic.type, lane, old);
  };
  updateAt(e, atomic, pushOperands, { base, stride }, take);
}

/**
 * The atomic at one place of device memory. `operands` push what the update takes besides the old value,
 * which is left to `take`.
 */
export function updateAt(
  e: Emitter,
  { leaf, type }: Atomic,
  operands: readonly (() => void)[],
  { base, stride }: Omit<LanePlace, 'lane'>,
  take: (old: Local) => void,
): void {
  const { f } = e;
  const wasm = wasmType(type);
  const old = f.local(wasm);
  const parameters = [old, ...operands.map(() => f.local(wasm))];
  const isWhole = type !== 'i64' || typeof stride === 'number';
  if (isWhole) {
    f.get(base);
    f.load(`${wasm}.load`, 0, DEVICE_MEMORY);
  } else pushPair(f, base, stride);
  f.set(old);
  operands.forEach((pushOperand, i) => {
    pushOperand();
    f.set(parameters[i + 1]!);
  });
  const update = (again?: BlockLabel): void => {
    f.scoped(() => {
      const updated = emitUpdate(e, leaf.update, parameters);
      const write = (): void => {
        if (isWhole) {
          f.get(base);
          f.get(updated);
          f.store(`${wasm}.store`, 0, DEVICE_MEMORY);
        } else storePair(f, base, stride, updated);
      };
      if (again) {
        pushLocks(f, base, stride, leaf.sizeBytes);
        f.if(undefined, () => writeIfSame(f, wasm, base, { old, updated }, again), write);
      } else write();
      return [];
    });
  };
  if (isWide(leaf.space)) f.loop(undefined, update);
  else update();
  take(old);
  f.free(...parameters);
}

/**
 * Pushes whether an atomic must lock: several threads run, and the place is one that the machine can lock.
 */
function pushLocks(f: FunctionBuilder, base: Local, stride: number | Local, sizeBytes: number): void {
  f.i32(0);
  f.load('i32.load', THREADS_RUN);
  f.get(base);
  f.i32(sizeBytes - 1);
  f.op('i32.and');
  f.op('i32.eqz');
  f.op('i32.and');
  if (typeof stride === 'number') return;
  f.get(stride);
  f.i32(4);
  f.op('i32.eq');
  f.op('i32.and');
}

/** Writes `updated` where `old` still is; otherwise puts what is there into `old` and branches. */
function writeIfSame(
  f: FunctionBuilder,
  type: 'i32' | 'i64',
  base: Local,
  { old, updated }: { readonly old: Local; readonly updated: Local },
  again: BlockLabel,
): void {
  const seen = f.local(type);
  f.get(base);
  f.get(old);
  f.get(updated);
  f.atomic(`${type}.atomic.rmw.cmpxchg`, 0, DEVICE_MEMORY);
  f.tee(seen);
  f.get(old);
  f.op(`${type}.ne`);
  f.get(seen);
  f.set(old);
  f.free(seen);
  f.brIf(again);
}

/** Pushes a 64-bit value whose high dword is `stride` bytes after the low one. */
function pushPair(f: FunctionBuilder, base: Local, stride: Local): void {
  f.get(base);
  f.load('i64.load32_u', 0, DEVICE_MEMORY);
  f.get(base);
  f.get(stride);
  f.op('i32.add');
  f.load('i64.load32_u', 0, DEVICE_MEMORY);
  f.i64(32n);
  f.op('i64.shl');
  f.op('i64.or');
}

function storePair(f: FunctionBuilder, base: Local, stride: Local, value: Local): void {
  f.get(base);
  f.get(value);
  f.store('i64.store32', 0, DEVICE_MEMORY);
  f.get(base);
  f.get(stride);
  f.op('i32.add');
  f.get(value);
  f.i64(32n);
  f.op('i64.shr_u');
  f.store('i64.store32', 0, DEVICE_MEMORY);
}

/** The new memory value, in a local. */
function emitUpdate(e: Emitter, update: Update, parameters: readonly Local[]): Local {
  const { f } = e;
  const locals = new Map<Value, Local>();
  for (const value of update.body) {
    const { leaf } = value;
    if (leaf.kind === 'param') {
      locals.set(value, parameters[leaf.index]!);
      continue;
    }
    if (leaf.kind === 'const') {
      if (value.type === 'i64') f.i64(leaf.value);
      else f.i32(Number(leaf.value));
    } else {
      const { op } = leaf as { op: OpName };
      emitScalar(
        e,
        op,
        EMISSION[op],
        value.args.map((arg) => locals.get(arg)!),
      );
    }
    const local = f.local(wasmType(value.type as Type));
    f.set(local);
    locals.set(value, local);
  }
  return locals.get(update.result)!;
}
