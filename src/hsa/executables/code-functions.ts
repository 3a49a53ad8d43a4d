/** Which function of loaded code an instruction is in. */
import { firstAbove } from '../../base/search.ts';
import type { LoadedCodeObject } from './loaded-code-object.ts';

/** A function of a code object; places are offsets from the start of the code object in memory. */
export interface FunctionExtent {
  readonly name: string;
  readonly address: number;
  readonly end: number;
}

export class CodeFunctions {
  readonly code: LoadedCodeObject;
  /** By their addresses. */
  readonly #functions: readonly FunctionExtent[];

  constructor(code: LoadedCodeObject) {
    this.code = code;
    this.#functions = code
      .publishedCode()
      .symbols.map(({ name, address, sizeBytes }) => {
        const start = Number(address - code.address);
        return { name, address: start, end: start + sizeBytes };
      })
      .toSorted((a, b) => a.address - b.address);
  }

  holds(pc: bigint): boolean {
    return pc >= this.code.address && pc < this.code.address + BigInt(this.code.sizeBytes);
  }

  /** Offset from the start of the code object in memory. */
  offsetOf(pc: bigint): number {
    return Number(pc - this.code.address);
  }

  /** Undefined where no symbol says what is there. */
  functionAt(pc: bigint): FunctionExtent | undefined {
    const at = this.offsetOf(pc);
    const own = this.#functions[firstAbove(this.#functions, at) - 1];
    return own && at < own.end ? own : undefined;
  }
}
