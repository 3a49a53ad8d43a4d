/** What running a program would load and start, without running it. */

import { WavewrightError } from '../base/errors.ts';
import { isHiddenArgument } from '../codeobject/hidden-arguments.ts';
import { kernelName } from '../codeobject/kernel-name.ts';
import type { Device } from '../device/device.ts';
import type { Extent } from '../hsa/queues/packet.ts';
import { defaultPortCount, ONE } from './launch.ts';
import { loadProgram } from './load-program.ts';
import type { ProgramKernel } from './loaded-program.ts';
import { ProgramImage } from './program-image.ts';
import { formatResources, type KernelResources } from './resource-usage.ts';
import type { Generation } from './rpc/protocol/generation.ts';
import { rpcLayout } from './rpc/protocol/layout.ts';

export interface InspectOptions {
  /** Not closed afterwards. */
  readonly device: Device;
  /** What errors call the image. */
  readonly name: string;
  readonly blocks?: Extent;
  readonly threads?: Extent;
  readonly portCount?: number;
  readonly stackSizeBytes?: number;
}

export interface InspectedKernel extends KernelResources {
  readonly blocks: Extent;
  readonly threads: Extent;
  /** Hidden arguments that the kernel reads, without the prefix. */
  readonly hiddenArguments: readonly string[];
}

export interface ProgramInspection {
  readonly name: string;
  readonly device: string;
  readonly generation: Generation['name'] | 'none';
  /** None without an RPC client. */
  readonly rpc:
    | { readonly portCount: number; readonly laneCount: number; readonly bufferSizeBytes: number }
    | undefined;
  /** Whether the program is told the frequency of the device's clock. */
  readonly usesClock: boolean;
  /** The kernels in the order in which they would run. */
  readonly kernels: readonly InspectedKernel[];
  /** Kernels that nothing would start. */
  readonly otherKernels: readonly string[];
}

/**
 * Loads and links the image and gives everything back. Throws as `runProgram` does before its first kernel.
 */
export async function inspectProgram(bytes: Uint8Array, options: InspectOptions): Promise<ProgramInspection> {
  try {
    using program = await loadProgram(bytes, options);
    return inspect(new ProgramImage(program, options.name), options);
  } catch (error) {
    throw error instanceof WavewrightError ? error.within({ file: options.name }) : error;
  }
}

function inspect(image: ProgramImage, options: InspectOptions): ProgramInspection {
  const { generation, init, begin, start, end, fini } = image;
  const kernel = (symbol: ProgramKernel, blocks = ONE, threads = ONE): InspectedKernel => ({
    ...image.resources(symbol, threads, options.stackSizeBytes),
    blocks,
    threads,
    hiddenArguments: (symbol.metadata?.args ?? [])
      .filter(isHiddenArgument)
      .map(({ valueKind }) => valueKind.replace('hidden_', '')),
  });
  return {
    name: image.name,
    device: options.device.name,
    generation: generation?.name ?? 'none',
    rpc: generation && rpcOf(image, generation, options),
    usesClock: image.usesClock,
    kernels: [
      ...(init === undefined ? [] : [kernel(init)]),
      kernel(begin),
      kernel(start, options.blocks, options.threads),
      kernel(end),
      ...(fini === undefined ? [] : [kernel(fini)]),
    ],
    otherKernels: image.otherKernels.map(kernelName),
  };
}

function rpcOf(image: ProgramImage, generation: Generation, options: InspectOptions) {
  const portCount = options.portCount ?? defaultPortCount(generation, image.start, options);
  const { laneCount } = image;
  return { portCount, laneCount, bufferSizeBytes: rpcLayout(generation, portCount, laneCount).sizeBytes };
}

const GENERATION_TEXT: Readonly<Record<ProgramInspection['generation'], string>> = {
  P19: 'P19 (C library of LLVM 19)',
  P20: 'P20 (C library of LLVM 20 to 22)',
  P23: 'P23 (C library of LLVM 23)',
  none: 'none: the program has no RPC client',
};

/** The inspection as text for people, with a newline at the end. */
export function formatInspection(program: ProgramInspection): string {
  const { rpc } = program;
  const lines = [
    `${program.name}: runs on ${program.device}`,
    `  generation  ${GENERATION_TEXT[program.generation]}`,
    ...(rpc ? [`  RPC         ${rpc.portCount} ports, ${rpc.laneCount} lanes, ${rpc.bufferSizeBytes} bytes`] : []),
    `  clock       ${program.usesClock ? 'the program is told its frequency' : 'not used'}`,
    '  kernels     in this order:',
  ];
  for (const kernel of program.kernels) {
    const shape = `${kernel.blocks.join('x')} blocks of ${kernel.threads.join('x')} threads`;
    lines.push(`    ${formatResources(kernel)}`, `      ${shape}, ${kernel.hiddenArguments.length} hidden arguments`);
  }
  if (program.otherKernels.length > 0) lines.push(`  not started ${program.otherKernels.join(', ')}`);
  return `${lines.join('\n')}\n`;
}
