/**
 * Writes the recorded states, `test/data/semantics/<encoding>.jsonl`, by the models of this folder
 * (CONTRIBUTING.md, "Recorded states"). Lines that another emulator computed alike name it as their source
 * too: give its results as files, or keep what the existing lines say.
 *
 *   node tools/semantics/record.ts [FILE...]
 *   node tools/semantics/record.ts --jobs=cdna|rdna3     the states without results, for the other emulator
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Recording, State } from '../../test/semantics/recorded.ts';
import { generate, PLANS } from './generate.ts';

const FOLDER = new URL('../../test/data/semantics/', import.meta.url);
const FORMULA = 'formula';
const BOTH = 'formula, tinygrad';

type Unfinished = Omit<Recording, 'source'>;

const readLines = <T>(file: URL | string): T[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);

const keyOf = ({ code, mode, waveSize, before }: Pick<Recording, 'code' | 'mode' | 'waveSize' | 'before'>): string =>
  `${code} ${mode} ${waveSize} ${JSON.stringify(before)}`;

const isSame = (found: State, wanted: State): boolean =>
  Object.entries(wanted.registers).every(([name, text]) => found.registers[name] === text) &&
  found.memory === wanted.memory &&
  found.lds === wanted.lds;

/** Results of the other emulator by state. */
function confirmed(files: readonly string[]): Map<string, State> {
  const states = new Map<string, State>();
  for (const each of files.flatMap((file) => readLines<Recording & { error?: string }>(file))) {
    if (each.error === undefined) states.set(keyOf(each), each.after);
  }
  return states;
}

/** As `confirmed`, from the lines that are there. */
function kept(): Map<string, State> {
  const states = new Map<string, State>();
  for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.jsonl'))) {
    for (const each of readLines<Recording>(new URL(file, FOLDER)))
      if (each.source === BOTH) states.set(keyOf(each), each.after);
  }
  return states;
}

function finished(recording: Unfinished, others: ReadonlyMap<string, State>): Recording {
  const found = others.get(keyOf(recording));
  const source = found && isSame(found, recording.after) ? BOTH : FORMULA;
  const { name, code, targets, waveSize, mode, columns, tolerance, pointers, before, after } = recording;
  return {
    ...{ name, code, targets, waveSize, mode, columns, source },
    ...(tolerance && { tolerance }),
    ...(pointers && { pointers }),
    ...{ before, after },
  };
}

/** Recordings by file; targets with the same line share it. */
function recordings(): Map<string, Unfinished[]> {
  const files = new Map<string, Map<string, Unfinished>>();
  for (const { processor } of PLANS) {
    for (const { file, recording } of generate(processor)) {
      const lines = files.get(file) ?? new Map<string, Unfinished>();
      files.set(file, lines);
      const key = `${recording.name} ${keyOf(recording)} ${JSON.stringify(recording.after)}`;
      const earlier = lines.get(key);
      lines.set(key, { ...recording, targets: [...(earlier?.targets ?? []), processor] });
    }
  }
  return new Map([...files].map(([file, lines]) => [file, [...lines.values()]]));
}

function printJobs(architecture: string): void {
  for (const lines of recordings().values()) {
    for (const recording of lines) {
      const isModern = recording.targets.includes('gfx1100');
      if (isModern !== (architecture === 'rdna3') || recording.waveSize !== (isModern ? 32 : 64)) continue;
      if (recording.pointers || recording.before.lds !== undefined) continue;
      const { after, ...job } = recording;
      process.stdout.write(`${JSON.stringify({ ...job, destinations: Object.keys(after.registers) })}\n`);
    }
  }
}

const [first = '', ...rest] = process.argv.slice(2);
if (first.startsWith('--jobs=')) printJobs(first.slice('--jobs='.length));
else {
  mkdirSync(FOLDER, { recursive: true });
  const others = first === '' ? kept() : confirmed([first, ...rest]);
  for (const name of readdirSync(FOLDER)) rmSync(new URL(name, FOLDER));
  for (const [file, lines] of recordings()) {
    const text = lines.map((recording) => `${JSON.stringify(finished(recording, others))}\n`);
    writeFileSync(new URL(`${file}.jsonl`, FOLDER), text.join(''));
  }
}
