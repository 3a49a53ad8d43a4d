/** A profile of each program of a batch, in a folder, by the options that `run` has. */
import { WavewrightError } from '../../base/errors.ts';
import type { Case } from '../../fleet/case.ts';
import { PACKET_PROFILING_OPTIONS } from '../program/device-profiling.ts';
import type { TestOptions } from './test-options.ts';

const { mkdirSync } = process.getBuiltinModule('node:fs');

type OptionName = keyof typeof PACKET_PROFILING_OPTIONS;
const NAMES = Object.keys(PACKET_PROFILING_OPTIONS) as OptionName[]; // reason: the keys are its names

/**
 * What `run` is given for a profile of a case; its file is called as the case, or as it and a number where
 * another one is called so. Makes the folder. Throws USAGE where options go together with nothing, IO.
 */
export function caseProfiles(cases: readonly Case[], options: TestOptions): (one: Case) => readonly string[] {
  const folder = options['device-profiling-output'];
  const contents = NAMES.filter((name) => name !== 'device-profiling-output').flatMap((name) =>
    [options[name] ?? []].flat().map((value) => `--${name}=${value}`),
  );
  if (folder === undefined) {
    if (contents.length === 0) return () => [];
    throw new WavewrightError('USAGE', 'profiles need a folder: --device-profiling-output=FOLDER');
  }
  if (options.queue !== undefined) {
    throw new WavewrightError(
      'USAGE',
      '--device-profiling-output names a folder of this machine, and --queue runs elsewhere',
    );
  }
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw new WavewrightError('IO', `${folder}: no folder for profiles can be made`, { cause: error });
  }
  const files = new Map<Case, string>();
  const taken = new Set<string>();
  for (const one of cases) {
    const name = one.name.replaceAll(/[^\w.-]+/g, '_');
    let file = name;
    for (let number = 2; taken.has(file); number++) file = `${name}.${number}`;
    taken.add(file);
    files.set(one, `${folder}/${file}.ireeprof`);
  }
  return (one) => [...contents, `--device-profiling-output=${files.get(one)}`];
}
