/**
 * PTX that others wrote: every text below `WAVEWRIGHT_PTX_CORPUS` is read, printed and compiled, or refused
 * with a place and a reason, which are listed. Where ZLUDA's tests (`ptx/src/test/spirv_run`) are among them,
 * their kernels give the results that are written there.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { WavewrightError } from '../../src/index.ts';
import { compilePtx, createPtxDevice, parsePtx, printPtx, runPtxKernel } from '../../src/ptx.ts';
import { type ZludaCase, zludaCases } from './zluda-cases.ts';

const FOLDER = process.env['WAVEWRIGHT_PTX_CORPUS'];
const skip = FOLDER === undefined && 'WAVEWRIGHT_PTX_CORPUS names no folder';
const EXECUTORS = ['reference', 'handlers', 'jit'] as const;
/** More than any of the results, since some kernels write behind theirs. */
const BUFFER_BYTES = 8192;

/** Why a text is refused, without its place; anything but a clear error is thrown. */
function reasonOf(error: unknown): string {
  if (!(error instanceof WavewrightError) || error.code === 'INTERNAL') throw error;
  const [line = ''] = error.message.split('\n');
  return `${error.code}: ${line.replace(/^\S+:\d+:\d+: /, '')}`;
}

/** How far a text gets. */
function fateOf(text: string, name: string): string {
  let stage = 'not read';
  try {
    const printed = printPtx(parsePtx(text, name));
    assert.equal(printPtx(parsePtx(printed, name)), printed, name);
    stage = 'not compiled';
    compilePtx(text, name);
    return 'compiled';
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    return `${stage}: ${reasonOf(error)}`;
  }
}

test('PTX that others wrote is compiled, or refused with a reason', { skip }, (t) => {
  const files = globSync('**/*.ptx', { cwd: FOLDER! }).sort();
  const fates = Map.groupBy(files, (file) => fateOf(readFileSync(path.join(FOLDER!, file), 'utf8'), file));
  for (const [fate, names] of [...fates].sort(([, a], [, b]) => b.length - a.length)) {
    t.diagnostic(`${names.length} ${fate}${fate === 'compiled' ? '' : `, ${names[0]}`}`);
  }
  assert.ok(files.length > 0);
});

async function isRight(text: string, { name, input, output }: ZludaCase, way: (typeof EXECUTORS)[number]) {
  using device = createPtxDevice({ processor: 'sm_90', executor: way, memorySizeBytes: 2 ** 26 });
  const buffer = (contents: Uint8Array, file: string) =>
    ({ kind: 'buffer', text: file, elements: undefined, contents, sizeBytes: BUFFER_BYTES, output: file }) as const;
  const none = new Uint8Array();
  const kernel = parsePtx(text, name).items.find((item) => item.kind === 'function' && item.isEntry);
  const count = kernel?.kind === 'function' ? kernel.parameters.length : 0;
  const all = input ? [buffer(input, 'in'), buffer(none, 'out')] : [buffer(none, 'out'), buffer(none, 'in')];
  const threads = input ? 1 : 64;
  const { outputs } = await runPtxKernel({
    ...{ device, texts: [{ text, name: `${name}.ptx` }], kernel: name, grid: [threads], workgroup: [threads] },
    ...{ args: all.slice(0, count), dynamicSharedSizeBytes: 1024, timeoutMs: 30_000 },
  });
  // Kernels without an input may write to either, which ZLUDA gives the same buffer.
  const written = outputs.filter(({ file }) => file === 'out' || input === undefined);
  return written.some(({ bytes }) => Buffer.compare(bytes.subarray(0, output.length), output) === 0);
}

test('kernels of ZLUDA’s tests give the results that are written there', { skip }, async (t) => {
  const [list] = globSync('**/spirv_run/mod.rs', { cwd: FOLDER! });
  if (list === undefined) return t.skip('ZLUDA is not there');
  const cases = zludaCases(readFileSync(path.join(FOLDER!, list), 'utf8'));
  const wrong: string[] = [];
  let right = 0;
  for (const each of cases) {
    const text = readFileSync(path.join(FOLDER!, path.dirname(list), `${each.name}.ptx`), 'utf8');
    try {
      for (const way of EXECUTORS) {
        if (!(await isRight(text, each, way))) wrong.push(`${each.name} (${way})`);
      }
      right++;
    } catch (error) {
      const reason = reasonOf(error);
      if (!/^(UNSUPPORTED|BAD_INPUT)/.test(reason)) wrong.push(`${each.name}: ${reason}`);
      t.diagnostic(`${each.name}: ${reason}`);
    }
  }
  t.diagnostic(`${cases.length} kernels with results, ${right} ran`);
  assert.ok(cases.length > 150);
  assert.deepEqual(wrong, []);
});
