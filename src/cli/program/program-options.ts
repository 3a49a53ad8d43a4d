/**
 * The options that say how a program runs: of `run`, of the upstream loaders' command lines, and of `.params`
 * files for `test`.
 */

import { WavewrightError } from '../../base/errors.ts';
import { printable } from '../../base/text.ts';
import type { Extent } from '../../hsa/queues/packet.ts';
import type { FileSystem, OpenFile } from '../../loader/host/file-system.ts';
import { createNodeFileSystem, nodeStdin } from '../../loader/host/node-file-system.ts';
import { createSandbox } from '../../loader/host/node-sandbox.ts';
import { createNodeSystem } from '../../loader/host/node-system.ts';
import type { RunOptions } from '../../loader/index.ts';
import { formatConversation } from '../../loader/rpc/trace.ts';
import { CHECK_OPTION } from '../arguments/check-option.ts';
import type { CommandContext } from '../arguments/command.ts';
import { MEMORY_OPTION, WORKERS_OPTION } from '../arguments/device-name.ts';
import type { OptionRow, OptionTable, OptionValues } from '../arguments/options.ts';
import { STACK_SIZE_OPTION } from '../arguments/stack-size-option.ts';
import { writeAll } from '../process/output.ts';
import { PACKET_PROFILING_OPTIONS } from './device-profiling.ts';
import { HOOK_OPTION, TOOL_OPTION } from './tool-options.ts';

const { closeSync, existsSync, openSync, statSync } = process.getBuiltinModule('node:fs');

/**
 * The queue counts work-items in 32 bits and a workgroup's in 16; what a device or kernel allows is checked
 * where it is known.
 */
const MAX_BLOCKS = 2 ** 32 - 1;
const MAX_THREADS = 2 ** 16 - 1;
const MAX_TIMEOUT_SECONDS = 1_000_000;
const MAX_BYTES = Number.MAX_SAFE_INTEGER;
/** What a program in the sandbox may take unless it is told otherwise. */
const SANDBOX_OUTPUT_BYTES = 2 ** 30;
const SANDBOX_OPEN_FILES = 64;
/** Refusals of the sandbox that are reported one by one. */
const MAX_REFUSALS_SHOWN = 20;

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

const text = (placeholder: string, description: string) => ({ kind: 'text', placeholder, description }) as const;
const list = (placeholder: string, description: string) => ({ kind: 'list', placeholder, description }) as const;
const flag = (description: string) => ({ kind: 'flag', description }) as const;
const limit = (placeholder: string, description: string) =>
  ({ kind: 'integer', placeholder, min: 1, max: MAX_BYTES, description }) as const;

/** The option names of LLVM's loaders, and ours. */
export const PROGRAM_OPTIONS = {
  'blocks-x': count('workgroups in x', MAX_BLOCKS, ['blocks']),
  'blocks-y': count('workgroups in y', MAX_BLOCKS, []),
  'blocks-z': count('workgroups in z', MAX_BLOCKS, []),
  'threads-x': count('work-items of a workgroup in x', MAX_THREADS, ['threads']),
  'threads-y': count('work-items of a workgroup in y', MAX_THREADS, []),
  'threads-z': count('work-items of a workgroup in z', MAX_THREADS, []),
  device: text('NAME', "where to run, for example emulated:gfx90a; by default the emulator of the image's target"),
  timeout: {
    kind: 'seconds',
    placeholder: 'SECONDS',
    max: MAX_TIMEOUT_SECONDS,
    description: 'stop the program after this time, with status 124 and a report of where every wave stands',
  },
  workers: WORKERS_OPTION,
  memory: MEMORY_OPTION,
  'stack-size': STACK_SIZE_OPTION,
  'heap-size': limit('BYTES', 'device memory that malloc gives out; then it returns null'),
  env: list('NAME=VALUE', 'set a variable of the environment of the program; may be repeated'),
  'clear-env': flag('start with an empty environment'),
  cwd: text('DIR', 'where relative paths of the program start'),
  stdin: text('FILE', "the program's standard input"),
  sandbox: flag('the program opens, renames and removes no files and runs no commands'),
  'allow-read': list('DIR', 'the sandbox, but files below DIR may be read; may be repeated'),
  'allow-write': list('DIR', 'the sandbox, but files below DIR may be written, renamed and removed; may be repeated'),
  'allow-system': flag('the sandbox, but commands may be run: with them the program may do anything'),
  'max-output': limit('BYTES', 'end the program when it writes more to streams and files together'),
  'max-open-files': limit('N', 'files that the program may have open at once'),
  tool: TOOL_OPTION,
  hook: HOOK_OPTION,
  ...PACKET_PROFILING_OPTIONS,
  'print-resource-usage': flag('registers, LDS, scratch and occupancy of each kernel, on stderr'),
  'trace-rpc': {
    ...text('FILE', 'each RPC conversation, decoded, on stderr or in FILE'),
    implied: '-',
  },
  serialize: {
    ...flag('wait until no other program with this option runs on this machine'),
    aliases: ['no-parallelism'],
  },
  stats: flag(
    'time of loading, of each kernel and of RPC by opcode; instructions by class and what ran them, on stderr',
  ),
  check: CHECK_OPTION,
  inspect: flag('say what would be loaded and started, and stop there'),
} as const satisfies OptionTable;

export type ProgramOptions = OptionValues<typeof PROGRAM_OPTIONS>;

/** What the options mean for `runProgram`. What is opened is closed by `resources`. Throws USAGE and IO. */
export function runOptions(
  options: ProgramOptions,
  context: CommandContext,
  resources: DisposableStack,
): Omit<RunOptions, 'device' | 'args'> {
  const { stdout, stderr } = context;
  const environment = environmentOf(options, context.env);
  const trace = options['trace-rpc'];
  return {
    env: environment,
    ...gridOf(options),
    ...(options['stack-size'] !== undefined && { stackSizeBytes: options['stack-size'] }),
    stdin: stdinOf(options.stdin, resources),
    onStdout: stdout,
    onStderr: stderr,
    ...accessOf(options, environment, context),
    ...(options.timeout !== undefined && { timeoutMs: options.timeout * 1000 }),
    ...(context.clock && { clock: context.clock }),
    ...(trace !== undefined && { onConversation: tracer(trace, stderr, resources) }),
  };
}

/** The part of the options that `inspect` needs too. */
export function gridOf(options: ProgramOptions): { blocks: Extent; threads: Extent } {
  return {
    blocks: [options['blocks-x'], options['blocks-y'], options['blocks-z']],
    threads: [options['threads-x'], options['threads-y'], options['threads-z']],
  };
}

function environmentOf(options: ProgramOptions, env: CommandContext['env']): Record<string, string> {
  const environment: Record<string, string> = {};
  if (!options['clear-env']) {
    for (const [name, value] of Object.entries(env)) if (value !== undefined) environment[name] = value;
  }
  for (const assignment of options.env ?? []) {
    const equals = assignment.indexOf('=');
    if (equals < 1) throw new WavewrightError('USAGE', `--env takes NAME=VALUE, not '${assignment}'`);
    environment[assignment.slice(0, equals)] = assignment.slice(equals + 1);
  }
  return environment;
}

function accessOf(
  options: ProgramOptions,
  environment: Readonly<Record<string, string>>,
  context: CommandContext,
): Required<Pick<RunOptions, 'filesystem' | 'system' | 'limits'>> {
  const { 'allow-read': allowRead = [], 'allow-write': allowWrite = [], 'allow-system': allowSystem } = options;
  const sandboxed = options.sandbox || allowRead.length + allowWrite.length > 0 || allowSystem;
  const openFiles = options['max-open-files'] ?? (sandboxed ? SANDBOX_OPEN_FILES : undefined);
  const outputBytes = options['max-output'] ?? (sandboxed ? SANDBOX_OUTPUT_BYTES : undefined);
  const heapBytes = options['heap-size'];
  const limits = {
    ...(openFiles !== undefined && { openFiles }),
    ...(outputBytes !== undefined && { outputBytes }),
    ...(heapBytes !== undefined && { heapBytes }),
  };
  const directory = options.cwd;
  if (directory !== undefined && !isDirectory(directory)) {
    const what = existsSync(directory) ? 'is no directory' : 'no such directory';
    throw new WavewrightError('IO', what, { file: directory });
  }
  const system = createNodeSystem({ directory, environment, ...(context.isProcess ? {} : { output: context }) });
  if (!sandboxed) return { filesystem: createNodeFileSystem(directory), system, limits };
  const onRefusal = refusalReport(context.stderr);
  const place = directory === undefined ? {} : { directory };
  const filesystem: FileSystem = createSandbox({ ...place, allowRead, allowWrite, onRefusal });
  const refused = (command: string) => {
    onRefusal(`run '${command}'`);
    return -1;
  };
  return { filesystem, system: allowSystem ? system : refused, limits };
}

function refusalReport(stderr: CommandContext['stderr']): (what: string) => void {
  let shown = 0;
  return (what) => {
    shown++;
    const line = shown > MAX_REFUSALS_SHOWN ? 'further refusals are not shown' : `refused to ${printableLine(what)}`;
    if (shown <= MAX_REFUSALS_SHOWN + 1) stderr(`wavewright: sandbox: ${line}\n`);
  };
}

/** Names come from the program: short, and fit for a terminal. */
function printableLine(what: string): string {
  const MAX_CHARACTERS = 300;
  return printable(what.length > MAX_CHARACTERS ? `${what.slice(0, MAX_CHARACTERS)}...` : what);
}

const isDirectory = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;

function stdinOf(file: string | undefined, resources: DisposableStack): Pick<OpenFile, 'read'> {
  if (file === undefined || file === '-') return nodeStdin;
  const mode = { read: true, write: false, append: false, create: false, truncate: false, exclusive: false };
  const opened = createNodeFileSystem().open(file, mode);
  if (opened === undefined) throw new WavewrightError('IO', 'cannot be opened for reading', { file });
  if (isDirectory(file)) throw new WavewrightError('IO', 'is a directory, expected a file', { file });
  resources.defer(() => opened.close());
  return opened;
}

function tracer(
  file: string,
  stderr: CommandContext['stderr'],
  resources: DisposableStack,
): NonNullable<RunOptions['onConversation']> {
  if (file === '-') return (conversation) => stderr(`rpc: ${formatConversation(conversation)}\n`);
  const descriptor = openForWriting(file);
  resources.defer(() => closeSync(descriptor));
  return (conversation) => {
    writeAll(descriptor, `${formatConversation(conversation)}\n`, file);
  };
}

function openForWriting(file: string): number {
  try {
    return openSync(file, 'w');
  } catch (cause) {
    throw new WavewrightError('IO', 'cannot be opened for writing', { file, cause });
  }
}
