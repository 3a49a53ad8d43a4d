import type { LeafOf, MemorySpace } from '../../ir/types.ts';
import {
  add64,
  and,
  assign,
  eq,
  eqz,
  laneOf,
  leU64,
  loadFrom,
  operation,
  type Push,
  push,
  sum,
  zext64,
} from '../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import type { LoadName } from '../../wasm/opcodes.ts';
import type { AccessKind } from '../machine/access-codes.ts';
import { DEVICE_MEMORY, MAY_READ, MAY_WRITE, WAVE_LDS_BASE, WAVE_LDS_SIZE } from '../machine/layout.ts';
import { loadPair } from './dword-pairs.ts';
import { type Emitter, extract, type LaneArgument } from './emitter.ts';
import { EVEN_DWORDS, ODD_DWORDS, shuffleDwords, shuffled } from './int-emission.ts';
import {
  type AddressSpaces,
  mayStraddle,
  pushDwordStride,
  pushStraddles,
  splitLoad,
  splitStore,
  translator,
  validityOf,
} from './memory-access.ts';

/**
 * Locals that every access of a chunk needs. `nibble` holds the active lanes, `chunk` the number of the first
 * lane.
 */
export interface LaneAccess {
  /** Pushes the record of the instruction, for a fault. */
  readonly pushRecord: () => void;
  readonly wave: Local;
  readonly chunk: Local;
  readonly nibble: Local;
}

interface Access {
  readonly space: MemorySpace;
  readonly kind: AccessKind;
  readonly sizeBytes: number;
  readonly alignmentBytes: number | undefined;
  readonly address: LaneArgument;
  readonly predicate: LaneArgument | undefined;
}

export const isWide = (space: MemorySpace): boolean => space === 'global' || space === 'flat';

/** What to do for one lane, whose first dword is at the linear memory address `base`. */
interface LaneByLane {
  /** `stride` is the distance between its dwords. */
  readonly whole: (lane: number, base: Local, stride: number | Local) => void;
  /** Instead, where each dword is in two rows of private memory. */
  readonly split?: (lane: number, base: Local) => void;
}

/** Translates the addresses of active lanes and emits what to do there. */
export function forEachLane(
  e: Emitter,
  spaces: AddressSpaces,
  at: LaneAccess,
  access: Access,
  { whole, split }: LaneByLane,
): void {
  const { f } = e;
  const { space, kind, sizeBytes } = access;
  const translate = translator(e.context, spaces, space, access);
  const active = pushActiveLanes(f, at, access);
  const base = f.local('i32');
  const high = f.local('i32');
  const stride = space === 'flat' && sizeBytes > 4 ? f.local('i32') : space === 'private' ? spaces.waveSize * 4 : 4;
  for (let lane = 0; lane < 4; lane++) {
    f.get(active);
    f.i32(1 << lane);
    f.op('i32.and');
    f.if(undefined, () => {
      at.pushRecord();
      f.get(at.wave);
      f.get(at.chunk);
      f.i32(lane);
      f.op('i32.add');
      extract(e, access.address.lanes, isWide(space) ? 'i64' : 'i32', lane);
      if (isWide(space)) {
        f.op('i32.wrap_i64');
        extract(e, access.address.lanes, 'i64', lane);
        f.i64(32n);
        f.op('i64.shr_u');
        f.op('i32.wrap_i64');
      } else f.i32(0);
      f.tee(high);
      f.call(translate);
      f.set(base);
      if (typeof stride !== 'number') {
        pushDwordStride(f, space, high, spaces);
        f.set(stride);
      }
      if (split === undefined || !mayStraddle(space, kind, sizeBytes)) {
        whole(lane, base, stride);
        return;
      }
      pushStraddles(f, access, base, high, spaces);
      f.if(
        undefined,
        () => split(lane, base),
        () => whole(lane, base, stride),
      );
    });
  }
  f.free(base, high, active);
  if (typeof stride !== 'number') f.free(stride);
}

/** Active lanes whose predicate is on, in a fresh local. */
export function pushActiveLanes(
  f: FunctionBuilder,
  at: Pick<LaneAccess, 'nibble'>,
  { predicate }: Pick<Access, 'predicate'>,
): Local {
  const active = f.local('i32');
  f.get(at.nibble);
  if (predicate) {
    f.get(predicate.lanes[0]!);
    f.op('i32x4.bitmask');
    f.op('i32.and');
  }
  f.set(active);
  return active;
}

/** The ways in which a chunk's lanes read or write, the fast ones with the linear memory address. */
interface Together {
  /** Lane i at address + 4 * i. */
  readonly contiguous?: (base: Local) => void;
  /** All lanes at the same address. */
  readonly broadcast?: (base: Local) => void;
  /** One lane after the other. */
  readonly slow: () => void;
}

/**
 * Tries the ways in which four active lanes access memory together; runs `slow` when none applies or the
 * access is not permitted, so that it finds the lane to blame.
 */
function accessTogether(
  e: Emitter,
  spaces: AddressSpaces,
  at: LaneAccess,
  access: Access,
  { contiguous, broadcast, slow }: Together,
): void {
  const { f } = e;
  if (access.space === 'private' || access.predicate) {
    slow();
    return;
  }
  const wide = isWide(access.space);
  const [first, second] = access.address.lanes as [Local, Local];
  const low = wide ? shuffled(e, first, second, EVEN_DWORDS) : first;
  const base = f.local('i32');
  f.block(undefined, (done) => {
    const areAllActive = eq(at.nibble, 15);
    push(f, wide ? and(areAllActive, isInWindow(spaces, first, second)) : areAllActive);
    f.if(undefined, () => {
      assign(f, base, laneOf(low, 0));
      const attempt = (strideBytes: number, sizeBytes: number, body: (base: Local) => void): void => {
        const { alignmentBytes = 1 } = access;
        const isAligned = alignmentBytes > 1 && eqz(and(base, alignmentBytes - 1));
        const isTogether = isAtStride(low, base, strideBytes);
        push(f, isAligned ? and(isTogether, isAligned) : isTogether);
        f.if(undefined, () => {
          if (wide) pushPermitted(f, base, access.kind, sizeBytes);
          else pushInsideLds(f, at.wave, base, sizeBytes);
          f.if(undefined, () => {
            if (!wide) assign(f, base, sum(loadFrom('i32.load', at.wave, WAVE_LDS_BASE), base));
            body(base);
            f.br(done);
          });
        });
      };
      if (contiguous && access.sizeBytes === 4) attempt(4, 16, contiguous);
      if (broadcast) attempt(0, access.sizeBytes, broadcast);
    });
    slow();
  });
  f.free(base);
  if (wide) f.free(low);
}

/** Whether the high words of four addresses are that of device memory. */
const isInWindow =
  ({ windowHi }: AddressSpaces, first: Local, second: Local): Push =>
  (f) => {
    f.get(first);
    f.get(second);
    f.shuffle(ODD_DWORDS);
    push(f, operation('i32x4.splat', windowHi));
    f.op('i32x4.eq');
    f.op('i32x4.all_true');
  };

/** Whether lane i is `strideBytes` behind lane i - 1, from `base` on. */
function isAtStride(low: Local, base: Local, strideBytes: number): Push {
  const all = operation('i32x4.splat', base);
  const steps: Push = (f) => f.v128([0, strideBytes, 2 * strideBytes, 3 * strideBytes]);
  const expected = strideBytes === 0 ? all : operation('i32x4.add', all, steps);
  return operation('i32x4.all_true', operation('i32x4.eq', low, expected));
}

/** Pushes whether the validity map permits an access of `sizeBytes` at `base`. */
export function pushPermitted(f: FunctionBuilder, base: Local, kind: AccessKind, sizeBytes: number): void {
  const permissions = and(validityOf(base), validityOf(sum(base, sizeBytes - 1)));
  push(f, and(permissions, kind === 'read' ? MAY_READ : MAY_WRITE));
}

function pushInsideLds(f: FunctionBuilder, wave: Local, low: Local, sizeBytes: number): void {
  push(f, leU64(add64(zext64(low), BigInt(sizeBytes)), loadFrom('i64.load32_u', wave, WAVE_LDS_SIZE)));
}

export function accessOf(
  leaf: LeafOf<'load' | 'store' | 'atomic'>,
  kind: AccessKind,
  args: readonly LaneArgument[],
): Access {
  return {
    space: leaf.space,
    kind,
    sizeBytes: leaf.sizeBytes,
    alignmentBytes: leaf.alignmentBytes,
    address: args[0]!,
    predicate: leaf.predicated ? args.at(-1) : undefined,
  };
}

/** Pushes base + dword * stride and returns the constant offset to add. */
function pushDwordAddress(f: FunctionBuilder, base: Local, stride: number | Local, dword: number): number {
  f.get(base);
  if (typeof stride === 'number') return dword * stride;
  if (dword > 0) {
    f.get(stride);
    f.i32(dword);
    f.op('i32.mul');
    f.op('i32.add');
  }
  return 0;
}

/** Pushes the address `rows` rows of private memory behind `base`. */
function pushRowAddress(f: FunctionBuilder, base: Local, rows: number, spaces: AddressSpaces): void {
  f.get(base);
  if (rows === 0) return;
  f.i32(rows * spaces.waveSize * 4);
  f.op('i32.add');
}

/**
 * Emits an access of several dwords that follow each other, or of dwords that are rows apart, or both where
 * only the address tells.
 */
function ifTogether(
  f: FunctionBuilder,
  stride: number | Local,
  dwords: number,
  together: () => void,
  apart: () => void,
): void {
  if (dwords === 1 || (typeof stride === 'number' && stride !== 4)) apart();
  else if (typeof stride === 'number') together();
  else {
    f.get(stride);
    f.i32(4);
    f.op('i32.eq');
    f.if(undefined, together, apart);
  }
}

/** Loads one lane's dwords, two at once (dword-pairs.ts). */
function loadTogether(f: FunctionBuilder, dwords: readonly Local[], lane: number, base: Local): void {
  const pair = f.local('i64');
  for (let i = 0; i < dwords.length; i += 2) {
    const [low, high] = [dwords[i]!, dwords[i + 1]];
    f.get(base);
    if (high) {
      f.load('i64.load', i * 4, DEVICE_MEMORY);
      f.set(pair);
      f.get(high);
      f.get(pair);
      f.i64(32n);
      f.op('i64.shr_u');
      f.op('i32.wrap_i64');
      f.lane('i32x4.replace_lane', lane);
      f.set(high);
      f.get(low);
      f.get(pair);
      f.op('i32.wrap_i64');
      f.lane('i32x4.replace_lane', lane);
    } else {
      f.get(low);
      f.loadLane('v128.load32_lane', i * 4, lane, DEVICE_MEMORY);
    }
    f.set(low);
  }
  f.free(pair);
}

/** Stores one lane's dwords, two at once. */
function storeTogether(f: FunctionBuilder, data: readonly Local[], lane: number, base: Local): void {
  for (let i = 0; i < data.length; i += 2) {
    f.get(base);
    f.get(data[i]!);
    if (data[i + 1]) {
      f.get(data[i + 1]!);
      f.shuffle(shuffleDwords(lane, lane + 4, lane, lane + 4));
      f.loadLane('v128.store64_lane', i * 4, 0, DEVICE_MEMORY);
    } else f.loadLane('v128.store32_lane', i * 4, lane, DEVICE_MEMORY);
  }
}

/** Loads below a dword go through a scalar. */
const BROADCAST_LOADS: Readonly<Record<number, LoadName>> = { 1: 'i32.load8_u', 2: 'i32.load16_u' };

/** One vector for each dword; lanes without an access hold 0. */
export function emitLoad(
  e: Emitter,
  spaces: AddressSpaces,
  at: LaneAccess,
  leaf: LeafOf<'load'>,
  args: readonly LaneArgument[],
): Local[] {
  const { f } = e;
  const access = accessOf(leaf, 'read', args);
  const dwords = Array.from({ length: leaf.dwords }, () => f.local('v128'));
  const slow = (): void => {
    for (const dword of dwords) {
      f.v128([0, 0, 0, 0]);
      f.set(dword);
    }
    const whole = (lane: number, base: Local, stride: number | Local): void => {
      ifTogether(
        f,
        stride,
        dwords.length,
        () => loadTogether(f, dwords, lane, base),
        () => apart(lane, base, stride),
      );
    };
    const apart = (lane: number, base: Local, stride: number | Local): void =>
      dwords.forEach((dword, i) => {
        if (leaf.sizeBytes < 4) {
          f.get(dword);
          f.get(base);
          f.load(leaf.sizeBytes === 1 ? 'i32.load8_u' : 'i32.load16_u', 0, DEVICE_MEMORY);
          f.lane('i32x4.replace_lane', lane);
        } else {
          const offset = pushDwordAddress(f, base, stride, i);
          f.get(dword);
          f.loadLane('v128.load32_lane', offset, lane, DEVICE_MEMORY);
        }
        f.set(dword);
      });
    const split = (lane: number, base: Local): void =>
      dwords.forEach((dword, i) => {
        f.get(dword);
        pushRowAddress(f, base, i, spaces);
        f.call(splitLoad(e.context, spaces.waveSize));
        if (leaf.sizeBytes === 2) {
          f.i32(0xffff);
          f.op('i32.and');
        }
        f.lane('i32x4.replace_lane', lane);
        f.set(dword);
      });
    forEachLane(e, spaces, at, access, { whole, split });
  };
  const contiguous = (base: Local): void => {
    f.get(base);
    f.load('v128.load', 0, DEVICE_MEMORY);
    f.set(dwords[0]!);
  };
  const broadcast = (base: Local): void => {
    for (const [i, dword] of dwords.entries()) {
      if (i % 2 === 1) continue;
      const high = dwords[i + 1];
      if (high) {
        loadPair(f, [base], i * 4, [dword, high]);
        continue;
      }
      f.get(base);
      f.load(BROADCAST_LOADS[leaf.sizeBytes] ?? 'v128.load32_splat', i * 4, DEVICE_MEMORY);
      if (leaf.sizeBytes < 4) f.op('i32x4.splat');
      f.set(dword);
    }
  };
  accessTogether(e, spaces, at, access, { contiguous, broadcast, slow });
  return dwords;
}

export function emitStore(
  e: Emitter,
  spaces: AddressSpaces,
  at: LaneAccess,
  leaf: LeafOf<'store'>,
  args: readonly LaneArgument[],
): void {
  const { f } = e;
  const access = accessOf(leaf, 'write', args);
  const data = args.slice(1, 1 + Math.max(1, leaf.sizeBytes / 4)).map((arg) => arg.lanes[0]!);
  const whole = (lane: number, base: Local, stride: number | Local): void => {
    ifTogether(
      f,
      stride,
      data.length,
      () => storeTogether(f, data, lane, base),
      () => apart(lane, base, stride),
    );
  };
  const apart = (lane: number, base: Local, stride: number | Local): void =>
    data.forEach((dword, i) => {
      const offset = pushDwordAddress(f, base, stride, i);
      f.get(dword);
      if (leaf.sizeBytes === 1) f.loadLane('v128.store8_lane', offset, lane * 4, DEVICE_MEMORY);
      else if (leaf.sizeBytes === 2) f.loadLane('v128.store16_lane', offset, lane * 2, DEVICE_MEMORY);
      else f.loadLane('v128.store32_lane', offset, lane, DEVICE_MEMORY);
    });
  const split = (lane: number, base: Local): void =>
    data.forEach((dword, i) => {
      pushRowAddress(f, base, i, spaces);
      f.get(dword);
      f.lane('i32x4.extract_lane', lane);
      f.i32(leaf.sizeBytes === 2 ? 0xffff : -1);
      f.call(splitStore(e.context, spaces.waveSize));
    });
  const slow = (): void => forEachLane(e, spaces, at, access, { whole, split });
  const contiguous = (base: Local): void => {
    f.get(base);
    f.get(data[0]!);
    f.store('v128.store', 0, DEVICE_MEMORY);
  };
  accessTogether(e, spaces, at, access, { contiguous, slow });
}
