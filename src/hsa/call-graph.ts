/**
 * Who calls whom in the linked code of an agent, and what a kernel needs over all that it can reach: a compiler that saw the kernel
 * alone could not know (spec/hsa.md section 3.3).
 */
import { WavewrightError } from '../base/errors.ts';
import { STT_FUNC } from '../elf/constants.ts';
import { isDefined } from '../elf/symbols.ts';
import { analyzeFunction, type FunctionAnalysis } from '../lift/function-analysis.ts';
import type { LoadedCodeObject } from './loaded-code-object.ts';

export interface CodeNeeds {
  /** Private memory of a lane on the deepest path of calls that is known. */
  readonly privateSegmentSizeBytes: number;
  /** Whether that is all: no recursion, no indirect call, no allocation whose size cannot be seen. */
  readonly isStackKnown: boolean;
  readonly isRecursive: boolean;
  /** Whether something that is reached calls what only the run tells. Any function of the agent counts as reached then. */
  readonly hasIndirectCalls: boolean;
  readonly vgprCount: number;
  readonly agprCount: number;
  /** Without VCC and the like. */
  readonly sgprCount: number;
  /** Names of the functions that are called, at any depth, in the order in which they are found. */
  readonly callees: readonly string[];
}

interface CodeFunction {
  readonly name: string;
  readonly address: bigint;
  readonly sizeBytes: number;
  readonly codeObject: LoadedCodeObject;
  readonly isKernel: boolean;
}

/** Longest chain of calls that is followed; code whose chain is longer counts as recursive. */
const MAX_DEPTH = 2000;

const UNKNOWN: FunctionAnalysis = {
  ...{ vgprCount: 0, agprCount: 0, sgprCount: 0, stackBytes: 0 },
  ...{ isStackKnown: false, calls: [], waveSize: undefined },
};

export class CallGraph {
  readonly #codeObjects: readonly LoadedCodeObject[];
  #byAddress: ReadonlyMap<bigint, CodeFunction> | undefined;
  readonly #analyses = new Map<CodeFunction, FunctionAnalysis>();
  readonly #needs = new Map<CodeFunction, CodeNeeds>();
  readonly #waveSize: (codeObject: LoadedCodeObject) => 32 | 64;

  /** All code objects of one agent, relocated. */
  constructor(codeObjects: readonly LoadedCodeObject[], defaultWaveSize: 32 | 64) {
    this.#codeObjects = codeObjects;
    this.#waveSize = (codeObject) => codeObject.kernelWaveSize ?? defaultWaveSize;
  }

  get #functions(): ReadonlyMap<bigint, CodeFunction> {
    this.#byAddress ??= functionsOf(this.#codeObjects);
    return this.#byAddress;
  }

  /** Of the kernel or device function that starts at `entry`; undefined when no function symbol says so. */
  needsOf(entry: bigint): CodeNeeds | undefined {
    const code = this.#functions.get(entry);
    if (!code) return undefined;
    let needs = this.#needs.get(code);
    if (!needs) {
      needs = this.#collect(code);
      this.#needs.set(code, needs);
    }
    return needs;
  }

  /** The wave size that the functions of a code object without kernels are for, where their code tells. */
  waveSizeOf(codeObject: LoadedCodeObject): 32 | 64 | undefined {
    if (codeObject.kernelWaveSize !== undefined) return codeObject.kernelWaveSize;
    for (const code of this.#functions.values()) {
      const size = code.codeObject === codeObject ? this.#analyze(code).waveSize : undefined;
      if (size !== undefined) return size;
    }
    return undefined;
  }

  #collect(entry: CodeFunction): CodeNeeds {
    const reached = new Set([entry]);
    let hasIndirectCalls = false;
    for (const code of reached) {
      for (const { target } of this.#analyze(code).calls) {
        const callee = target === undefined ? undefined : this.#functions.get(target);
        if (callee) reached.add(callee);
        else if (!hasIndirectCalls) {
          hasIndirectCalls = true;
          for (const any of this.#functions.values()) if (!any.isKernel) reached.add(any);
        }
      }
    }
    const analyses = [...reached].map((code) => this.#analyze(code));
    const most = (count: (analysis: FunctionAnalysis) => number): number => maximum(analyses.map(count));
    const depth = new StackDepth((code) => this.#analyze(code), this.#functions);
    const anyDepth = hasIndirectCalls ? maximum([...reached].map((code) => depth.of(code))) : 0;
    const privateSegmentSizeBytes = new StackDepth((code) => this.#analyze(code), this.#functions, anyDepth).of(entry);
    return {
      privateSegmentSizeBytes,
      isStackKnown: !hasIndirectCalls && !depth.isRecursive(entry) && analyses.every((each) => each.isStackKnown),
      isRecursive: depth.isRecursive(entry),
      hasIndirectCalls,
      vgprCount: most((each) => each.vgprCount),
      agprCount: most((each) => each.agprCount),
      sgprCount: most((each) => each.sgprCount),
      callees: [...reached].filter((code) => code !== entry).map(({ name }) => name),
    };
  }

  #analyze(code: CodeFunction): FunctionAnalysis {
    let analysis = this.#analyses.get(code);
    if (!analysis) {
      analysis = this.#read(code);
      this.#analyses.set(code, analysis);
    }
    return analysis;
  }

  #read({ address, sizeBytes, codeObject, isKernel }: CodeFunction): FunctionAnalysis {
    if (sizeBytes === 0) return UNKNOWN;
    try {
      return analyzeFunction(
        {
          bytes: codeObject.loadedBytes(address, sizeBytes).slice(),
          address,
          processor: codeObject.codeObject.target.processor,
          waveSize: this.#waveSize(codeObject),
          readConstant: (at) => codeObject.constantDword(at),
        },
        isKernel,
      );
    } catch (error) {
      // Code that cannot be looked into, such as that of a target without instruction tables, is a function of unknown needs.
      if (error instanceof WavewrightError && error.code !== 'INTERNAL') return UNKNOWN;
      throw error;
    }
  }
}

/** There may be more values than a call has arguments. */
const maximum = (values: readonly number[]): number => values.reduce((most, value) => Math.max(most, value), 0);

function functionsOf(codeObjects: readonly LoadedCodeObject[]): Map<bigint, CodeFunction> {
  const functions = new Map<bigint, CodeFunction>();
  for (const codeObject of codeObjects) {
    const { elf, kernels } = codeObject.codeObject;
    const kernelNames = new Set(kernels.map(({ name }) => name));
    for (const symbol of [...elf.symbols, ...elf.dynamicSymbols]) {
      if (symbol.type !== STT_FUNC || !isDefined(symbol)) continue;
      const { name, sizeBytes } = symbol;
      const address = codeObject.addressOf(symbol);
      functions.set(address, { name, address, sizeBytes, codeObject, isKernel: kernelNames.has(name) });
    }
  }
  return functions;
}

/** The deepest stack below a function. A call that closes a cycle adds nothing, one of an unknown function adds `indirect` bytes. */
class StackDepth {
  readonly #analyze: (code: CodeFunction) => FunctionAnalysis;
  readonly #functions: ReadonlyMap<bigint, CodeFunction>;
  readonly #indirect: number;
  readonly #depths = new Map<CodeFunction, { readonly bytes: number; readonly isRecursive: boolean }>();
  readonly #path = new Set<CodeFunction>();

  constructor(
    analyze: (code: CodeFunction) => FunctionAnalysis,
    functions: ReadonlyMap<bigint, CodeFunction>,
    indirect = 0,
  ) {
    this.#analyze = analyze;
    this.#functions = functions;
    this.#indirect = indirect;
  }

  of(code: CodeFunction): number {
    return this.#visit(code).bytes;
  }

  isRecursive(code: CodeFunction): boolean {
    return this.#visit(code).isRecursive;
  }

  #visit(code: CodeFunction): { readonly bytes: number; readonly isRecursive: boolean } {
    const known = this.#depths.get(code);
    if (known) return known;
    if (this.#path.has(code) || this.#path.size > MAX_DEPTH) return { bytes: 0, isRecursive: true };
    this.#path.add(code);
    const { stackBytes, calls } = this.#analyze(code);
    let bytes = stackBytes;
    let isRecursive = false;
    for (const call of calls) {
      const callee = call.target === undefined ? undefined : this.#functions.get(call.target);
      const below = callee ? this.#visit(callee) : { bytes: this.#indirect, isRecursive: false };
      bytes = Math.max(bytes, (call.stackBytes ?? stackBytes) + below.bytes);
      isRecursive ||= below.isRecursive;
    }
    this.#path.delete(code);
    const result = { bytes, isRecursive };
    this.#depths.set(code, result);
    return result;
  }
}
