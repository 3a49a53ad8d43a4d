/** Programs of the command buffers that a GPU executes, each compiled for its first execution. */
import type { KernelSymbol } from '../../hsa/executables/kernel-symbol.ts';
import type { Agent } from '../../hsa/objects/agent.ts';
import type { Runtime } from '../../hsa/runtime/runtime.ts';
import type { DispatchCommand } from '../backend/command.ts';
import type { CommandBuffer } from '../commands/command-buffer.ts';
import type { CheckedDispatch } from '../commands/queue-dispatch.ts';
import { HalError, withHalStatus } from '../core/status.ts';
import { kernelOf } from './code.ts';
import { LaunchTemplate } from './kernel-launch.ts';
import type { CommandProgram, PublishedKernargs } from './program/program.ts';
import { compileProgram, type DispatchLayout, type ProgramTarget } from './program/program-compiler.ts';
import { validateProgram } from './program/program-validation.ts';

export interface ProgramCacheOptions {
  readonly runtime: Runtime;
  readonly agent: Agent;
  /** Usable bytes of a block. */
  readonly blockBytes?: number | undefined;
}

export class ProgramCache implements ProgramTarget {
  readonly blockBytes: number | undefined;
  readonly #options: ProgramCacheOptions;
  readonly #programs = new WeakMap<CommandBuffer, CommandProgram>();
  readonly #templates = new WeakMap<KernelSymbol, LaunchTemplate>();

  constructor(options: ProgramCacheOptions) {
    this.#options = options;
    this.blockBytes = options.blockBytes;
  }

  /** Throws what `compileProgram` does. */
  programOf(commands: CommandBuffer): CommandProgram {
    const known = this.#programs.get(commands);
    if (known !== undefined) return known;
    const program = compileProgram(commands, this);
    commands.onRelease(() => program.kernargs?.free());
    const slotCount = commands.slots.length;
    const [finding] = validateProgram({ ...program, slotCount, kernargBytes: program.kernargs?.bytes.length ?? 0 });
    if (finding !== undefined) {
      const place = `block ${finding.block}, offset ${finding.offset}`;
      throw new HalError('INTERNAL', `the program of '${commands.label}', ${place}: ${finding.message}`);
    }
    this.#programs.set(commands, program);
    return program;
  }

  layout(dispatch: CheckedDispatch, groups: readonly [number, number, number]): DispatchLayout {
    const command: DispatchCommand = { kind: 'dispatch', ...dispatch, groups, bindings: [] };
    const kernel = kernelOf(dispatch, this.#options.agent);
    const last = this.#templates.get(kernel);
    const device = this.#options.agent.requireDevice();
    const template = last?.fits(command) ? last : new LaunchTemplate(device, kernel, command);
    this.#templates.set(kernel, template);
    const { launch } = template;
    const offsetsOf = (valueKind: string): readonly number[] =>
      kernel.metadata?.args.filter((each) => each.valueKind === valueKind).map(({ offsetBytes }) => offsetBytes) ?? [];
    return {
      kernelObject: kernel.kernelObject,
      grid: launch.grid,
      workgroupSize: launch.workgroup,
      privateBytes: launch.sizes.privateSegmentSizeBytes,
      groupBytes: launch.sizes.groupSegmentSizeBytes,
      template: template.withConstants(command),
      bindingOffsets: template.bindingOffsets,
      queueOffsets: offsetsOf('hidden_queue_ptr'),
      countsOffset: offsetsOf('hidden_block_count_x')[0],
    };
  }

  publish(sizeBytes: number): PublishedKernargs {
    const { runtime, agent } = this.#options;
    const pool = runtime.cpuAgent.pool('kernarg', agent);
    const options = { label: 'arguments of a command buffer' };
    const address = withHalStatus(() => pool.allocate(sizeBytes, options), 'RESOURCE_EXHAUSTED');
    return {
      address,
      bytes: runtime.view(address, sizeBytes),
      free: () => {
        if (runtime.lifetime.isLive) pool.free(address, { isByHost: false });
      },
    };
  }
}
