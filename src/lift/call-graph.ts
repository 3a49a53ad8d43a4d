/**
 * Who calls whom in the linked code of an agent, and what a kernel needs over all that it can reach: a
 * compiler that saw the kernel alone could not know. Every function is looked into at most once, whatever is
 * asked for.
 */
import { WavewrightError } from '../base/errors.ts';
import { strongComponents } from '../flow/strong-components.ts';
import { type CodeFunction, CodeMap } from './code-map.ts';
import { analyzeFunction, type FunctionAnalysis } from './function-analysis.ts';
import type { LoadedCode } from './loaded-code.ts';
import { mostRegisters, type RegisterCounts } from './register-limits.ts';
import type { WalkBudget } from './scalar-flow.ts';

export interface CodeNeeds extends RegisterCounts {
  /** Private memory of a lane on the deepest path of calls that is known; a cycle of calls counts once. */
  readonly privateSegmentSizeBytes: number;
  /** Whether that is all: no recursion, no indirect call, no allocation whose size cannot be seen. */
  readonly isStackKnown: boolean;
  readonly isRecursive: boolean;
  /**
   * Whether something that is reached calls what only the run tells. Any function of the agent counts as
   * reached then.
   */
  readonly hasIndirectCalls: boolean;
  /**
   * Whether all code that is reached could be read; otherwise the counts of registers are the most that there
   * are.
   */
  readonly isReadable: boolean;
  /** Names of the functions that the code itself calls, as far as they are known. */
  readonly directCallees: readonly string[];
  /**
   * Names of the functions that are called, at any depth, in the order in which they are found; collected
   * when asked for.
   */
  readonly callees: readonly string[];
}

/** What a function needs with everything that it reaches, but for indirect calls. */
interface Reach extends RegisterCounts {
  readonly stackBytes: number;
  /** Stack that is in use below the deepest indirect call; undefined when there is none. */
  readonly indirectBytes: number | undefined;
  readonly isStackKnown: boolean;
  readonly isRecursive: boolean;
  readonly isReadable: boolean;
}

const NOTHING: Reach = {
  ...{ stackBytes: 0, indirectBytes: undefined, isStackKnown: true, isRecursive: false, isReadable: true },
  ...{ vgprCount: 0, agprCount: 0, sgprCount: 0, specialSgprCount: 0 },
};

/** A call with the function that it reaches; undefined when only the run tells. */
interface Edge {
  readonly callee: CodeFunction | undefined;
  /** In use below the callee. */
  readonly stackBytes: number;
}

export class CallGraph {
  readonly #code: CodeMap;
  readonly #defaultWaveSize: 32 | 64;
  readonly #analyses = new Map<CodeFunction, FunctionAnalysis>();
  readonly #edges = new Map<CodeFunction, readonly Edge[]>();
  readonly #reach = new Map<CodeFunction, Reach>();
  readonly #needs = new Map<CodeFunction, CodeNeeds>();
  #any: Reach | undefined;
  readonly #walk: WalkBudget = { steps: 1_000_000 };

  /** All code objects of one agent. */
  constructor(codeObjects: readonly LoadedCode[], defaultWaveSize: 32 | 64) {
    this.#code = new CodeMap(codeObjects);
    this.#defaultWaveSize = defaultWaveSize;
  }

  /** Of the kernel or device function that starts at `entry`; undefined when there is no code. */
  needsOf(entry: bigint): CodeNeeds | undefined {
    const code = this.#code.functionAt(entry);
    if (!code) return undefined;
    let needs = this.#needs.get(code);
    if (!needs) {
      needs = this.#needsOf(code);
      this.#needs.set(code, needs);
    }
    return needs;
  }

  #needsOf(code: CodeFunction): CodeNeeds {
    const own = this.#reachOf(code);
    const { stackBytes, indirectBytes, isStackKnown, ...rest } = this.#withIndirect(own);
    const hasIndirectCalls = own.indirectBytes !== undefined;
    const namesOf = (functions: ReadonlySet<CodeFunction>) =>
      [...functions].filter((each) => each !== code).map(({ name }) => name);
    let callees: readonly string[] | undefined;
    const collect = () => namesOf(this.#reachedFrom(code, hasIndirectCalls));
    return {
      ...{ ...rest, privateSegmentSizeBytes: stackBytes, hasIndirectCalls },
      isStackKnown: isStackKnown && !hasIndirectCalls,
      directCallees: namesOf(new Set(this.#edgesOf(code).flatMap(({ callee }) => callee ?? []))),
      get callees() {
        callees ??= collect();
        return callees;
      },
    };
  }

  #reachedFrom(entry: CodeFunction, hasIndirectCalls: boolean): ReadonlySet<CodeFunction> {
    const reached = new Set([entry]);
    for (const code of reached) for (const { callee } of this.#edgesOf(code)) if (callee) reached.add(callee);
    if (hasIndirectCalls) for (const each of this.#code.functions) if (!each.isKernel) reached.add(each);
    return reached;
  }

  /** An indirect call may reach any device function. */
  #withIndirect(own: Reach): Reach {
    if (own.indirectBytes === undefined) return own;
    this.#any ??= this.#code.functions
      .filter(({ isKernel }) => !isKernel)
      .map((code) => this.#reachOf(code))
      .reduce(worst, NOTHING);
    const { stackBytes } = this.#any;
    return {
      ...worst(own, { ...this.#any, stackBytes: own.indirectBytes + stackBytes }),
      isRecursive: own.isRecursive,
    };
  }

  /** Callees come first, so that each function is finished by its edges alone. */
  #reachOf(entry: CodeFunction): Reach {
    const known = this.#reach.get(entry);
    if (known) return known;
    const calleesOf = (code: CodeFunction) => this.#edgesOf(code).flatMap(({ callee }) => callee ?? []);
    for (const component of strongComponents(entry, calleesOf, (code) => this.#reach.has(code))) {
      const reach = this.#reachOfComponent(component);
      for (const code of component) this.#reach.set(code, reach);
    }
    return this.#reach.get(entry)!;
  }

  /**
   * Of functions that call each other, or of a single one. A way around the cycle counts as its largest
   * frame.
   */
  #reachOfComponent(component: readonly CodeFunction[]): Reach {
    const members = new Set(component);
    let reach = NOTHING;
    let aroundBytes = 0;
    for (const code of component) {
      const { vgprCount, agprCount, sgprCount, specialSgprCount, ...analysis } = this.#analyze(code);
      const { stackBytes, isStackKnown, isReadable } = analysis;
      const own = { ...NOTHING, vgprCount, agprCount, sgprCount, specialSgprCount, stackBytes, isReadable };
      reach = worst(reach, { ...own, isStackKnown: isStackKnown && !this.#runsOut(code) });
      for (const edge of this.#edgesOf(code)) {
        const isInside = edge.callee !== undefined && members.has(edge.callee);
        if (isInside && component.length > 1) aroundBytes = Math.max(aroundBytes, edge.stackBytes);
        reach = worst(reach, isInside ? { ...NOTHING, isRecursive: true, isStackKnown: false } : this.#below(edge));
      }
    }
    const { indirectBytes } = reach;
    return {
      ...reach,
      stackBytes: reach.stackBytes + aroundBytes,
      indirectBytes: indirectBytes === undefined ? undefined : indirectBytes + aroundBytes,
    };
  }

  /** Of a call whose callee is finished. */
  #below({ callee, stackBytes }: Edge): Reach {
    if (callee === undefined) return { ...NOTHING, stackBytes, indirectBytes: stackBytes };
    const below = this.#reach.get(callee)!;
    const indirectBytes = below.indirectBytes === undefined ? undefined : stackBytes + below.indirectBytes;
    return { ...below, stackBytes: stackBytes + below.stackBytes, indirectBytes };
  }

  #edgesOf(code: CodeFunction): readonly Edge[] {
    let edges = this.#edges.get(code);
    if (!edges) {
      const { calls, stackBytes } = this.#analyze(code);
      const next = this.#nextOf(code);
      edges = [
        ...calls.map((call) => ({
          callee: call.target === undefined ? undefined : this.#code.functionAt(call.target),
          stackBytes: call.stackBytes ?? stackBytes,
        })),
        ...(next ? [{ callee: next, stackBytes: 0 }] : []),
      ];
      this.#edges.set(code, edges);
    }
    return edges;
  }

  /** The function that execution runs into over the end of this one. */
  #nextOf(code: CodeFunction): CodeFunction | undefined {
    if (!this.#analyze(code).fallsThrough) return undefined;
    return this.#code.namedAt(code.address + BigInt(code.sizeBytes));
  }

  #runsOut(code: CodeFunction): boolean {
    return this.#analyze(code).fallsThrough && this.#nextOf(code) === undefined;
  }

  #analyze(code: CodeFunction): FunctionAnalysis {
    let analysis = this.#analyses.get(code);
    if (!analysis) {
      analysis = this.#told(code) ?? this.#read(code);
      this.#analyses.set(code, analysis);
    }
    return analysis;
  }

  /** What the compiler says in `.amdgpu.info`, with the places of the functions that it names. */
  #told({ name, code }: CodeFunction): FunctionAnalysis | undefined {
    const info = code.functionInfo.get(name);
    if (!info) return undefined;
    const { privateSegmentSizeBytes: stackBytes, callees, hasIndirectCalls, hasDynamicStack, ...counts } = info;
    const isLocal = (callee: string) => code.localNames.has(callee);
    const targets = callees.map((each) =>
      isLocal(each) ? this.#code.addressOf(code, each) : code.sharedAddress(each),
    );
    return {
      ...{ ...counts, stackBytes, isStackKnown: !hasDynamicStack, isReadable: true, fallsThrough: false },
      calls: [...targets, ...(hasIndirectCalls ? [undefined] : [])].map((target) => ({ target, stackBytes })),
    };
  }

  #read({ address, sizeBytes, code, isKernel }: CodeFunction): FunctionAnalysis {
    const { processor, waveSize = this.#defaultWaveSize } = code;
    try {
      return analyzeFunction(
        {
          ...{ address, processor, waveSize, walk: this.#walk },
          bytes: code.loadedBytes(address, sizeBytes).slice(),
          readConstant: (at) => code.constantDword(at),
        },
        isKernel,
      );
    } catch (error) {
      // Code of a target without instruction tables is a function of unknown needs.
      if (!(error instanceof WavewrightError) || error.code !== 'UNSUPPORTED') throw error;
      return {
        ...{ ...mostRegisters(processor), stackBytes: 0, isStackKnown: false, isReadable: false },
        ...{ calls: [], fallsThrough: false },
      };
    }
  }
}

/** What is enough for both. */
function worst(a: Reach, b: Reach): Reach {
  return {
    stackBytes: Math.max(a.stackBytes, b.stackBytes),
    indirectBytes:
      a.indirectBytes === undefined || b.indirectBytes === undefined
        ? (a.indirectBytes ?? b.indirectBytes)
        : Math.max(a.indirectBytes, b.indirectBytes),
    isStackKnown: a.isStackKnown && b.isStackKnown,
    isRecursive: a.isRecursive || b.isRecursive,
    isReadable: a.isReadable && b.isReadable,
    vgprCount: Math.max(a.vgprCount, b.vgprCount),
    agprCount: Math.max(a.agprCount, b.agprCount),
    sgprCount: Math.max(a.sgprCount, b.sgprCount),
    specialSgprCount: Math.max(a.specialSgprCount, b.specialSgprCount),
  };
}
