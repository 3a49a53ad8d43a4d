/**
 * Random programs: straight lines, branches around code, loops, EXEC masks, memory in a window, and moves
 * between lanes, from the rows. Scalar registers from s94 and v100 on belong to the generator: s[94:95] holds
 * the window's address.
 */
import assert from 'node:assert/strict';
import { WavewrightError } from '../../src/base/errors.ts';
import { decoderFor } from '../../src/isa/amdgpu/decoder.ts';
import { encodeFields, type FieldValues } from '../../src/isa/amdgpu/encoding/encode.ts';
import { type Encoding, encodingsOf } from '../../src/isa/amdgpu/encoding/encodings.ts';
import type { FormatName } from '../../src/isa/amdgpu/encoding/formats.ts';
import { SGPR_EXEC_LO, SGPR_VCC_LO } from '../../src/isa/amdgpu/encoding/registers.ts';
import { type Target, targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../../src/isa/amdgpu/rows/index.ts';
import { InstructionBuilder } from '../../src/isa/amdgpu/semantics/instruction-builder.ts';
import { floatMode } from '../../src/isa/amdgpu/semantics/mode.ts';
import { randomEncoding } from './random-encoding.test-support.ts';

export const WINDOW_SGPR = 94;
const COUNTERS = [96, 97];
const SAVED_EXEC = [98, 100];
const ADDRESS_VGPR = 100;
/** Of a loop that lanes leave: those that have left, and those that do now. */
const DONE = [88, 92] as const;
const LITERAL = 255;
const MINUS_ONE = 193;
const MAX_DEPTH = 2;

const MOST_LANES = /^(SOP[12C]|VOP[123]|VOP3[BP]|VOPC|VOPD|VINTERP)(_SDWA|_DPP8?)?$/;
/** What leaves the program, changes MODE, or goes where it should not. */
const NOT_USED = /^s_(set|swap|get|c?branch|rfe|call|trap|end|sleep|barrier|sendmsg|movrel)|movrel/;
/** What looks at other lanes, or changes EXEC in its own way. */
const CROSS_LANE = /lane|permute|DPP|EXEC|cmpx|_wqm|_wrexec|saveexec|mov_?fed|dot|fmac.*dpp/;
const ONLY_ROWS = /^v_(?!cmp|.*(_co|div_scale|mad_[ui]64))/;
const BRANCHES = ['s_cbranch_scc0', 's_cbranch_scc1', 's_cbranch_vccz', 's_cbranch_vccnz'];
const GLOBAL_LOADS = [
  ...['dword', 'dword', 'dwordx2', 'dwordx4', 'ubyte', 'sbyte', 'ushort', 'sshort'],
  ...['short_d16', 'short_d16_hi', 'ubyte_d16', 'sbyte_d16_hi'],
].map((name) => `global_load_${name}`);
const GLOBAL_STORES = [
  ...['dword', 'dword', 'dwordx2', 'dwordx4', 'byte', 'short', 'short_d16_hi'].map((name) => `global_store_${name}`),
  ...['add', 'swap', 'umax', 'cmpswap', 'add_x2'].map((name) => `global_atomic_${name}`),
];
const LDS_ACCESSES = [
  ...[
    'read_b32',
    'read_b32',
    'read_b64',
    'read_b128',
    'read2_b32',
    'read2_b64',
    'read_u8',
    'read_i16',
    'read_u16_d16_hi',
  ],
  ...[
    'write_b32',
    'write_b32',
    'write_b64',
    'write_b128',
    'write_b8',
    'write_b16',
    'add_u32',
    'add_rtn_u32',
    'max_rtn_i32',
  ],
].map((name) => `ds_${name}`);
const SCRATCH_ACCESSES = [
  ...['load_dword', 'load_dword', 'load_dwordx2', 'load_ubyte', 'load_short_d16_hi'],
  ...['store_dword', 'store_dword', 'store_dwordx2', 'store_byte', 'store_short'],
].map((name) => `scratch_${name}`);

type Random = () => number;

export class KernelGenerator {
  readonly #random: Random;
  readonly #target: Target;
  readonly #encodings: readonly Encoding[];
  readonly #byName: ReadonlyMap<string, readonly Encoding[]>;
  readonly #decoder: ReturnType<typeof decoderFor>;
  readonly #mode: number;
  readonly #waveSize: 32 | 64;
  /** `b32` or `b64`: of a mask. */
  readonly #mask: string;
  #words: number[] = [];

  constructor(processor: string, waveSize: 32 | 64, mode: number, random: Random) {
    const target = targetFor(processor);
    this.#random = random;
    this.#target = target;
    this.#mode = mode;
    this.#waveSize = waveSize;
    this.#mask = `b${waveSize}`;
    this.#decoder = decoderFor(processor, waveSize);
    const rows = allRows().filter((row) => row.semantics);
    this.#byName = Map.groupBy(
      rows.flatMap((row) => encodingsOf(row, target)),
      ({ row }) => row.name,
    );
    this.#encodings = allRows()
      .filter(({ name, semantics }) => semantics && !NOT_USED.test(name))
      .flatMap((row) => encodingsOf(row, target))
      .filter(({ format }) => MOST_LANES.test(format.name) && (waveSize === 32 || format.name !== 'VOPD'));
  }

  /** A program of about `size` instructions, without the s_endpgm. */
  program(size: number): number[] {
    this.#words = [];
    this.#body(size, 0);
    return this.#words;
  }

  /** A program of loops that can run chunk by chunk, mostly. */
  loops(): number[] {
    this.#words = [];
    for (let left = 1 + this.#below(3); left > 0; left--) {
      for (let i = this.#below(3); i > 0; i--) this.#row();
      if (this.#below(8) === 0) this.#exec();
      if (this.#below(16) === 0) this.#faultInTurns();
      else if (this.#below(2) === 0) this.#turns(() => this.#lanesBody(1 + this.#below(8), 0));
      else this.#lanesLoop(1 + this.#below(8));
    }
    if (this.#below(2) === 0) this.#storeSome();
    return this.#words;
  }

  /** One vector instruction without memory. */
  vectorRow(): number[] {
    this.#words = [];
    this.#row((name) => name.startsWith('v_'));
    return this.#words;
  }

  #below(limit: number): number {
    return this.#random() % limit;
  }

  #body(size: number, depth: number): void {
    for (let left = size; left > 0; ) {
      const kind = this.#below(20);
      const inner = 1 + this.#below(8);
      if (kind < 11) this.#row();
      else if (kind < 12) this.#below(3) === 0 ? this.#exec() : this.#row();
      else if (kind < 15) this.#memory();
      else if (kind < 16) this.#below(8) === 0 ? this.#setMode() : this.#lanes();
      else if (depth === MAX_DEPTH) this.#row();
      else if (kind < 18) this.#masked(inner, depth);
      else if (kind < 19) this.#skipped(inner, depth);
      else this.#loop(inner, depth);
      left -= kind < 16 ? 1 : inner;
    }
  }

  /** A row by its name, in the first of its formats or in VOP3. */
  #emit(name: string, values: FieldValues = {}, format?: FormatName): void {
    const encodings = this.#byName.get(name) ?? [];
    const encoding = format ? encodings.find((candidate) => candidate.format.name === format) : encodings[0];
    assert(encoding, `${this.#target.processor} has ${name}`);
    this.#words.push(...encodeFields(encoding.format, encoding.opcode, values));
  }

  /** Any instruction that the emulator can run. */
  #row(isWanted: (name: string) => boolean = () => true): void {
    for (;;) {
      const encoding = this.#encodings[this.#below(this.#encodings.length)]!;
      if (!isWanted(encoding.row.name + encoding.format.name)) continue;
      // What narrows EXEC would soon leave nothing of it.
      if (encoding.row.name.startsWith('v_cmpx') && this.#below(4) > 0) continue;
      const words = randomEncoding(encoding, this.#random, this.#target);
      if (!this.#isSupported(words)) continue;
      this.#words.push(...words);
      return;
    }
  }

  #isSupported(words: readonly number[]): boolean {
    const bytes = new DataView(Uint32Array.from([...words, 0, 0]).buffer);
    const instruction = this.#decoder.decode(bytes, 0);
    if (typeof instruction === 'string' || instruction.sizeBytes !== words.length * 4) return false;
    try {
      new InstructionBuilder(instruction, floatMode(this.#mode)).build();
      return true;
    } catch (error) {
      if (error instanceof WavewrightError && error.code === 'UNSUPPORTED') return false;
      throw error;
    }
  }

  /** v100 = a VGPR & mask, sometimes with neighbouring, with equal or with half overlapping lanes. */
  #address(mask: number): void {
    switch (this.#below(4)) {
      case 0:
        this.#emit('v_and_b32', { vdst: ADDRESS_VGPR, src0: LITERAL, src1: this.#below(80) });
        this.#words.push(mask);
        return;
      case 1:
        this.#laneNumber();
        this.#emit('v_lshlrev_b32', { vdst: ADDRESS_VGPR, src0: 128 + 2, src1: ADDRESS_VGPR });
        return;
      case 2:
        this.#laneNumber();
        this.#emit('v_lshlrev_b32', { vdst: ADDRESS_VGPR, src0: 128 + this.#below(5), src1: ADDRESS_VGPR });
        return;
      default:
        this.#emit('v_mov_b32', { vdst: ADDRESS_VGPR, src0: 128 + 4 * this.#below(16) });
    }
  }

  /** v100 = the lane's number. */
  #laneNumber(): void {
    this.#emit('v_mbcnt_lo_u32_b32', { vdst: ADDRESS_VGPR, src0: MINUS_ONE, src1: 128 }, 'VOP3');
    this.#emit('v_mbcnt_hi_u32_b32', { vdst: ADDRESS_VGPR, src0: MINUS_ONE, src1: 256 + ADDRESS_VGPR }, 'VOP3');
  }

  /** Two loads from the LDS: the first leaves it in the upper lanes, the second in the lower ones. */
  #crossedFaults(): void {
    const [up, down] = [ADDRESS_VGPR + 1, ADDRESS_VGPR + 2];
    this.#laneNumber();
    this.#emit('v_lshlrev_b32', { vdst: up, src0: 128 + 5, src1: ADDRESS_VGPR });
    this.#emit('v_xor_b32', { vdst: down, src0: 128 + 63, src1: ADDRESS_VGPR });
    this.#emit('v_lshlrev_b32', { vdst: down, src0: 128 + 5, src1: down });
    this.#emit('ds_read_b32', { vdst: 2, addr: up });
    this.#emit('ds_read_b32', { vdst: 4, addr: down });
  }

  #memory(): void {
    if (this.#below(80) === 0) {
      this.#crossedFaults();
      return;
    }
    const pick = (names: readonly string[]): string => names[this.#below(names.length)]!;
    const register = this.#below(40) * 2;
    const offset = this.#below(8) * 4;
    const misaligned = this.#below(8) === 0 ? this.#below(4) : 0;
    // Now and then an access may leave the window: the first fault counts.
    const wild = this.#below(60) === 0 ? 0x3f000 : 0;
    const count = 1 + this.#below(4);
    const step = [0, 4, 16][this.#below(3)]!;
    this.#address(((this.#below(3) === 0 ? 0x3fc : 0xfc) | wild | misaligned) >>> 0);
    const isIndexed = this.#target.families.includes('gfx9') && this.#below(4) === 0;
    if (isIndexed) this.#indexWindow();
    for (let i = 0; i < count; i++) {
      const data = (register + 8 * i) % 80;
      const at = offset + step * i;
      switch (this.#below(isIndexed ? 3 : 8)) {
        case 0:
        case 1:
          this.#global(pick(GLOBAL_LOADS), data, at, isIndexed);
          break;
        case 2:
          this.#global(pick(GLOBAL_STORES), data, at, isIndexed);
          break;
        case 3:
        case 4:
          this.#lds(pick(LDS_ACCESSES), data, at);
          break;
        case 5:
        case 6:
          this.#scratch(pick(SCRATCH_ACCESSES), data, at);
          break;
        default: {
          const values = { sdata: this.#below(20) * 4, sbase: WINDOW_SGPR >> 1, offset: at };
          const isGfx9 = this.#target.families.includes('gfx9');
          this.#emit(
            's_load_dwordx2',
            isGfx9 ? { ...values, imm: 1 } : { ...values, soffset: this.#target.scalars.none },
          );
        }
      }
    }
  }

  /**
   * v[100:101] = the window's address + v100, signed or not, times a power of two, as compilers for gfx9
   * compute it.
   */
  #indexWindow(): void {
    const high = ADDRESS_VGPR + 1;
    const shift = this.#below(3);
    if (this.#below(4) === 0)
      this.#emit('v_add_u32', { vdst: ADDRESS_VGPR, src0: MINUS_ONE + this.#below(16), src1: ADDRESS_VGPR });
    if (this.#below(2) === 0) this.#emit('v_mov_b32', { vdst: high, src0: 128 });
    else this.#emit('v_ashrrev_i32', { vdst: high, src0: 128 + 31, src1: ADDRESS_VGPR });
    if (shift > 0)
      this.#emit('v_lshlrev_b64', { vdst: ADDRESS_VGPR, src0: 128 + shift, src1: 256 + ADDRESS_VGPR }, 'VOP3');
    this.#emit('v_add_co_u32', { vdst: ADDRESS_VGPR, src0: WINDOW_SGPR, src1: ADDRESS_VGPR });
    this.#emit('v_mov_b32', { vdst: high + 1, src0: WINDOW_SGPR + 1 });
    this.#emit('v_addc_co_u32', { vdst: high, src0: 256 + high + 1, src1: high });
  }

  /** `isPair`: the address is in two registers. */
  #global(name: string, data: number, offset: number, isPair: boolean): void {
    const glc = name.includes('atomic') ? this.#below(2) : 0;
    const saddr = isPair ? this.#target.scalars.none : WINDOW_SGPR;
    this.#emit(name, { vdst: data, addr: ADDRESS_VGPR, data: (data + 4) % 80, saddr, offset, glc });
  }

  #lds(name: string, data: number, at: number): void {
    const isPair = name.includes('2_');
    // Two offsets are in units of the data.
    const offsets = isPair ? { offset0: at >> 2, offset1: (at >> 2) + 1 + this.#below(4) } : { offset: at };
    this.#emit(name, { vdst: data, addr: ADDRESS_VGPR, data0: (data + 2) % 80, ...offsets });
  }

  #scratch(name: string, data: number, offset: number): void {
    const none = this.#target.scalars.none;
    const sve = this.#target.families.includes('gfx11') ? { sve: 1 } : {};
    this.#emit(name, { vdst: data, addr: ADDRESS_VGPR, data: (data + 2) % 80, saddr: none, offset, ...sve });
  }

  #lanes(): void {
    const [to, from] = [this.#below(80), this.#below(80)];
    const scalar = this.#below(90);
    const lane = 128 + this.#below(this.#waveSize);
    // The register is one that was just written.
    if (this.#below(2) === 0) this.#emit('v_xor_b32', { vdst: from, src0: 256 + to, src1: from });
    switch (this.#below(5)) {
      case 0:
        this.#emit('v_readfirstlane_b32', { vdst: scalar, src0: 256 + from });
        break;
      case 1:
        this.#emit('v_readlane_b32', { vdst: scalar, src0: 256 + from, src1: lane });
        break;
      case 2:
        this.#emit('v_writelane_b32', { vdst: to, src0: scalar, src1: lane });
        break;
      case 3:
        this.#emit('ds_bpermute_b32', { vdst: to, addr: from, data0: to });
        break;
      default:
        this.#emit('ds_swizzle_b32', { vdst: to, addr: from, offset: this.#below(0x8000) });
    }
  }

  /** Rounding and denormals of f32 and f16. */
  #setMode(): void {
    const value = this.#below(16);
    if (this.#target.families.includes('gfx11')) {
      this.#emit(this.#below(2) === 0 ? 's_round_mode' : 's_denorm_mode', { simm16: value });
      return;
    }
    // Four bits of hwreg 1 from bit 0 or 4 on.
    this.#emit('s_setreg_imm32_b32', { simm16: 1 | ((this.#below(2) * 4) << 6) | (3 << 11) });
    this.#words.push(value);
  }

  /** EXEC becomes a few lanes, all of them, none, or what v_cmpx leaves. */
  #exec(): void {
    switch (this.#below(4)) {
      case 0:
        this.#emit(`s_mov_${this.#mask}`, {
          sdst: SGPR_EXEC_LO,
          ssrc0: [MINUS_ONE, 128, 128 + 1 + this.#below(64)][this.#below(3)]!,
        });
        break;
      case 1:
        this.#emit(`s_or_saveexec_${this.#mask}`, { sdst: 2 * this.#below(40), ssrc0: 2 * this.#below(40) });
        break;
      case 2:
        this.#emit('v_cmpx_ne_u32', { src0: 256 + this.#below(80), src1: this.#below(80) });
        break;
      default:
        this.#emit(`s_mov_${this.#mask}`, { sdst: SGPR_EXEC_LO, ssrc0: MINUS_ONE });
    }
  }

  /** EXEC &= v < v around the body; sometimes with a branch around an empty mask. */
  #masked(size: number, depth: number): void {
    const saved = SAVED_EXEC[depth]!;
    this.#emit('v_cmp_lt_u32', { src0: 256 + this.#below(80), src1: this.#below(80) });
    this.#emit(`s_and_saveexec_${this.#mask}`, { sdst: saved, ssrc0: SGPR_VCC_LO });
    const body = (): void => this.#body(size, depth + 1);
    if (this.#below(2) === 0) this.#around('s_cbranch_execz', body);
    else body();
    if (this.#below(2) === 0) this.#emit(`s_mov_${this.#mask}`, { sdst: SGPR_EXEC_LO, ssrc0: saved });
    else this.#emit(`s_or_${this.#mask}`, { sdst: SGPR_EXEC_LO, ssrc0: SGPR_EXEC_LO, ssrc1: saved });
  }

  /** A branch around the body. */
  #around(name: string, body: () => void): void {
    const at = this.#words.length;
    this.#emit(name);
    body();
    this.#words[at] = (this.#words[at]! | (this.#words.length - at - 1)) >>> 0;
  }

  #skipped(size: number, depth: number): void {
    this.#around(BRANCHES[this.#below(4)]!, () => this.#body(size, depth + 1));
  }

  /** A few turns. */
  #loop(size: number, depth: number): void {
    this.#turns(() => this.#body(size, depth + 1), COUNTERS[depth]!);
  }

  #turns(body: () => void, counter = COUNTERS[0]!): void {
    this.#emit('s_movk_i32', { sdst: counter, simm16: 1 + this.#below(4) });
    const start = this.#words.length;
    body();
    this.#emit('s_sub_u32', { sdst: counter, ssrc0: counter, ssrc1: 128 + 1 });
    this.#emit('s_cmp_lg_u32', { ssrc0: counter, ssrc1: 128 });
    this.#emit('s_cbranch_scc1', { simm16: (start - this.#words.length - 1) & 0xffff });
  }

  /** Instructions that stay in their lanes, under masks now and then. */
  #lanesBody(size: number, depth: number, isWanted: (name: string) => boolean = () => true): void {
    for (let left = size; left > 0; left--) {
      const kind = this.#below(10);
      if (kind <= 1 && depth < MAX_DEPTH) this.#lanesMasked(1 + this.#below(4), depth);
      else if (kind === 2) this.#load();
      else this.#row((name) => !CROSS_LANE.test(name) && isWanted(name));
    }
  }

  /** A load that leaves the LDS in the upper lanes first, and in lower ones in later turns. */
  #faultInTurns(): void {
    this.#laneNumber();
    this.#emit('v_lshlrev_b32', { vdst: ADDRESS_VGPR, src0: 128 + 3, src1: ADDRESS_VGPR });
    this.#turns(() => {
      this.#emit('ds_read_b32', { vdst: 2, addr: ADDRESS_VGPR });
      this.#emit('v_add_u32', { vdst: ADDRESS_VGPR, src0: LITERAL, src1: ADDRESS_VGPR });
      this.#words.push(0x140);
    });
  }

  /** A few registers go to memory and the program ends: all others are dead. */
  #storeSome(): void {
    this.#emit(`s_mov_${this.#mask}`, { sdst: SGPR_EXEC_LO, ssrc0: MINUS_ONE });
    this.#laneNumber();
    this.#emit('v_lshlrev_b32', { vdst: ADDRESS_VGPR, src0: 128 + 2, src1: ADDRESS_VGPR });
    const scalar = ADDRESS_VGPR + 1;
    for (let i = 0; i < 8; i++) {
      if (i & 1)
        this.#emit('v_mov_b32', { vdst: scalar, src0: [this.#below(90), SGPR_VCC_LO, COUNTERS[0]!][this.#below(3)]! });
      const data = i & 1 ? scalar : this.#below(80);
      this.#emit('global_store_dword', { addr: ADDRESS_VGPR, data, saddr: WINDOW_SGPR, offset: i * 256 });
    }
    this.#emit('s_endpgm');
  }

  #load(): void {
    const register = this.#below(40) * 2;
    this.#address(this.#below(6) === 0 ? 0x3f0fc : 0xfc);
    if (this.#below(2) === 0) this.#lds('ds_read_b32', register, this.#below(8) * 4);
    else this.#global('global_load_dword', register, this.#below(8) * 4, false);
  }

  /**
   * As compilers write it: s_and_saveexec, with a branch around or not, the other side perhaps, and EXEC
   * again.
   */
  #lanesMasked(size: number, depth: number): void {
    const saved = SAVED_EXEC[depth]!;
    const body = (isWanted?: (name: string) => boolean): void => this.#lanesBody(size, depth + 1, isWanted);
    // What is skipped writes no scalar registers, mostly.
    const skipped = (): void => body(this.#below(4) === 0 ? undefined : (name) => ONLY_ROWS.test(name));
    const maybeAround = (): void => (this.#below(2) === 0 ? this.#around('s_cbranch_execz', skipped) : body());
    // Few lanes are equal to a counter.
    if (this.#below(2) === 0) this.#emit('v_cmp_eq_u32', { src0: COUNTERS[0]!, src1: this.#below(80) });
    else this.#emit('v_cmp_lt_u32', { src0: 256 + this.#below(80), src1: this.#below(80) });
    this.#emit(`s_and_saveexec_${this.#mask}`, { sdst: saved, ssrc0: SGPR_VCC_LO });
    if (this.#below(2) === 0) {
      this.#emit(`s_xor_${this.#mask}`, { sdst: saved, ssrc0: SGPR_EXEC_LO, ssrc1: saved });
      maybeAround();
      this.#emit(`${this.#below(2) === 0 ? 's_or' : 's_andn2'}_saveexec_${this.#mask}`, { sdst: saved, ssrc0: saved });
    }
    maybeAround();
    this.#emit(`s_or_${this.#mask}`, { sdst: SGPR_EXEC_LO, ssrc0: SGPR_EXEC_LO, ssrc1: saved });
  }

  /** Lanes leave one after the other, and all of them after a few turns. */
  #lanesLoop(size: number): void {
    const counter = COUNTERS[0]!;
    const [done, leaving] = DONE;
    const none = 128;
    this.#emit(`s_mov_${this.#mask}`, { sdst: done, ssrc0: none });
    this.#emit('s_movk_i32', { sdst: counter, simm16: 1 + this.#below(5) });
    const start = this.#words.length;
    this.#lanesBody(size, 0);
    this.#emit('s_sub_u32', { sdst: counter, ssrc0: counter, ssrc1: 128 + 1 });
    this.#emit('s_cmp_eq_u32', { ssrc0: counter, ssrc1: none });
    this.#emit(`s_cselect_${this.#mask}`, { sdst: leaving, ssrc0: MINUS_ONE, ssrc1: none });
    this.#emit('v_cmp_gt_u32', { src0: 256 + this.#below(80), src1: this.#below(80) });
    this.#emit(`s_or_${this.#mask}`, { sdst: leaving, ssrc0: leaving, ssrc1: SGPR_VCC_LO });
    this.#emit(`s_and_${this.#mask}`, { sdst: leaving, ssrc0: SGPR_EXEC_LO, ssrc1: leaving });
    this.#emit(`s_or_${this.#mask}`, { sdst: done, ssrc0: leaving, ssrc1: done });
    this.#emit(`s_andn2_${this.#mask}`, { sdst: SGPR_EXEC_LO, ssrc0: SGPR_EXEC_LO, ssrc1: done });
    this.#emit('s_cbranch_execnz', { simm16: (start - this.#words.length - 1) & 0xffff });
    this.#emit(`s_or_${this.#mask}`, { sdst: SGPR_EXEC_LO, ssrc0: SGPR_EXEC_LO, ssrc1: done });
  }
}
