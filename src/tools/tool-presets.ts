/**
 * Tools by names of presets, in kernels that are loaded as they were compiled: a kernel gets a version for a
 * preset when it is first launched so. All versions are there side by side and work on the same data.
 */
import { WavewrightError } from '../base/errors.ts';
import { kernelName } from '../codeobject/kernel-name.ts';
import { codeAsLoaded } from '../hsa/executables/code-as-loaded.ts';
import type { Executable } from '../hsa/executables/executable.ts';
import type { KernelSymbol } from '../hsa/executables/kernel-symbol.ts';
import type { LoadedCodeObject } from '../hsa/executables/loaded-code-object.ts';
import type { Agent } from '../hsa/objects/agent.ts';
import { PACKET } from '../hsa/objects/layouts.ts';
import type { LaunchObserver } from '../hsa/runtime/launch-observer.ts';
import type { Runtime } from '../hsa/runtime/runtime.ts';
import { type OpenedImage, openImage, type ToolLaunch } from '../instrument/index.ts';
import type { ChosenTool } from './chosen-tool.ts';
import { type PresetVariable, PresetVersion } from './preset-version.ts';
import { type ToolReport, toolLaunchOf } from './tool-session.ts';

/** Tools that run together, by the name of the preset. */
export type PresetTable = Readonly<Record<string, readonly ChosenTool[]>>;

export interface PresetReport extends ToolReport {
  readonly kernel: string;
  readonly preset: string;
}

/** A kernel and the versions that it has. */
interface KernelVersions {
  readonly kernel: KernelSymbol;
  readonly runtime: Runtime;
  readonly versions: Map<string, { readonly version: PresetVersion; readonly launches: ToolLaunch[] }>;
  /** What its dispatches run now. */
  current: string;
}

const NATIVE = 'native';

/**
 * Give it to `Context.load` as `presets`, and launches a `preset`; or to `dispatchKernel` and `runProgram` as
 * `observer`, and call `setVersion`. One object serves any number of modules.
 */
export class ToolPresets implements LaunchObserver {
  /** What the tools said when `onFinished` was called. */
  readonly reports: PresetReport[] = [];
  readonly #presets: PresetTable;
  /** By kernel object. */
  readonly #kernels = new Map<bigint, KernelVersions>();
  readonly #images = new WeakMap<LoadedCodeObject, OpenedImage>();

  /** Throws USAGE for a preset that is called `native`, and for tools that choose dispatches themselves. */
  constructor(presets: PresetTable) {
    this.#presets = presets;
    for (const [name, tools] of Object.entries(presets)) {
      if (name === NATIVE) throw new WavewrightError('USAGE', `'${NATIVE}' is the version without tools: no preset`);
      const choosing = tools.find(({ dispatches: { begin, end } }) => begin > 0 || end < Number.POSITIVE_INFINITY);
      if (choosing === undefined) continue;
      const what = `preset '${name}': 'dispatches' of tool '${choosing.tool.name}', where launches choose presets`;
      throw new WavewrightError('USAGE', what);
    }
  }

  /**
   * What dispatches of kernels of this name run from now on: a preset, or `native` as at first. A dispatch
   * that is the first with a preset instruments its kernel. Throws USAGE for an unknown kernel or preset.
   */
  setVersion(kernel: string, version: string): void {
    this.#expectKnown(version);
    for (const each of this.#named(kernel)) each.current = version;
  }

  /**
   * Dispatches of one kernel run this version until the result is disposed. Throws USAGE as `setVersion`
   * does, and UNSUPPORTED for a kernel whose code has to stay as it is.
   */
  during(kernel: KernelSymbol, version: string): Disposable {
    this.#expectKnown(version);
    const found = this.#kernels.get(kernel.kernelObject);
    if (!found) throw this.#unknownKernel(kernelName(kernel));
    if (version !== NATIVE) this.#versionOf(found, version);
    const before = found.current;
    found.current = version;
    return {
      [Symbol.dispose]: () => {
        found.current = before;
      },
    };
  }

  /** Variables of the tools of a preset, in their order. It instruments and throws as `during` does. */
  variables(kernel: string, preset: string): readonly PresetVariable[] {
    return this.#only(kernel, preset).variables;
  }

  /**
   * The memory of a variable, by the name that its tool gives it, or by `TOOL.NAME` where several have one:
   * it is read and written while no kernel runs. Throws as `variables`, and USAGE for an unknown variable.
   */
  variable(kernel: string, preset: string, name: string): Uint8Array {
    return this.#only(kernel, preset).variable(name);
  }

  /** What tools say of all launches so far, by kernel, preset and tool, of kernels that are loaded. */
  results(): readonly PresetReport[] {
    return [...this.#kernels.values()].flatMap(({ kernel, versions }) =>
      [...versions].flatMap(([preset, { version, launches }]) =>
        version.reports(launches).map((report) => ({ ...report, kernel: kernelName(kernel), preset })),
      ),
    );
  }

  onLoaded(runtime: Runtime, agent: Agent, executable: Executable): void {
    const kernels = executable.agentSymbols(agent, { functions: false }).filter((each) => each.kind === 'kernel');
    for (const kernel of kernels)
      this.#kernels.set(kernel.kernelObject, { kernel, runtime, versions: new Map(), current: NATIVE });
    executable.own({
      [Symbol.dispose]: () => {
        for (const { kernelObject } of kernels) {
          for (const { version } of this.#kernels.get(kernelObject)?.versions.values() ?? []) version[Symbol.dispose]();
          this.#kernels.delete(kernelObject);
        }
      },
    });
  }

  onLaunch(packet: DataView): void {
    const found = this.#kernels.get(packet.getBigUint64(PACKET.dispatch.kernelObject, true));
    if (!found || found.current === NATIVE) return;
    const { version, launches } = this.#versionOf(found, found.current);
    version.redirect(packet);
    launches.push(toolLaunchOf(packet, kernelName(found.kernel)));
  }

  onFinished(): void {
    this.reports.push(...this.results());
  }

  #versionOf(of: KernelVersions, preset: string) {
    let known = of.versions.get(preset);
    if (!known) {
      const { kernel, runtime } = of;
      const image = this.#imageOf(kernel.codeObject);
      const version = new PresetVersion({ runtime, kernel, image, preset, tools: this.#presets[preset]! });
      known = { version, launches: [] };
      of.versions.set(preset, known);
    }
    return known;
  }

  #imageOf(codeObject: LoadedCodeObject): OpenedImage {
    const image = this.#images.get(codeObject) ?? openImage(codeAsLoaded(codeObject));
    this.#images.set(codeObject, image);
    return image;
  }

  #only(kernel: string, preset: string): PresetVersion {
    if (preset === NATIVE) throw new WavewrightError('USAGE', `'${NATIVE}' has no tools`);
    this.#expectKnown(preset);
    const [found, ...others] = this.#named(kernel);
    if (others.length > 0) throw new WavewrightError('USAGE', `${others.length + 1} kernels are called '${kernel}'`);
    return this.#versionOf(found!, preset).version;
  }

  #named(kernel: string): readonly KernelVersions[] {
    const found = [...this.#kernels.values()].filter((each) => kernelName(each.kernel) === kernel);
    if (found.length === 0) throw this.#unknownKernel(kernel);
    return found;
  }

  #unknownKernel(name: string): WavewrightError {
    const known = [...this.#kernels.values()].map(({ kernel }) => kernelName(kernel)).join(', ');
    return new WavewrightError('USAGE', `no kernel '${name}' has presets`, { hint: `kernels are ${known || 'none'}` });
  }

  #expectKnown(version: string): void {
    if (version === NATIVE || Object.hasOwn(this.#presets, version)) return;
    const hint = `presets are ${[...Object.keys(this.#presets), NATIVE].join(', ')}`;
    throw new WavewrightError('USAGE', `there is no preset '${version}'`, { hint });
  }
}
