import { WavewrightError } from '../../base/errors.ts';
import type { ReplayFile } from '../../replay/format/file.ts';
import { defineCommand } from '../arguments/command.ts';
import { didYouMean } from '../arguments/suggest.ts';
import { readInput } from '../process/input.ts';

const VERBS = ['dump'] as const;

/** What is in a recording of a device. */
export const replay = defineCommand({
  operands: { usage: `${VERBS.join('|')} FILE`, min: 2, max: 2 },
  options: {
    format: { kind: 'choice', choices: ['text', 'jsonl'], default: 'text', description: 'dump: how to print' },
  },
  formats: { text: 'a line for each record', jsonl: 'JSON Lines with the rows of iree-dump-replay' },
  notes: [
    'FILE is a recording of a HAL device (.ireereplay 1.0), of ours or of IREE.',
    'Example: wavewright replay dump run.ireereplay --format=jsonl | jq \'select(.operation=="device.queue_dispatch")\'',
  ],
  async run({ stdout }, options, [verb, file]) {
    if (!VERBS.some((each) => each === verb)) throw usage(`unknown verb '${verb}'`, didYouMean(verb!, VERBS));
    await dump(await read(file!), options.format, stdout);
    return 0;
  },
});

async function read(file: string): Promise<ReplayFile> {
  const { readReplayFile } = await import('../../replay/format/file.ts');
  return readReplayFile(readInput(file, 'a recording'), file);
}

async function dump(file: ReplayFile, format: 'text' | 'jsonl', stdout: (text: string) => void): Promise<void> {
  const { jsonLinesOf, textLinesOf } = await import('../../replay/dump/dump.ts');
  for (const line of format === 'jsonl' ? jsonLinesOf(file) : textLinesOf(file)) stdout(line);
}

const usage = (what: string, hint = '`wavewright help replay` says what there is'): WavewrightError =>
  new WavewrightError('USAGE', what, { hint });
