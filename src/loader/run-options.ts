/** Numbers and names of `runProgram`'s options, checked before anything else happens. */
import { WavewrightError } from '../base/errors.ts';
import type { RunOptions } from './program.ts';

function check(name: string, value: number | undefined, min: number, isWhole = true): void {
  // NaN fails every comparison.
  if (value === undefined || (value >= min && (!isWhole || Number.isSafeInteger(value)))) return;
  const expected = isWhole ? `an integer from ${min}` : `a number from ${min}`;
  throw new WavewrightError('USAGE', `${name} is ${value}, expected ${expected}`);
}

/** What errors call the image. Throws USAGE where there are no options to run a program with. */
export function programName(options: RunOptions): string {
  if (!Array.isArray(options?.args) || typeof options.device !== 'object') {
    throw new WavewrightError('USAGE', 'a program without options, expected at least { device, args }');
  }
  return options.name ?? options.args[0] ?? 'image';
}

/** Throws USAGE. What the device or the kernel allows is checked where that is known. */
export function checkRunOptions({
  blocks,
  threads,
  stackSizeBytes,
  timeoutMs,
  limits = {},
  env = {},
}: RunOptions): void {
  for (const [name, extent] of Object.entries({ blocks, threads })) {
    for (const size of extent ?? []) check(name, size, 1);
  }
  check('stackSizeBytes', stackSizeBytes, 0);
  check('timeoutMs', timeoutMs, 0, false);
  for (const [name, limit] of Object.entries(limits)) {
    if (limit !== Number.POSITIVE_INFINITY) check(`limits.${name}`, limit, 0);
  }
  for (const name of Object.keys(env)) {
    if (name === '' || name.includes('=')) throw new WavewrightError('USAGE', `'${name}' is no name of a variable`);
  }
}
