/**
 * A child process that runs cases, so that one that ends its process or takes all memory harms no other.
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { WavewrightError } from '../../base/errors.ts';
import { killGroup } from '../../base/process-group.ts';
import type { CaseRunnerOptions } from './case-runner.ts';
import type { Channel, ChannelListener, OpenChannel } from './channel.ts';
import type { CaseMessage } from './run-case.ts';

export interface ProcessOptions {
  /** What child processes see as their environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Words before the command of the child, such as those of a sandbox: `bwrap --unshare-all ...`. */
  readonly wrapper?: readonly string[];
  /** Memory of JavaScript objects of a child, in MiB. */
  readonly heapMib?: number;
}

export const CHILD_WRAPPER_OPTION = {
  kind: 'text',
  placeholder: 'COMMAND',
  description: 'what starts the processes of programs, in words: bwrap --unshare-all ...',
} as const;

const MAX_CASES = 1000;
const DEFAULT_HEAP_MIB = 2048;
/** The kernel of Linux ends children first when memory is short. */
const OOM_SCORE = '1000';
/** Output of a program is limited, and JSON makes it six times as long at most. */
const MAX_ANSWER_CHARACTERS = 2 ** 26;
/** What a child says on standard error, of which the end explains how it died. */
const TAIL_CHARACTERS = 4096;

/** The words of a --child-wrapper, the first as a path. Throws USAGE where there is no such command. */
export function wrapperOf(text: string, searchPath = ''): readonly string[] {
  const { accessSync, constants } = process.getBuiltinModule('node:fs');
  const [command = '', ...rest] = text.split(/\s+/).filter((word) => word !== '');
  const places = command.includes('/')
    ? [command]
    : searchPath.split(path.delimiter).map((each) => path.join(each, command));
  const isThere = (file: string): boolean => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  };
  const found = command === '' ? undefined : places.find(isThere);
  if (found === undefined) throw new WavewrightError('USAGE', `--child-wrapper: there is no command '${command}'`);
  return [found, ...rest];
}

/** Children that keep their compiled code from case to case, and are renewed before they have grown large. */
export function isolated(options: ProcessOptions): Pick<CaseRunnerOptions, 'open' | 'maxCases' | 'crashRetries'> {
  const open: OpenChannel = (listener) => new ProcessChannel(options, listener);
  // What ended may have ended for what ran there before: it gets a fresh one.
  return { open, maxCases: MAX_CASES, crashRetries: 1 };
}

class ProcessChannel implements Channel {
  readonly #child;
  readonly #listener: ChannelListener;
  #isOpen = true;
  /** The begin of a line that is not whole yet. */
  #pending: string[] = [];
  #pendingLength = 0;
  #tail = '';

  constructor({ env, wrapper = [], heapMib = DEFAULT_HEAP_MIB }: ProcessOptions, listener: ChannelListener) {
    const { spawn } = process.getBuiltinModule('node:child_process');
    const script = fileURLToPath(new URL(`./child${path.extname(import.meta.url)}`, import.meta.url));
    const [command = '', ...argv] = [...wrapper, process.execPath, `--max-old-space-size=${heapMib}`, script];
    this.#listener = listener;
    // A group of its own: Ctrl-C is for the pool, and with the child goes what it started.
    this.#child = spawn(command, argv, { env: { ...env }, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    const { stdin, stdout, stderr } = this.#child;
    // Writing to a child that is gone fails; that it is gone is told by its end.
    stdin.on('error', () => undefined);
    stdout.setEncoding('utf8').on('data', (text: string) => this.#take(text));
    stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#tail = (this.#tail + text).slice(-TAIL_CHARACTERS);
    });
    this.#child.on('error', (error) => this.#end(`the process could not be started: ${error.message}`));
    this.#child.on('close', (status, signal) => {
      const how = signal === null ? `the process ended with ${status}` : `the process was ended by ${signal}`;
      this.#end([how, this.#tail.trim()].filter((text) => text !== '').join('\n'));
    });
    if (this.#child.pid !== undefined) preferForEnding(this.#child.pid);
  }

  send(request: unknown): void {
    this.#child.stdin.write(`${JSON.stringify(request)}\n`);
  }

  kill(): void {
    this.#isOpen = false;
    killGroup(this.#child);
  }

  #take(text: string): void {
    const lines = text.split('\n');
    const rest = lines.pop()!;
    for (const line of lines) {
      const whole = this.#pending.join('') + line;
      [this.#pending, this.#pendingLength] = [[], 0];
      const message = messageOf(whole);
      if (message === undefined) this.#fail('the process answers with what is no answer');
      else if (this.#isOpen) this.#listener.onMessage(message);
    }
    this.#pending.push(rest);
    this.#pendingLength += rest.length;
    if (this.#pendingLength > MAX_ANSWER_CHARACTERS) this.#fail('the process answers without an end');
  }

  #fail(reason: string): void {
    const wasOpen = this.#isOpen;
    this.kill();
    if (wasOpen) this.#listener.onEnd(reason);
  }

  #end(reason: string): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#listener.onEnd(reason);
  }
}

/** What a line says; nothing that a child says is believed before it is looked at. */
function messageOf(line: string): CaseMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (value === 'ready' || value === 'started') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  const { status, durationMs, stdout, stderr } = value as Record<string, unknown>;
  if (typeof status !== 'number' || !Number.isInteger(status) || typeof durationMs !== 'number') return undefined;
  if (typeof stdout !== 'string' || typeof stderr !== 'string') return undefined;
  return { status, durationMs, stdout, stderr };
}

function preferForEnding(pid: number): void {
  if (process.platform !== 'linux') return;
  try {
    process.getBuiltinModule('node:fs').writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE);
  } catch (error) {
    // It may have ended, and where /proc is not there, the kernel chooses by itself.
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}
