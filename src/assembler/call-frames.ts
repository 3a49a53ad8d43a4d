/**
 * The section `.debug_frame` (DWARF 5, 6.4): one common entry and one for each function, as LLVM writes them.
 */

import { concatenate } from '../base/concatenate.ts';
import { WavewrightError } from '../base/errors.ts';
import { type AssembledSection, littleEndian, type SectionOutput } from './section.ts';
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
export const DATA_ALIGNMENT = 4n;
/** The program counter (LLVM AMDGPU usage, "Register Identifier"). */
const RETURN_ADDRESS_REGISTER = 16;
const ADDRESS_SIZE_BYTES = 8;
/** Instructions of call frames. */
export const CFA = {
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
  write(output: SectionOutput): void {
    for (const { line, end } of this.#frames) {
      output.line = line;
      if (end === undefined) throw new WavewrightError('BAD_INPUT', '.cfi_startproc without .cfi_endproc');
      if (this.isDebugFrame) continue;
      const hint = 'say .cfi_sections .debug_frame before';
      throw new WavewrightError('UNSUPPORTED', 'frames in .eh_frame', { hint });
    }
    if (this.#frames.length === 0) return;
    output.current = output.section('.debug_frame');
    const { current } = output;
    current.alignmentBytes = Math.max(current.alignmentBytes, ADDRESS_SIZE_BYTES);
    const common = current.sizeBytes;
    const [version, augmentation, segmentSize] = [4, 0, 0];
    entry(output, () => {
      output.append(littleEndian(-1n, 4));
      output.append(Uint8Array.of(version, augmentation, ADDRESS_SIZE_BYTES, segmentSize, INSTRUCTION_SIZE_BYTES));
      output.append(Uint8Array.of(Number(DATA_ALIGNMENT), RETURN_ADDRESS_REGISTER));
    });
    for (const { section, start, end, rules } of this.#frames) {
      entry(output, () => {
        output.appendPlace(current, common, 4);
        output.appendPlace(section, start, 8);
        output.append(littleEndian(BigInt(end! - start), 8));
        let at = start;
        for (const { offset, bytes } of rules) {
          output.append(concatenate([advance(offset - at), bytes]));
          at = offset;
        }
      });
    }
  }
}

/** An entry with its length in front, padded with no-operations. */
function entry(output: SectionOutput, write: () => void): void {
  const { current } = output;
  const at = current.sizeBytes;
  output.appendZeros(4);
  write();
  output.appendZeros(-current.sizeBytes & (ADDRESS_SIZE_BYTES - 1));
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
