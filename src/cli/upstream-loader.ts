/**
 * The command lines of LLVM's GPU loaders, so that a build of LLVM can be pointed at this one:
 * `llvm-gpu-loader` of LLVM 21 to 23, and `amdhsa-loader` and `nvptx-loader` of LLVM 17 to 22, which have had
 * two front ends. In LLVM 21 and 22 the names do not matter, only what the image is for.
 */
import { WavewrightError } from '../base/errors.ts';
import { printable } from '../base/text.ts';
import type { CommandContext } from './arguments/command.ts';
import { commandHelp } from './arguments/help.ts';
import { parseArguments } from './arguments/options.ts';
import { run } from './commands/run.ts';
import { PROGRAM_OPTIONS } from './program/program-options.ts';
import type { UpstreamLoader } from './upstream-loader-names.ts';

const { existsSync } = process.getBuiltinModule('node:fs');

/** For everything that is wrong before or beside the program. */
const LOADER_ERROR = 1;
/** The HSA runtime aborts on a fault of the GPU. */
const ABORTED = 134;
const TIMED_OUT = 124;
/** Stack of a work-item in bytes, for the runtime under LLVM 23's loader. */
const STACK_VARIABLE = 'LIBOMPTARGET_STACK_SIZE';

const VALUE_OPTIONS = new Set(
  ['threads', 'blocks'].flatMap((what) => ['', '-x', '-y', '-z'].map((dimension) => `--${what}${dimension}`)),
);

const UPSTREAM_FLAGS = new Set(['--print-resource-usage', '--no-parallelism']);

/** Runs one command line; the exit status. Errors are reported, never thrown. */
export async function runUpstreamLoader(
  name: UpstreamLoader,
  argv: readonly string[],
  context: CommandContext,
): Promise<number> {
  try {
    if (argv.length === 0 && name !== 'llvm-gpu-loader') {
      context.stdout(`usage: ${name} [--threads N] [--blocks N] IMAGE [ARGUMENT...]\n`);
      return 0;
    }
    if (argv[0] === '--version' || argv[0] === '-version') {
      context.stdout(`${name} of wavewright\n`);
      return 0;
    }
    const words = plainWords(name === 'llvm-gpu-loader' ? argv : withEarlyImage(argv));
    const parsed = parseArguments({ ...run, name }, withStackSize(words, context.env));
    if (parsed.help) {
      context.stdout(
        commandHelp({ name, summary: 'run the main function of a GPU program', load: async () => run }, run),
      );
      return 0;
    }
    return await run.run(context, parsed.options, parsed.operands);
  } catch (error) {
    return report(error, context);
  }
}

/**
 * Up to LLVM 19 the first word that is no option was the image, even one with a dash in front; later that is
 * an error. What names a file is the image here.
 */
function withEarlyImage(argv: readonly string[]): string[] {
  let at = 0;
  while (at < argv.length && argv[at]!.startsWith('-')) {
    const word = argv[at]!;
    const isOption = Object.keys(PROGRAM_OPTIONS).some(
      (option) => word.replace(/^--?/, '').split('=', 1)[0] === option,
    );
    if (!isOption && !VALUE_OPTIONS.has(word) && existsSync(word))
      return [...argv.slice(0, at), '--', ...argv.slice(at)];
    at += VALUE_OPTIONS.has(word) ? 2 : 1;
  }
  return [...argv];
}

const FLAGS: Readonly<Record<string, boolean>> = {
  ...{ true: true, TRUE: true, True: true, 1: true },
  ...{ false: false, FALSE: false, False: false, 0: false },
};

/**
 * Values that LLVM's command line library reads and ours does not: flags with a value, and hexadecimal
 * counts.
 */
function plainWords(argv: readonly string[]): string[] {
  const words: string[] = [];
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at]!;
    // The image: the rest is the program's.
    if (!word.startsWith('-') || word === '-' || word === '--') return [...words, ...argv.slice(at)];
    const [name = '', value] = word.replace(/^--?/, '--').split(/=(.*)/s);
    if (VALUE_OPTIONS.has(name))
      words.push(name, ...(value === undefined ? argv.slice(++at, at + 1) : [value]).map(decimal));
    else if (UPSTREAM_FLAGS.has(name) && value !== undefined && value in FLAGS)
      words.push(...(FLAGS[value] ? [name] : []));
    else words.push(word);
  }
  return words;
}

const decimal = (text: string): string => (/^0x[\da-f]+$/i.test(text) ? String(Number(text)) : text);

function withStackSize(argv: readonly string[], env: CommandContext['env']): readonly string[] {
  const size = env[STACK_VARIABLE];
  return size === undefined ? argv : [`--stack-size=${size}`, ...argv];
}

function report(error: unknown, { stderr, env }: CommandContext): number {
  const text = error instanceof Error ? error.message : String(error);
  const [headline, ...details] = text.split('\n').map(printable);
  stderr([`loader: error: ${headline}`, ...details, ''].join('\n'));
  if (env['WAVEWRIGHT_DEBUG'] === '1' && error instanceof Error) stderr(`${error.stack}\n`);
  if (!(error instanceof WavewrightError)) return LOADER_ERROR;
  if (error.code === 'GPU_FAULT') return ABORTED;
  return error.code === 'TIMEOUT' ? TIMED_OUT : LOADER_ERROR;
}
