import { openCodeObjects, pickCodeObject } from '../../codeobject/container.ts';
import { nodeDecompress } from '../../codeobject/node-decompress.ts';
import { parseTargetId } from '../../codeobject/target-id.ts';
import { formatResources, runProgram } from '../../loader/index.ts';
import { nodeFileSystem, nodeStdin } from '../../loader/node-file-system.ts';
import { defineCommand } from '../command.ts';
import { openDevice } from '../device-name.ts';
import { readInput } from '../input.ts';
import type { OptionRow } from '../options.ts';

/** The queue counts work-items in 32 bits and a workgroup's in 16; what a device or kernel allows is checked where it is known. */
const MAX_BLOCKS = 2 ** 32 - 1;
const MAX_THREADS = 2 ** 16 - 1;
const MAX_STACK_BYTES = 2 ** 28;
const MAX_TIMEOUT_SECONDS = 1_000_000;

function count<A extends readonly string[]>(description: string, max: number, aliases: A) {
  return {
    kind: 'integer',
    placeholder: 'N',
    min: 1,
    max,
    default: 1,
    description,
    aliases,
  } as const satisfies OptionRow;
}

/** The option names of LLVM's llvm-gpu-loader, plus --device and --timeout. */
export const run = defineCommand({
  operands: { usage: 'IMAGE [ARGUMENT...]', min: 1, max: Number.POSITIVE_INFINITY, firstEndsOptions: true },
  singleDash: true,
  options: {
    'blocks-x': count('workgroups in x', MAX_BLOCKS, ['blocks']),
    'blocks-y': count('workgroups in y', MAX_BLOCKS, []),
    'blocks-z': count('workgroups in z', MAX_BLOCKS, []),
    'threads-x': count('work-items of a workgroup in x', MAX_THREADS, ['threads']),
    'threads-y': count('work-items of a workgroup in y', MAX_THREADS, []),
    'threads-z': count('work-items of a workgroup in z', MAX_THREADS, []),
    device: {
      kind: 'text',
      placeholder: 'NAME',
      description: "where to run, for example emulated:gfx90a; by default the emulator of the image's target",
    },
    timeout: {
      kind: 'seconds',
      placeholder: 'SECONDS',
      max: MAX_TIMEOUT_SECONDS,
      description: 'stop the program after this time, with status 124 and a report of where every wave stands',
    },
    'stack-size': {
      kind: 'integer',
      placeholder: 'BYTES',
      min: 1024,
      max: MAX_STACK_BYTES,
      default: 16_384,
      description: 'scratch of a work-item where the compiler could not know how much stack the kernel needs',
    },
    'print-resource-usage': { kind: 'flag', description: 'registers, LDS and scratch of each kernel, on stderr' },
  },
  notes: [
    'IMAGE is a code object, an offload bundle or a program with one inside; - is standard input. Everything after it belongs to',
    "the program. The exit status is the program's own: what its main returned, in all work-items ORed together, modulo 256.",
  ],
  async run({ stdout, stderr, env }, options, args) {
    const file = args[0]!;
    const images = openCodeObjects(readInput(file), file, { decompress: nodeDecompress });
    const device = await openDevice(options.device, images);
    using resources = new DisposableStack();
    resources.defer(() => device.close());
    const image = pickCodeObject(images, parseTargetId(device.properties.targetId));
    const { status } = await runProgram(image.bytes, {
      device,
      name: image.name,
      args,
      environment: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      blocks: [options['blocks-x'], options['blocks-y'], options['blocks-z']],
      threads: [options['threads-x'], options['threads-y'], options['threads-z']],
      stackSizeBytes: options['stack-size'],
      streams: { stdin: nodeStdin, stdout, stderr },
      fileSystem: nodeFileSystem,
      ...(options.timeout === undefined ? {} : { timeoutMs: options.timeout * 1000 }),
      ...(options['print-resource-usage'] ? { onKernel: (kernel) => stderr(`${formatResources(kernel)}\n`) } : {}),
    });
    return status;
  },
});
