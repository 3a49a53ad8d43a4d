/**
 * Random programs: straight lines, branches around code, loops, EXEC masks, memory in a window, and moves between lanes, from the rows and
 * as gfx9 dwords. Scalar registers from s94 and v100 on belong to the generator: s[94:95] holds the window's address.
 */

import { WavewrightError } from '../../src/base/errors.ts';
import { floatMode } from '../../src/emulator/code-cache.ts';
import { decoderFor, type Encoding, encodingsOf } from '../../src/isa/amdgpu/decode.ts';
import { InstructionBuilder } from '../../src/isa/amdgpu/instruction-builder.ts';
import { ROWS } from '../../src/isa/amdgpu/instructions/index.ts';
import { type Target, targetFor } from '../../src/isa/amdgpu/targets.ts';
import { randomEncoding } from './random-encoding.test-support.ts';

export const WINDOW_SGPR = 94;
const COUNTERS = [96, 97];
const SAVED_EXEC = [98, 100];
const ADDRESS_VGPR = 100;
const VCC = 106;
const EXEC = 126;
const LITERAL = 255;
const MAX_DEPTH = 2;

const FORMATS = /^(SOP[12C]|VOP[123]|VOP[12]_(SDWA|DPP)|VOP3[BP]|VOPC|VOPC_SDWA)$/;
/** What leaves the program, changes MODE, or goes where it should not. */
const NOT_USED = /^s_(set|swap|get|c?branch|rfe|call|trap|end|sleep|barrier|sendmsg|movrel)|movrel/;

type Random = () => number;

export class KernelGenerator {
  readonly #random: Random;
  readonly #target: Target;
  readonly #encodings: readonly Encoding[];
  readonly #decoder: ReturnType<typeof decoderFor>;
  readonly #mode: number;
  #words: number[] = [];

  constructor(processor: string, mode: number, random: Random) {
    const target = targetFor(processor);
    this.#random = random;
    this.#target = target;
    this.#mode = mode;
    this.#decoder = decoderFor(processor, 64);
    this.#encodings = ROWS.filter(({ name, semantics }) => semantics && !NOT_USED.test(name))
      .flatMap((row) => encodingsOf(row, target))
      .filter(({ format }) => FORMATS.test(format.name));
  }

  /** A program of about `size` instructions, without the s_endpgm. */
  program(size: number): number[] {
    this.#words = [];
    this.#body(size, 0);
    return this.#words;
  }

  #below(limit: number): number {
    return this.#random() % limit;
  }

  #body(size: number, depth: number): void {
    for (let left = size; left > 0; ) {
      const kind = this.#below(20);
      const inner = 1 + this.#below(8);
      if (kind < 12) this.#row();
      else if (kind < 15) this.#memory();
      else if (kind < 16) this.#lanes();
      else if (depth === MAX_DEPTH) this.#row();
      else if (kind < 18) this.#masked(inner, depth);
      else if (kind < 19) this.#skipped(inner, depth);
      else this.#loop(inner, depth);
      left -= kind < 16 ? 1 : inner;
    }
  }

  /** Any instruction that the emulator can run. */
  #row(): void {
    for (;;) {
      const words = randomEncoding(this.#encodings[this.#below(this.#encodings.length)]!, this.#random, this.#target);
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

  /** v100 = a VGPR & mask, sometimes with neighbouring or with equal lanes. */
  #address(mask: number): void {
    const from = this.#below(80);
    switch (this.#below(3)) {
      case 0: // v_and_b32 v100, mask, v
        this.#words.push((0x26000000 | (ADDRESS_VGPR << 17) | (from << 9) | LITERAL) >>> 0, mask);
        return;
      case 1: // v_lshlrev_b32 v100, 2, v100
        this.#laneNumber();
        this.#words.push(0x24000000 | (ADDRESS_VGPR << 17) | (ADDRESS_VGPR << 9) | (128 + 2));
        return;
      default: // v_mov_b32 v100, constant
        this.#words.push(0x7e000200 | (ADDRESS_VGPR << 17) | (128 + 4 * this.#below(16)));
    }
  }

  /** v100 = the lane's number. */
  #laneNumber(): void {
    // v_mbcnt_lo_u32_b32 v100, -1, 0; v_mbcnt_hi_u32_b32 v100, -1, v100
    this.#words.push(0xd28c0000 | ADDRESS_VGPR, 193 | (128 << 9));
    this.#words.push(0xd28d0000 | ADDRESS_VGPR, 193 | ((256 + ADDRESS_VGPR) << 9));
  }

  /** Two loads from the LDS: the first leaves it in the upper lanes, the second in the lower ones. */
  #crossedFaults(): void {
    const address = (to: number, from: number): number => (0x24000000 | (to << 17) | (from << 9) | (128 + 5)) >>> 0;
    this.#laneNumber();
    // v_lshlrev_b32 v101, 5, v100; v_xor_b32 v102, 63, v100; v_lshlrev_b32 v102, 5, v102
    this.#words.push(address(ADDRESS_VGPR + 1, ADDRESS_VGPR));
    this.#words.push((0x2a000000 | ((ADDRESS_VGPR + 2) << 17) | (ADDRESS_VGPR << 9) | (128 + 63)) >>> 0);
    this.#words.push(address(ADDRESS_VGPR + 2, ADDRESS_VGPR + 2));
    for (const from of [1, 2]) {
      this.#words.push((0xd8000000 | (54 << 17)) >>> 0);
      this.#words.push((ADDRESS_VGPR + from) | ((2 * from) << 24));
    }
  }

  #memory(): void {
    if (this.#below(80) === 0) {
      this.#crossedFaults();
      return;
    }
    const register = this.#below(40) * 2;
    const offset = this.#below(8) * 4;
    const misaligned = this.#below(8) === 0 ? this.#below(4) : 0;
    // Now and then an access may leave the window: the first fault counts.
    const wild = this.#below(60) === 0 ? 0x3f000 : 0;
    const count = 1 + this.#below(3);
    this.#address(((this.#below(3) === 0 ? 0x3fc : 0xfc) | wild | misaligned) >>> 0);
    for (let i = 0; i < count; i++) {
      const data = (register + 8 * i) % 80;
      const at = offset + 16 * i;
      const op = this.#below(8);
      switch (this.#below(5)) {
        case 0:
        case 1:
          this.#global(
            op < 5 ? 16 + this.#below(8) : op < 7 ? 24 + 2 * this.#below(3) + this.#below(2) * 0 : 66,
            data,
            at,
          );
          break;
        case 2:
        case 3:
          this.#lds([54, 118, 55, 13, 77, 223, 0, 255][op]!, data, at);
          break;
        case 4: // s_load_dwordx2 s, s[94:95], at
          this.#words.push((0xc0060000 | ((this.#below(20) * 4) << 6) | (WINDOW_SGPR >> 1)) >>> 0, at);
      }
    }
  }

  /** op v, v100, s[94:95] offset:at */
  #global(op: number, data: number, at: number): void {
    this.#words.push((0xdc008000 | (op << 18) | at) >>> 0);
    this.#words.push((ADDRESS_VGPR | (data << 8) | (WINDOW_SGPR << 16) | (data << 24)) >>> 0);
  }

  /** op v, v100 offset:at; two offsets are in units of the data. */
  #lds(op: number, data: number, at: number): void {
    const offsets = op === 55 || op === 14 ? (at >> 2) | (((at >> 2) + 1 + this.#below(4)) << 8) : at;
    this.#words.push((0xd8000000 | (op << 17) | offsets) >>> 0);
    this.#words.push((ADDRESS_VGPR | (data << 8) | (((data + 2) % 80) << 16) | (data << 24)) >>> 0);
  }

  #lanes(): void {
    const [to, from] = [this.#below(80), this.#below(80)];
    const scalar = this.#below(90);
    // v_xor_b32 from, from, to: the register is one that was just written.
    if (this.#below(2) === 0) this.#words.push((0x2a000000 | (from << 17) | (from << 9) | (256 + to)) >>> 0);
    switch (this.#below(5)) {
      case 0: // v_readfirstlane_b32
        this.#words.push((0x7e000400 | (scalar << 17) | (256 + from)) >>> 0);
        break;
      case 1: // v_readlane_b32 s, v, lane
        this.#words.push((0xd2890000 | scalar) >>> 0, (256 + from) | ((128 + this.#below(64)) << 9));
        break;
      case 2: // v_writelane_b32 v, s, lane
        this.#words.push((0xd28a0000 | to) >>> 0, scalar | ((128 + this.#below(64)) << 9));
        break;
      case 3: // ds_bpermute_b32
        this.#words.push((0xd8000000 | (63 << 17)) >>> 0, (from | (to << 8) | (to << 24)) >>> 0);
        break;
      default: // ds_swizzle_b32
        this.#words.push((0xd8000000 | (61 << 17) | this.#below(0x8000)) >>> 0, (from | (to << 24)) >>> 0);
    }
  }

  /** v_cmp_lt_u32 vcc, v, v; s_and_saveexec_b64; body; s_mov_b64 exec, saved; sometimes with a branch around an empty mask. */
  #masked(size: number, depth: number): void {
    const saved = SAVED_EXEC[depth]!;
    this.#words.push((0x7d920000 | (this.#below(80) << 9) | (256 + this.#below(80))) >>> 0);
    this.#words.push((0xbe802000 | (saved << 16) | VCC) >>> 0);
    const withBranch = this.#below(2) === 0;
    const at = this.#words.length;
    if (withBranch) this.#words.push(0);
    this.#body(size, depth + 1);
    if (withBranch) this.#words[at] = (0xbf880000 | (this.#words.length - at - 1)) >>> 0;
    if (this.#below(2) === 0) this.#words.push((0xbe800100 | (EXEC << 16) | saved) >>> 0);
    else this.#words.push((0x87800000 | (EXEC << 16) | (saved << 8) | EXEC) >>> 0);
  }

  /** s_cbranch_{scc0,scc1,vccz,vccnz} around the body. */
  #skipped(size: number, depth: number): void {
    const at = this.#words.length;
    this.#words.push(0);
    this.#body(size, depth + 1);
    this.#words[at] = (0xbf800000 | ((4 + this.#below(4)) << 16) | (this.#words.length - at - 1)) >>> 0;
  }

  /** s_movk_i32 counter, n; body; s_sub_u32 counter, counter, 1; s_cmp_lg_u32 counter, 0; s_cbranch_scc1 body. */
  #loop(size: number, depth: number): void {
    const counter = COUNTERS[depth]!;
    this.#words.push((0xb0000000 | (counter << 16) | (1 + this.#below(4))) >>> 0);
    const start = this.#words.length;
    this.#body(size, depth + 1);
    this.#words.push((0x80800000 | (counter << 16) | (129 << 8) | counter) >>> 0);
    this.#words.push((0xbf070000 | (128 << 8) | counter) >>> 0);
    this.#words.push((0xbf850000 | ((start - this.#words.length - 1) & 0xffff)) >>> 0);
  }
}
