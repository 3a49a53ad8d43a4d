/** States of scalar loads: CDNA2 ISA 8, RDNA3 ISA 8. Every column is a run with an address of its own. */
import { type Encoding, encodingsOf } from '../../src/isa/amdgpu/encoding/encodings.ts';
import { type Target, targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { ROWS } from '../../src/isa/amdgpu/rows/index.ts';
import { COLUMNS } from './jobs.ts';
import { unsigned } from './numbers.ts';
import { namesOf } from './register-file.ts';
import { type Generated, StateBuilder, type UnsourcedRecording } from './state-builder.ts';
import { randomWord } from './values.ts';

const BASE = 16;
const SOFFSET = 28;
const RESULT = 40;
const MEMORY_SIZE_BYTES = 256;
const SIZES: Readonly<Record<string, number>> = { dword: 1, dwordx2: 2, dwordx4: 4, dwordx8: 8, dwordx16: 16 };

/** `register`: an SGPR is part of the offset. */
function loadState(s: StateBuilder, dwords: number, isBuffer: boolean, register: boolean): UnsourcedRecording {
  const isModern = s.target.families.includes('gfx11');
  s.useMemory(MEMORY_SIZE_BYTES, 'b32');
  const immediate = isBuffer || s.r(2) ? 8 : -8;
  const room = (MEMORY_SIZE_BYTES - 4 * dwords - 48) / 4;
  // The two low bits of each part count as zero.
  const low = (): number => s.r(4);
  s.putLanes(`s${BASE}`, () => 16 + 4 * s.r(isBuffer ? 4 : room) + low());
  s.put(`s${BASE + 1}`, [0]);
  if (register) s.putLanes(`s${SOFFSET}`, () => 4 * s.r(isBuffer ? room : 5) + low());
  // Of a buffer: its size, which some runs go beyond.
  const records = 96;
  if (isBuffer) {
    s.put(`s${BASE + 2}`, [records]);
    s.put(`s${BASE + 3}`, [0]);
  }
  s.pointers = [`s${BASE}`];
  const names = namesOf('s', RESULT, dwords);
  for (const name of names) s.put(name, [randomWord(s.r)]);
  for (let i = 0; i < COLUMNS; i++) {
    const base = Number(s.before.get(`s${BASE}`, i)) & ~3;
    const offset = immediate + (register ? Number(s.before.get(`s${SOFFSET}`, i)) & ~3 : 0);
    for (const [j, name] of names.entries()) {
      const at = offset + 4 * j;
      const inside = !isBuffer || at + 4 <= records;
      s.after.set(name, i, inside ? s.memory!.get(base + at, 4) : 0n);
      s.shown.add(name);
    }
  }
  const fields = { sbase: BASE / 2, sdata: RESULT, offset: Number(unsigned(21, BigInt(immediate))) };
  if (isModern) return s.finish({ ...fields, soffset: register ? SOFFSET : s.target.scalars.none }, 'waves');
  return s.finish({ ...fields, imm: 1, ...(register && { soffset_en: 1, soffset: SOFFSET }) }, 'waves');
}

/** Of a scalar load; none of other instructions. */
export function* scalarLoadStates(
  encoding: Encoding,
  target: Target,
  waveSize: 32 | 64,
  variation = '',
): Generator<UnsourcedRecording> {
  const match = /^s_(buffer_)?load_(\w+)$/.exec(encoding.row.name);
  const dwords = match ? SIZES[match[2]!] : undefined;
  if (!match || dwords === undefined) return;
  for (const register of dwords > 4 ? [false] : [false, true]) {
    const s = new StateBuilder(encoding, target, waveSize, String(register) + variation);
    yield loadState(s, dwords, match[1] !== undefined, register);
  }
}

export function* scalarMemoryRecordings(processor: string, waveSize: 32 | 64): Generator<Generated> {
  const target = targetFor(processor);
  for (const row of ROWS) {
    const [encoding] = encodingsOf(row, target);
    if (!encoding || !row.semantics) continue;
    for (const recording of scalarLoadStates(encoding, target, waveSize)) yield { file: 'smem', recording };
  }
}
