/**
 * Tools on the way of code to a device: images are instrumented before they are loaded, launches are counted
 * and may run as they were compiled, and results are made of the tools' variables when all is over.
 */
import { WavewrightError } from '../base/errors.ts';
import { kernelName } from '../codeobject/kernel-name.ts';
import type { Executable } from '../hsa/executables/executable.ts';
import type { Agent } from '../hsa/objects/agent.ts';
import { PACKET } from '../hsa/objects/layouts.ts';
import type { LaunchObserver } from '../hsa/runtime/launch-observer.ts';
import type { Runtime } from '../hsa/runtime/runtime.ts';
import {
  type Coverage,
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

export class ToolSession implements LaunchObserver {
  readonly reports: ToolReport[] = [];
  readonly #tools: readonly ChosenTool[];
  readonly #images: InstrumentedImage[] = [];
  readonly #launches: ToolLaunch[] = [];
  #memory: VariableMemory | undefined;
  #agent: Agent | undefined;

  constructor(tools: readonly ChosenTool[]) {
    this.#tools = tools;
  }

  /** The instrumented form of an image. Throws what `instrumentImage` throws. */
  instrument<I extends Image>(image: I): I {
    return { ...image, bytes: this.rewrite(image).bytes };
  }

  /** As `instrument`, with all that is known of the new code. */
  rewrite(image: Image, options?: Parameters<typeof instrumentImage>[2]): InstrumentedImage {
    const firstLayer = this.#images.at(-1)?.nextLayer ?? 0;
    const instrumented = instrumentImage(image, this.#tools, { ...options, firstLayer });
    this.#images.push(instrumented);
    return instrumented;
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
    this.#memory = new SymbolMemory(runtime, agent, executable);
  }

  onLaunch(packet: DataView): void {
    const { dispatch } = PACKET;
    const kernelObject = packet.getBigUint64(dispatch.kernelObject, true);
    const kernel = this.#agent?.kernels.get(kernelObject);
    const extent = (at: number, bytes: 2 | 4): number[] =>
      [0, 1, 2].map((i) => (bytes === 2 ? packet.getUint16(at + 2 * i, true) : packet.getUint32(at + 4 * i, true)));
    this.#launches.push({
      kernel: kernel === undefined ? '' : kernelName(kernel),
      grid: extent(dispatch.gridSize, 4),
      workgroup: extent(dispatch.workgroupSize, 2),
    });
  }

  onFinished(): void {
    const memory = this.#memory;
    if (!memory) return;
    for (const { name, coverage, reports } of this.#images) {
      for (const [i, report] of reports.entries()) {
        const result = report({ memory, launches: this.#launches });
        const launches = this.#launches.length;
        this.reports.push({ use: this.#tools[i]!, image: name, result, coverage, launches });
      }
    }
  }
}

/** Variables of loaded code, by the names of their symbols. */
class SymbolMemory implements VariableMemory {
  readonly #runtime: Runtime;
  readonly #agent: Agent;
  readonly #executable: Executable;

  constructor(runtime: Runtime, agent: Agent, executable: Executable) {
    this.#runtime = runtime;
    this.#agent = agent;
    this.#executable = executable;
  }

  read(symbol: string, sizeBytes: number): Uint8Array {
    return this.#view(symbol, sizeBytes).slice();
  }

  write(symbol: string, bytes: Uint8Array): void {
    this.#view(symbol, bytes.length).set(bytes);
  }

  #view(name: string, sizeBytes: number): Uint8Array {
    const symbol = this.#executable.getSymbol(name, this.#agent);
    if (sizeBytes <= symbol.sizeBytes) return this.#runtime.view(symbol.address, sizeBytes);
    throw new WavewrightError('USAGE', `${sizeBytes} bytes of '${name}', which has ${symbol.sizeBytes}`);
  }
}
