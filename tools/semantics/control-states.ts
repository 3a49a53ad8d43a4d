/**
 * States of instructions that change no data: branches, waits, caches, MODE, register indexing. CDNA2 ISA 4
 * and 12.2 to 12.6, RDNA3 ISA 16.
 */
import { type Encoding, encodingsOf } from '../../src/isa/amdgpu/encoding/encodings.ts';
import { type Target, targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../../src/isa/amdgpu/rows/index.ts';
import { COLUMNS, DEFAULT_MODE } from './jobs.ts';
import { namesOf } from './register-file.ts';
import { type Generated, StateBuilder } from './state-builder.ts';
import { randomWord } from './values.ts';

/** What nothing comes of that a state shows: waits, hints, caches that are not modelled. */
const WITHOUT_EFFECT = new RegExp(
  [
    '^(v_nop|v_clrexcp|v_pipeflush|ds_nop|buffer_(wbl2|invl2|inv|wbinvl1|wbinvl1_vol|gl[01]_inv)',
    's_(nop|wakeup|setprio|icache_inv|incperflevel|decperflevel|ttracedata|ttracedata_imm|inst_prefetch|clause|wait_idle)',
    's_(waitcnt|waitcnt_depctr|waitcnt_[a-z]+cnt|delay_alu|wait_event|version|gl1_inv|atc_probe|atc_probe_buffer)',
    's_dcache_(inv|wb|inv_vol|wb_vol|discard|discard_x2))$',
  ].join('|'),
);

const RESULT = 40;
/** s_mov_b32 s40, 1: shows whether a branch was taken. */
const MARK = 0xbea80081;

type Maker = (
  make: (seed?: string) => StateBuilder,
  encoding: Encoding,
  target: Target,
) => Generator<ReturnType<StateBuilder['finish']>>;

function* withoutEffect(make: (seed?: string) => StateBuilder, encoding: Encoding): ReturnType<Maker> {
  const s = make();
  const isVector = !encoding.format.name.startsWith('S');
  const name = isVector ? 'v8' : 's8';
  s.putLanes(name, () => randomWord(s.r));
  s.putLanes('scc', () => s.r(2));
  if (isVector) s.put('scc', [1]);
  if (encoding.format.name === 'SMEM') for (const each of namesOf('s', 16, 4)) s.put(each, [0]);
  if (encoding.format.name === 'SMEM') s.putLanes('s40', () => randomWord(s.r));
  s.show([name, 'scc', 's106', ...(encoding.format.name === 'SMEM' ? ['s40'] : [])]);
  const smem = encoding.format.name === 'SMEM' && encoding.row.operands.length > 0;
  const [format, isModern] = [encoding.format, s.target.families.includes('gfx11')];
  const hasImmediate = format.fields.some(({ name: field }) => field === 'imm');
  const address = {
    sbase: 8,
    ...(hasImmediate ? { imm: 1 } : {}),
    ...(isModern && { soffset: s.target.scalars.none }),
  };
  const counter = encoding.row.operands.some(({ field }) => field === 'sdst')
    ? { sdst: s.target.scalars.none, simm16: 3 }
    : {};
  yield s.finish({ ...(smem && address), ...counter }, isVector ? 'lanes' : 'waves');
}

const CONDITIONS: Readonly<Record<string, (scc: bigint, vcc: bigint, exec: bigint) => boolean>> = {
  s_branch: () => true,
  s_cbranch_scc0: (scc) => scc === 0n,
  s_cbranch_scc1: (scc) => scc === 1n,
  s_cbranch_vccz: (_, vcc) => vcc === 0n,
  s_cbranch_vccnz: (_, vcc) => vcc !== 0n,
  s_cbranch_execz: (_, __, exec) => exec === 0n,
  s_cbranch_execnz: (_, __, exec) => exec !== 0n,
  // No debugger has set its flags.
  s_cbranch_cdbgsys: () => false,
  s_cbranch_cdbguser: () => false,
  s_cbranch_cdbgsys_or_user: () => false,
  s_cbranch_cdbgsys_and_user: () => false,
};

/** A branch over one instruction. */
function* branches(make: (seed?: string) => StateBuilder, encoding: Encoding): ReturnType<Maker> {
  const condition = CONDITIONS[encoding.row.name]!;
  const wide = make().waveSize === 64;
  for (const exec of encoding.row.name.includes('exec')
    ? [[0, 0], [0x80000000, 0], ...(wide ? [[0, 0x100]] : [])]
    : [[5, 0]]) {
    const s = make(String(exec));
    s.setExec(exec[0]!, exec[1]!);
    s.putLanes('s40', () => 2 + s.r(1000));
    s.putLanes('scc', () => s.r(2));
    s.putLanes('s106', (i) => (i % 3 === 0 ? 0 : randomWord(s.r)));
    s.putLanes('s107', (i) => (wide && i % 4 === 1 ? randomWord(s.r) : 0));
    for (let i = 0; i < COLUMNS; i++) {
      const taken = condition(s.before.get('scc', i), s.before.wide(['s106', 's107'], i), s.before.exec);
      if (!taken) s.after.set('s40', i, 1n);
    }
    s.show(['s40', 'scc', 's106']);
    yield s.finish({ simm16: 1 }, 'waves', { trailer: [MARK] });
  }
}

const hwreg = (id: number, offset: number, size: number): number => id | (offset << 6) | ((size - 1) << 11);
const MODE_REGISTER = 1;
/** Fields of MODE, in bits that the emulator keeps apart: rounding, denormals, all of them. */
const PARTS = [
  [0, 4],
  [4, 4],
  [0, 10],
  [9, 1],
  [2, 2],
] as const;

function* hardwareRegisters(make: (seed?: string) => StateBuilder, encoding: Encoding): ReturnType<Maker> {
  for (const [offset, size] of PARTS) {
    const mode = [0x3f0, 0x2a5, 0x1cf][offset % 3]!;
    const s = make(`${offset} ${size}`);
    const isGet = encoding.row.name === 's_getreg_b32';
    const isImmediate = encoding.row.name === 's_setreg_imm32_b32';
    s.putLanes('s40', () => randomWord(s.r));
    s.putLanes('mode', () => mode);
    const mask = (1n << BigInt(size)) - 1n;
    const literal = isImmediate ? randomWord(s.r) : 0;
    for (let i = 0; i < COLUMNS; i++) {
      const value = isImmediate ? BigInt(literal) : s.before.get('s40', i);
      if (isGet) s.after.set('s40', i, (BigInt(mode) >> BigInt(offset)) & mask);
      else s.after.set('mode', i, (BigInt(mode) & ~(mask << BigInt(offset))) | ((value & mask) << BigInt(offset)));
    }
    s.show(['s40', 'mode']);
    yield s.finish({ sdst: isImmediate ? 0 : RESULT, simm16: hwreg(MODE_REGISTER, offset, size) }, 'waves', {
      ...{ mode, trailer: isImmediate ? [literal] : [] },
    });
  }
}

/** s_round_mode and s_denorm_mode. */
function* modeBits(make: (seed?: string) => StateBuilder, encoding: Encoding): ReturnType<Maker> {
  const low = encoding.row.name === 's_round_mode' ? 0n : 4n;
  for (const value of [0, 5, 10, 15]) {
    const s = make(String(value));
    s.putLanes('s8', () => randomWord(s.r));
    s.putLanes('mode', () => DEFAULT_MODE);
    for (let i = 0; i < COLUMNS; i++)
      s.after.set('mode', i, (BigInt(DEFAULT_MODE) & ~(15n << low)) | (BigInt(value) << low));
    s.show(['s8', 'mode']);
    yield s.finish({ simm16: value }, 'waves');
  }
}

/** Bit 27 of MODE says that M0 indexes VGPRs: 7:0 the index, 15:12 the operands (CDNA2 ISA 4.6.1). */
const GPR_IDX_ENABLE = 1n << 27n;

function* gprIndex(make: (seed?: string) => StateBuilder, { row }: Encoding): ReturnType<Maker> {
  const s = make();
  const enabled = !row.name.endsWith('_on');
  const mode = Number(BigInt(DEFAULT_MODE) | (enabled ? GPR_IDX_ENABLE : 0n));
  s.putLanes('s8', () => randomWord(s.r));
  s.putLanes('m0', () => randomWord(s.r));
  s.putLanes('mode', () => mode);
  const operands = 0xbn;
  for (let i = 0; i < COLUMNS; i++) {
    const m0 = s.before.get('m0', i);
    const index = s.before.get('s8', i) & 0xffn;
    const withOperands = (value: bigint): bigint => (value & ~0xf000n) | (operands << 12n);
    if (row.name.endsWith('_idx')) s.after.set('m0', i, (m0 & ~0xffn) | index);
    else if (row.name.endsWith('_on')) s.after.set('m0', i, withOperands((m0 & ~0xffn) | index));
    else if (row.name.endsWith('_mode')) s.after.set('m0', i, withOperands(m0));
    const changed = row.name.endsWith('_off') ? BigInt(DEFAULT_MODE) : BigInt(DEFAULT_MODE) | GPR_IDX_ENABLE;
    s.after.set('mode', i, changed);
  }
  s.show(['m0', 'mode', 's8']);
  const fields =
    row.format === 'SOPP'
      ? { simm16: row.name.endsWith('_off') ? 0 : Number(operands) }
      : { ssrc0: 8, ...(row.format === 'SOPC' && { ssrc1: Number(operands) }) };
  yield s.finish(fields, 'waves', { mode });
}

/**
 * Moves whose register numbers M0 changes: of the source, of the destination, of both, of each by a part of
 * its own.
 */
function offsets(name: string, m0: bigint): readonly [source: number, destination: number] {
  if (name.includes('sd_2')) return [Number(m0 & 0x3ffn), Number((m0 >> 16n) & 0x3ffn)];
  const all = Number(m0);
  return [name.includes('rels') ? all : 0, /reld|relsd/.test(name) ? all : 0];
}

const SPAN = 6;

/** v_swaprel: the destination by M0[25:16], the source by M0[9:0]. */
function* relativeSwaps(make: (seed?: string) => StateBuilder): ReturnType<Maker> {
  for (const m0 of [0, 0x30001, 0x20004]) {
    const s = make(String(m0));
    s.put('m0', [m0]);
    const names = [...namesOf('v', 8, SPAN), ...namesOf('v', RESULT, SPAN)];
    for (const name of names) s.putLanes(name, () => randomWord(s.r));
    const [source, destination] = [`v${8 + (m0 & 0x3ff)}`, `v${RESULT + (m0 >> 16)}`];
    for (const lane of s.lanes) {
      s.after.set(destination, lane, s.before.get(source, lane));
      s.after.set(source, lane, s.before.get(destination, lane));
    }
    s.show(names);
    yield s.finish({ vdst: RESULT, src0: 256 + 8 });
  }
}

function* relativeMoves(make: (seed?: string) => StateBuilder, encoding: Encoding): ReturnType<Maker> {
  const { row } = encoding;
  const isScalar = row.format === 'SOP1';
  const dwords = row.name.endsWith('b64') ? 2 : 1;
  const choices = isScalar ? [0] : [0, 2, 3];
  for (const choice of choices) {
    const s = make(String(choice));
    const parts = (i: number): number => {
      const at = (n: number): number => (dwords === 2 ? (n % 3) * 2 : n % (SPAN - 1));
      const first = isScalar ? at(i) : choice;
      return row.name.includes('sd_2') ? first | (at(isScalar ? i >> 1 : choice + 1) << 16) : first;
    };
    s.put('m0', isScalar ? Array.from({ length: COLUMNS }, (_, i) => parts(i)) : [parts(0)]);
    const file = isScalar ? 's' : 'v';
    for (const name of [...namesOf(file, 8, SPAN), ...namesOf(file, RESULT, SPAN)])
      s.putLanes(name, () => randomWord(s.r));
    for (const i of isScalar ? Array.from({ length: COLUMNS }, (_, column) => column) : s.lanes) {
      const [source, destination] = offsets(row.name, s.before.get('m0', i));
      const value = s.before.wide(namesOf(file, 8 + source, dwords), i);
      s.after.setWide(namesOf(file, RESULT + destination, dwords), i, value);
    }
    s.show(namesOf(file, RESULT, SPAN));
    yield s.finish(
      isScalar ? { sdst: RESULT, ssrc0: 8 } : { vdst: RESULT, src0: 256 + 8 },
      isScalar ? 'waves' : 'lanes',
    );
  }
}

function makerOf(name: string): Maker | undefined {
  if (WITHOUT_EFFECT.test(name)) return withoutEffect;
  if (CONDITIONS[name]) return branches;
  if (/^s_[gs]etreg_/.test(name)) return hardwareRegisters;
  if (/^s_(round|denorm)_mode$/.test(name)) return modeBits;
  if (name.startsWith('s_set_gpr_idx_')) return gprIndex;
  if (name === 'v_swaprel_b32') return relativeSwaps;
  return /_movrel/.test(name) ? relativeMoves : undefined;
}

export function* controlRecordings(processor: string, waveSize: 32 | 64): Generator<Generated> {
  const target = targetFor(processor);
  for (const row of allRows()) {
    const maker = row.semantics && makerOf(row.name);
    const encoding = maker && encodingsOf(row, target)[0];
    if (!maker || !encoding) continue;
    const file = encoding.format.name.toLowerCase();
    const make = (seed = ''): StateBuilder => new StateBuilder(encoding, target, waveSize, seed);
    for (const recording of maker(make, encoding, target)) yield { file, recording };
  }
}
