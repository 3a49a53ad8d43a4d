/**
 * Instructions by the names of their rows, which are the same on all targets, and small kernels made of them.
 */

import { encodeFields, type FieldValues } from '../../src/isa/amdgpu/encoding/encode.ts';
import { type Encoding, encodingsOf } from '../../src/isa/amdgpu/encoding/encodings.ts';
import { type Target, targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../../src/isa/amdgpu/rows/index.ts';

export const LITERAL = 255;
/** Inline constants: 0 and from it on up to 64. */
export const ZERO = 128;
const MINUS_ONE = 193;
const VGPR = 256;

export class Emitter {
  readonly target: Target;
  readonly #byName = new Map<string, Encoding>();

  constructor(processor: string) {
    this.target = targetFor(processor);
    for (const encoding of allRows()
      .filter((row) => row.semantics)
      .flatMap((row) => encodingsOf(row, this.target)))
      if (!this.#byName.has(encoding.row.name)) this.#byName.set(encoding.row.name, encoding);
  }

  /** Registers that the row has no operand for are left out. */
  emit(name: string, values: FieldValues = {}): number[] {
    const encoding = this.#byName.get(name);
    if (!encoding) throw new Error(`${this.target.processor} has no ${name}`);
    const { row, format, opcode } = encoding;
    const isMeant = (field: string): boolean =>
      !/^(vdst|sdst|data\d?)$/.test(field) || row.operands.some((operand) => operand.field === field);
    return encodeFields(format, opcode, Object.fromEntries(Object.entries(values).filter(([field]) => isMeant(field))));
  }

  /** Goes through the body until the SGPR, which counts down, is 0: at least once. */
  loop(counter: number, body: readonly number[]): number[] {
    return [
      ...body,
      ...this.emit('s_sub_u32', { sdst: counter, ssrc0: counter, ssrc1: ZERO + 1 }),
      ...this.emit('s_cmp_lg_u32', { ssrc0: counter, ssrc1: ZERO }),
      ...this.emit('s_cbranch_scc1', { simm16: (-body.length - 3) & 0xffff }),
    ];
  }

  /** s[`to`..] = dwords at s[0:1] + `offset`. */
  arguments(name: `s_load_dwordx${2 | 4 | 16}`, to: number, offset: number): number[] {
    const isGfx9 = this.target.families.includes('gfx9');
    const rest = isGfx9 ? { imm: 1 } : { soffset: this.target.scalars.none };
    return this.emit(name, { sdata: to, sbase: 0, offset, ...rest });
  }

  barrier(): number[] {
    if (!this.target.families.includes('gfx12')) return this.emit('s_barrier');
    return [...this.emit('s_barrier_signal', { ssrc0: MINUS_ONE }), ...this.emit('s_barrier_wait', { simm16: 0xffff })];
  }

  /** Ends s_set_gpr_idx_on, where that is. */
  leaveIndexMode(): number[] {
    return this.target.families.includes('gfx9') ? this.emit('s_set_gpr_idx_off') : [];
  }

  /** v[`vgpr`] becomes another value where `source` is not the same: the difference is added. */
  differs(vgpr: number, source: number): number[] {
    return [
      ...this.emit('v_sub_u32', { vdst: 2, src0: source, src1: vgpr }),
      ...this.emit('v_or_b32', { vdst: vgpr, src0: VGPR + 2, src1: vgpr }),
    ];
  }

  copy(vgpr: number, sgpr: number): number[] {
    return this.emit('v_mov_b32', { vdst: vgpr, src0: sgpr });
  }

  end(): number[] {
    return this.emit('s_endpgm');
  }

  /**
   * Stores 8 bytes at each of some addresses: at s[0:1] is how many, and from byte 16 on are pairs of
   * (address, value).
   */
  poke(): number[] {
    const saddr = this.target.scalars.none;
    const next = [
      ...this.emit('s_add_u32', { sdst: 0, ssrc0: 0, ssrc1: ZERO + 16 }),
      ...this.emit('s_addc_u32', { sdst: 1, ssrc0: 1, ssrc1: ZERO }),
    ];
    const body = [
      ...next,
      ...this.copy(2, 0),
      ...this.copy(3, 1),
      ...this.emit('global_load_dwordx4', { vdst: 4, addr: 2, saddr }),
      ...this.emit('global_store_dwordx2', { addr: 4, data: 6, saddr }),
    ];
    return [...this.arguments('s_load_dwordx2', 4, 0), ...this.loop(4, body), ...this.end()];
  }

  /**
   * Accesses at v1 = work-item * stride + base, which moves by a step in each turn: s[0:1] points to base,
   * stride, turns, step, and a 64-bit pointer that `global` accesses add.
   */
  accesses(kind: 'lds' | 'scratch' | 'global', name: string): number[] {
    const fields: Record<typeof kind, FieldValues> = {
      lds: { addr: 1, data0: 4, vdst: 8 },
      scratch: {
        ...{ addr: 1, data: 4, vdst: 8, saddr: this.target.scalars.none },
        ...(this.target.families.includes('gfx11') && { sve: 1 }),
      },
      global: { addr: 1, data: 4, vdst: 8, saddr: 8 },
    };
    return [
      ...this.arguments('s_load_dwordx4', 4, 0),
      ...this.arguments('s_load_dwordx2', 8, 16),
      ...this.emit('v_mul_lo_u32', { vdst: 1, src0: VGPR + 0, src1: 5 }),
      ...this.emit('v_add_u32', { vdst: 1, src0: 4, src1: 1 }),
      ...[4, 5, 6, 7].flatMap((vgpr) => [...this.emit('v_mov_b32', { vdst: vgpr, src0: LITERAL }), 0x5ec2e700 + vgpr]),
      ...this.loop(6, [...this.emit(name, fields[kind]), ...this.emit('v_add_u32', { vdst: 1, src0: 7, src1: 1 })]),
      // What was loaded last shows.
      ...this.emit('global_store_dword', { addr: 10, data: 8, saddr: 8 }),
      ...this.end(),
    ];
  }

  /** Goes to the address at s[0:1]. */
  jump(name: 's_setpc_b64' | 's_swappc_b64'): number[] {
    return [...this.arguments('s_load_dwordx2', 4, 0), ...this.emit(name, { sdst: 6, ssrc0: 4 }), ...this.end()];
  }
}

export interface DescriptorFields {
  readonly ldsSizeBytes?: number;
  readonly privateSizeBytes?: number;
  readonly entryOffset: bigint;
  readonly isWave32?: boolean;
  /** All 256 VGPRs, and as many accumulation registers. */
  readonly isLarge?: boolean;
}

/** The 64 bytes of a kernel descriptor with 32 VGPRs, whose kernel finds its arguments by s[0:1]. */
export function descriptorBytes({
  ldsSizeBytes = 0,
  privateSizeBytes = 0,
  entryOffset,
  isWave32,
  isLarge,
}: DescriptorFields): Uint8Array {
  const bytes = new Uint8Array(64);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, ldsSizeBytes, true);
  view.setUint32(4, privateSizeBytes, true);
  view.setBigInt64(16, entryOffset, true);
  // Accumulation registers begin at v32; 32 VGPRs or more, denormals kept, DX10_CLAMP, IEEE.
  view.setUint32(44, isLarge ? 63 : 7, true);
  view.setUint32(48, (isLarge ? 63 : 7) | (0xf << 16) | (1 << 21) | (1 << 23), true);
  // Scratch, 2 user SGPRs.
  view.setUint32(52, 1 | (2 << 1), true);
  view.setUint16(56, (1 << 3) | (isWave32 ? 1 << 10 : 0), true);
  return bytes;
}
