/** Immediates that LLVM spells as calls: counters, messages, hardware registers, lane patterns. */
import type { Family } from './formats.ts';
import { hex } from './operand-text.ts';

/** s_waitcnt: the counters that are not at their limit; all of them when every one is (CDNA2 ISA 4.4). */
export function waitCountText(value: number): string {
  const counters: readonly (readonly [name: string, value: number, limit: number])[] = [
    ['vmcnt', (value & 15) | ((value >> 10) & 0x30), 63],
    ['expcnt', (value >> 4) & 7, 7],
    ['lgkmcnt', (value >> 8) & 15, 15],
  ];
  const waited = counters.filter(([, count, limit]) => count !== limit);
  return (waited.length === 0 ? counters : waited).map(([name, count]) => `${name}(${count})`).join(' ');
}

const MESSAGES: Readonly<Record<number, string>> = {
  1: 'MSG_INTERRUPT',
  2: 'MSG_GS',
  3: 'MSG_GS_DONE',
  4: 'MSG_SAVEWAVE',
  5: 'MSG_STALL_WAVE_GEN',
  6: 'MSG_HALT_WAVES',
  7: 'MSG_ORDERED_PS_DONE',
  8: 'MSG_EARLY_PRIM_DEALLOC',
  9: 'MSG_GS_ALLOC_REQ',
  10: 'MSG_GET_DOORBELL',
  15: 'MSG_SYSMSG',
};
const GS_OPERATIONS: Readonly<Record<number, string>> = {
  0: 'GS_OP_NOP',
  1: 'GS_OP_CUT',
  2: 'GS_OP_EMIT',
  3: 'GS_OP_EMIT_CUT',
};
const SYSTEM_OPERATIONS: Readonly<Record<number, string>> = {
  1: 'SYSMSG_OP_ECC_ERR_INTERRUPT',
  2: 'SYSMSG_OP_REG_RD',
  4: 'SYSMSG_OP_TTRACE_PC',
};
const MSG_GS = 2;
/** Of the messages that have some. */
const OPERATIONS: Readonly<Record<number, typeof GS_OPERATIONS>> = {
  [MSG_GS]: GS_OPERATIONS,
  3: GS_OPERATIONS,
  15: SYSTEM_OPERATIONS,
};

/** s_sendmsg: message in bits 0..3, operation in 4..6, stream in 8..9. By name when the parts belong together. */
export function messageText(value: number): string {
  const [id, operation, stream] = [value & 15, (value >> 4) & 7, (value >> 8) & 3];
  const name = MESSAGES[id];
  const operations = OPERATIONS[id];
  const hasStream = operations === GS_OPERATIONS && operation !== 0;
  const valid = operations
    ? operations[operation] !== undefined && (id !== MSG_GS || operation !== 0)
    : operation === 0;
  if (name !== undefined && valid && (hasStream || stream === 0)) {
    const parts = [name, ...(operations ? [operations[operation]] : []), ...(hasStream ? [stream] : [])];
    return `sendmsg(${parts.join(', ')})`;
  }
  return value & ~0x37f ? String(value) : `sendmsg(${id}, ${operation}, ${stream})`;
}

const HARDWARE_REGISTERS: Readonly<Record<number, string>> = {
  1: 'HW_REG_MODE',
  2: 'HW_REG_STATUS',
  3: 'HW_REG_TRAPSTS',
  4: 'HW_REG_HW_ID',
  5: 'HW_REG_GPR_ALLOC',
  6: 'HW_REG_LDS_ALLOC',
  7: 'HW_REG_IB_STS',
  15: 'HW_REG_SH_MEM_BASES',
  16: 'HW_REG_TBA_LO',
  17: 'HW_REG_TBA_HI',
  18: 'HW_REG_TMA_LO',
  19: 'HW_REG_TMA_HI',
};

const FAMILY_HARDWARE_REGISTERS: Readonly<Partial<Record<Family, typeof HARDWARE_REGISTERS>>> = {
  gfx940: {
    20: 'HW_REG_XCC_ID',
    21: 'HW_REG_SQ_PERF_SNAPSHOT_DATA',
    22: 'HW_REG_SQ_PERF_SNAPSHOT_DATA1',
    23: 'HW_REG_SQ_PERF_SNAPSHOT_PC_LO',
    24: 'HW_REG_SQ_PERF_SNAPSHOT_PC_HI',
  },
};

/** s_getreg and s_setreg: register in bits 0..5, first bit in 6..10, width - 1 in 11..15. */
export function hardwareRegisterText(value: number, families: readonly Family[]): string {
  const [id, first, width] = [value & 63, (value >> 6) & 31, ((value >> 11) & 31) + 1];
  const own = families.map((family) => FAMILY_HARDWARE_REGISTERS[family]?.[id]).find((name) => name !== undefined);
  const name = own ?? HARDWARE_REGISTERS[id] ?? String(id);
  return first === 0 && width === 32 ? `hwreg(${name})` : `hwreg(${name}, ${first}, ${width})`;
}

const INDEX_MODES = ['SRC0', 'SRC1', 'SRC2', 'DST'];

/** s_set_gpr_idx_on and s_set_gpr_idx_mode: which operands are indexed. */
export function indexModeText(value: number): string {
  if (value > 15) return hex(value);
  return `gpr_idx(${INDEX_MODES.filter((_, i) => (value >> i) & 1).join(',')})`;
}

const isPowerOf2 = (value: number): boolean => value > 0 && (value & (value - 1)) === 0;

/** For each lane bit, highest first: constant 0 or 1, preserved or inverted. */
function laneBitLetters(and: number, or: number, xor: number): string {
  const [ofZero, ofOne] = [or ^ xor, (and | or) ^ xor];
  return [16, 8, 4, 2, 1]
    .map((bit) => ((ofZero & bit) === (ofOne & bit) ? (ofZero & bit ? '1' : '0') : ofZero & bit ? 'i' : 'p'))
    .join('');
}

/** The 16-bit pattern of ds_swizzle_b32 under the name of the simplest form that has it (CDNA2 ISA 12.12.1). */
export function swizzleText(pattern: number): string {
  if ((pattern & 0xff00) === 0x8000) {
    return `swizzle(QUAD_PERM,${[0, 2, 4, 6].map((shift) => (pattern >> shift) & 3).join(',')})`;
  }
  if (pattern & 0x8000) return String(pattern);
  const [and, or, xor] = [pattern & 31, (pattern >> 5) & 31, (pattern >> 10) & 31];
  if (and === 31 && or === 0 && isPowerOf2(xor)) return `swizzle(SWAP,${xor})`;
  if (and === 31 && or === 0 && xor > 0 && isPowerOf2(xor + 1)) return `swizzle(REVERSE,${xor + 1})`;
  const groupSize = 32 - and;
  if (groupSize > 1 && isPowerOf2(groupSize) && or < groupSize && xor === 0)
    return `swizzle(BROADCAST,${groupSize},${or})`;
  return `swizzle(BITMASK_PERM,"${laneBitLetters(and, or, xor)}")`;
}
