/**
 * The device library on one GPU: its kernels as launches. test/data/hal-library/kernels.c is its source and
 * says what each kernel takes.
 */
import { alignUp } from '../../../base/align.ts';
import type { KernelSymbol } from '../../../hsa/executables/kernel-symbol.ts';
import { CodeObjectReader } from '../../../hsa/executables/loaded-code-object.ts';
import type { Agent } from '../../../hsa/objects/agent.ts';
import type { Runtime } from '../../../hsa/runtime/runtime.ts';
import type { TransferCommand } from '../../backend/command.ts';
import { HalError } from '../../core/status.ts';
import { rangeAddress } from '../../memory/buffer-ref.ts';
import {
  copyPlan,
  fillPlan,
  repeatedPattern,
  type TransferPlan,
  transferGroups,
  updatePlan,
} from './transfer-kernels.ts';

export type LibraryKernel =
  | TransferPlan['kernel']
  | 'dispatch_patch_indirect_params'
  | 'timestamp_harvest_dispatch_records';

/** One launch of a kernel of the library. */
export interface LibraryLaunch {
  readonly kernel: KernelSymbol;
  /** Workgroups of one wave each, in one dimension. */
  readonly groups: number;
  readonly kernargBytes: number;
  /** Fills in the arguments, which will be at `address` for the GPU. */
  write(kernarg: Uint8Array, address: bigint): void;
}

/** Of the transfers' kernels: three values of 64 bits. */
const ARGUMENTS_BYTES = 24;
/** Where the contents of an update lie: behind the arguments, so that its copy has 16 bytes at once. */
export const CONTENTS_OFFSET = alignUp(ARGUMENTS_BYTES, 16);

/** Loads the library for GPUs of one ISA. `image`: of `libraryImage`. */
export function loadLibrary(runtime: Runtime, image: Uint8Array): ReadonlyMap<Agent, DeviceLibrary> {
  const executable = runtime.createExecutable();
  const reader = new CodeObjectReader(image, 'device library');
  for (const agent of runtime.gpuAgents) executable.loadCodeObject(agent, reader);
  executable.freeze();
  const kernelsOf = (agent: Agent) => executable.agentSymbols(agent).filter((symbol) => symbol.kind === 'kernel');
  return new Map(runtime.gpuAgents.map((agent) => [agent, new DeviceLibrary(agent, kernelsOf(agent))]));
}

export class DeviceLibrary {
  readonly #agent: Agent;
  readonly #kernels: ReadonlyMap<string, KernelSymbol>;

  /** Use `loadLibrary`. */
  constructor(agent: Agent, kernels: readonly KernelSymbol[]) {
    this.#agent = agent;
    this.#kernels = new Map(kernels.map((kernel) => [kernel.name.replace(/\.kd$/, ''), kernel]));
  }

  kernel(name: LibraryKernel): KernelSymbol {
    const kernel = this.#kernels.get(name);
    if (kernel !== undefined) return kernel;
    throw new HalError('INTERNAL', `the device library has no kernel '${name}'`);
  }

  /**
   * Undefined: nothing is to be done. Throws INVALID_ARGUMENT for ranges that no kernel takes; their memory
   * is such that the GPU reaches it.
   */
  transfer(command: TransferCommand): LibraryLaunch | undefined {
    const target = rangeAddress(command.target);
    const { sizeBytes } = command.target;
    switch (command.kind) {
      case 'fill':
        return this.fill(target, sizeBytes, command.pattern);
      case 'copy':
        return this.copy(rangeAddress(command.source), target, sizeBytes);
      case 'update':
        return this.update(target, command.contents);
    }
  }

  fill(target: bigint, sizeBytes: number, pattern: Uint8Array): LibraryLaunch | undefined {
    const plan = fillPlan({ target, sizeBytes, patternBytes: pattern.length });
    const repeated = repeatedPattern(pattern);
    return plan && this.#launch(plan, ARGUMENTS_BYTES, ({ elementCount }) => [target, BigInt(elementCount), repeated]);
  }

  copy(source: bigint, target: bigint, sizeBytes: number): LibraryLaunch | undefined {
    const plan = copyPlan({ source, target, sizeBytes });
    return plan && this.#launch(plan, ARGUMENTS_BYTES, ({ elementCount }) => [source, target, BigInt(elementCount)]);
  }

  /** The contents travel behind the arguments. */
  update(target: bigint, contents: Uint8Array): LibraryLaunch | undefined {
    const plan = updatePlan(target, contents.length);
    if (plan === undefined) return undefined;
    const kernargBytes = CONTENTS_OFFSET + contents.length;
    const launch = this.#launch(plan, kernargBytes, ({ elementCount }, address) => [
      address + BigInt(CONTENTS_OFFSET),
      target,
      BigInt(elementCount),
    ]);
    return {
      ...launch,
      write: (kernarg, address) => {
        launch.write(kernarg, address);
        kernarg.set(contents, CONTENTS_OFFSET);
      },
    };
  }

  #launch(
    plan: TransferPlan,
    kernargBytes: number,
    values: (plan: TransferPlan, address: bigint) => readonly bigint[],
  ): LibraryLaunch {
    const kernel = this.kernel(plan.kernel);
    return {
      kernel,
      groups: transferGroups(plan, kernel.wavefrontSize, this.#agent.info.computeUnitCount),
      kernargBytes,
      write: ({ buffer, byteOffset }, address) => {
        const view = new DataView(buffer, byteOffset, ARGUMENTS_BYTES);
        for (const [i, value] of values(plan, address).entries()) view.setBigUint64(8 * i, value, true);
      },
    };
  }
}
