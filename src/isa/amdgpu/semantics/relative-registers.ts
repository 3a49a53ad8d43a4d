/**
 * Registers chosen at run time: M0 completes their numbers. Which register it is, and what happens out of
 * range, that is when the first or the last register of an operand is none of its file:
 * - A source of a vector instruction is read from register 0 of its file on (CDNA3 ISA 3.6.1; RDNA4 ISA
 *   3.3.2.2 says so of wide ones too). The manuals let VGPR indexing apply to all vector instructions and say
 *   nothing about AGPRs: theirs is a file like that of the VGPRs.
 * - A scalar source is read from s0 on (CDNA3 ISA 3.6.1), from gfx11 on it is 0 (RDNA3 ISA 3.3.1.4). What is
 *   no SGPR and not VCC is out of range.
 * - An instruction with a destination out of range does nothing at all, also where it has other results
 *   (CDNA3 ISA 3.6.1, RDNA3 ISA 3.3.2.2).
 */
import type { RelativeIndex } from '../../../ir/step.ts';
import type { Instruction } from '../encoding/instruction.ts';
import { VECTOR_REGISTER_COUNT } from '../encoding/registers.ts';
import { GPR_INDEX_FIELDS, gprIndexField, MODE_GPR_INDEX } from './gpr-index.ts';

/** SGPRs and VCC. */
const SGPR_COUNT = 108;

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
} satisfies Readonly<Record<string, Pick<RelativeIndex, 'shift' | 'mask' | 'enabledBy'>>>;

function gprIndex(field: (typeof GPR_INDEX_FIELDS)[number]): Pick<RelativeIndex, 'shift' | 'mask' | 'enabledBy'> {
  return { shift: 0, mask: 0xff, enabledBy: 1 << (12 + GPR_INDEX_FIELDS.indexOf(field)) };
}

/** `name` distinguishes the kinds of indices. */
export interface NamedIndex extends RelativeIndex {
  readonly name: string;
}

/** What M0 does to the number of operand `index`, a register, while MODE is `mode`; undefined: nothing. */
export function relativeIndex(instruction: Instruction, index: number, mode: number): NamedIndex | undefined {
  const { relative, access } = instruction.row.operands[index]!;
  const field = mode & MODE_GPR_INDEX ? gprIndexField(instruction, index) : undefined;
  if (!relative && !field) return undefined;
  const isScalar = instruction.operand(index).kind === 'scalar';
  if (isScalar && !relative) return undefined;
  const name = relative && instruction.dwords(index) === 2 ? 'pair' : (relative ?? field!);
  return {
    name,
    ...INDICES[name],
    role: access === 'read' ? 'source' : 'destination',
    count: isScalar ? SGPR_COUNT : VECTOR_REGISTER_COUNT,
    missing: isScalar ? instruction.target.missingScalars : 'first',
  };
}
