import { WavewrightError } from '../../base/errors.ts';
import type { CommandContext } from './command.ts';

/** Runs a command line of this program; the exit status. */
export type RunCommand = (argv: readonly string[], context: CommandContext) => Promise<number>;

/**
 * A command line with further options, which stand before its own. `words`: by the commands that take them,
 * how many words stand before options. Throws USAGE for another command.
 */
export function commandWith(
  options: readonly string[],
  argv: readonly string[],
  words: Readonly<Record<string, number>>,
): string[] {
  const [name = ''] = argv;
  if (!Object.hasOwn(words, name)) {
    throw new WavewrightError('USAGE', `record needs a command: ${Object.keys(words).join(', ')}`, {
      hint: 'put it behind --, with its options',
    });
  }
  return [...argv.slice(0, words[name]), ...options, ...argv.slice(words[name])];
}
