/** What a case from a queue may ask of the machine that runs it. */
import { WavewrightError } from '../../base/errors.ts';
import { EM_CUDA } from '../../codeobject/elf-flags.ts';
import { elfMachine } from '../../elf/header.ts';
import type { Case } from '../../fleet/case.ts';
import { parseArguments } from '../arguments/options.ts';
import { readInput } from '../process/input.ts';
import { RUN_GRAMMAR } from '../program/run-program.ts';

/** Options that reach nothing but the program and its device. */
const ALLOWED = [
  ...['blocks-x', 'blocks-y', 'blocks-z', 'threads-x', 'threads-y', 'threads-z', 'device', 'timeout', 'workers'],
  ...['memory', 'stack-size', 'heap-size', 'env', 'clear-env', 'max-output', 'max-open-files', 'check', 'stats'],
  ...['sandbox', 'tool'],
];
const EMULATED = /^(?:emulated|gfx\w+|ptx)(?::|$)/;
/** A tool of ours, without options: those may name files. */
const PLAIN_TOOL = /^[a-z][a-z0-9-]*$/;

/**
 * Whether a worker may run a case that it was sent: its options widen no sandbox, name no files, load no code
 * and open no GPU of the machine. Throws USAGE.
 */
export function expectHarmless({ name, device, options }: Case): void {
  const refuse = (what: string) =>
    new WavewrightError('USAGE', `'${name}' has ${what}, which no case from a queue may have`);
  const parsed = parseArguments(RUN_GRAMMAR, [...options, '--', 'image']);
  if (parsed.help || parsed.operands.length !== 1) throw refuse('options that are none');
  for (const [option, value] of Object.entries(parsed.options)) {
    const row = RUN_GRAMMAR.options[option as keyof typeof RUN_GRAMMAR.options];
    const isGiven = value !== undefined && value !== false && !('default' in row && row.default === value);
    if (isGiven && !ALLOWED.includes(option)) throw refuse(`--${option}`);
  }
  for (const each of [device, parsed.options.device]) {
    if (each !== undefined && !EMULATED.test(each)) throw refuse(`--device=${each}`);
  }
  const tool = parsed.options.tool?.find((each) => !PLAIN_TOOL.test(each));
  if (tool !== undefined) throw refuse(`--tool=${tool}`);
}

/** Whether a program would start the machine's own GPU. Throws UNSUPPORTED. */
export function expectEmulated({ image, device }: Case): void {
  if (device === undefined && elfMachine(readInput(image)) === EM_CUDA) {
    throw new WavewrightError('UNSUPPORTED', 'a program for a GPU of the machine: workers run emulated devices');
  }
}
