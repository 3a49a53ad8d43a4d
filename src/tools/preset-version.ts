/** A kernel with the tools of a preset in it, loaded beside the one that was compiled. */
import { assert, WavewrightError } from '../base/errors.ts';
import { hex } from '../base/text.ts';
import { kernelName } from '../codeobject/kernel-name.ts';
import type { Executable } from '../hsa/executables/executable.ts';
import type { KernelSymbol } from '../hsa/executables/kernel-symbol.ts';
import { CodeObjectReader } from '../hsa/executables/loaded-code-object.ts';
import { PACKET } from '../hsa/objects/layouts.ts';
import type { Runtime } from '../hsa/runtime/runtime.ts';
import {
  type InstrumentedImage,
  instrumentImage,
  type OpenedImage,
  ORIGINAL,
  type ToolLaunch,
} from '../instrument/index.ts';
import type { ChosenTool } from './chosen-tool.ts';
import { SymbolMemory, type ToolReport } from './tool-session.ts';

export interface PresetVersionOptions {
  readonly runtime: Runtime;
  /** As it was compiled, in an executable that is frozen. */
  readonly kernel: KernelSymbol;
  /** Of its code object. */
  readonly image: OpenedImage;
  readonly preset: string;
  readonly tools: readonly ChosenTool[];
}

export interface PresetVariable {
  readonly tool: string;
  /** What the tool calls it. */
  readonly name: string;
  /** The name of its symbol. */
  readonly symbol: string;
  readonly sizeBytes: number;
}

export class PresetVersion implements Disposable {
  readonly variables: readonly PresetVariable[];
  readonly #original: KernelSymbol;
  readonly #tools: readonly ChosenTool[];
  readonly #image: InstrumentedImage;
  readonly #executable: Executable;
  readonly #kernel: KernelSymbol;
  readonly #memory: SymbolMemory;

  /**
   * Instruments and loads it. Throws USAGE for a kernel that no tool looks at, UNSUPPORTED for one whose code
   * has to stay as it is.
   */
  constructor({ runtime, kernel, image, preset, tools }: PresetVersionOptions) {
    const name = kernelName(kernel);
    const isThis = (other: string): boolean => other === name;
    this.#original = kernel;
    this.#tools = tools.filter(({ kernels }) => kernels.test(name));
    if (this.#tools.length === 0)
      throw new WavewrightError('USAGE', `no tool of preset '${preset}' looks at kernel '${name}'`);
    const uses = this.#tools.map((use) => ({ ...use, kernels: { test: isThis } }));
    this.#image = instrumentImage(image, uses, { isChosen: isThis, isApart: true });
    const kept = this.#image.kept.find((each) => each.name === name);
    if (kept) throw new WavewrightError('UNSUPPORTED', `preset '${preset}': at ${hex(kept.address)} ${kept.reason}`);
    this.variables = this.#tools.flatMap(({ tool }, i) =>
      this.#image.variables[i]!.map(({ name: variable, symbol, sizeBytes }) => {
        return { tool: tool.name, name: variable, symbol, sizeBytes };
      }),
    );
    const { agent } = kernel;
    this.#executable = loadBeside(runtime, kernel, this.#image);
    const loaded = this.#executable.getSymbol(kernel.name, agent);
    assert(loaded.kind === 'kernel', () => `${kernel.name} is a kernel`);
    this.#kernel = loaded;
    this.#memory = new SymbolMemory(runtime, agent, this.#executable);
  }

  /** Throws USAGE. */
  variable(name: string): Uint8Array {
    const found = this.variables.filter((each) => each.name === name || `${each.tool}.${each.name}` === name);
    if (found.length === 1) return this.#memory.view(found[0]!.symbol, found[0]!.sizeBytes);
    const what = found.length === 0 ? `no variable is called '${name}'` : `several variables are called '${name}'`;
    const hint = `variables are ${this.variables.map((each) => `${each.tool}.${each.name}`).join(', ') || 'none'}`;
    throw new WavewrightError('USAGE', what, { hint });
  }

  /**
   * Lets a packet of the original kernel launch this one: what its segments have beyond the kernel's stays.
   * Arguments are the same.
   */
  redirect(packet: DataView): void {
    const { kernelObject, privateSegmentSize, groupSegmentSize } = PACKET.dispatch;
    const [before, after] = [descriptorOf(this.#original), descriptorOf(this.#kernel)];
    const asked = this.#original.privateBytesFor(packet.getUint32(privateSegmentSize, true));
    const morePrivate = after.privateSegmentFixedSizeBytes - before.privateSegmentFixedSizeBytes;
    const moreGroup = after.groupSegmentFixedSizeBytes - before.groupSegmentFixedSizeBytes;
    assert(after.kernargSizeBytes <= before.kernargSizeBytes, 'what is launched has all arguments');
    packet.setUint32(privateSegmentSize, asked + morePrivate, true);
    packet.setUint32(groupSegmentSize, packet.getUint32(groupSegmentSize, true) + moreGroup, true);
    packet.setBigUint64(kernelObject, this.#kernel.kernelObject, true);
  }

  reports(launches: readonly ToolLaunch[]): readonly ToolReport[] {
    const { coverage, reports, name } = this.#image;
    return reports.map((report, i) => {
      const result = report({ memory: this.#memory, launches });
      return { use: this.#tools[i]!, image: name, result, coverage, launches: launches.length };
    });
  }

  [Symbol.dispose](): void {
    this.#executable[Symbol.dispose]();
  }
}

/** Code that was made apart finds the original. */
function loadBeside(runtime: Runtime, { agent, codeObject }: KernelSymbol, image: InstrumentedImage): Executable {
  const executable = runtime.createExecutable();
  try {
    executable.defineVariable(agent, ORIGINAL, codeObject.loadDelta);
    executable.loadCodeObject(agent, new CodeObjectReader(image.bytes, image.name));
    executable.freeze({ constructors: 'none' });
    return executable;
  } catch (error) {
    executable[Symbol.dispose]();
    throw error;
  }
}

const descriptorOf = ({ name, codeObject }: KernelSymbol) =>
  codeObject.codeObject.kernels.find(({ symbol }) => symbol.name === name)!.descriptor;
