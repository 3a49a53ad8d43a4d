/** Code objects as executables: loaded and linked by the HSA runtime, exports from their metadata. */

import { WavewrightError } from '../../base/errors.ts';
import type { ContainerOptions } from '../../codeobject/container.ts';
import { isHiddenArgument } from '../../codeobject/hidden-arguments.ts';
import { kernelName } from '../../codeobject/kernel-name.ts';
import type { KernelArgument } from '../../codeobject/metadata.ts';
import { processorNamed } from '../../codeobject/processors.ts';
import { formatTargetId, parseTargetId, type TargetId } from '../../codeobject/target-id.ts';
import type { Executable } from '../../hsa/executables/executable.ts';
import { functionAddress } from '../../hsa/executables/function-address.ts';
import type { KernelSymbol } from '../../hsa/executables/kernel-symbol.ts';
import { CodeObjectReader } from '../../hsa/executables/loaded-code-object.ts';
import type { Agent } from '../../hsa/objects/agent.ts';
import type { Runtime } from '../../hsa/runtime/runtime.ts';
import { openLinkFile, pickLinkImages } from '../../linker/link-files.ts';
import type { LoadRequest } from '../backend/backend.ts';
import type { DispatchCommand } from '../backend/command.ts';
import { HalError, invalidArgument, withHalStatus } from '../core/status.ts';
import type { CodeVariable, ExecutableCode, ExportInfo, ExportParameter } from '../executables/executable.ts';
import type { InstructionReader } from './agents.ts';
import { expectConstants, isReadOnly, setConstants } from './code-constants.ts';
import { AmdgpuKernelCode } from './kernel-code.ts';

/** Code of an executable on the GPUs of a logical device. */
export class AmdgpuCode implements ExecutableCode {
  readonly format: string;
  readonly exports: readonly ExportInfo[];
  /** By the ordinal of the export. */
  readonly #kernels: ReadonlyMap<Agent, readonly KernelSymbol[]>;
  readonly #executable: Executable;
  readonly #agents: readonly Agent[];
  readonly #runtime: Runtime;
  readonly #instructions: InstructionReader | undefined;

  /** `agents`: at least one, of one ISA. */
  constructor(
    runtime: Runtime,
    executable: Executable,
    agents: readonly Agent[],
    instructions: InstructionReader | undefined,
  ) {
    this.#instructions = instructions;
    this.#runtime = runtime;
    this.#executable = executable;
    this.#agents = agents;
    this.format = agents[0]!.requireDevice().properties.targetId;
    const kernelsOf = (agent: Agent) => executable.agentSymbols(agent).filter((symbol) => symbol.kind === 'kernel');
    this.#kernels = new Map(agents.map((agent) => [agent, kernelsOf(agent)]));
    this.exports = this.#kernels.get(agents[0]!)!.map(exportOf);
  }

  /** `ordinal`: of the export. */
  kernel(agent: Agent, ordinal: number): KernelSymbol {
    return this.#kernels.get(agent)![ordinal]!;
  }

  variable(name: string, deviceOrdinal: number): CodeVariable {
    const agent = this.#agent(deviceOrdinal);
    const symbol = this.#executable.findSymbol(name, agent);
    if (symbol?.kind !== 'variable') {
      const variables = this.#executable.agentSymbols(agent).filter(({ kind }) => kind === 'variable');
      const names = variables.map((each) => each.name).join(', ');
      throw new HalError('NOT_FOUND', `no variable '${name}'`, {
        hint: `variables: ${names || 'none that the code objects export'}`,
      });
    }
    const { address, sizeBytes } = symbol;
    const bytes = () => this.#runtime.view(address, sizeBytes);
    return { storage: { address, sizeBytes, bytes }, isReadOnly: isReadOnly(symbol) };
  }

  functionAddress(name: string, deviceOrdinal: number): bigint {
    const agent = this.#agent(deviceOrdinal);
    return withHalStatus(() => functionAddress(this.#executable, name, agent), 'NOT_FOUND');
  }

  kernelCode(exportOrdinal: number, deviceOrdinal: number): AmdgpuKernelCode {
    const agent = this.#agent(deviceOrdinal);
    const loaded = this.#executable.loadedCodeObjects.filter((each) => each.agent === agent);
    return new AmdgpuKernelCode(loaded, this.kernel(agent, exportOrdinal).wavefrontSize, this.#instructions);
  }

  #agent(deviceOrdinal: number): Agent {
    const agent = this.#agents[deviceOrdinal];
    if (agent !== undefined) return agent;
    throw new HalError('OUT_OF_RANGE', `physical device ${deviceOrdinal}, the executable is on ${this.#agents.length}`);
  }

  [Symbol.dispose](): void {
    this.#executable[Symbol.dispose]();
  }
}

/** The kernel that a dispatch names. Throws INVALID_ARGUMENT where it is no code for GPUs. */
export function kernelOf({ entry }: Pick<DispatchCommand, 'entry'>, agent: Agent): KernelSymbol {
  const { code } = entry.executable;
  if (code instanceof AmdgpuCode) return code.kernel(agent, entry.ordinal);
  throw invalidArgument(`'${entry.name}' is no kernel of a code object`);
}

/**
 * Loads and links code objects, bundles, programs with GPU code, relocatable objects and archives, for each
 * of the agents, which have one ISA. Throws INVALID_ARGUMENT for what is none of these, INCOMPATIBLE for code
 * for other targets.
 */
export function loadCode(
  runtime: Runtime,
  agents: readonly Agent[],
  { pieces, name, constants }: LoadRequest,
  { instructions, ...container }: ContainerOptions & { readonly instructions?: InstructionReader | undefined },
): AmdgpuCode {
  const target = parseTargetId(agents[0]!.requireDevice().properties.targetId);
  const executable = withHalStatus(() => runtime.createExecutable());
  try {
    return withHalStatus(() => {
      const files = pieces.map((piece) => openLinkFile(bytesOf(piece, name), name, container));
      for (const { isModule, ...image } of pickLinkImages(files, target)) {
        const reader = new CodeObjectReader(image.bytes, image.name);
        for (const agent of agents) executable.loadCodeObject(agent, reader, { isModule });
      }
      for (const agent of agents) setConstants(runtime, executable, agent, constants);
      executable.freeze();
      for (const agent of agents) expectConstants(runtime, executable, agent, constants);
      return new AmdgpuCode(runtime, executable, agents, instructions);
    });
  } catch (error) {
    executable[Symbol.dispose]();
    // What is not supported of code is that it is for something else.
    if (!(error instanceof HalError) || !(error.cause instanceof WavewrightError)) throw error;
    if (error.code !== 'UNSUPPORTED') throw error;
    const hint = error.context.hint ?? `the device takes code for ${acceptedTargets(target).join(', ')}`;
    throw new HalError('INCOMPATIBLE', error.what, { ...error.context, hint });
  }
}

/** The targets whose code runs, the most special first. */
const acceptedTargets = (target: TargetId): string[] => {
  const generic = processorNamed(target.processor)?.generic?.name;
  return [...new Set([formatTargetId(target), target.processor, ...(generic === undefined ? [] : [generic])])];
};

function bytesOf(piece: unknown, name: string): Uint8Array {
  if (ArrayBuffer.isView(piece)) return new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength);
  throw invalidArgument(`${name} is ${typeof piece}, expected the bytes of a code object`);
}

/** What a kernel takes, as an export of the HAL. */
export function exportOf(kernel: KernelSymbol): ExportInfo {
  const { metadata } = kernel;
  const args = metadata?.args.filter((each) => !isHiddenArgument(each)) ?? [];
  const parameters = args.map(parameterOf);
  const [x, y = 1, z = 1] = metadata?.reqdWorkgroupSize ?? [];
  return {
    name: kernelName(kernel),
    bindingCount: parameters.filter(({ kind }) => kind === 'binding').length,
    constantCount: parameters.reduce((sum, each) => sum + constantWords(each), 0),
    parameters,
    argumentsSizeBytes: Math.max(0, ...args.map(({ offsetBytes, sizeBytes }) => offsetBytes + sizeBytes)),
    workgroupSize: x === undefined ? undefined : [x, y, z],
    maxWorkgroupSize: metadata?.maxFlatWorkgroupSize ?? kernel.agent.info.maxWorkgroupSize,
    problem: metadata === undefined ? 'its metadata does not list it' : problemOf(args),
  };
}

const parameterOf = ({
  name,
  typeName,
  valueKind,
  offsetBytes,
  sizeBytes,
  ...access
}: KernelArgument): ExportParameter => ({
  kind: valueKind === 'global_buffer' ? 'binding' : 'constant',
  ...{ name, typeName },
  offsetBytes,
  sizeBytes,
  isReadOnly: access.isConst === true || access.actualAccess === 'read_only' || access.access === 'read_only',
});

/** Words that a parameter takes of the constants; the last one may be used in part. */
export const constantWords = ({ kind, sizeBytes }: ExportParameter): number =>
  kind === 'binding' ? 0 : Math.ceil(sizeBytes / 4);

function problemOf(args: readonly KernelArgument[]): string | undefined {
  const other = args.find(({ valueKind }) => valueKind !== 'global_buffer' && valueKind !== 'by_value');
  return other && `its argument ${other.name ?? args.indexOf(other)} is ${other.valueKind}, no buffer and no value`;
}
