/** The instructions that kernels executed, in their places, with how often they did. */
import type { SourceLine } from '../codeobject/line-table.ts';
import { parseTargetId } from '../codeobject/target-id.ts';
import type { PcCounts } from '../device/statistics.ts';
import { CodeFunctions } from '../hsa/executables/code-functions.ts';
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
    .map(([pc, { waves, lanes }]) => {
      const place = homes.find((home) => home.holds(pc))?.place(pc);
      return { ...(place ?? { file: '', address: Number(pc), text: '(code of no file)' }), waves, lanes };
    });
}

/** A code object that instructions may be in. */
class Home {
  readonly #functions: CodeFunctions;
  readonly #waveSize: 32 | 64;
  readonly #processor: string;

  constructor(code: LoadedCodeObject, waveSize: 32 | 64) {
    this.#functions = new CodeFunctions(code);
    this.#waveSize = waveSize;
    this.#processor = parseTargetId(code.agent.requireDevice().properties.targetId).processor;
  }

  holds(pc: bigint): boolean {
    return this.#functions.holds(pc);
  }

  place(pc: bigint): Omit<ExecutedInstruction, 'waves' | 'lanes'> {
    const { code } = this.#functions;
    const at = this.#functions.offsetOf(pc);
    const own = this.#functions.functionAt(pc);
    const source = code.sourceLine(pc);
    return {
      file: code.name,
      address: Number(pc - code.loadDelta),
      ...(own && { function: { name: own.name, offset: at - own.address } }),
      text: instructionText(this.#processor, this.#waveSize, code.image, at),
      ...(source && { source }),
    };
  }
}
