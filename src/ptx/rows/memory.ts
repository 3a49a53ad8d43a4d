/**
 * Loads, stores, addresses and atomics. PTX ISA 9.7.9 "Data Movement" and 9.7.13 "Parallel Synchronization".
 * Cache hints change nothing that a program can see.
 */
import type { Builder } from '../../ir/builder.ts';
import type { MemorySpace, Value } from '../../ir/types.ts';
import { bitsOf, isSigned, type PtxType, sizeOf } from '../machine/types.ts';
import type { PtxBuilder } from './builder.ts';
import { type PtxRow, ptxRow } from './row.ts';

/** High words of generic addresses of shared and local memory. */
export const SHARED_HIGH = 0x7e00;
export const LOCAL_HIGH = 0x7e01;

/** Spaces whose addresses are offsets of 32 bits. */
const OFFSET_SPACES: Readonly<Record<string, MemorySpace>> = {
  shared: 'lds',
  'shared::cta': 'lds',
  local: 'private',
  param: 'private',
  'param::func': 'private',
};

interface NamePlace {
  readonly space: MemorySpace;
  readonly address: Value;
}

/**
 * Kernel parameters are in global memory, at an address of the wave, or at one that a register holds; those
 * of functions are in private memory.
 */
function placeOf(b: PtxBuilder, index: number): NamePlace {
  const { base, offset, isWave } = b.address(index);
  const named = b.modifiers['space'];
  const isOwn = named === 'param::func';
  const isParameter = isWave || (base.type === 'i64' && named?.startsWith('param') && !isOwn);
  const space = isParameter ? 'global' : named === undefined ? 'flat' : (OFFSET_SPACES[named] ?? 'global');
  if (space === 'lds' || space === 'private') {
    return { space, address: b.add(base.type === 'i64' ? b.low(base) : base, b.low(offset)) };
  }
  return { space, address: b.add(base.type === 'i64' ? base : b.zext64(base), offset) };
}

const elementsOf = (b: PtxBuilder): number => Number((b.modifiers['vec'] ?? 'v1').slice(1));

/** Bytes of single accesses, one after the other, that together hold a vector. */
function accessSizes(totalBytes: number): number[] {
  const sizes: number[] = [];
  for (let left = totalBytes; left > 0; left -= sizes.at(-1)!) {
    sizes.push([16, 12, 8, 4, 2, 1].find((size) => size <= left)!);
  }
  return sizes;
}

const advanced = (b: PtxBuilder, address: Value, bytes: number): Value =>
  b.add(address, address.type === 'i64' ? b.i64(BigInt(bytes)) : b.i32(bytes));

function load(b: PtxBuilder): void {
  const type = b.type();
  const size = sizeOf(type);
  const count = elementsOf(b);
  const { space, address } = placeOf(b, 1);
  const dwords: Value[] = [];
  let at = 0;
  for (const bytes of accessSizes(size * count)) {
    const predicate = b.guard && !(space === 'global' && !address.lane) ? { predicate: b.guard } : {};
    dwords.push(...b.load(space, bytes, advanced(b, address, at), predicate));
    at += bytes;
  }
  fenceAfter(b);
  for (let i = 0; i < count; i++) b.write(0, element(b, dwords, i * size, type), i);
}

/** What is at a byte of dwords, which fills 32 bits as its type says. */
function element(b: PtxBuilder, dwords: readonly Value[], offset: number, type: PtxType): Value {
  const word = dwords[offset >> 2]!;
  if (sizeOf(type) === 8) return b.pack(word, dwords[(offset >> 2) + 1]!);
  const bits = bitsOf(type);
  if (bits === 32) return word;
  const field = b.bits(word, (offset & 3) * 8, bits);
  return isSigned(type) ? (bits === 8 ? b.sext8(field) : b.sext16(field)) : field;
}

function store(b: PtxBuilder): void {
  const size = sizeOf(b.type());
  const values = b.readAll(1);
  const { space, address } = placeOf(b, 0);
  const dwords: Value[] = [];
  if (size === 8) for (const value of values) dwords.push(b.low(value), b.high(value));
  else if (size === 4) dwords.push(...values);
  else {
    const perWord = 4 / size;
    for (let first = 0; first < values.length; first += perWord) {
      const parts = values.slice(first, first + perWord);
      const fields = parts.map((part, i) => b.shl(b.bits(part, 0, size * 8), i * size * 8));
      dwords.push(fields.reduce((all, field) => b.or(all, field)));
    }
  }
  fenceBefore(b);
  let at = 0;
  for (const bytes of accessSizes(size * values.length)) {
    const data = dwords.slice(at >> 2, (at >> 2) + Math.max(1, bytes >> 2));
    b.store(space, bytes, advanced(b, address, at), data, b.guard ? { predicate: b.guard } : {});
    at += bytes;
  }
}

/** Other threads and the host see accesses in the order of the program where one orders. */
const ORDERING = new Set(['acquire', 'release', 'acq_rel', 'volatile', 'mmio', 'relaxed']);
const isOrdered = (b: PtxBuilder): boolean => ORDERING.has(b.modifiers['order'] ?? '');
const fenceAfter = (b: PtxBuilder): void => {
  if (isOrdered(b)) b.fence();
};
const fenceBefore = fenceAfter;

type Update = (b: Builder, old: Value, data: Value, compare: Value, type: PtxType) => Value;

const constant = (b: Builder, like: Value, value: number): Value =>
  like.type === 'i64' ? b.i64(BigInt(value)) : b.i32(value);

const flushed = (b: Builder, value: Value): Value =>
  b.select(b.ltU(b.and(value, b.i32(0x7fffffff)), b.i32(0x00800000)), b.and(value, b.i32(-0x80000000)), value);

const sumOfFloats: Update = (b, old, data, _, type) => {
  if (type === 'f64') return b.op('f64.add', old, data);
  const sum = flushed(b, b.op('f32.add', flushed(b, old), flushed(b, data)));
  return b.select(b.f32.isNan(sum), b.i32(0x7fffffff), sum);
};

const UPDATES: Readonly<Record<string, Update>> = {
  add: (b, old, data, compare, type) =>
    type.startsWith('f') ? sumOfFloats(b, old, data, compare, type) : b.add(old, data),
  min: (b, old, data, _, type) => (isSigned(type) ? b.minS(old, data) : b.minU(old, data)),
  max: (b, old, data, _, type) => (isSigned(type) ? b.maxS(old, data) : b.maxU(old, data)),
  and: (b, old, data) => b.and(old, data),
  or: (b, old, data) => b.or(old, data),
  xor: (b, old, data) => b.xor(old, data),
  exch: (_, __, data) => data,
  cas: (b, old, data, compare) => b.select(b.eq(old, compare), data, old),
  inc: (b, old, data) => b.select(b.ltU(old, data), b.add(old, constant(b, old, 1)), constant(b, old, 0)),
  dec: (b, old, data) =>
    b.select(b.op('i1.or', b.isZero(old), b.ltU(data, old)), data, b.sub(old, constant(b, old, 1))),
};

/** `first`: where the address is; data follows, of a swap that compares behind what it compares with. */
function update(b: PtxBuilder, first: number): Value {
  const { space, address } = placeOf(b, first);
  const kind = b.modifiers['op']!;
  const type = b.type();
  const data = b.read(first + 1);
  const operands = kind === 'cas' ? [b.read(first + 2), data] : [data];
  // An access with nothing of a lane in it would be one of the wave, but each lane makes its own.
  const own = address.lane || space !== 'global' ? address : b.add(address, b.zext64(b.and(b.laneId(), b.i32(0))));
  const apply = UPDATES[kind]!;
  const old = b.atomic(
    space,
    own,
    operands,
    (c, before, value, other) => apply(c, before, value!, other!, type),
    b.guard,
  );
  fenceAfter(b);
  return old;
}

const atomic = (b: PtxBuilder): void => b.write(0, update(b, 1));
const reduce = (b: PtxBuilder): void => void update(b, 0);

/** Generic addresses of shared and local memory have high words of their own; others are as they are. */
const APERTURES: Readonly<Record<string, number>> = {
  shared: SHARED_HIGH,
  'shared::cta': SHARED_HIGH,
  local: LOCAL_HIGH,
};

function convertAddress(b: PtxBuilder): void {
  const high = APERTURES[b.modifiers['space']!];
  const value = b.read(1);
  const wide = value.type === 'i64' ? value : b.zext64(value);
  if (high === undefined) b.write(0, value);
  else b.write(0, b.has('dir') ? b.zext64(b.low(wide)) : b.pack(b.low(wide), b.i32(high)));
}

function isInSpace(b: PtxBuilder): void {
  const space = b.modifiers['space']!;
  const high = b.high(b.read(1));
  const own = APERTURES[space];
  const isOther = b.op('i1.or', b.eq(high, b.i32(SHARED_HIGH)), b.eq(high, b.i32(LOCAL_HIGH)));
  if (own !== undefined) b.write(0, b.eq(high, b.i32(own)));
  else b.write(0, space === 'global' ? b.not(isOther) : b.i1(false));
}

const HINTS =
  '.cache=ca|cg|cs|lu|cv|wb|wt?.l1=L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate?.hint=L2::cache_hint?.prefetch=L2::64B|L2::128B|L2::256B?';
const TYPES = '.vec=v2|v4?.type=@any';

// biome-ignore format: one row per line, as the tables of the manual
const ROWS: readonly PtxRow[] = [
  ptxRow('ld', `.order=@order?.scope=@scope?.space=@space?.nc?${HINTS}${TYPES}`, '=type*vec []', load),
  ptxRow('ldu', `.space=global?${TYPES}`, '=type*vec []', load),
  ptxRow('st', `.order=@order?.scope=@scope?.space=@space?${HINTS}${TYPES}`, '[] type*vec', store),
  ptxRow('prefetch', '.space=global|local?.level=L1|L2', '[]', () => {}),
  ptxRow('prefetchu', '.L1', '[]', () => {}),
  ptxRow('cvta', '.space=global|local|shared|const|param.type=u32|u64', '=type type', convertAddress),
  ptxRow('cvta', '.dir=to.space=global|local|shared|const|param.type=u32|u64', '=type type', convertAddress),
  ptxRow('isspacep', '.space=global|local|shared|shared::cta|const|param', '=pred u64', isInSpace),
  ptxRow('membar', '.level=cta|gl|sys', '', (b) => b.fence()),
  ptxRow('fence', '.order=sc|acq_rel|acquire|release?.scope=@scope', '', (b) => b.fence()),
];

const ORDERS = '.order=@order?.scope=@scope?.space=global|shared|shared::cta?';
const OPERATIONS = [
  '.op=and|or|xor|exch.type=b32|b64',
  '.op=add.type=u32|s32|u64|s64|f32|f64',
  '.op=inc|dec.type=u32',
  '.op=min|max.type=u32|s32|u64|s64',
];

// biome-ignore format: one row per line, as the tables of the manual
const ATOMIC_ROWS: readonly PtxRow[] = [
  ...OPERATIONS.map((operation) => ptxRow('atom', `${ORDERS}${operation}`, '=type [] type', atomic, { className: 'atomic' })),
  ptxRow('atom', `${ORDERS}.op=cas.type=b32|b64`, '=type [] type type', atomic, { className: 'atomic' }),
  ...OPERATIONS.map((operation) => ptxRow('red', `${ORDERS}${operation}`, '[] type', reduce, { className: 'atomic' })),
];

export const MEMORY_ROWS: readonly PtxRow[] = [
  ...ROWS.map((each): PtxRow => ({ ...each, className: 'memory' })),
  ...ATOMIC_ROWS,
];
