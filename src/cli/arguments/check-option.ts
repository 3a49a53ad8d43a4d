/** `--check` of commands that run kernels. */
import { WavewrightError } from '../../base/errors.ts';

export const CHECK_OPTION = {
  kind: 'choice',
  choices: ['waits'],
  description:
    'run slowly on the reference executor and report each instruction that lacks a wait; the status is 6 when there is one',
} as const;

/** What a check found while kernels ran. */
export class Findings {
  /** Undefined where nothing is checked. */
  readonly check: 'waits' | undefined;
  readonly #print: (text: string) => void;
  #count = 0;

  constructor(check: 'waits' | undefined, print: (text: string) => void) {
    this.check = check;
    this.#print = print;
  }

  add(message: string): void {
    this.#count++;
    this.#print(`${message}\n`);
  }

  /** Throws GPU_FAULT when something was found. */
  expectNone(): void {
    if (this.#count === 0) return;
    const what = this.#count === 1 ? 'a wait is missing' : `${this.#count} waits are missing`;
    throw new WavewrightError('GPU_FAULT', what, { hint: 'the lines above say where' });
  }
}
