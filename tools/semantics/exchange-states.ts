/**
 * States of accesses that are not a place for each lane: pairs of places, moves between lanes, counters in
 * the LDS, transfers between LDS and memory. CDNA2 ISA 9.1.9, 11 and 12.12, CDNA3 ISA 10.3, RDNA3 ISA 12.5.
 */
import { type Encoding, encodingsOf } from '../../src/isa/amdgpu/encoding/encodings.ts';
import { type Target, targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../../src/isa/amdgpu/rows/index.ts';
import { COLUMNS } from './jobs.ts';
import { accessOf } from './memory.ts';
import { ADDRESS, DATA, DESCRIPTOR, RESULT, SECOND_DATA, SOFFSET, slots } from './memory-states.ts';
import { signed, unsigned } from './numbers.ts';
import { namesOf } from './register-file.ts';
import { type Generated, StateBuilder, type UnsourcedRecording } from './state-builder.ts';
import { randomWord } from './values.ts';

/** ds_read2, ds_write2 and ds_wrxchg2: offsets in units of the data, or of 64 times the data. */
function pairState(s: StateBuilder, verb: string, strided: boolean, bits: 32 | 64): UnsourcedRecording {
  const size = bits / 8;
  const dwords = bits / 32;
  const [offset0, offset1] = strided ? [1, 0] : [2, 2 + COLUMNS];
  const unit = size * (strided ? 64 : 1);
  const order = slots(s.r);
  s.useLds(unit * Math.max(offset0, offset1) + size * COLUMNS, 'b32');
  s.putLanes(`v${ADDRESS}`, (lane) => order[lane]! * size);
  if (verb !== 'read') for (const first of [DATA, SECOND_DATA]) s.fill(first, dwords, 'b32');
  if (verb !== 'write') s.fill(RESULT, 2 * dwords, 'b32');
  for (const lane of s.lanes) {
    const address = Number(s.before.get(`v${ADDRESS}`, lane));
    const places = [offset0, offset1].map((offset) => address + offset * unit);
    const old = places.map((at) => s.lds!.get(at, size));
    if (verb !== 'read')
      for (const [i, at] of places.entries())
        s.lds!.set(at, size, s.before.wide(namesOf('v', i ? SECOND_DATA : DATA, dwords), lane));
    if (verb !== 'write') s.after.setWide(namesOf('v', RESULT, 2 * dwords), lane, old[0]! | (old[1]! << BigInt(bits)));
  }
  if (verb !== 'write') s.show(namesOf('v', RESULT, 2 * dwords));
  return s.finish({ addr: ADDRESS, data0: DATA, data1: SECOND_DATA, vdst: RESULT, offset0, offset1 });
}

/** Two exchanges of a dword, each where bit 31 of its data is set, which is not stored. */
function conditionalExchange(s: StateBuilder): UnsourcedRecording {
  s.useLds(8 * COLUMNS + 8, 'b32');
  s.putLanes(`v${ADDRESS}`, (lane) => lane * 8);
  s.fill(DATA, 2, 'b32');
  s.fill(RESULT, 2, 'b32');
  for (const lane of s.lanes) {
    for (const i of [0, 1]) {
      const at = 8 + lane * 8 + i * 4;
      const data = s.before.get(`v${DATA + i}`, lane);
      s.after.set(`v${RESULT + i}`, lane, s.lds!.get(at, 4));
      if (data >> 31n) s.lds!.set(at, 4, data & 0x7fffffffn);
    }
  }
  s.show(namesOf('v', RESULT, 2));
  return s.finish({ addr: ADDRESS, data0: DATA, vdst: RESULT, offset0: 8 });
}

/** LDS address: M0 + offset + 4 * lane. */
function byLane(s: StateBuilder, isLoad: boolean): UnsourcedRecording {
  s.useLds(32 + 4 * COLUMNS, 'b32');
  s.put('m0', [12]);
  s.fill(isLoad ? RESULT : DATA, 1, 'b32');
  for (const lane of s.lanes) {
    const at = 12 + 16 + 4 * lane;
    if (isLoad) s.after.set(`v${RESULT}`, lane, s.lds!.get(at, 4));
    else s.lds!.set(at, 4, s.before.get(`v${DATA}`, lane));
  }
  if (isLoad) s.show([`v${RESULT}`]);
  return s.finish({ data0: DATA, vdst: RESULT, offset0: 16 });
}

/** The number of active lanes, added or subtracted once; every lane gets the value from before. */
function counter(s: StateBuilder, sign: 1n | -1n): UnsourcedRecording {
  s.useLds(32, 'b32');
  s.put('m0', [8]);
  s.fill(RESULT, 1, 'b32');
  const old = s.lds!.get(16, 4);
  s.lds!.set(16, 4, unsigned(32, old + sign * BigInt(s.lanes.length)));
  for (const lane of s.lanes) s.after.set(`v${RESULT}`, lane, old);
  s.show([`v${RESULT}`]);
  return s.finish({ vdst: RESULT, offset0: 8 });
}

const isOn = (s: StateBuilder, lane: number): boolean => ((s.before.exec >> BigInt(lane)) & 1n) === 1n;

/**
 * ds_permute pushes to the lane that the address names, the highest lane last; ds_bpermute pulls. Lanes that
 * are off give 0.
 */
function permute(s: StateBuilder, pushes: boolean): UnsourcedRecording {
  const reach = s.target.families.includes('gfx9') ? s.waveSize : 32;
  s.putLanes(`v${ADDRESS}`, () => 4 * s.r(reach) + s.r(4) + (s.r(2) ? 4 * reach : 0));
  s.fill(DATA, 1, 'b32');
  s.fill(RESULT, 1, 'b32');
  const laneOf = (lane: number): number => ((Number(s.before.get(`v${ADDRESS}`, lane)) + 8) >> 2) % reach;
  for (const lane of s.lanes) s.after.set(`v${RESULT}`, lane, 0n);
  for (const lane of s.lanes) {
    const other = laneOf(lane);
    if (pushes && isOn(s, other)) s.after.set(`v${RESULT}`, other, s.before.get(`v${DATA}`, lane));
    if (!pushes && isOn(s, other)) s.after.set(`v${RESULT}`, lane, s.before.get(`v${DATA}`, other));
  }
  s.show([`v${RESULT}`]);
  return s.finish({ addr: ADDRESS, data0: DATA, vdst: RESULT, offset0: 8 });
}

/** Lane that a lane reads by the pattern in the offset (CDNA2 ISA 12.12.1). */
function swizzled(pattern: number, lane: number): number {
  const group = lane & ~31;
  const at = lane & 31;
  if (pattern >= 0xe000) {
    // A butterfly: the bits that the mask leaves, reversed.
    const mask = pattern & 31;
    const bits = Number.parseInt([...at.toString(2).padStart(5, '0')].reverse().join(''), 2);
    const kept = [...mask.toString(2)].filter((bit) => bit === '1').length;
    return group + ((bits >> kept) | (at & mask));
  }
  if (pattern >= 0xc000) {
    const mask = pattern & 31;
    const amount = (pattern >> 5) & 31;
    const moved = pattern & 0x400 ? at - amount : at + amount;
    return group + ((at & mask) | (moved & ~mask & 31));
  }
  if (pattern >= 0x8000) return group + (at & ~3) + ((pattern >> (2 * (at & 3))) & 3);
  return group + (((at & pattern & 31) | ((pattern >> 5) & 31)) ^ ((pattern >> 10) & 31));
}

const PATTERNS = [0x041f, 0x7c00, 0x2c75, 0x801b, 0xc0a3, 0xc4e8, 0xe010, 0xe003];

function swizzle(s: StateBuilder, pattern: number): UnsourcedRecording {
  s.fill(ADDRESS, 1, 'b32');
  s.fill(RESULT, 1, 'b32');
  for (const lane of s.lanes) {
    const source = swizzled(pattern, lane);
    s.after.set(`v${RESULT}`, lane, isOn(s, source) ? s.before.get(`v${ADDRESS}`, source) : 0n);
  }
  s.show([`v${RESULT}`]);
  return s.finish({ addr: ADDRESS, vdst: RESULT, offset0: pattern & 255, offset1: pattern >> 8 });
}

/** Loads to the LDS, at M0 + offset + 4 * lane. */
function toLds(s: StateBuilder): UnsourcedRecording {
  const { sizeBytes, isSigned } = accessOf(s.encoding.row.name)!;
  const { name: format, fields } = s.encoding.format;
  const offset = 8;
  const m0 = 12;
  s.put('m0', [m0]);
  s.useLds(m0 + offset + 4 * COLUMNS + 4, 'b32');
  const order = slots(s.r);
  const isPrivate = format === 'SCRATCH';
  const isBuffer = format === 'MUBUF';
  const privates = namesOf('p', 0, 8);
  if (isPrivate) for (const name of privates) s.putLanes(name, () => randomWord(s.r));
  else s.useMemory(64 + 4 * COLUMNS, 'b32');
  s.putLanes(`v${ADDRESS}`, (lane) => (isPrivate ? 4 * s.r(6) : order[lane]! * 4));
  if (isBuffer) {
    const descriptor = [0, 0, 4096, 3 << 28];
    for (const [i, value] of descriptor.entries()) s.put(`s${DESCRIPTOR + i}`, [value]);
    s.put(`s${SOFFSET}`, [4]);
  } else if (!isPrivate) s.putLanes(`v${ADDRESS + 1}`, () => 0);
  if (!isPrivate) s.pointers = [isBuffer ? `s${DESCRIPTOR}` : `v${ADDRESS}`];
  for (const lane of s.lanes) {
    const at = Number(s.before.get(`v${ADDRESS}`, lane)) + offset + (isBuffer ? 4 : 0);
    const dword = isPrivate ? s.before.get(`p${at >> 2}`, lane) : s.memory!.get(at, 4);
    const value = unsigned(8 * sizeBytes, dword);
    s.lds!.set(m0 + offset + 4 * lane, 4, unsigned(32, isSigned ? signed(8 * sizeBytes, value) : value));
  }
  const sve = isPrivate && fields.some(({ name }) => name === 'sve') ? { sve: 1 } : {};
  if (isBuffer) return s.finish({ vaddr: ADDRESS, srsrc: DESCRIPTOR / 4, soffset: SOFFSET, offen: 1, offset });
  return s.finish({ addr: ADDRESS, saddr: s.target.scalars.none, offset, ...sve });
}

/** A dword for each lane from the LDS to memory; add_tid_enable makes the lane the index. */
function fromLds(s: StateBuilder): UnsourcedRecording {
  const [m0, offset, soffset] = [12, 8, 4];
  s.put('m0', [m0]);
  s.useLds(m0 + offset + 4 * COLUMNS, 'b32');
  s.useMemory(16 + 4 * COLUMNS, 'b32');
  // On the way out registers hold nothing: one that shows it.
  s.fill(8, 1, 'b32');
  const descriptor = [0, 4 << 16, COLUMNS, 1 << 23];
  for (const [i, value] of descriptor.entries()) s.put(`s${DESCRIPTOR + i}`, [value]);
  s.put(`s${SOFFSET}`, [soffset]);
  s.pointers = [`s${DESCRIPTOR}`];
  for (const lane of s.lanes) s.memory!.set(offset + soffset + 4 * lane, 4, s.lds!.get(m0 + offset + 4 * lane, 4));
  s.show(['v8']);
  return s.finish({ srsrc: DESCRIPTOR / 4, soffset: SOFFSET, offset, lds: 1 });
}

/** From gfx10 on: saddr + offset + 4 * lane. */
function globalByLane(s: StateBuilder, isLoad: boolean): UnsourcedRecording {
  s.useMemory(32 + 4 * COLUMNS, 'b32');
  s.put(`s${ADDRESS}`, [8]);
  s.put(`s${ADDRESS + 1}`, [0]);
  s.pointers = [`s${ADDRESS}`];
  s.fill(isLoad ? RESULT : DATA, 1, 'b32');
  for (const lane of s.lanes) {
    const at = 8 + 16 + 4 * lane;
    if (isLoad) s.after.set(`v${RESULT}`, lane, s.memory!.get(at, 4));
    else s.memory!.set(at, 4, s.before.get(`v${DATA}`, lane));
  }
  if (isLoad) s.show([`v${RESULT}`]);
  return s.finish({ saddr: ADDRESS, data: DATA, vdst: RESULT, offset: 16 });
}

export function* exchangeStates(
  encoding: Encoding,
  target: Target,
  waveSize: 32 | 64,
  variation = '',
): Generator<UnsourcedRecording> {
  const { name } = encoding.row;
  const make = (seed = ''): StateBuilder => new StateBuilder(encoding, target, waveSize, seed + variation);
  const pair = /^ds_(read|write|wrxchg)2(st64)?(?:_rtn)?_b(32|64)$/.exec(name);
  if (pair) yield pairState(make(), pair[1]!, pair[2] !== undefined, Number(pair[3]) as 32 | 64);
  else if (name === 'ds_condxchg32_rtn_b64') yield conditionalExchange(make());
  else if (/^ds_(read|write)_addtid/.test(name)) yield byLane(make(), name.includes('read'));
  else if (name === 'ds_append' || name === 'ds_consume') yield counter(make(), name === 'ds_append' ? 1n : -1n);
  else if (/^ds_b?permute_b32$/.test(name)) yield permute(make(), name === 'ds_permute_b32');
  else if (name === 'ds_swizzle_b32') for (const pattern of PATTERNS) yield swizzle(make(String(pattern)), pattern);
  else if (/_load_lds_/.test(name) && accessOf(name)) yield toLds(make());
  else if (name === 'buffer_store_lds_dword') yield fromLds(make());
  else if (/^global_(load|store)_dword_addtid$/.test(name)) yield globalByLane(make(), name.includes('load'));
}

export function* exchangeRecordings(processor: string, waveSize: 32 | 64): Generator<Generated> {
  const target = targetFor(processor);
  for (const row of allRows()) {
    if (!row.semantics || !/^(DS|GLOBAL|SCRATCH|MUBUF)$/.test(row.format)) continue;
    const [encoding] = encodingsOf(row, target);
    if (!encoding) continue;
    const file = encoding.format.name.toLowerCase();
    for (const recording of exchangeStates(encoding, target, waveSize)) yield { file, recording };
  }
}
