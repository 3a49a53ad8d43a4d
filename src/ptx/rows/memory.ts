/**
 * Loads, stores, addresses and atomics. PTX ISA 9.7.9 "Data Movement" and 9.7.13 "Parallel Synchronization".
 * Cache hints change nothing that a program can see.
 */
import type { Builder } from '../../ir/builder.ts';
import type { FloatBuilder } from '../../ir/float-builder.ts';
import type { MemorySpace, Value } from '../../ir/types.ts';
import { bitsOf, elementTypeOf, isFloatType, isSigned, type PtxType, sizeOf } from '../machine/types.ts';
import { NAN16, type PtxBuilder } from './builder.ts';
import { type PtxRow, ptxRow } from './row.ts';

/** High words of generic addresses of shared and local memory. */
export const SHARED_HIGH = 0x7e00;
export const LOCAL_HIGH = 0x7e01;

/** Spaces whose addresses are offsets of 32 bits. */
const OFFSET_SPACES: Readonly<Record<string, MemorySpace>> = {
  shared: 'lds',
  'shared::cta': 'lds',
  // A block is a cluster of its own.
  'shared::cluster': 'lds',
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
export function placeOf(b: PtxBuilder, index: number, named = b.modifiers['space']): NamePlace {
  const { base, offset, isParameter: isNamed } = b.address(index);
  const isOwn = named === 'param::func';
  const isParameter = isNamed || (base.type === 'i64' && named?.startsWith('param') && !isOwn);
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

export const advanced = (b: PtxBuilder, address: Value, bytes: number): Value =>
  b.add(address, address.type === 'i64' ? b.i64(BigInt(bytes)) : b.i32(bytes));

/** What is accessed in one piece: elements of a type. */
interface Extent {
  readonly type: PtxType;
  readonly count: number;
  /** The address need not be a multiple of the whole. */
  readonly isFree?: boolean;
}

const extentOf = (b: PtxBuilder): Extent => ({ type: b.type(), count: elementsOf(b) });
/** 128 bits are their halves, low first. */
const DOUBLE: Extent = { type: 'b64', count: 2 };

function loadAt(b: PtxBuilder, { type, count, isFree = false }: Extent): void {
  const size = sizeOf(type);
  const { space, address: common } = placeOf(b, 1);
  const isOfWave = space === 'global' && !common.lane;
  // The wave loads a parameter, which is always there, whoever wants it.
  const predicate = isOfWave && b.address(1).isParameter ? undefined : b.guard;
  const address = isOfWave && predicate?.lane ? ownAddress(b, common) : common;
  const dwords: Value[] = [];
  let at = 0;
  for (const bytes of accessSizes(size * count)) {
    const alignmentBytes = at === 0 && !isFree ? size * count : 1;
    dwords.push(...b.load(space, bytes, advanced(b, address, at), { predicate, alignmentBytes }));
    at += bytes;
  }
  fenceAfter(b);
  for (let i = 0; i < count; i++) b.write(0, element(b, dwords, i * size, type), i);
}

/** With something of the lane in it: each makes its own access, whatever is the same for all. */
const ownAddress = (b: PtxBuilder, address: Value): Value => b.add(address, b.zext64(b.and(b.laneId(), b.i32(0))));

/** What is at a byte of dwords, which fills 32 bits as its type says. */
function element(b: PtxBuilder, dwords: readonly Value[], offset: number, type: PtxType): Value {
  const word = dwords[offset >> 2]!;
  if (sizeOf(type) === 8) return b.pack(word, dwords[(offset >> 2) + 1]!);
  const bits = bitsOf(type);
  if (bits === 32) return word;
  const field = b.bits(word, (offset & 3) * 8, bits);
  return isSigned(type) ? (bits === 8 ? b.sext8(field) : b.sext16(field)) : field;
}

function storeAt(b: PtxBuilder, { type, isFree = false }: Extent): void {
  const size = sizeOf(type);
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
    const alignmentBytes = at === 0 && !isFree ? size * values.length : 1;
    b.store(space, bytes, advanced(b, address, at), data, { predicate: b.guard, alignmentBytes });
    at += bytes;
  }
}

const load = (b: PtxBuilder): void => loadAt(b, extentOf(b));
const store = (b: PtxBuilder): void => storeAt(b, extentOf(b));
const loadDouble = (b: PtxBuilder): void => loadAt(b, DOUBLE);
const storeDouble = (b: PtxBuilder): void => storeAt(b, DOUBLE);

function moveDouble(b: PtxBuilder): void {
  for (const [i, half] of b.readAll(1).entries()) b.write(0, half, i);
}

/** Other threads and the host see accesses in the order of the program where one orders. */
const ORDERING = new Set(['acquire', 'release', 'acq_rel', 'volatile', 'relaxed']);
const isOrdered = (b: PtxBuilder): boolean => ORDERING.has(b.modifiers['order'] ?? '');
const fenceAfter = (b: PtxBuilder): void => {
  if (isOrdered(b)) b.fence();
};
const fenceBefore = fenceAfter;

/** From global to shared memory; of what lies behind the source's size zeros are stored. */
function copy(b: PtxBuilder): void {
  const sizeBytes = Number(b.modifiers['size']!.slice(1));
  const [to, from] = [placeOf(b, 0, 'shared'), placeOf(b, 1, 'global')];
  const sourceSize = b.read(2);
  const dwords = Array.from({ length: sizeBytes / 4 }, (_, i) => {
    const isThere = b.ltU(b.i32(4 * i), sourceSize);
    const predicate = b.guard ? b.op('i1.and', isThere, b.guard) : isThere;
    const address = ownAddress(b, advanced(b, from.address, 4 * i));
    const [dword] = b.load(from.space, 4, address, { predicate });
    const rest = b.sub(sourceSize, b.i32(4 * i));
    const mask = b.sub(b.shl(b.i32(1), b.shl(rest, 3)), b.i32(1));
    return b.select(b.ltU(rest, b.i32(4)), b.and(dword!, mask), dword!);
  });
  b.store(to.space, sizeBytes, to.address, dwords, { predicate: b.guard, alignmentBytes: sizeBytes });
}

type Update = (b: Builder, old: Value, data: Value, compare: Value, type: PtxType) => Value;

const constant = (b: Builder, like: Value, value: number): Value =>
  like.type === 'i64' ? b.i64(BigInt(value)) : b.i32(value);

const flushed = (b: Builder, value: Value): Value =>
  b.select(b.ltU(b.and(value, b.i32(0x7fffffff)), b.i32(0x00800000)), b.and(value, b.i32(-0x80000000)), value);

/** In global memory denormals of f32 are flushed, in shared memory they are not (PTX ISA, "atom"). */
const sumOfSingles =
  (flush: (b: Builder, value: Value) => Value): Update =>
  (b, old, data) => {
    const sum = flush(b, b.op('f32.add', flush(b, old), flush(b, data)));
    return b.select(b.f32.isNan(sum), b.i32(0x7fffffff), sum);
  };

const UPDATES: Readonly<Record<string, Update>> = {
  add: (b, old, data) => b.add(old, data),
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

type HalfUpdate = (f: FloatBuilder, old: Value, data: Value) => Value;
const HALF_UPDATES: Readonly<Record<string, HalfUpdate>> = {
  add: (f, old, data) => f.add(old, data),
  min: (f, old, data) => f.min(old, data),
  max: (f, old, data) => f.max(old, data),
};

/** Of halves, which may be packed: denormals are kept, a NaN is the canonical one. */
const updateOfHalves =
  (kind: string): Update =>
  (b, old, data, _, type) => {
    const f = elementTypeOf(type) === 'f16' ? b.f16 : b.bf16;
    const part = (value: Value, low: number): Value => b.bits(value, low, 16);
    const updated = (low: number): Value => {
      const value = HALF_UPDATES[kind]!(f, part(old, low), part(data, low));
      return b.select(f.isNan(value), b.i32(NAN16), value);
    };
    return elementTypeOf(type) === type ? updated(0) : b.or(updated(0), b.shl(updated(16), 16));
  };

/** Halves that share a dword: one of them is replaced. The data comes with what it compares with above it. */
const inDword =
  (apply: Update): Update =>
  (b, old, both, shift, type) => {
    const own = b.bits(b.shrU(old, shift), 0, 16);
    const value = apply(b, own, b.bits(both, 0, 16), b.bits(both, 16, 16), type);
    const rest = b.and(old, b.not(b.shl(b.i32(0xffff), shift)));
    return b.or(rest, b.shl(b.bits(value, 0, 16), shift));
  };

function updateOf(kind: string, type: PtxType, space: MemorySpace): Update {
  const isSum = kind === 'add';
  if (isSum && type === 'f64') return (b, old, data) => b.op('f64.add', old, data);
  if (isSum && type === 'f32') return sumOfSingles(space === 'lds' ? (_, value) => value : flushed);
  return isFloatType(type) ? updateOfHalves(kind) : UPDATES[kind]!;
}

/** `first`: where the address is; data follows, of a swap that compares behind what it compares with. */
function update(b: PtxBuilder, first: number, element = 0): Value {
  const { space, address } = placeOf(b, first);
  const kind = b.modifiers['op']!;
  const type = b.type();
  const data = b.read(first + 1, element);
  const operands = kind === 'cas' ? [b.read(first + 2), data] : [data];
  const at = advanced(b, address, element * sizeOf(type));
  // An access with nothing of a lane in it would be one of the wave.
  const own = at.lane || space !== 'global' ? at : ownAddress(b, at);
  const apply = updateOf(kind, type, space);
  const old =
    sizeOf(type) === 2
      ? updateHalf(b, { space, address: own }, operands, apply)
      : b.atomic(space, own, operands, (c, ...values) => apply(c, values[0]!, values[1]!, values[2]!, type), {
          predicate: b.guard,
          // All of a vector is accessed at once, though each element is an atomic of its own.
          alignmentBytes: sizeOf(type) * (element === 0 ? elementsOf(b) : 1),
        });
  fenceAfter(b);
  return old;
}

/** Half of the dword that an address is in. */
function updateHalf(b: PtxBuilder, place: NamePlace, operands: readonly Value[], apply: Update): Value {
  const [first, second] = operands as [Value, Value | undefined];
  const { space, address } = place;
  const low = address.type === 'i64' ? b.low(address) : address;
  const shift = b.shl(b.and(low, b.i32(2)), 3);
  // What is left of an odd address is a fault.
  const dword = b.and(address, address.type === 'i64' ? b.i64(~2n) : b.i32(~2));
  const both = second ? b.packHalves(first, second) : first;
  const half = inDword(apply);
  const type = b.type();
  const old = b.atomic(space, dword, [both, shift], (c, before, data, by) => half(c, before, data!, by!, type), {
    predicate: b.guard,
    alignmentBytes: 4,
  });
  return b.bits(b.shrU(old, shift), 0, 16);
}

function atomic(b: PtxBuilder): void {
  // A result may stand where the address is, or what comes to a later element.
  const found = Array.from({ length: elementsOf(b) }, (_, i) => update(b, 1, i));
  for (const [i, value] of found.entries()) b.write(0, value, i);
}

function reduce(b: PtxBuilder): void {
  for (let i = 0; i < elementsOf(b); i++) update(b, 0, i);
}

/** Generic addresses of shared and local memory have high words of their own; others are as they are. */
const APERTURES: Readonly<Record<string, number>> = {
  shared: SHARED_HIGH,
  'shared::cta': SHARED_HIGH,
  'shared::cluster': SHARED_HIGH,
  local: LOCAL_HIGH,
};

/** With all 64 bits: a null pointer is null again on its way back, which compilers count on. */
function convertAddress(b: PtxBuilder): void {
  const high = APERTURES[b.modifiers['space']!];
  const value = b.read(1);
  const wide = value.type === 'i64' ? value : b.zext64(value);
  if (high === undefined) b.write(0, value);
  else {
    const window = b.pack(b.i32(0), b.i32(high));
    b.write(0, b.op(b.has('dir') ? 'i64.sub' : 'i64.add', wide, window));
  }
}

function isInSpace(b: PtxBuilder): void {
  const space = b.modifiers['space']!;
  const high = b.high(b.read(1));
  const own = APERTURES[space];
  const isOther = b.op('i1.or', b.eq(high, b.i32(SHARED_HIGH)), b.eq(high, b.i32(LOCAL_HIGH)));
  if (own !== undefined) b.write(0, b.eq(high, b.i32(own)));
  else b.write(0, space === 'global' ? b.not(isOther) : b.i1(false));
}

/** Hints, and with a policy for caches one operand more that is not looked at. */
const PLAIN = '.cache=ca|cg|cs|lu|cv|wb|wt?.l1=@evict?.l2=@evict2?';
const HINTS = [
  { words: '', operands: '' },
  { words: '.L2::cache_hint', operands: ' b64' },
];
const SIZES = '.prefetch=L2::64B|L2::128B|L2::256B?';
const TYPES = '.vec=v2|v4?.type=@any';
const SPACES = '.space=global|local|shared|const|param';
const CONTEXT = '.order=@order?.scope=@scope?';
const nothing = (): void => {};
/** What a policy for caches is says nothing that a program can see. */
const noPolicy = (b: PtxBuilder): void => b.write(0, b.i64(0n));
const PRIORITIES = '.first=@evict2.second=@evict2?.b64';

// biome-ignore format: one row per line, as the tables of the manual
const ROWS: readonly PtxRow[] = [
  ...HINTS.flatMap(({ words, operands }) => [
    ptxRow('ld', `.mmio?${CONTEXT}.space=@space?.nc?${PLAIN}${words}${SIZES}${TYPES}`, `=type*vec []${operands}`, load, { looks: 'ordered' }),
    ptxRow('st', `.mmio?${CONTEXT}.space=@space?${PLAIN}${words}${TYPES}`, `[] type*vec${operands}`, store),
    ptxRow('ld', `.mmio?${CONTEXT}.space=@space?.nc?${PLAIN}${words}${SIZES}.b128`, `=b64*x2 []${operands}`, loadDouble, { looks: 'ordered' }),
    ptxRow('st', `.mmio?${CONTEXT}.space=@space?${PLAIN}${words}.b128`, `[] b64*x2${operands}`, storeDouble),
  ]),
  ptxRow('mov', '.b128', '=b64*x2 b64*x2', moveDouble),
  ptxRow('ldu', `.space=global?${TYPES}`, '=type*vec []', load),
  ptxRow('ldu', '.space=global?.b128', '=b64*x2 []', loadDouble),
  ptxRow('cp', `.async.cache=ca|cg.space=shared|shared::cta.global${SIZES}`, '[] [] u32 u32?', nothing, { expansion: 'copy' }),
  ptxRow('cp', '.async.commit_group', '', nothing),
  ptxRow('cp', '.async.wait_group', 'u32', nothing),
  ptxRow('cp', '.async.wait_all', '', nothing),
  ptxRow('wave_load', '.space=local.vec=v4.type=b32', '=type*vec []', (b) => loadAt(b, { ...extentOf(b), isFree: true }), { isInternal: true }),
  ptxRow('wave_store', '.space=local.vec=v4.type=b32', '[] type*vec', (b) => storeAt(b, { ...extentOf(b), isFree: true }), { isInternal: true }),
  ptxRow('wave_copy', '.size=b4|b8|b16', '[] [] u32', copy, { isInternal: true }),
  ptxRow('prefetch', '.space=global|local?.level=L1|L2', '[]', nothing),
  ptxRow('prefetch', '.space=global.level=L2::evict_last|L2::evict_normal', '[]', nothing),
  ptxRow('prefetchu', '.L1', '[]', nothing),
  ptxRow('discard', '.space=global?.L2', '[] u32', nothing),
  ptxRow('applypriority', '.space=global?.L2::evict_normal', '[] u32', nothing),
  ptxRow('createpolicy', `.fractional${PRIORITIES}`, '=b64 f32?', noPolicy),
  ptxRow('createpolicy', `.range.space=global?${PRIORITIES}`, '=b64 [] u32 u32', noPolicy),
  ptxRow('createpolicy', '.cvt.L2.b64', '=b64 b64', noPolicy),
  ptxRow('cvta', `${SPACES}.type=u32|u64`, '=type type', convertAddress),
  ptxRow('cvta', `.dir=to${SPACES}.type=u32|u64`, '=type type', convertAddress),
  ptxRow('isspacep', '.space=global|local|shared|shared::cta|shared::cluster|const|param|param::entry|param::func', '=pred u64', isInSpace),
  // The only block of a cluster is number 0.
  ptxRow('mapa', '.space=shared::cluster?.type=u32|u64', '=type type u32', (b) => b.write(0, b.read(1))),
  ptxRow('getctarank', '.space=shared::cluster?.type=u32|u64', '=u32 type', (b) => b.write(0, b.i32(0))),
  ptxRow('membar', '.level=cta|gl|sys', '', (b) => b.fence()),
  ptxRow('fence', '.order=sc|acq_rel|acquire|release?.scope=@scope', '', (b) => b.fence()),
  ptxRow('fence', '.proxy.kind=alias|async.space=global|shared::cta|shared::cluster?', '', (b) => b.fence()),
  ptxRow('fence', '.mbarrier_init.release.cluster', '', (b) => b.fence()),
  ptxRow('membar', '.proxy.alias', '', (b) => b.fence()),
];

const PLACE = `${CONTEXT}.space=global|shared|shared::cta|shared::cluster?`;
const GLOBAL = `${CONTEXT}.space=global?`;
const HALVES = 'f16|f16x2|bf16|bf16x2';
const OPERATIONS = [
  '.op=and|or|xor.type=b32|b64',
  '.op=add.type=u32|s32|u64|s64|f32|f64',
  '.op=inc|dec.type=u32',
  '.op=min|max.type=u32|s32|u64|s64',
  `.op=add.noftz.type=${HALVES}`,
];
const VECTORS = ['.op=add.vec=v2.type=f32', `.op=add|min|max.noftz.vec=v2.type=${HALVES}`];
/** They have more operands than an instruction of the machine. */
const LONG_VECTORS = [
  '.op=add.vec=v4.type=f32',
  `.op=add|min|max.noftz.vec=v4.type=${HALVES}`,
  '.op=add|min|max.noftz.vec=v8.type=f16|bf16',
];
const ATOMIC = { className: 'atomic' } as const;
const FETCHING = { ...ATOMIC, looks: 'always' } as const;

/** The words of an operation, and behind its name those of a policy for caches. */
const hinted = (operation: string, words: string): string => operation.replace(/^(\.op=[^.]+(\.noftz)?)/, `$1${words}`);

// biome-ignore format: one row per line, as the tables of the manual
const ATOMIC_ROWS: readonly PtxRow[] = [
  ...HINTS.flatMap(({ words, operands }) => [
    ...OPERATIONS.flatMap((operation) => [
      ptxRow('atom', `${PLACE}${hinted(operation, words)}`, `=type [] type${operands}`, atomic, FETCHING),
      ptxRow('red', `${PLACE}${hinted(operation, words)}`, `[] type${operands}`, reduce, ATOMIC),
    ]),
    ...[...VECTORS, ...LONG_VECTORS].flatMap((operation) => {
      const flags = LONG_VECTORS.includes(operation) ? ({ expansion: 'pairs' } as const) : {};
      return [
        ptxRow('atom', `${GLOBAL}${hinted(operation, words)}`, `=type*vec [] type*vec${operands}`, atomic, { ...FETCHING, ...flags }),
        ptxRow('red', `${GLOBAL}${hinted(operation, words)}`, `[] type*vec${operands}`, reduce, { ...ATOMIC, ...flags }),
      ];
    }),
    ptxRow('atom', `${PLACE}.op=exch${words}.type=b32|b64`, `=type [] type${operands}`, atomic, FETCHING),
    ptxRow('atom', `${PLACE}.op=cas${words}.type=b16|b32|b64`, `=type [] type type${operands}`, atomic, FETCHING),
  ]),
];

export const MEMORY_ROWS: readonly PtxRow[] = [
  ...ROWS.map((each): PtxRow => ({ ...each, className: 'memory' })),
  ...ATOMIC_ROWS,
];
