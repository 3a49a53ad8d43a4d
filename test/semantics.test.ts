/**
 * Recorded states (CONTRIBUTING.md, "Recorded states"): every executor makes of them what a source that is
 * independent of the rows says, and every row with semantics has enough of them.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { ExecutorName } from '../src/emulator/emulator.ts';
import { decoderFor } from '../src/isa/amdgpu/decoder.ts';
import { encodingsOf } from '../src/isa/amdgpu/encoding/encodings.ts';
import { targetFor } from '../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../src/isa/amdgpu/rows/index.ts';
import { CHOSEN_INSTRUCTION, isChosen } from './chosen-instruction.ts';
import { differences } from './semantics/difference.ts';
import type { Recording } from './semantics/recorded.ts';
import { StateRunner } from './semantics/state-runner.ts';

const FOLDER = new URL('data/semantics/', import.meta.url);
const TARGETS = ['gfx90a', 'gfx942', 'gfx1100'];
const MIN_STATES = 20;

/** Rows that have no recorded states, and why. */
const EXCEPTIONS: readonly (readonly [name: RegExp, reason: string])[] = [
  [/^s_(getpc|setpc|swappc|call)_b64$/, 'a state has no addresses of code; test/lockstep/kernels.test.ts'],
  [/^s_(memtime|memrealtime)$/, 'the result is the time'],
  [
    /^s_(endpgm|barrier|sleep|sendmsg|sendmsg_rtn_b32|sendmsg_rtn_b64|trap)$/,
    'they act on more than a wave; tests of the dispatch',
  ],
  [/^ds_gws_(init|barrier)$/, 'they act on more than a wave; global-wave-sync.test.ts'],
  [/^t?buffer_(load|store)_format_/, 'conversions by the formats of buffers have a suite of their own beside the rows'],
  [/^s_subvector_loop_(begin|end)$/, 'loops; rdna3-scalar.test.ts'],
];

const recordings: Recording[] = readdirSync(FOLDER).flatMap((file) =>
  readFileSync(new URL(file, FOLDER), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Recording)
    .filter(isOfChosen),
);

function viewOf(code: string): DataView {
  const bytes = Buffer.from(code, 'hex');
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

function isOfChosen({ code, targets, waveSize }: Recording): boolean {
  if (CHOSEN_INSTRUCTION === undefined) return true;
  const decoded = decoderFor(targets[0]!, waveSize).decode(viewOf(code), 0);
  return typeof decoded === 'object' && isChosen(decoded.row);
}

/** Compiling a function for each state is slow: a sample. */
const JIT_SHARE = CHOSEN_INSTRUCTION === undefined ? 12 : 1;

function check(target: string, executor: ExecutorName, recordings: readonly Recording[]): void {
  const runners = new Map<number, StateRunner>();
  for (const recording of recordings) {
    const { waveSize } = recording;
    const runner = runners.get(waveSize) ?? new StateRunner(target, executor, waveSize);
    runners.set(waveSize, runner);
    const found = differences(recording, runner.run(recording));
    assert.deepEqual(found.slice(0, 4), [], `${recording.name} ${recording.code}, source: ${recording.source}`);
  }
}

for (const target of TARGETS) {
  const own = recordings.filter(({ targets }) => targets.includes(target));
  test(`${target}: recorded states, reference`, () => check(target, 'reference', own));
  test(`${target}: recorded states, handlers`, () => check(target, 'handlers', own));
  test(`${target}: recorded states, compiled code`, () =>
    check(
      target,
      'jit',
      own.filter((_, i) => i % JIT_SHARE === 0),
    ));

  test(`${target}: every row with semantics has ${MIN_STATES} recorded states`, () => {
    const counts = new Map<string, number>();
    for (const { code, waveSize, columns, before } of own) {
      const decoded = decoderFor(target, waveSize).decode(viewOf(code), 0);
      assert.ok(typeof decoded !== 'string', `${code} on ${target}: ${String(decoded)}`);
      const key = `${decoded.row.format} ${decoded.row.name}`;
      counts.set(key, (counts.get(key) ?? 0) + statesIn(columns, before.registers));
    }
    const missing = allRows()
      .filter((row) => isChosen(row) && row.semantics)
      .filter((row) => encodingsOf(row, targetFor(target)).length > 0)
      .filter(({ name }) => !EXCEPTIONS.some(([pattern]) => pattern.test(name)))
      .filter(({ format, name }) => (counts.get(`${format} ${name}`) ?? 0) < MIN_STATES)
      .map(({ format, name }) => `${format} ${name}: ${counts.get(`${format} ${name}`) ?? 0}`);
    assert.deepEqual(missing, []);
  });
}

/** Runs, or lanes that are on. */
function statesIn(columns: Recording['columns'], registers: Recording['before']['registers']): number {
  const length = (text: string): number => text.length / 8;
  const names = Object.keys(registers).filter((name) => (columns === 'waves' ? name !== 'exec' : /^[avp]/.test(name)));
  const count = Math.max(...names.map((name) => length(registers[name]!)));
  if (columns === 'waves') return count;
  const exec = BigInt(`0x${registers['exec']!.slice(8)}${registers['exec']!.slice(0, 8)}`);
  return Array.from({ length: count }, (_, lane) => Number((exec >> BigInt(lane)) & 1n)).reduce((x, y) => x + y, 0);
}
