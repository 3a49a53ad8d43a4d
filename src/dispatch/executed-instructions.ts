/** The instructions that kernels executed, in their places, with how often they did. */
import { firstAbove } from '../base/search.ts';
import type { SourceLine } from '../codeobject/line-table.ts';
import { parseTargetId } from '../codeobject/target-id.ts';
import type { PcCounts } from '../device/statistics.ts';
import type { LoadedCodeObject } from '../hsa/executables/loaded-code-object.ts';
import { instructionText } from '../inspect/instruction-text.ts';

export interface ExecutedInstruction {
  /** The code object, as its reader calls it. */
  readonly file: string;
  /** Its address there. */
  readonly address: number;
  /** The function that it is in, and where; absent where no symbol says so. */
  readonly function?: { readonly name: string; readonly offset: number };
  readonly text: string;
  readonly source?: SourceLine;
  /** Executions by waves, and by their lanes that were active. */
  readonly waves: number;
  readonly lanes: number;
}

/** By address. `waveSize`: of the waves that executed them. */
export function executedInstructions(
  codeObjects: readonly LoadedCodeObject[],
  counts: PcCounts,
  waveSize: 32 | 64,
): ExecutedInstruction[] {
  const homes = codeObjects.map((home) => new Home(home, waveSize));
  return [...counts]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([pc, count]) => {
      const place = homes.find((home) => home.holds(pc))?.place(pc);
      return { ...(place ?? { file: '', address: Number(pc), text: '(code of no file)' }), ...count };
    });
}

/** A code object that instructions may be in. */
class Home {
  readonly #code: LoadedCodeObject;
  readonly #waveSize: 32 | 64;
  readonly #processor: string;
  /** By offset from the start of the code object in memory. */
  readonly #functions: readonly { readonly address: number; readonly end: number; readonly name: string }[];

  constructor(code: LoadedCodeObject, waveSize: 32 | 64) {
    this.#code = code;
    this.#waveSize = waveSize;
    this.#processor = parseTargetId(code.agent.requireDevice().properties.targetId).processor;
    this.#functions = code
      .publishedCode()
      .symbols.map(({ name, address, sizeBytes }) => {
        const start = Number(address - code.address);
        return { name, address: start, end: start + sizeBytes };
      })
      .toSorted((a, b) => a.address - b.address);
  }

  holds(pc: bigint): boolean {
    return pc >= this.#code.address && pc < this.#code.address + BigInt(this.#code.sizeBytes);
  }

  place(pc: bigint): Omit<ExecutedInstruction, 'waves' | 'lanes'> {
    const { name, address, loadDelta, image } = this.#code;
    const at = Number(pc - address);
    const own = this.#functions[firstAbove(this.#functions, at) - 1];
    const source = this.#code.sourceLine(pc);
    return {
      file: name,
      address: Number(pc - loadDelta),
      ...(own && at < own.end && { function: { name: own.name, offset: at - own.address } }),
      text: instructionText(this.#processor, this.#waveSize, image, at),
      ...(source && { source }),
    };
  }
}
