import { printable } from '../../base/text.ts';

/**
 * Ctrl-C while a program runs: it is stopped, and says where it was; a second one ends the process at once,
 * as without this.
 */
export class Interruption implements Disposable {
  readonly #controller = new AbortController();
  readonly #onInterrupt = () => this.#controller.abort(new Error('interrupted'));

  constructor() {
    process.once('SIGINT', this.#onInterrupt);
  }

  /** What the user is told. */
  static report(kernel: string, waves: readonly string[]): string {
    return `wavewright: interrupted in kernel '${kernel}'\n${waves.map((line) => `  ${printable(line)}\n`).join('')}`;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends the process by the signal that it took, if it took one: shells and scripts look for that. */
  [Symbol.dispose](): void {
    process.off('SIGINT', this.#onInterrupt);
    if (this.signal.aborted) process.kill(process.pid, 'SIGINT');
  }
}
