/**
 * `.cfi_*` to `.debug_frame` (DWARF 5, 6.4): one common entry and one for each function, as LLVM writes them.
 */

import { concatenate } from '../base/concatenate.ts';
import { WavewrightError } from '../base/errors.ts';
import type { TextReader } from '../isa/amdgpu/text/reader/text-reader.ts';
import type { Assembly } from './assembly.ts';
import type { Directive } from './directives.ts';
import { leb128, unsigned } from './leb128.ts';
import { type AssembledSection, littleEndian } from './section.ts';
import type { AssemblyLine } from './source.ts';

/** What holds from an address on. */
interface Rule {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

interface Frame {
  readonly line: AssemblyLine;
  readonly section: AssembledSection;
  readonly start: number;
  end: number | undefined;
  readonly rules: Rule[];
  /** Of the canonical frame address. */
  cfaOffset: bigint;
}

const INSTRUCTION_SIZE_BYTES = 4;
/** The stack grows up in steps of 4 bytes. */
const DATA_ALIGNMENT = 4n;
/** The program counter (LLVM AMDGPU usage, "Register Identifier"). */
const RETURN_ADDRESS_REGISTER = 16;
const ADDRESS_SIZE_BYTES = 8;
const CFA = {
  advance1: 2,
  advance2: 3,
  advance4: 4,
  offsetExtended: 5,
  restoreExtended: 6,
  undefined: 7,
  sameValue: 8,
  register: 9,
  rememberState: 10,
  restoreState: 11,
  defCfa: 12,
  defCfaRegister: 13,
  defCfaOffset: 14,
  offsetExtendedSigned: 17,
  advance: 0x40,
  offset: 0x80,
  restore: 0xc0,
} as const;

export class CallFrames {
  readonly #frames: Frame[] = [];
  /** `.cfi_sections` named `.debug_frame`, and nothing else. */
  isDebugFrame = false;

  get current(): Frame {
    const frame = this.#frames.at(-1);
    if (!frame || frame.end !== undefined) {
      throw new WavewrightError('BAD_INPUT', 'expected between .cfi_startproc and .cfi_endproc');
    }
    return frame;
  }

  start(line: AssemblyLine, section: AssembledSection): void {
    const open = this.#frames.at(-1);
    if (open && open.end === undefined) throw new WavewrightError('BAD_INPUT', '.cfi_startproc without .cfi_endproc');
    this.#frames.push({ line, section, start: section.sizeBytes, end: undefined, rules: [], cfaOffset: 0n });
  }

  end(section: AssembledSection): void {
    this.current.end = section.sizeBytes;
  }

  rule(section: AssembledSection, ...bytes: number[]): void {
    this.current.rules.push({ offset: section.sizeBytes, bytes: Uint8Array.from(bytes) });
  }

  /** Appends all frames to `.debug_frame`. */
  write(assembly: Assembly): void {
    for (const { line, end } of this.#frames) {
      assembly.line = line;
      if (end === undefined) throw new WavewrightError('BAD_INPUT', '.cfi_startproc without .cfi_endproc');
      if (this.isDebugFrame) continue;
      const hint = 'say .cfi_sections .debug_frame before';
      throw new WavewrightError('UNSUPPORTED', 'frames in .eh_frame', { hint });
    }
    if (this.#frames.length === 0) return;
    assembly.current = assembly.section('.debug_frame');
    const { current } = assembly;
    current.alignmentBytes = Math.max(current.alignmentBytes, ADDRESS_SIZE_BYTES);
    const common = current.sizeBytes;
    const [version, augmentation, segmentSize] = [4, 0, 0];
    entry(assembly, () => {
      assembly.append(littleEndian(-1n, 4));
      assembly.append(Uint8Array.of(version, augmentation, ADDRESS_SIZE_BYTES, segmentSize, INSTRUCTION_SIZE_BYTES));
      assembly.append(Uint8Array.of(Number(DATA_ALIGNMENT), RETURN_ADDRESS_REGISTER));
    });
    for (const { section, start, end, rules } of this.#frames) {
      entry(assembly, () => {
        assembly.appendPlace(current, common, 4);
        assembly.appendPlace(section, start, 8);
        assembly.append(littleEndian(BigInt(end! - start), 8));
        let at = start;
        for (const { offset, bytes } of rules) {
          assembly.append(concatenate([advance(offset - at), bytes]));
          at = offset;
        }
      });
    }
  }
}

/** An entry with its length in front, padded with no-operations. */
function entry(assembly: Assembly, write: () => void): void {
  const { current } = assembly;
  const at = current.sizeBytes;
  assembly.appendZeros(4);
  write();
  assembly.appendZeros(-current.sizeBytes & (ADDRESS_SIZE_BYTES - 1));
  current.patch(at, BigInt(current.sizeBytes - at - 4), 4);
}

function advance(bytes: number): Uint8Array {
  const instructions = Math.floor(bytes / INSTRUCTION_SIZE_BYTES);
  if (instructions === 0) return new Uint8Array(0);
  if (instructions < 64) return Uint8Array.of(CFA.advance | instructions);
  if (instructions < 2 ** 8) return Uint8Array.of(CFA.advance1, instructions);
  if (instructions < 2 ** 16) return Uint8Array.of(CFA.advance2, ...littleEndian(BigInt(instructions), 2));
  return Uint8Array.of(CFA.advance4, ...littleEndian(BigInt(instructions), 4));
}

const register = (reader: TextReader): number => reader.integerIn(0, 2 ** 16 - 1, 'register number');

function offset(assembly: Assembly, reader: TextReader): bigint {
  reader.expect(',');
  return assembly.absolute(reader, 'the offset');
}

function saved({ frames, current }: Assembly, number: number, offsetBytes: bigint): void {
  const factored = offsetBytes / DATA_ALIGNMENT;
  if (factored < 0n) frames.rule(current, CFA.offsetExtendedSigned, ...unsigned(number), ...leb128(factored, true));
  else if (number < 64) frames.rule(current, CFA.offset | number, ...leb128(factored, false));
  else frames.rule(current, CFA.offsetExtended, ...unsigned(number), ...leb128(factored, false));
}

function setCfaOffset({ frames, current }: Assembly, value: bigint, ...before: number[]): void {
  frames.current.cfaOffset = value;
  frames.rule(current, ...(before.length > 0 ? before : [CFA.defCfaOffset]), ...leb128(value, false));
}

/** A rule of an opcode and a register. */
const ofRegister =
  (opcode: number): Directive =>
  ({ frames, current }, reader) =>
    frames.rule(current, opcode, ...unsigned(register(reader)));

const plain =
  (opcode: number): Directive =>
  ({ frames, current }) =>
    frames.rule(current, opcode);

const sections: Directive = ({ frames }, reader) => {
  const names: (string | undefined)[] = [];
  do names.push(reader.word());
  while (reader.accept(','));
  if (names.some((name) => name !== '.debug_frame' && name !== '.eh_frame')) reader.fail('expected .debug_frame');
  frames.isDebugFrame = names.every((name) => name === '.debug_frame');
};

export const CFI_DIRECTIVES: Readonly<Record<string, Directive>> = {
  '.cfi_sections': sections,
  '.cfi_startproc': ({ frames, line, current }) => frames.start(line, current),
  '.cfi_endproc': ({ frames, current }) => frames.end(current),
  '.cfi_def_cfa': (assembly, reader) => {
    const base = unsigned(register(reader));
    setCfaOffset(assembly, offset(assembly, reader), CFA.defCfa, ...base);
  },
  '.cfi_def_cfa_offset': (assembly, reader) => setCfaOffset(assembly, assembly.absolute(reader, 'the offset')),
  '.cfi_adjust_cfa_offset': (assembly, reader) =>
    setCfaOffset(assembly, assembly.frames.current.cfaOffset + assembly.absolute(reader, 'the offset')),
  '.cfi_def_cfa_register': ofRegister(CFA.defCfaRegister),
  '.cfi_offset': (assembly, reader) => saved(assembly, register(reader), offset(assembly, reader)),
  '.cfi_rel_offset': (assembly, reader) => {
    const number = register(reader);
    saved(assembly, number, offset(assembly, reader) - assembly.frames.current.cfaOffset);
  },
  '.cfi_restore': ({ frames, current }, reader) => {
    const number = register(reader);
    if (number < 64) frames.rule(current, CFA.restore | number);
    else frames.rule(current, CFA.restoreExtended, ...unsigned(number));
  },
  '.cfi_undefined': ofRegister(CFA.undefined),
  '.cfi_same_value': ofRegister(CFA.sameValue),
  '.cfi_register': ({ frames, current }, reader) => {
    const number = unsigned(register(reader));
    reader.expect(',');
    frames.rule(current, CFA.register, ...number, ...unsigned(register(reader)));
  },
  '.cfi_remember_state': plain(CFA.rememberState),
  '.cfi_restore_state': plain(CFA.restoreState),
  '.cfi_escape': ({ frames, current }, reader) => {
    const bytes: number[] = [];
    do bytes.push(reader.integerIn(-128, 255, 'byte'));
    while (reader.accept(','));
    frames.rule(current, ...bytes);
  },
};
