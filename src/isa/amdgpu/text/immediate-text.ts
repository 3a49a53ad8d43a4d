/**
 * Immediates that LLVM spells as calls, both ways: counters, messages, hardware registers, lane patterns. The
 * flag `spelled` of a row says which it has.
 */

import { hex } from '../../../base/text.ts';
import { type Family, ofFamily } from '../encoding/format.ts';
import { HARDWARE_REGISTERS, hardwareRegisterName } from '../encoding/hardware-register-names.ts';
import type { SpelledOperand, SpellingName } from '../encoding/row.ts';
import type { Target } from '../encoding/targets.ts';
import { evaluateExpression } from './reader/expression.ts';
import type { TextReader } from './reader/text-reader.ts';
import { call, type ImmediateSpelling, named } from './spelling.ts';
import { delay, dependencyCount, waitCount } from './wait-text.ts';

export type { ImmediateSpelling } from './spelling.ts';

const MESSAGES_GFX9: Readonly<Record<number, string>> = {
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
/** RDNA3 ISA 5.3; those from 128 on return a value. */
const MESSAGES_GFX11: Readonly<Record<number, string>> = {
  1: 'MSG_INTERRUPT',
  2: 'MSG_HS_TESSFACTOR',
  3: 'MSG_DEALLOC_VGPRS',
  5: 'MSG_STALL_WAVE_GEN',
  6: 'MSG_HALT_WAVES',
  9: 'MSG_GS_ALLOC_REQ',
  128: 'MSG_RTN_GET_DOORBELL',
  129: 'MSG_RTN_GET_DDID',
  130: 'MSG_RTN_GET_TMA',
  131: 'MSG_RTN_GET_REALTIME',
  132: 'MSG_RTN_SAVE_WAVE',
  133: 'MSG_RTN_GET_TBA',
  134: 'MSG_RTN_GET_TBA_TO_PC',
};
const { 5: _stall, 6: _halt, ...MESSAGES_KEPT } = MESSAGES_GFX11;
const MESSAGES: Readonly<Partial<Record<Family, typeof MESSAGES_GFX9>>> = {
  gfx9: MESSAGES_GFX9,
  gfx10: { ...MESSAGES_GFX9, 11: 'MSG_GET_DDID' },
  gfx11: MESSAGES_GFX11,
  gfx12: { ...MESSAGES_KEPT, 135: 'MSG_RTN_GET_SE_AID_ID' },
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

/** A message of 4 bits has an operation and a stream behind it. */
const hasOperations = ({ messageBits }: Target): boolean => messageBits === 4;

/** Message in bits 0..3, operation in 4..6, stream in 8..9: by name when the parts belong together. */
function printMessage(value: number, families: readonly Family[]): string {
  const [id, operation, stream] = [value & 15, (value >> 4) & 7, (value >> 8) & 3];
  const name = ofFamily(MESSAGES, families)[id];
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

/** s_sendmsg and s_sendmsg_rtn. */
export const message: ImmediateSpelling = {
  print: (value, target) => {
    if (hasOperations(target)) return printMessage(value, target.families);
    const name = ofFamily(MESSAGES, target.families)[value & 0xff];
    if (name !== undefined) return `sendmsg(${name})`;
    return value > 0xff ? String(value) : `sendmsg(${value}, 0, 0)`;
  },
  parse: (reader, target) =>
    call(reader, 'sendmsg', () => {
      const names = ofFamily(MESSAGES, target.families);
      const isShort = hasOperations(target);
      const id = named(reader, names, isShort ? 15 : 255, 'message');
      const operations = (isShort && OPERATIONS[id]) || {};
      const operation = reader.accept(',') ? named(reader, operations, isShort ? 7 : 0, 'operation') : 0;
      const stream = reader.accept(',') ? reader.integerIn(0, isShort ? 3 : 0, 'stream') : 0;
      return id | (operation << 4) | (stream << 8);
    }),
};

/** s_getreg and s_setreg: register in bits 0..5, first bit in 6..10, width - 1 in 11..15. */
export const hardwareRegister: ImmediateSpelling = {
  print: (value, { families }) => {
    const [id, first, width] = [value & 63, (value >> 6) & 31, ((value >> 11) & 31) + 1];
    const name = hardwareRegisterName(id, families);
    return first === 0 && width === 32 ? `hwreg(${name})` : `hwreg(${name}, ${first}, ${width})`;
  },
  parse: (reader, { families }) =>
    call(reader, 'hwreg', () => {
      const id = named(reader, ofFamily(HARDWARE_REGISTERS, families), 63, 'hardware register');
      if (!reader.accept(',')) return id | (31 << 11);
      const first = reader.integerIn(0, 31, 'first bit');
      reader.expect(',');
      return id | (first << 6) | ((reader.integerIn(1, 32, 'width') - 1) << 11);
    }),
};

const INDEX_MODES = ['SRC0', 'SRC1', 'SRC2', 'DST'];

/** s_set_gpr_idx_on and s_set_gpr_idx_mode: which operands are indexed. */
export const indexMode: ImmediateSpelling = {
  print: (value) => (value > 15 ? hex(value) : `gpr_idx(${INDEX_MODES.filter((_, i) => (value >> i) & 1).join(',')})`),
  parse: (reader) =>
    call(reader, 'gpr_idx', () => {
      if (reader.peek(')')) return 0;
      let result = 0;
      do {
        const at = reader.position;
        const mode = INDEX_MODES.indexOf(reader.word() ?? '');
        if (mode < 0 || result & (1 << mode)) return reader.fail(`expected one of ${INDEX_MODES.join(', ')}`, at);
        result |= 1 << mode;
      } while (reader.accept(','));
      return result;
    }),
};

const isPowerOf2 = (value: number): boolean => value > 0 && (value & (value - 1)) === 0;

/** For each lane bit, highest first: constant 0 or 1, preserved or inverted. */
function laneBitLetters(and: number, or: number, xor: number): string {
  const [ofZero, ofOne] = [or ^ xor, (and | or) ^ xor];
  return [16, 8, 4, 2, 1]
    .map((bit) => ((ofZero & bit) === (ofOne & bit) ? (ofZero & bit ? '1' : '0') : ofZero & bit ? 'i' : 'p'))
    .join('');
}

const pattern = (and: number, or: number, xor: number): number => and | (or << 5) | (xor << 10);

/** A power of 2 between the limits, after a comma. */
function groupSize(reader: TextReader, low: number, high: number): number {
  reader.expect(',');
  reader.skipBlanks();
  const at = reader.position;
  const value = reader.integerIn(low, high, 'group size');
  return isPowerOf2(value) ? value : reader.fail('expected a power of 2', at);
}

const SWIZZLES: Readonly<Record<string, (reader: TextReader) => number>> = {
  QUAD_PERM: (reader) =>
    [0, 2, 4, 6].reduce((value, shift) => {
      reader.expect(',');
      return value | (reader.integerIn(0, 3, 'lane') << shift);
    }, 0x8000),
  SWAP: (reader) => pattern(31, 0, groupSize(reader, 1, 16)),
  REVERSE: (reader) => pattern(31, 0, groupSize(reader, 2, 32) - 1),
  BROADCAST: (reader) => {
    const size = groupSize(reader, 2, 32);
    reader.expect(',');
    return pattern(32 - size, reader.integerIn(0, size - 1, 'lane'), 0);
  },
  BITMASK_PERM: (reader) => {
    reader.expect(',');
    reader.skipBlanks();
    const at = reader.position;
    const letters = reader.string();
    if (letters === undefined || !/^[01pi]{5}$/.test(letters)) {
      return reader.fail('expected five of 0, 1, p, i in quotes', at);
    }
    const bits = (which: string): number =>
      Number.parseInt([...letters].map((letter) => (which.includes(letter) ? '1' : '0')).join(''), 2);
    return pattern(bits('pi'), bits('1'), bits('i'));
  },
};

/**
 * The 16-bit pattern of ds_swizzle_b32 under the name of the simplest form that has it (CDNA2 ISA 12.12.1).
 */
export const swizzle: ImmediateSpelling = {
  print: (value) => {
    if ((value & 0xff00) === 0x8000) {
      return `swizzle(QUAD_PERM,${[0, 2, 4, 6].map((shift) => (value >> shift) & 3).join(',')})`;
    }
    if (value & 0x8000) return String(value);
    const [and, or, xor] = [value & 31, (value >> 5) & 31, (value >> 10) & 31];
    if (and === 31 && or === 0 && isPowerOf2(xor)) return `swizzle(SWAP,${xor})`;
    if (and === 31 && or === 0 && xor > 0 && isPowerOf2(xor + 1)) return `swizzle(REVERSE,${xor + 1})`;
    const size = 32 - and;
    if (size > 1 && isPowerOf2(size) && or < size && xor === 0) return `swizzle(BROADCAST,${size},${or})`;
    return `swizzle(BITMASK_PERM,"${laneBitLetters(and, or, xor)}")`;
  },
  parse: (reader) =>
    call(reader, 'swizzle', () => {
      const at = reader.position;
      const mode = SWIZZLES[reader.word() ?? ''];
      return mode ? mode(reader) : reader.fail(`expected one of ${Object.keys(SWIZZLES).join(', ')}`, at);
    }),
};

/** Without anything: 0. */
const optional: ImmediateSpelling = {
  print: (value) => (value === 0 ? '' : String(value)),
  parse: (reader) => (reader.atEnd ? 0 : undefined),
};

/** A plain number in hexadecimal. */
const hexadecimal: ImmediateSpelling = { print: (value) => hex(value), parse: () => undefined };

const ENCODING_VERSIONS: Readonly<Record<number, string>> = {
  0: 'UC_VERSION_GFX7',
  4: 'UC_VERSION_GFX10',
  6: 'UC_VERSION_GFX11',
  9: 'UC_VERSION_GFX12',
};
const VERSION_FLAGS = [
  [0x2000, 'UC_VERSION_W64_BIT'],
  [0x4000, 'UC_VERSION_W32_BIT'],
  [0x8000, 'UC_VERSION_MDP_BIT'],
] as const;

const VERSION_VALUES = new Map([
  ...VERSION_FLAGS.map(([value, name]) => [name as string, BigInt(value)] as const),
  ...Object.entries(ENCODING_VERSIONS).map(([value, name]) => [name, BigInt(value)] as const),
]);

/** s_version: a version and flags, as the sum that LLVM writes, nested to the left. */
const version: ImmediateSpelling = {
  print: (value) => {
    const number = value & 0x1fff;
    if (number > 0xff) return hex(value);
    const name = ENCODING_VERSIONS[number] ?? String(number);
    const flags = VERSION_FLAGS.filter(([bit]) => value & bit).map(([, flag]) => flag);
    return flags.reduce((text, flag, i) => `${i > 0 ? `(${text})` : text}|${flag}`, name);
  },
  parse: (reader) => {
    const start = reader.position;
    const value = evaluateExpression(reader.expression(), (name) => VERSION_VALUES.get(name));
    if (value !== undefined) return Number(value);
    reader.position = start;
    return undefined;
  },
};

const range = (name: string, first: number, count: number): Record<number, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [first + i, `${name}${i}`]));

/** RDNA2 ISA 13.9, RDNA3 ISA 14 and 15.10. */
const COMMON_TARGETS = { ...range('mrt', 0, 8), 8: 'mrtz', ...range('pos', 12, 4) };
const PARAMETER_TARGETS = { 9: 'null', ...range('param', 32, 32) };
const PRIMITIVE_TARGETS = { 16: 'pos4', 20: 'prim' };
const EXPORT_TARGETS: Readonly<Partial<Record<Family, Readonly<Record<number, string>>>>> = {
  gfx9: { ...COMMON_TARGETS, ...PARAMETER_TARGETS },
  gfx10: { ...COMMON_TARGETS, ...PARAMETER_TARGETS, ...PRIMITIVE_TARGETS },
  gfx11: { ...COMMON_TARGETS, ...PRIMITIVE_TARGETS, ...range('dual_src_blend', 21, 2) },
};

const exportTarget: ImmediateSpelling = {
  print: (value, { families }) => ofFamily(EXPORT_TARGETS, families)[value] ?? `invalid_target_${value}`,
  parse: (reader, { families }) => {
    const word = reader.peekWord();
    const found = Object.entries(ofFamily(EXPORT_TARGETS, families)).find(([, name]) => name === word);
    if (!found) return undefined;
    reader.word();
    return Number(found[0]);
  },
};

const CHANNELS = 'xyzw';

/** Parameter and channel of it, in the low bits. */
const attribute: ImmediateSpelling = {
  print: (value) => `attr${value >> 2}.${CHANNELS[value & 3]}`,
  parse: (reader) => {
    const parts = /^attr(\d+)\.([xyzw])$/.exec(reader.peekWord() ?? '');
    if (!parts || Number(parts[1]) > 63) return undefined;
    reader.word();
    return Number(parts[1]) * 4 + CHANNELS.indexOf(parts[2]!);
  },
};

const SPELLINGS: Readonly<Record<SpellingName, ImmediateSpelling>> = {
  optional,
  hexadecimal,
  waitCount,
  dependencyCount,
  delay,
  message,
  hardwareRegister,
  indexMode,
  version,
  exportTarget,
  attribute,
};

/** How the operand that a row spells its own way is spelled. */
export const spellingOf = ({ as }: SpelledOperand): ImmediateSpelling => SPELLINGS[as];
