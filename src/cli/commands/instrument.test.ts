import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { parseCodeObject } from '../../codeobject/code-object.ts';
import { runCommand } from '../run-command.test-support.ts';

const DATA = path.resolve(import.meta.dirname, '../../../test/data/codeobjects');
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-instrument-'));
after(() => rmSync(folder, { recursive: true }));
const output = path.join(folder, 'out.co');

const run = (...argv: string[]) => runCommand(['instrument', ...argv]);

const input = path.join(DATA, 'kernels.gfx90a.v5.co');
const entries = (file: string) =>
  parseCodeObject(readFileSync(file), file).kernels.map((kernel) => kernel.entryAddress);

test('instrument writes new code, for chosen kernels alone where they are chosen', async () => {
  const all = await run(input, '-o', output);
  assert.deepEqual([all.status, all.stderr], [0, '']);
  assert.match(all.stdout, /kernels\.gfx90a\.v5\.co: 4 kernels, \d+ bytes of new code\n$/);
  assert.ok(entries(output).every((entry, i) => entry !== entries(input)[i]));
  const one = await run(input, '-o', output, '--kernel=^sto');
  assert.match(one.stdout, /: 1 kernel, /);
  assert.deepEqual(entries(output).slice(1), entries(input).slice(1));
  assert.notEqual(entries(output)[0], entries(input)[0]);
});

test('instrument says what is wrong', async () => {
  const cases: [string[], number, RegExp][] = [
    [[input], 2, /no output: name it with -o \[USAGE\]/],
    [[input, '-o', output, '--kernel=['], 2, /'\[' is no regular expression/],
    [[input, '-o', output, '--kernel=none'], 3, /no kernel is chosen; the kernels are store, mixed/],
    [[path.join(DATA, 'fat.bundle'), '-o', output, '--kernel=none'], 3, /no kernel in it is chosen/],
    [[input, '-o', output, '--tool=block-count:dispatches=1-2'], 2, /'dispatches' is for tools of run, test and/],
    [[input, '-o', output, '--tool=block-count:output=x'], 2, /'output' is for tools of run, test and dispatch/],
    [[path.join(DATA, 'kernels.c'), '-o', output], 3, /neither an ELF file nor an offload bundle/],
  ];
  for (const [argv, status, message] of cases) {
    const result = await run(...argv);
    assert.match(result.stderr, message);
    assert.equal(result.status, status);
  }
});

test('instrument tells its account as JSON, too', async () => {
  const identity = JSON.parse((await run(input, '-o', output, '--format=json')).stdout);
  assert.deepEqual(
    [identity.schema, identity.version, identity.output, identity.images[0].coverage],
    ['wavewright.instrument', 1, output, null],
  );
  const { images } = JSON.parse(
    (await run(input, '-o', output, '--format=json', '--kernel=^sto', '--tool=instruction-count')).stdout,
  );
  const [{ kernels, kept, coverage, newCodeBytes }] = images;
  assert.deepEqual([kernels, kept, coverage.refused], [['store'], [], {}]);
  assert.ok(newCodeBytes > 0 && coverage.requested > 0);
  assert.equal(coverage.kernels[0].name, 'store');
});

test('options that stand behind a comma in place of a colon are told where they belong', async () => {
  const { stderr, status } = await run(input, '-o', output, '--tool=instruction-count,level=wave');
  assert.equal(status, 2);
  assert.match(stderr, /hint: options stand behind a colon: instruction-count:level=wave/);
});
