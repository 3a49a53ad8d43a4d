/**
 * A reporter for node:test that says file by file what ran and how far it is, each failure when it happens
 * and again in the end, then node:test's own summary: `node --test --test-reporter=./test/file-reporter.ts`.
 */
import path from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

/** Of one file. */
const MAX_NOTES = 20;
const CLEAR_LINE = '\r\x1b[K';

interface FileState {
  /** What its tests have to say. */
  readonly notes: string[];
}

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const isTerminal = process.stdout.isTTY;
  const files = new Map<string, FileState>();
  const failures: string[] = [];
  const summary: string[] = [];
  let known = 0;
  let done = 0;
  const line = (text: string): string => `${isTerminal ? CLEAR_LINE : ''}${text}\n${isTerminal ? status() : ''}`;
  const status = (): string => {
    const running = [...files.keys()].map((file) => path.basename(file)).join(', ');
    return running && `${progress()} ${running}`;
  };
  const progress = (): string => `[${String(done).padStart(String(known).length)}/${known}]`;

  for await (const { type, data } of events) {
    if (data === undefined) continue;
    const file = 'file' in data && data.file !== undefined ? data.file : undefined;
    const isFile = 'name' in data && file !== undefined && path.resolve(data.name) === file;
    const state = file === undefined ? undefined : files.get(file);
    switch (type) {
      case 'test:enqueue':
        if (isFile) known++;
        break;
      case 'test:dequeue':
        if (isFile) files.set(file!, { notes: [] });
        break;
      case 'test:pass':
      case 'test:fail': {
        if (data.details.type === 'suite') break;
        const isSkipped = data.skip !== undefined && data.skip !== false;
        if (state && isSkipped) {
          state.notes.push(`skipped: ${data.name}${typeof data.skip === 'string' ? ` (${data.skip})` : ''}`);
        }
        if (type !== 'test:fail' || isSkipped || data.todo) break;
        const where = `${relative(file ?? '')}${data.line === undefined || isFile ? '' : `:${data.line}`}`;
        failures.push(`${where}: ${isFile ? 'the file failed' : data.name}`);
        const { error } = data.details;
        yield line(`✖ ${failures.at(-1)}\n${indented(inspect(error.cause ?? error))}`);
        break;
      }
      // Of a file it comes behind all of the file's tests; other events of files that run at the same time
      // come in any order.
      case 'test:summary':
        if (!state) break;
        done++;
        files.delete(file!);
        for (const text of fileLines(progress(), file!, data, state.notes)) yield line(text);
        break;
      case 'test:diagnostic':
        if (file === undefined) summary.push(`ℹ ${data.message}`);
        else state?.notes.push(data.message);
        break;
      case 'test:stdout':
      case 'test:stderr':
        yield `${isTerminal ? CLEAR_LINE : ''}${data.message}`;
        break;
    }
  }
  if (isTerminal) yield CLEAR_LINE;
  if (failures.length > 0) yield `\nfailed:\n${failures.map((failure) => `✖ ${failure}\n`).join('')}\n`;
  yield `${summary.join('\n')}\n`;
}

interface Summary {
  readonly counts: Readonly<Record<'tests' | 'passed' | 'skipped' | 'todo', number>>;
  readonly duration_ms: number;
}

/** `duration_ms`: of the file itself; its events wait for those of the files before it. */
function fileLines(progress: string, file: string, summary: Summary, notes: readonly string[]): string[] {
  const { tests, skipped, passed, todo } = summary.counts;
  const failed = tests - passed - skipped - todo;
  const counts = [
    `${tests} test${tests === 1 ? '' : 's'}`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    `${(summary.duration_ms / 1000).toFixed(1)} s`,
  ];
  const head = `${progress} ${failed > 0 ? '✖' : '✔'} ${relative(file)} (${counts.join(', ')})`;
  const more = notes.length - MAX_NOTES;
  const shown = [...notes.slice(0, MAX_NOTES), ...(more > 0 ? [`and ${more} more`] : [])];
  return [head, ...shown.map((note) => indented(note))];
}

const relative = (file: string): string => path.relative(process.cwd(), file);
const indented = (text: string): string => text.replace(/^/gm, '    ');
