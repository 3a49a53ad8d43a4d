/**
 * The intrinsics of `wavewright/hook.h`: what a compiled hook asks of the place where it runs. Each use is a
 * marker, one instruction in the code, with a record in the section `.wavewright.hook`: the distance from the
 * record to the marker, then a text with the intrinsic's name, the registers that the compiler chose, and
 * numbers.
 */
import { ByteReader } from '../../base/bytes.ts';
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import type { RegisterRange } from '../../ir/effects.ts';
import { SGPR_EXEC_LO, SGPR_M0, SGPR_VCC_LO } from '../../isa/amdgpu/encoding/registers.ts';

export const MARKER_SECTION = '.wavewright.hook';

/** What follows the name in a record: registers that are written, read or both, or numbers. */
type Role = 'write' | 'read' | 'both' | 'number';

/** Operands of each intrinsic. Registers of the application are numbered as sources of VOP3 are. */
const INTRINSICS = {
  read_reg: ['write', 'number'],
  write_reg: ['read', 'number'],
  write_exec: ['read'],
  scalar_atomic_add: ['both', 'read'],
  exec: ['write'],
  address: ['write'],
  operand: ['write', 'number'],
  immediate: ['write', 'number'],
  opcode: ['write'],
  pc: ['write'],
  launch_value: ['write', 'number'],
  dispatch_packet: ['write'],
  kernel_arguments: ['write'],
  implicit_arguments: ['write'],
  workgroup_id: ['write', 'number'],
} as const satisfies Readonly<Record<string, readonly Role[]>>;

export type IntrinsicName = keyof typeof INTRINSICS;

export interface Marker {
  readonly name: IntrinsicName;
  /** Of the marker's instruction, in the image of the hooks. */
  readonly address: number;
  readonly registers: readonly (RegisterRange & { readonly role: Exclude<Role, 'number'> })[];
  readonly numbers: readonly number[];
}

const REGISTER = /^(?:([sv])(\d+)|([sv])\[(\d+):(\d+)\])$/;
const NAMED: Readonly<Record<string, RegisterRange>> = {
  vcc: { file: 'scalar', first: SGPR_VCC_LO, dwords: 2 },
  vcc_lo: { file: 'scalar', first: SGPR_VCC_LO, dwords: 1 },
  vcc_hi: { file: 'scalar', first: SGPR_VCC_LO + 1, dwords: 1 },
  exec: { file: 'scalar', first: SGPR_EXEC_LO, dwords: 2 },
  m0: { file: 'scalar', first: SGPR_M0, dwords: 1 },
};

function parseRegister(text: string): RegisterRange | undefined {
  const named = NAMED[text];
  if (named) return named;
  const match = REGISTER.exec(text);
  if (!match) return undefined;
  const [, single, number, group, low, high] = match;
  const file = (single ?? group) === 's' ? 'scalar' : 'vector';
  if (number !== undefined) return { file, first: Number(number), dwords: 1 };
  return { file, first: Number(low), dwords: Number(high) - Number(low) + 1 };
}

const isIntrinsic = (name: string): name is IntrinsicName => Object.hasOwn(INTRINSICS, name);

function parseMarker(text: string, address: number): Marker | string {
  const [name = '', ...words] = text.split(/\s+/);
  if (!isIntrinsic(name)) return `the intrinsic '${name}' is not known`;
  const roles: readonly Role[] = INTRINSICS[name];
  if (roles.length !== words.length) return `'${text}' has ${words.length} operands, expected ${roles.length}`;
  const registers: Marker['registers'][number][] = [];
  const numbers: number[] = [];
  for (const [i, word] of words.entries()) {
    const role = roles[i]!;
    if (role === 'number') {
      if (!/^\d{1,9}$/.test(word)) return `'${word}' of '${text}' is not a number that is known when it is compiled`;
      numbers.push(Number(word));
      continue;
    }
    const range = parseRegister(word);
    if (!range) return `'${word}' of '${text}' is not a register`;
    registers.push({ ...range, role });
  }
  return { name, address, registers, numbers };
}

/** The markers by address. `section` begins at `start`. Throws BAD_INPUT. */
export function readMarkers(section: Uint8Array, start: number, file: string): Map<number, Marker> {
  const markers = new Map<number, Marker>();
  const reader = new ByteReader(section, { file, section: MARKER_SECTION });
  while (reader.remaining > 0) {
    const at = reader.offset;
    const address = start + at + (reader.u32('distance') | 0);
    const end = section.indexOf(0, reader.offset);
    const text = new TextDecoder().decode(section.subarray(reader.offset, end < 0 ? section.length : end));
    const marker = end < 0 ? 'a record without an end' : parseMarker(text, address);
    if (typeof marker === 'string')
      throw new WavewrightError('BAD_INPUT', marker, { file, section: MARKER_SECTION, offset: at });
    if (markers.has(address))
      throw new WavewrightError('BAD_INPUT', `two markers at ${hex(address)}`, { file, section: MARKER_SECTION });
    markers.set(address, marker);
    reader.offset = end + 1;
  }
  return markers;
}
