/** How far a campaign is: a line on a terminal, else one from time to time. */
import type { JobCounts } from '../../fleet/queue/campaign.ts';
import type { Outcome } from '../../fleet/verdict.ts';
import type { CommandContext } from '../arguments/command.ts';

const TERMINAL_MS = 250;
const LINE_MS = 30_000;
const NO_WORKER_MS = 10_000;
const MS_PER_S = 1000;

export class FleetProgress {
  readonly #context: CommandContext;
  readonly #cases: ArrayLike<unknown>;
  readonly #isTerminal: boolean;
  readonly #startMs = performance.now();
  #nextMs = this.#startMs;
  #nextLineMs = this.#startMs + LINE_MS;
  #done = 0;
  #failed = 0;
  #quarantined = 0;
  #line = '';
  #isLonely = true;

  /** Whether all cases are known. */
  isPlanned = false;

  /** `cases` may become more. */
  constructor(context: CommandContext, cases: ArrayLike<unknown>) {
    this.#context = context;
    this.#cases = cases;
    this.#isTerminal = context.isProcess === true && process.stderr.isTTY && !context.isQuiet;
  }

  add(outcome: Outcome): void {
    this.#done++;
    if (outcome !== 'passed') this.#failed++;
    if (outcome === 'quarantined') this.#quarantined++;
  }

  isDue(): boolean {
    const nowMs = performance.now();
    if (nowMs < this.#nextMs) return false;
    this.#nextMs = nowMs + TERMINAL_MS;
    return true;
  }

  show(workers: number, { active }: JobCounts): void {
    if (workers > 0) this.#isLonely = false;
    const nowMs = performance.now();
    const rate = (this.#done / (nowMs - this.#startMs)) * MS_PER_S;
    const total = this.#cases.length;
    const leftS = rate > 0 && this.isPlanned ? `${Math.ceil((total - this.#done) / rate)} s left` : '';
    const parts = [
      `${this.#done}/${total}${this.isPlanned ? '' : ' or more'}`,
      `${this.#failed} failed`,
      `${workers} workers`,
      `${active} jobs run`,
    ];
    if (this.#quarantined > 0) parts.push(`${this.#quarantined} quarantined`);
    parts.push(`${rate.toFixed(1)}/s`, leftS);
    const text = parts.filter((part) => part !== '').join(', ');
    if (this.#isTerminal) {
      this.#clear();
      this.#line = text;
      this.#context.stderr(text);
    } else if (nowMs >= this.#nextLineMs) {
      this.#nextLineMs = nowMs + LINE_MS;
      if (!this.#context.isQuiet) this.#context.stderr(`wavewright: ${text}\n`);
    }
  }

  /** Whether it is time to say, once, that no worker was seen. */
  lacksWorkers(): boolean {
    if (!this.#isLonely || performance.now() - this.#startMs < NO_WORKER_MS) return false;
    this.#isLonely = false;
    return true;
  }

  /** Prints something else, with the line behind it. */
  around(print: () => void): void {
    const line = this.#line;
    this.#clear();
    print();
    this.#line = line;
    if (line !== '') this.#context.stderr(line);
  }

  end(): void {
    this.#clear();
  }

  #clear(): void {
    if (this.#line !== '') this.#context.stderr('\r\x1b[K');
    this.#line = '';
  }
}
