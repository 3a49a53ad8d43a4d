/** The instructions of loaded code objects, for who counts them. */
import { CodeFunctions, type FunctionExtent } from '../../hsa/executables/code-functions.ts';
import type { LoadedCodeObject } from '../../hsa/executables/loaded-code-object.ts';
import type { KernelCode, PlacedCodeObject, PlacedInstruction } from '../executables/executable.ts';
import type { InstructionReader } from './agents.ts';

export class AmdgpuKernelCode implements KernelCode {
  readonly waveSize: 32 | 64;
  readonly segmentBytes: number;
  readonly codeObjects: readonly PlacedCodeObject[];
  readonly #homes: readonly CodeFunctions[];
  readonly #reader: InstructionReader | undefined;

  constructor(loaded: readonly LoadedCodeObject[], waveSize: 32 | 64, instructions: InstructionReader | undefined) {
    this.waveSize = waveSize;
    this.#reader = instructions;
    this.segmentBytes = instructions?.segmentBytes ?? 0;
    this.#homes = loaded.map((code) => new CodeFunctions(code));
    this.codeObjects = loaded.map(({ address, sizeBytes, loadDelta, storage }) => ({
      ...{ address, sizeBytes, loadDelta },
      bytes: storage,
    }));
  }

  functionAt(pc: bigint): PlacedInstruction[] {
    const home = this.#homes.find((each) => each.holds(pc));
    const own = home?.functionAt(pc);
    return home && own ? this.#instructions(home.code, own) : [];
  }

  #instructions(code: LoadedCodeObject, { name, address, end }: FunctionExtent): PlacedInstruction[] {
    const found: PlacedInstruction[] = [];
    const pcOf = (offset: number): bigint => code.address + BigInt(offset);
    for (let at = address; at < end; ) {
      const instruction = this.#reader?.instructionAt(code.image, at, this.waveSize);
      // What is no instruction is data between them.
      at += instruction?.sizeBytes ?? DWORD_BYTES;
      if (instruction === undefined) continue;
      const { target, ...rest } = instruction;
      const offset = at - rest.sizeBytes;
      found.push({
        ...rest,
        pc: pcOf(offset),
        targetPc: target === undefined ? undefined : pcOf(target),
        function: { name, offset: offset - address },
        source: code.sourceLine(pcOf(offset)),
      });
    }
    return found;
  }
}

const DWORD_BYTES = 4;
