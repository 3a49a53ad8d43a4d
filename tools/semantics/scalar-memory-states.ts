/**
 * States of scalar accesses to memory: CDNA2 ISA 8 and 12.6, RDNA3 ISA 8. Every column is a run with an
 * address of its own, on the same memory.
 */
import { type Encoding, encodingsOf } from '../../src/isa/amdgpu/encoding/encodings.ts';
import { type Target, targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../../src/isa/amdgpu/rows/index.ts';
import { COLUMNS } from './jobs.ts';
import { type Access, accessOf, updated } from './memory.ts';
import { unsigned } from './numbers.ts';
import { namesOf } from './register-file.ts';
import { type Generated, StateBuilder, type UnsourcedRecording } from './state-builder.ts';
import { randomWord } from './values.ts';

const BASE = 16;
const SOFFSET = 28;
const RESULT = 40;
const MEMORY_SIZE_BYTES = 256;
const SIZES: Readonly<Record<string, number>> = { dword: 1, dwordx2: 2, dwordx4: 4, dwordx8: 8, dwordx16: 16 };

/** Of a buffer: its size, which some runs go beyond. */
const RECORDS = 96;

interface Form {
  readonly isBuffer: boolean;
  /** An SGPR is part of the offset. */
  readonly register: boolean;
}

interface Place {
  readonly fields: Readonly<Record<string, number>>;
  /** Of a run, of so many bytes behind the place that the instruction names; undefined: nowhere. */
  at(column: number, offset: number, sizeBytes: number): number | undefined;
}

/** Registers with the parts of an address, in memory that is made here. */
function placeOf(s: StateBuilder, { isBuffer, register }: Form, sizeBytes: number, alignment = 4): Place {
  s.useMemory(MEMORY_SIZE_BYTES, 'b32');
  const immediate = isBuffer || s.r(2) ? 8 : -8;
  const room = (MEMORY_SIZE_BYTES - sizeBytes - 48) / alignment;
  // The two low bits of each part count as zero.
  const low = (): number => s.r(4);
  s.putLanes(`s${BASE}`, () => 16 + alignment * s.r(isBuffer ? 4 : room) + low());
  s.put(`s${BASE + 1}`, [0]);
  if (register) s.putLanes(`s${SOFFSET}`, () => alignment * s.r(isBuffer ? room : 5) + low());
  if (isBuffer) {
    s.put(`s${BASE + 2}`, [RECORDS]);
    s.put(`s${BASE + 3}`, [0]);
  }
  s.pointers = [`s${BASE}`];
  const immediateField = Number(unsigned(21, BigInt(immediate)));
  const soffset = s.target.families.includes('gfx11')
    ? { soffset: register ? SOFFSET : s.target.scalars.none }
    : { imm: 1, ...(register && { soffset_en: 1, soffset: SOFFSET }) };
  return {
    fields: { sbase: BASE / 2, sdata: RESULT, offset: immediateField, ...soffset },
    at(column, offset, size) {
      const base = Number(s.before.get(`s${BASE}`, column)) & ~3;
      const at = immediate + (register ? Number(s.before.get(`s${SOFFSET}`, column)) & ~3 : 0) + offset;
      return !isBuffer || at + size <= RECORDS ? base + at : undefined;
    },
  };
}

function loadState(s: StateBuilder, dwords: number, form: Form): UnsourcedRecording {
  const place = placeOf(s, form, 4 * dwords);
  const names = namesOf('s', RESULT, dwords);
  for (const name of names) s.put(name, [randomWord(s.r)]);
  for (let i = 0; i < COLUMNS; i++) {
    for (const [j, name] of names.entries()) {
      const at = place.at(i, 4 * j, 4);
      s.after.set(name, i, at === undefined ? 0n : s.memory!.get(at, 4));
      s.shown.add(name);
    }
  }
  return s.finish(place.fields, 'waves');
}

/** Memory is what the last run leaves. */
function storeState(s: StateBuilder, { sizeBytes }: Access, form: Form): UnsourcedRecording {
  const place = placeOf(s, form, sizeBytes);
  for (const [j, name] of namesOf('s', RESULT, sizeBytes / 4).entries()) {
    s.putLanes(name, () => randomWord(s.r));
    const at = place.at(COLUMNS - 1, 4 * j, 4);
    if (at !== undefined) s.memory!.set(at, 4, s.before.get(name, COLUMNS - 1));
  }
  s.show(['scc']);
  s.putLanes('scc', () => s.r(2));
  return s.finish(place.fields, 'waves');
}

/** As `storeState`; with `returns`, half of the runs of a swap find what they compare with. */
function atomicState(s: StateBuilder, access: Access, form: Form, returns: boolean): UnsourcedRecording {
  const { atomic, sizeBytes } = access;
  const dwords = sizeBytes / 4;
  const compares = atomic.startsWith('cmpswap');
  const place = placeOf(s, form, sizeBytes, sizeBytes);
  const [data, second] = [namesOf('s', RESULT, dwords), namesOf('s', RESULT + dwords, compares ? dwords : 0)];
  for (const name of [...data, ...second]) s.putLanes(name, () => randomWord(s.r));
  for (let i = 0; i < COLUMNS; i++) {
    const at = place.at(i, 0, sizeBytes);
    const old = at === undefined ? 0n : s.memory!.get(at, sizeBytes);
    if (compares && at !== undefined && i % 2 === 1) {
      s.before.setWide(second, i, old);
      s.after.setWide(second, i, old);
    }
    const comparand = compares ? s.before.wide(second, i) : 0n;
    if (i === COLUMNS - 1 && at !== undefined)
      s.memory!.set(at, sizeBytes, updated(access, 'cache', old, s.before.wide(data, i), comparand));
    if (returns) s.after.setWide(data, i, old);
  }
  s.show([...data, ...second]);
  return s.finish({ ...place.fields, glc: returns ? 1 : 0 }, 'waves');
}

/** Of a scalar access to memory; none of other instructions. */
export function* scalarAccessStates(
  encoding: Encoding,
  target: Target,
  waveSize: 32 | 64,
  variation = '',
): Generator<UnsourcedRecording> {
  const { name } = encoding.row;
  const make = (seed: string): StateBuilder => new StateBuilder(encoding, target, waveSize, seed + variation);
  const isBuffer = name.startsWith('s_buffer_');
  const [, kind, width] = /^s_(?:buffer_)?(load|store|atomic)_(\w+)$/.exec(name) ?? [];
  if (kind === 'load') {
    const dwords = SIZES[width!];
    if (dwords === undefined) return;
    for (const register of dwords > 4 ? [false] : [false, true])
      yield loadState(make(String(register)), dwords, { isBuffer, register });
    return;
  }
  const access = kind && accessOf(name.replace(/^s_(buffer_)?/, 'global_'));
  if (!access) return;
  for (const register of [false, true]) {
    const s = make(String(register));
    if (kind === 'store') yield storeState(s, access, { isBuffer, register });
    else yield atomicState(s, access, { isBuffer, register }, register);
  }
}

export function* scalarMemoryRecordings(processor: string, waveSize: 32 | 64): Generator<Generated> {
  const target = targetFor(processor);
  for (const row of allRows()) {
    const [encoding] = encodingsOf(row, target);
    if (!encoding || !row.semantics) continue;
    for (const recording of scalarAccessStates(encoding, target, waveSize)) yield { file: 'smem', recording };
  }
}
