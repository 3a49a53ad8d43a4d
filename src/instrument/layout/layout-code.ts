/** The few instructions that laying out code adds by itself, on one target. */
import { encodeFields } from '../../isa/amdgpu/encoding/encode.ts';
import type { Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import { assembleInstruction } from '../../isa/amdgpu/text/assembler/assemble.ts';

export interface LayoutCode {
  /** A branch that is always taken, its displacement 0. */
  readonly branch: readonly number[];
  readonly nop: number;
  /** What no machine runs: it stands behind code, and where control would leave it. */
  readonly stop: number;
  /** Moves a literal into a scalar register, by the number of the register's field. */
  move(register: number, literal: number): readonly number[];
}

/** S_CODE_END of gfx10 and later; no instruction before (RDNA2 ISA 12.5). */
const CODE_END = 0xbf9f_0000;
/** Too large for an inline constant. */
const ANY_LITERAL = 0x1234_5678;

const known = new Map<string, LayoutCode>();

/** Throws UNSUPPORTED for an unknown processor. */
export function layoutCodeFor(processor: string): LayoutCode {
  const code = known.get(processor) ?? makeCode(processor);
  known.set(processor, code);
  return code;
}

function makeCode(processor: string): LayoutCode {
  const target = targetFor(processor);
  const assemble = (text: string) => assembleInstruction(text, { target, waveSize: target.waveSizes[0]! });
  const move = assemble(`s_mov_b32 s0, ${ANY_LITERAL}`);
  const word = (text: string): number => assemble(text).words[0]!;
  const [stop = CODE_END] = hasCodeEnd(target.families) ? assemble('s_code_end').words : [];
  return {
    branch: assemble('s_branch 0').words,
    nop: word('s_nop 0'),
    stop,
    move: (register, literal) => [withDestination(move.instruction, register), literal >>> 0],
  };
}

const hasCodeEnd = (families: readonly string[]): boolean => families.includes('gfx10');

function withDestination({ format, code }: Instruction, register: number): number {
  const [empty] = encodeFields(format, 0, { sdst: 0 });
  const [filled] = encodeFields(format, 0, { sdst: register });
  return (code[0]! | (filled! ^ empty!)) >>> 0;
}
