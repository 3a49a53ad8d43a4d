/**
 * States of the memory formats, before and after: addresses that are the lanes' own, some of them next to the
 * end of a buffer.
 */
import { type Encoding, encodingsOf } from '../../src/isa/amdgpu/encoding/encodings.ts';
import type { OperandType } from '../../src/isa/amdgpu/encoding/row.ts';
import { type Target, targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../../src/isa/amdgpu/rows/index.ts';
import type { Random } from '../../test/oracle/encoding-samples.ts';
import { COLUMNS } from './jobs.ts';
import { type Access, accessOf, Bytes, loaded, updated } from './memory.ts';
import { unsigned } from './numbers.ts';
import { namesOf } from './register-file.ts';
import { type Generated, StateBuilder, type UnsourcedRecording } from './state-builder.ts';
import { randomWord } from './values.ts';

export const ADDRESS = 20;
export const DATA = 24;
export const SECOND_DATA = 28;
export const RESULT = 40;
export const DESCRIPTOR = 24;
export const SOFFSET = 28;

/** What the contents are, so that atomics meet edges of their type. */
function contentsOf({ atomic, sizeBytes }: Access): OperandType {
  if (/_f$/.test(atomic)) return sizeBytes === 8 ? 'f64' : 'f32';
  if (/bf16/.test(atomic)) return 'v2bf16';
  if (/f16/.test(atomic)) return 'v2f16';
  return 'b32';
}

/** Where a lane's access goes; undefined: nowhere. */
type Place = (lane: number) => number | undefined;

/** Runs an access in all active lanes on bytes, or on each lane's own. */
export function perform(
  s: StateBuilder,
  access: Access,
  bytesOf: (lane: number) => Bytes,
  place: Place,
  registers: {
    readonly data: number;
    readonly second?: number;
    readonly result: number;
    readonly returns: boolean;
  },
): void {
  const { kind, sizeBytes, half } = access;
  const dwords = Math.max(1, sizeBytes / 4);
  const names = (first: number): string[] => namesOf('v', first, dwords);
  const unit = s.encoding.format.name === 'DS' ? 'lds' : 'cache';
  for (const lane of s.lanes) {
    const at = place(lane);
    const bytes = bytesOf(lane);
    if (kind === 'load') {
      const old = s.before.get(`v${registers.result}`, lane);
      const value = at === undefined ? 0n : bytes.get(at, sizeBytes);
      s.after.setWide(names(registers.result), lane, loaded(access, old, value));
      continue;
    }
    const data = s.before.wide(names(registers.data), lane);
    if (kind === 'store') {
      if (at !== undefined) bytes.set(at, sizeBytes, half === 'high' ? data >> 16n : data);
      continue;
    }
    const second = s.before.wide(names(registers.second ?? registers.data + dwords), lane);
    const old = at === undefined ? 0n : bytes.get(at, sizeBytes);
    if (at !== undefined) bytes.set(at, sizeBytes, updated(access, unit, old, data, second));
    if (registers.returns) s.after.setWide(names(registers.result), lane, old);
  }
  if (kind === 'load' || registers.returns) s.show(names(registers.result));
}

/** Registers for the data and the old contents of the result. */
function prepare(s: StateBuilder, access: Access, result: number, hasSecond: boolean): void {
  const dwords = Math.max(1, access.sizeBytes / 4);
  const type = contentsOf(access);
  if (access.kind !== 'load') s.fill(DATA, dwords, type);
  if (hasSecond) s.fill(s.encoding.format.name === 'DS' ? SECOND_DATA : DATA + dwords, dwords, type);
  if (result !== DATA || access.kind === 'load') s.fill(result, dwords, 'b32');
}

/** Half of the lanes find what they compare with. */
function meetComparand(s: StateBuilder, access: Access, bytes: Bytes, place: Place, comparand: number): void {
  const dwords = access.sizeBytes / 4;
  for (let lane = 0; lane < COLUMNS; lane += 2) {
    const at = place(lane);
    if (at === undefined) continue;
    const value = bytes.get(at, access.sizeBytes);
    s.before.setWide(namesOf('v', comparand, dwords), lane, value);
    s.after.setWide(namesOf('v', comparand, dwords), lane, value);
  }
}

/** Bytes between the lanes' places. */
const strideOf = (access: Access): number => Math.max(4, access.sizeBytes === 12 ? 16 : access.sizeBytes);
const withinSlot = (access: Access, r: Random): number =>
  access.sizeBytes < 4 ? r(4 / access.sizeBytes) * access.sizeBytes : 0;
const isCompareSwap = ({ atomic }: Access): boolean => /^(cmpst|cmpstore|cmpswap)_/.test(atomic);
const hasSecond = (access: Access): boolean => isCompareSwap(access) || /^(mskor|wrap)_/.test(access.atomic);

/** The lanes' slots in a random order. */
export function slots(r: Random): number[] {
  const order = Array.from({ length: COLUMNS }, (_, i) => i);
  for (let i = COLUMNS - 1; i > 0; i--) {
    const j = r(i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}

function dsState(s: StateBuilder, access: Access): UnsourcedRecording {
  const stride = strideOf(access);
  const offset = 16;
  const order = slots(s.r);
  const inSlot = Array.from({ length: COLUMNS }, () => withinSlot(access, s.r));
  s.useLds(offset + stride * COLUMNS, contentsOf(access));
  s.putLanes(`v${ADDRESS}`, (lane) => order[lane]! * stride + inSlot[lane]!);
  prepare(s, access, RESULT, hasSecond(access));
  const place: Place = (lane) => Number(s.before.get(`v${ADDRESS}`, lane)) + offset;
  if (isCompareSwap(access))
    meetComparand(s, access, s.lds!, place, /^cmpst_/.test(access.atomic) ? DATA : SECOND_DATA);
  const returns = s.encoding.row.name.includes('_rtn_');
  perform(s, access, () => s.lds!, place, { data: DATA, second: SECOND_DATA, result: RESULT, returns });
  return s.finish({ addr: ADDRESS, offset0: offset, offset1: 0, data0: DATA, data1: SECOND_DATA, vdst: RESULT });
}

/** FLAT and GLOBAL: a 64-bit address in VGPRs, or an SGPR pair and a 32-bit offset. */
function flatState(s: StateBuilder, access: Access, scalarBase: boolean): UnsourcedRecording {
  const isFlat = s.encoding.format.name === 'FLAT';
  const stride = strideOf(access);
  const offset = isFlat || scalarBase ? 16 : -16;
  const order = slots(s.r);
  const inSlot = Array.from({ length: COLUMNS }, () => withinSlot(access, s.r));
  s.useMemory(32 + stride * COLUMNS, contentsOf(access));
  s.putLanes(`v${ADDRESS}`, (lane) => order[lane]! * stride + inSlot[lane]! + (offset < 0 ? 32 : 0));
  if (!scalarBase) s.putLanes(`v${ADDRESS + 1}`, () => 0);
  if (scalarBase) {
    s.put(`s${ADDRESS}`, [0]);
    s.put(`s${ADDRESS + 1}`, [0]);
  }
  s.pointers = [scalarBase ? `s${ADDRESS}` : `v${ADDRESS}`];
  prepare(s, access, RESULT, isCompareSwap(access));
  const place: Place = (lane) => Number(s.before.get(`v${ADDRESS}`, lane)) + offset;
  if (isCompareSwap(access)) meetComparand(s, access, s.memory!, place, DATA + access.sizeBytes / 4);
  const returns = access.kind === 'atomic' && (s.encoding.opcode % 2 === 0 || access.atomic === 'csub_u');
  perform(s, access, () => s.memory!, place, { data: DATA, result: RESULT, returns });
  const none = isFlat ? (s.target.families.includes('gfx11') ? s.target.scalars.none : 0) : s.target.scalars.none;
  return s.finish({
    ...{ addr: ADDRESS, saddr: scalarBase ? ADDRESS : none, data: DATA, vdst: RESULT },
    ...{ offset: unsigned(13, BigInt(offset)) === 0n ? 0 : Number(unsigned(13, BigInt(offset))), glc: returns ? 1 : 0 },
  });
}

const PRIVATE_DWORDS = 8;

/** SCRATCH: every lane has its own memory. */
function scratchState(s: StateBuilder, access: Access, scalarBase: boolean): UnsourcedRecording {
  const privates = namesOf('p', 0, PRIVATE_DWORDS);
  for (const name of privates) s.putLanes(name, () => randomWord(s.r));
  const limit = (32 - 8 - access.sizeBytes) / Math.min(4, access.sizeBytes);
  const address = (): number => s.r(limit + 1) * Math.min(4, access.sizeBytes);
  if (scalarBase) s.put(`s${ADDRESS}`, [address()]);
  else s.putLanes(`v${ADDRESS}`, address);
  prepare(s, access, RESULT, false);
  const bytesOf = new Map(
    s.lanes.map((lane) => {
      const bytes = new Bytes(new Uint8Array(4 * PRIVATE_DWORDS));
      for (const [i, name] of privates.entries()) bytes.set(4 * i, 4, s.before.get(name, lane));
      return [lane, bytes] as const;
    }),
  );
  const place: Place = (lane) => Number(s.before.get(`${scalarBase ? 's' : 'v'}${ADDRESS}`, lane)) + 8;
  perform(s, access, (lane) => bytesOf.get(lane)!, place, { data: DATA, result: RESULT, returns: false });
  for (const [lane, bytes] of bytesOf)
    for (const [i, name] of privates.entries()) s.after.set(name, lane, bytes.get(4 * i, 4));
  if (access.kind === 'store') s.show(privates);
  const hasSve = s.encoding.format.fields.some(({ name }) => name === 'sve');
  return s.finish({
    ...{ addr: ADDRESS, saddr: scalarBase ? ADDRESS : s.target.scalars.none, data: DATA, vdst: RESULT, offset: 8 },
    ...(hasSve && { sve: scalarBase ? 0 : 1 }),
  });
}

/** MUBUF: a raw buffer with offsets, or a structured one with indices; some lanes are beyond its end. */
function bufferState(s: StateBuilder, access: Access, structured: boolean): UnsourcedRecording {
  const stride = structured ? 16 : strideOf(access);
  const records = COLUMNS - 3;
  const [soffset, immediate] = [8, 4];
  s.useMemory(soffset + 8 + stride * COLUMNS, contentsOf(access));
  const order = slots(s.r);
  s.putLanes(`v${ADDRESS}`, (lane) => (structured ? order[lane]! : order[lane]! * stride));
  const isModern = s.target.families.includes('gfx11');
  const offset = structured || stride < 8 ? immediate : 8;
  // Bits 29:28 of the last dword of gfx11 choose the check: 1 the index, 3 the offset.
  const size = structured ? records : records * stride + offset + (isModern ? soffset : 0);
  const descriptor = [0, structured ? stride << 16 : 0, size, isModern ? (structured ? 1 : 3) << 28 : 0];
  for (const [i, value] of descriptor.entries()) s.put(`s${DESCRIPTOR + i}`, [value]);
  s.put(`s${SOFFSET}`, [soffset]);
  s.pointers = [`s${DESCRIPTOR}`];
  prepare(s, access, DATA, isCompareSwap(access));
  const place: Place = (lane) => {
    const slot = order[lane]!;
    return slot >= records ? undefined : soffset + offset + slot * stride;
  };
  if (isCompareSwap(access)) meetComparand(s, access, s.memory!, place, DATA + access.sizeBytes / 4);
  const returns = access.kind === 'atomic' && (s.encoding.opcode % 2 === 0 || access.atomic === 'csub_u');
  perform(s, access, () => s.memory!, place, { data: DATA, result: DATA, returns });
  return s.finish({
    ...{ vaddr: ADDRESS, vdata: DATA, srsrc: DESCRIPTOR / 4, soffset: SOFFSET, offset, glc: returns ? 1 : 0 },
    ...(structured ? { idxen: 1 } : { offen: 1 }),
  });
}

/** Every memory instruction that accesses a place for each lane. */
export function* accessStates(
  encoding: Encoding,
  target: Target,
  waveSize: 32 | 64,
  variation = '',
): Generator<UnsourcedRecording> {
  const access = accessOf(encoding.row.name);
  const make = (seed: string): StateBuilder => new StateBuilder(encoding, target, waveSize, seed + variation);
  if (!access || /_lds_/.test(encoding.row.name)) return;
  switch (encoding.format.name) {
    case 'DS':
      yield dsState(make('ds'), access);
      return;
    case 'FLAT':
      yield flatState(make('flat'), access, false);
      return;
    case 'GLOBAL':
      yield flatState(make('vector'), access, false);
      if (access.kind !== 'atomic') yield flatState(make('scalar'), access, true);
      return;
    case 'SCRATCH':
      yield scratchState(make('vector'), access, false);
      if (access.sizeBytes === 4) yield scratchState(make('scalar'), access, true);
      return;
    default:
      // A structured record has room for 12 bytes behind the offset.
      yield bufferState(make('raw'), access, false);
      if (access.kind !== 'atomic' && access.sizeBytes <= 12) yield bufferState(make('structured'), access, true);
  }
}

const FORMATS = new Set(['DS', 'FLAT', 'GLOBAL', 'SCRATCH', 'MUBUF']);

export function* memoryRecordings(processor: string, waveSize: 32 | 64): Generator<Generated> {
  const target = targetFor(processor);
  for (const row of allRows()) {
    if (!row.semantics || !FORMATS.has(row.format)) continue;
    for (const encoding of encodingsOf(row, target)) {
      const file = encoding.format.name.toLowerCase();
      for (const recording of accessStates(encoding, target, waveSize)) yield { file, recording };
    }
  }
}
