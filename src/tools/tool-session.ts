/**
 * Tools on the way of code to a device: images are instrumented before they are loaded, launches are counted
 * and may run as they were compiled, and results are made of the tools' variables when all is over.
 */
import { WavewrightError } from '../base/errors.ts';
import { kernelName } from '../codeobject/kernel-name.ts';
import type { Executable } from '../hsa/executables/executable.ts';
import type { LoadedSymbol } from '../hsa/executables/loaded-symbol.ts';
import type { Agent } from '../hsa/objects/agent.ts';
import { PACKET } from '../hsa/objects/layouts.ts';
import type { ResidentKernel } from '../hsa/objects/resident-code.ts';
import type { LaunchObserver } from '../hsa/runtime/launch-observer.ts';
import type { Runtime } from '../hsa/runtime/runtime.ts';
import {
  type Coverage,
  contains,
  type InstrumentedImage,
  instrumentImage,
  type ToolLaunch,
  type ToolResult,
  type VariableMemory,
} from '../instrument/index.ts';
import type { ChosenTool } from './chosen-tool.ts';

export interface ToolReport {
  readonly use: ChosenTool;
  /** The code object. */
  readonly image: string;
  readonly result: ToolResult;
  readonly coverage: Coverage;
  /** How many kernels ran with the tool. */
  readonly launches: number;
}

export interface Image {
  readonly bytes: Uint8Array;
  readonly name: string;
}

/** What a dispatch of a kernel runs: the code with tools in it, or the code as it was compiled. */
export type KernelVersion = 'instrumented' | 'native';

interface LaunchedKernel extends ToolLaunch {
  /** Undefined for a kernel that no executable is known to have. */
  readonly code: SymbolMemory | undefined;
}

export class ToolSession implements LaunchObserver {
  readonly reports: ToolReport[] = [];
  readonly #tools: readonly ChosenTool[];
  readonly #images: InstrumentedImage[] = [];
  /** Names of symbols that code has for its tools. */
  readonly #added = new Set<string>();
  readonly #launches: LaunchedKernel[] = [];
  /** In the order of loading. */
  readonly #loaded: SymbolMemory[] = [];
  /** Where loaded kernels are that tools were put into, or were to be. */
  readonly #codeOf = new WeakMap<ResidentKernel, SymbolMemory>();
  /** The kernel object of the native version, where there is one, of loaded kernels with new code. */
  readonly #natives = new WeakMap<ResidentKernel, bigint | 'none'>();
  /** Kernel objects of native versions. */
  readonly #nativeObjects = new Set<bigint>();
  readonly #versions = new Map<string, KernelVersion>();
  #dispatchCount = 0;
  #agent: Agent | undefined;

  /** Throws USAGE for tools that are to see different dispatches: all of them are in the same code. */
  constructor(tools: readonly ChosenTool[]) {
    this.#tools = tools;
    const [first, ...others] = tools.map(({ dispatches }) => dispatches);
    if (others.some(({ begin, end }) => begin !== first!.begin || end !== first!.end))
      throw new WavewrightError('USAGE', "tools that run together have one 'dispatches'");
  }

  /**
   * What dispatches of a kernel run from now on, until the next call; `instrumented` at first. With the
   * option `dispatches` of tools, what is outside of that interval is native all the same. May be called
   * while code is loaded, between dispatches: one that cannot run natively throws UNSUPPORTED. Throws USAGE
   * for a kernel that is not instrumented.
   */
  setVersion(kernel: string, version: KernelVersion): void {
    if (!this.#images.some(({ kernelNames }) => kernelNames.includes(kernel)))
      throw new WavewrightError('USAGE', `no kernel '${kernel}' is instrumented`);
    this.#versions.set(kernel, version);
  }

  /** An option of the tools that is about runs and their results, if one is given: files have none. */
  get optionOfRuns(): 'dispatches' | 'format' | 'output' | undefined {
    for (const { dispatches, format, output } of this.#tools) {
      if (dispatches.begin > 0 || dispatches.end < Number.POSITIVE_INFINITY) return 'dispatches';
      if (format !== 'text') return 'format';
      if (output !== '') return 'output';
    }
    return undefined;
  }

  /**
   * Variables of the tools in all code that is loaded; of code that was loaded twice, in what was loaded
   * last. Throws USAGE where none is loaded, and for a variable that no loaded code has.
   */
  get memory(): VariableMemory {
    const live = this.#loaded.filter(({ isLive }) => isLive);
    if (live.length === 0) throw new WavewrightError('USAGE', 'tools have no variables before code is loaded');
    const holderOf = (symbol: string): SymbolMemory => {
      const holder = live.findLast((each) => each.has(symbol));
      if (holder) return holder;
      throw new WavewrightError('USAGE', `no loaded code has a variable '${symbol}'`);
    };
    return {
      read: (symbol, sizeBytes) => holderOf(symbol).read(symbol, sizeBytes),
      write: (symbol, bytes) => holderOf(symbol).write(symbol, bytes),
    };
  }

  /** The instrumented form of an image. Throws what `instrumentImage` throws. */
  instrument<I extends Image>(image: I): I {
    return { ...image, bytes: this.rewrite(image).bytes };
  }

  /** As `instrument`, with all that is known of the new code. */
  rewrite(image: Image, options?: Parameters<typeof instrumentImage>[2]): InstrumentedImage {
    const firstLayer = this.#images.at(-1)?.nextLayer ?? 0;
    const instrumented = instrumentImage(image, this.#tools, { ...options, firstLayer, keepsNatives: true });
    this.#images.push(instrumented);
    for (const name of instrumented.natives.values()) this.#added.add(name);
    for (const { symbol } of instrumented.variables.flat()) this.#added.add(symbol);
    return instrumented;
  }

  /** Whether code has a symbol of this name for its tools alone. */
  adds(symbol: string): boolean {
    return this.#added.has(symbol);
  }

  /** Tools whose pattern is the name of no kernel of any image, with the names that there are. */
  get unmatched(): { readonly use: ChosenTool; readonly kernels: readonly string[] }[] {
    const kernels = this.#images.flatMap(({ kernelNames, kept }) => [...kernelNames, ...kept.map(({ name }) => name)]);
    return this.#tools
      .filter((use) => kernels.length > 0 && !kernels.some((name) => use.kernels.test(name)))
      .map((use) => ({ use, kernels }));
  }

  onLoaded(runtime: Runtime, agent: Agent, executable: Executable): void {
    this.#agent = agent;
    const code = new SymbolMemory(runtime, agent, executable);
    this.#loaded.push(code);
    const images = this.#images.filter((image) => code.holds(image));
    const names = new Set(images.flatMap(({ kernelNames, kept }) => [...kernelNames, ...kept.map(({ name }) => name)]));
    for (const symbol of executable.agentSymbols(agent, { functions: false }))
      if (symbol.kind === 'kernel' && names.has(kernelName(symbol))) this.#codeOf.set(symbol, code);
    this.#findNatives(executable, agent);
  }

  onLaunch(packet: DataView): void {
    const { dispatch } = PACKET;
    const kernelObject = packet.getBigUint64(dispatch.kernelObject, true);
    const kernel = this.#agent?.kernels.get(kernelObject);
    const index = this.#dispatchCount++;
    if (this.#nativeObjects.has(kernelObject)) return;
    if (kernel && this.#versionAt(kernel, index) === 'native') {
      const native = this.#natives.get(kernel);
      if (native === 'none') throw withoutNative(kernel);
      // The segments keep the sizes that the instrumented version asks for, which are never smaller.
      if (native !== undefined) packet.setBigUint64(dispatch.kernelObject, native, true);
      return;
    }
    const code = kernel && this.#codeOf.get(kernel);
    // No tool was put into it.
    if (kernel && !code) return;
    this.#launches.push({ ...toolLaunchOf(packet, kernel === undefined ? '' : kernelName(kernel)), code });
  }

  /** Code that is about to go, and its variables with it: what tools say of it is taken now. */
  onUnloading(executable: Executable): void {
    for (const code of this.#loaded.filter((each) => each.executable === executable)) {
      this.#loaded.splice(this.#loaded.indexOf(code), 1);
      for (const image of this.#images) if (code.holds(image)) this.#report(image, code);
    }
  }

  onFinished(): void {
    const live = this.#loaded.filter(({ isLive }) => isLive);
    for (const image of this.#images) {
      const holders = live.filter((each) => each.holds(image));
      // What has no variables is the same wherever it was loaded.
      const isSame = image.variables.flat().length === 0;
      for (const code of isSame ? holders.slice(0, 1) : holders) this.#report(image, code);
    }
  }

  #report(image: InstrumentedImage, code: SymbolMemory): void {
    const { name, coverage, reports } = image;
    const launches = this.#launches.filter((launch) => launch.code === undefined || launch.code === code);
    for (const [i, report] of reports.entries()) {
      const result = report({ memory: code, launches });
      this.reports.push({ use: this.#tools[i]!, image: name, result, coverage, launches: launches.length });
    }
  }

  #versionAt(kernel: ResidentKernel, index: number): KernelVersion {
    const isInside = this.#tools.every(({ dispatches }) => contains(dispatches, index));
    return isInside ? (this.#versions.get(kernelName(kernel)) ?? 'instrumented') : 'native';
  }

  #findNatives(executable: Executable, agent: Agent): void {
    const symbols = executable.agentSymbols(agent, { functions: false });
    const byName = Map.groupBy(symbols, ({ name }) => name);
    for (const { kernelNames, natives } of this.#images) {
      for (const name of kernelNames) {
        const own = natives.get(name);
        for (const kernel of byName.get(`${name}.kd`) ?? []) {
          const isBeside = ({ codeObject }: LoadedSymbol): boolean => codeObject === kernel.codeObject;
          const native = own === undefined ? undefined : byName.get(own)?.find(isBeside);
          if (kernel.kind !== 'kernel') continue;
          this.#natives.set(kernel, native?.address ?? 'none');
          if (native) this.#enterNative(executable, agent, kernel, native.address);
        }
      }
    }
  }

  /** What the agent knows of a kernel holds for its native version, too: its name in faults, for one. */
  #enterNative(executable: Executable, agent: Agent, kernel: ResidentKernel, native: bigint): void {
    agent.kernels.set(native, kernel);
    this.#nativeObjects.add(native);
    executable.own({
      [Symbol.dispose]: () => {
        agent.kernels.delete(native);
        this.#nativeObjects.delete(native);
      },
    });
  }
}

function withoutNative(kernel: ResidentKernel): WavewrightError {
  const what = `kernel '${kernelName(kernel)}' as it was compiled, beside its instrumented version`;
  const why = 'it is not exported, or may call functions through pointers, which lead to instrumented code';
  return new WavewrightError('UNSUPPORTED', `${what}: ${why}`);
}

/** What tools are told of a dispatch packet. */
export function toolLaunchOf(packet: DataView, kernel: string): ToolLaunch {
  const { gridSize, workgroupSize } = PACKET.dispatch;
  return {
    kernel,
    grid: [0, 4, 8].map((at) => packet.getUint32(gridSize + at, true)),
    workgroup: [0, 2, 4].map((at) => packet.getUint16(workgroupSize + at, true)),
  };
}

/** Variables of loaded code, by the names of their symbols. */
export class SymbolMemory implements VariableMemory {
  readonly #runtime: Runtime;
  readonly #agent: Agent;
  readonly executable: Executable;

  constructor(runtime: Runtime, agent: Agent, executable: Executable) {
    this.#runtime = runtime;
    this.#agent = agent;
    this.executable = executable;
  }

  get isLive(): boolean {
    return this.executable.isLive;
  }

  /** Whether it is code of this image: it has the variables of its tools, or its name where it has none. */
  holds({ variables, name }: InstrumentedImage): boolean {
    const symbols = variables.flat();
    if (symbols.length > 0) return symbols.every(({ symbol }) => this.has(symbol));
    return this.executable.loadedCodeObjects.some((each) => each.name === name);
  }

  has(symbol: string): boolean {
    return this.executable.findSymbol(symbol, this.#agent) !== undefined;
  }

  read(symbol: string, sizeBytes: number): Uint8Array {
    return this.view(symbol, sizeBytes).slice();
  }

  write(symbol: string, bytes: Uint8Array): void {
    this.view(symbol, bytes.length).set(bytes);
  }

  /** Throws USAGE for more bytes than it has. */
  view(name: string, sizeBytes: number): Uint8Array {
    const symbol = this.executable.getSymbol(name, this.#agent);
    if (sizeBytes <= symbol.sizeBytes) return this.#runtime.view(symbol.address, sizeBytes);
    throw new WavewrightError('USAGE', `${sizeBytes} bytes of '${name}', which has ${symbol.sizeBytes}`);
  }
}
