/**
 * Registers chosen at run time: M0 completes their numbers. This is the one definition, for all executors, of which register it is and of what
 * happens out of range, that is when the first or the last register of an operand is none of its file:
 * - A source of a vector instruction is read from register 0 of its file on (CDNA3 ISA 3.6.1; RDNA4 ISA 3.3.2.2 says so of wide ones too). The
 *   manuals let VGPR indexing apply to all vector instructions and say nothing about AGPRs: theirs is a file like that of the VGPRs.
 * - A scalar source is read from s0 on (CDNA3 ISA 3.6.1), from gfx11 on it is 0 (RDNA3 ISA 3.3.1.4). What is no SGPR and not VCC is out of range.
 * - An instruction with a destination out of range does nothing at all, also where it has other results (CDNA3 ISA 3.6.1, RDNA3 ISA 3.3.2.2).
 */
import { assert } from '../../base/errors.ts';
import type { Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import { GPR_INDEX_FIELDS, gprIndexField, MODE_GPR_INDEX } from '../../isa/amdgpu/semantics/gpr-index.ts';
import { rowSizeBytes, VGPR_COUNT, WAVE_SGPRS, WAVE_VGPRS, WAVE_ZEROS, waveAgprs } from '../machine/layout.ts';

/** SGPRs and VCC. */
const SGPR_COUNT = 108;
/** Dwords at WAVE_ZEROS. */
const ZERO_DWORDS = 2;

/** What of M0 is added to the number of a register, where all bits of `enabledBy` are set in it. */
interface Index {
  readonly shift: number;
  readonly mask: number;
  readonly enabledBy: number;
}

const INDICES = {
  whole: { shift: 0, mask: -1, enabledBy: 0 },
  /** RDNA3 ISA 3.3.1.3: for pairs the lowest bit does not count. */
  pair: { shift: 0, mask: -2, enabledBy: 0 },
  low: { shift: 0, mask: 0x3ff, enabledBy: 0 },
  high: { shift: 16, mask: 0x3ff, enabledBy: 0 },
  src0: gprIndex('src0'),
  src1: gprIndex('src1'),
  src2: gprIndex('src2'),
  vdst: gprIndex('vdst'),
} satisfies Readonly<Record<string, Index>>;

function gprIndex(field: (typeof GPR_INDEX_FIELDS)[number]): Index {
  return { shift: 0, mask: 0xff, enabledBy: 1 << (12 + GPR_INDEX_FIELDS.indexOf(field)) };
}

export interface RelativeRegister {
  readonly file: 'vector' | 'accumulator' | 'scalar';
  /** What is read and written counts as destination. */
  readonly role: 'source' | 'destination';
  /** Registers that the operand takes. */
  readonly dwords: number;
  readonly index: keyof typeof INDICES;
  /** What is read in place of a source out of range: from the first register of the file on, or 0. */
  readonly missing: 'first' | 'zero';
}

/** Operand `index` if M0 has a part in which register it is, while MODE is `mode`. */
export function relativeRegister(instruction: Instruction, index: number, mode: number): RelativeRegister | undefined {
  const { relative, access } = instruction.row.operands[index]!;
  const field = mode & MODE_GPR_INDEX ? gprIndexField(instruction, index) : undefined;
  if (!relative && !field) return undefined;
  const operand = instruction.operand(index);
  if (operand.kind !== 'vector' && (operand.kind !== 'scalar' || !relative)) return undefined;
  const dwords = instruction.dwords(index);
  const file = operand.kind === 'vector' && operand.accumulator ? 'accumulator' : operand.kind;
  return {
    file,
    role: access === 'read' ? 'source' : 'destination',
    dwords,
    index: relative && dwords === 2 ? 'pair' : (relative ?? field!),
    missing: file === 'scalar' && instruction.families.includes('gfx11') ? 'zero' : 'first',
  };
}

/** What distinguishes the code for one from that for another. */
export const relativeTag = ({ file, role, dwords, index, missing }: RelativeRegister): string =>
  `relative ${file} ${role} ${dwords} ${index} ${missing}`;

/** Offsets are from the wave's base. */
export interface Reach {
  readonly index: Index;
  readonly registerSizeBytes: number;
  /** Registers of the file: a larger index counts as this. */
  readonly count: number;
  /** Of the last register that the operand can begin with. */
  readonly last: number;
  /** What a source out of range is. */
  readonly fallback: number;
}

export function reachOf({ file, dwords, index, missing }: RelativeRegister, waveSize: 32 | 64): Reach {
  const isScalar = file === 'scalar';
  const registerSizeBytes = isScalar ? 4 : rowSizeBytes(waveSize);
  const count = isScalar ? SGPR_COUNT : VGPR_COUNT;
  const first = isScalar ? WAVE_SGPRS : file === 'vector' ? WAVE_VGPRS : waveAgprs(waveSize);
  assert(dwords >= 1 && dwords <= (missing === 'zero' ? ZERO_DWORDS : count), () => `${dwords} relative registers`);
  return {
    index: INDICES[index],
    registerSizeBytes,
    count,
    last: first + (count - dwords) * registerSizeBytes,
    fallback: missing === 'zero' ? WAVE_ZEROS : first,
  };
}

/** Offset of the register that M0 leads to from the one at `offset`, which the instruction names; undefined: a destination out of range. */
export function movedOffset(
  register: RelativeRegister,
  waveSize: 32 | 64,
  offset: number,
  m0: number,
): number | undefined {
  const { index, registerSizeBytes, count, last, fallback } = reachOf(register, waveSize);
  const isEnabled = (m0 & index.enabledBy) === index.enabledBy;
  const distance = isEnabled ? Math.min(((m0 >>> index.shift) & index.mask) >>> 0, count) : 0;
  const moved = offset + distance * registerSizeBytes;
  if (moved <= last) return moved;
  return register.role === 'source' ? fallback : undefined;
}
