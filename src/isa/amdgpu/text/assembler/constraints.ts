/**
 * What an instruction may not combine although its encoding can: LLVM's assembler refuses it, its
 * disassembler shows it.
 */
import { SRC_LITERAL } from '../../encoding/formats.ts';
import type { Instruction } from '../../encoding/instruction.ts';
import { isAperture, SGPR_VCC_LO } from '../../encoding/registers.ts';
import type { Row } from '../../encoding/row.ts';

/** Why the instruction is refused, undefined when it is not. */
type Constraint = (instruction: Instruction) => string | undefined;

/** A pair counts beside its halves. */
const VCC = `${SGPR_VCC_LO} 2`;
const SOURCES = /^src[012]$/;
const LIMITED_FORMATS = /^VOP(1|2|C|3|3B|3P)(_SDWA|_DPP8?)?$/;

/**
 * How many scalar values a vector instruction may read (CDNA2 ISA 6.2.1, RDNA3 ISA 7.2.1). VCC that the
 * encoding implies is one, NULL is none.
 */
const constantBus: Constraint = (instruction) => {
  const { format, row, target } = instruction;
  if (!LIMITED_FORMATS.test(format.name)) return undefined;
  const values = new Set<string>(row.flags.readsVcc ? [VCC] : []);
  for (const [index, { field, access, type, file }] of row.operands.entries()) {
    if (type === 'literal32') values.add('literal');
    if (access === 'write' || file === 'immediate' || !SOURCES.test(field)) continue;
    const { kind } = instruction.operand(index);
    const encoded = instruction.encoded(index);
    // The lane to write may be in M0 besides.
    if (row.flags.freeM0 && encoded === instruction.scalars.m0) continue;
    if (kind === 'scalar') values.add(`${encoded} ${instruction.dwords(index)}`);
    if (kind === 'special') values.add(String(encoded));
    if (kind === 'constant' && encoded === SRC_LITERAL) values.add('literal');
  }
  return values.size > target.maxScalarReads
    ? 'the instruction reads too many scalar values (constant bus)'
    : undefined;
};

const alignedVgprs: Constraint = (instruction) => {
  if (!instruction.target.alignedVgprs) return undefined;
  const isOdd = instruction.row.operands.some((_, index) => {
    if (instruction.access(index) === undefined) return false;
    const operand = instruction.operand(index);
    return operand.kind === 'vector' && operand.register % 2 === 1 && instruction.dwords(index) > 1;
  });
  return isOdd ? 'groups of VGPRs must begin at an even register' : undefined;
};

/** A matrix product of more than 4 registers may accumulate in place, or apart from its source. */
const matrixOverlap: Constraint = (instruction) => {
  const { format, row } = instruction;
  if (format.name !== 'VOP3P_MAI') return undefined;
  const index = (name: string): number => row.operands.findIndex(({ field }) => field === name);
  const [result, addend] = [index('vdst'), index('src2')];
  if (addend < 0 || instruction.dwords(result) <= 4) return undefined;
  const [to, from] = [instruction.operand(result), instruction.operand(addend)];
  if (to.kind !== 'vector' || from.kind !== 'vector' || to.accumulator !== from.accumulator) return undefined;
  const distance = Math.abs(to.register - from.register);
  const overlaps = distance > 0 && distance < instruction.dwords(result) && instruction.dwords(addend) > 1;
  return overlaps ? 'the sum and the result must be the same registers or none of the same' : undefined;
};

const bufferOffset: Constraint = (instruction) => {
  const { format, row, target } = instruction;
  if (target.negativeBufferOffsets) return undefined;
  const spec = row.operands.find(({ field }) => field === 'offset');
  const isBuffer = row.operands.some(({ field, type }) => field === 'sbase' && type === 'b128');
  if (format.name !== 'SMEM' || !spec || !isBuffer) return undefined;
  return instruction.immediate(spec) < 0 ? 'the offset in a buffer must not be negative' : undefined;
};

const dotSelect: Constraint = (instruction) => {
  const { target, format, row } = instruction;
  if (target.dotHalves === 'any' || format.name !== 'VOP3P' || !row.flags.dot) return undefined;
  const inOrder = instruction.field('op_sel') === 0 && instruction.field('op_sel_hi') === 3;
  return inOrder && instruction.field('op_sel_hi_2') === 1 ? undefined : 'a dot product cannot have op_sel';
};

const laneSource: Constraint = (instruction) => {
  if (!instruction.row.flags.vectorSource) return undefined;
  const index = instruction.row.operands.findIndex(({ field }) => field === 'src0');
  return instruction.operand(index).kind === 'vector' ? undefined : 'the lanes to read must be those of a VGPR';
};

/** Where constants make no sense. Addresses may be those of the apertures, others may be bits such as SCC. */
const registerSource: Constraint = (instruction) => {
  const { row, target } = instruction;
  const { registerSource: source, sparse } = row.flags;
  if (!target.requiresRegisterSources) return undefined;
  const name = source ? /^ssrc/ : sparse ? /^src2$/ : undefined;
  const hasConstant = row.operands.some(({ field }, index) => {
    if (!name?.test(field)) return false;
    const operand = instruction.operand(index);
    if (operand.kind !== 'special') return operand.kind === 'constant';
    return sparse || (source === 'address') !== isAperture(operand.encoding);
  });
  return hasConstant ? 'the source must be a register' : undefined;
};

const missingValue: Constraint = (instruction) => {
  const { missing } = instruction.scalars;
  const isMissing = instruction.row.operands.some((_, index) => {
    const operand = instruction.operand(index);
    return operand.kind === 'special' && missing.includes(operand.encoding);
  });
  return isMissing ? 'the target does not have this value' : undefined;
};

/**
 * The field of each source of a half of VOPD: a multiply-add with a constant in its middle has its register
 * as the third source, one that accumulates has the destination there.
 */
function dualSources({ operands }: Row, half: 'x' | 'y'): (string | undefined)[] {
  const [first, second] = [`src${half}0`, `vsrc${half}1`];
  const isMiddle = operands.findIndex(({ type }) => type === 'literal32') === 2;
  if (isMiddle && operands.length === 4) return [first, undefined, second];
  return [first, second, operands[0]?.access === 'readwrite' ? `vdst${half}` : undefined];
}

/**
 * VOPD: sources in the same place of both halves come from different banks of VGPRs, of which the third has
 * two (RDNA3 ISA 7.6). Of two moves, some targets read the second one's source where there is no other.
 */
const dualBanks: Constraint = (instruction) => {
  const { row, target } = instruction;
  if (!row.halves) return undefined;
  if (target.dualMovesShareBanks && row.halves.every(({ format }) => format === 'VOP1')) return undefined;
  const register = (field: string | undefined): number | undefined => {
    const index = row.operands.findIndex((spec) => spec.field === field);
    const operand = index < 0 ? undefined : instruction.operand(index);
    return operand?.kind === 'vector' ? operand.register : undefined;
  };
  const [x, y] = [dualSources(row.halves[0], 'x'), dualSources(row.halves[1], 'y')];
  const collides = x.some((field, i) => {
    const [a, b] = [register(field), register(y[i])];
    return a !== undefined && b !== undefined && (a - b) % (i === 2 ? 2 : 4) === 0;
  });
  return collides ? 'sources of both halves must be in different banks of VGPRs' : undefined;
};

/** Counters on gfx10 and later are compared with nothing but NULL. */
const waitSource: Constraint = (instruction) => {
  const index = instruction.row.operands.findIndex(({ field }) => field === 'sdst');
  if (!instruction.row.flags.nullSource) return undefined;
  return instruction.operand(index).kind === 'null' ? undefined : 'the register must be null';
};

/** Behind lanes of another register, gfx11 takes no scalar registers and constants; gfx11.5 does. */
const laneSources: Constraint = (instruction) => {
  if (!instruction.hasDpp || instruction.target.laneFormSources === 'any') return undefined;
  const isScalar = instruction.row.operands.some(({ field }, index) => {
    return /^src[01]$/.test(field) && instruction.operand(index).kind !== 'vector';
  });
  return isScalar ? 'sources of a lane form must be VGPRs' : undefined;
};

const indexMode: Constraint = (instruction) => {
  const { spelled } = instruction.row.flags;
  return spelled?.as === 'indexMode' && instruction.field(spelled.field) > 15 ? 'an index mode has 4 bits' : undefined;
};

const CONSTRAINTS: readonly Constraint[] = [
  constantBus,
  alignedVgprs,
  matrixOverlap,
  bufferOffset,
  dotSelect,
  laneSource,
  registerSource,
  missingValue,
  dualBanks,
  waitSource,
  laneSources,
  indexMode,
];

export function constraintError(instruction: Instruction): string | undefined {
  for (const constraint of CONSTRAINTS) {
    const what = constraint(instruction);
    if (what !== undefined) return what;
  }
  return undefined;
}
