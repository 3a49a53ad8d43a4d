/** The recipes of `examples/hip`: their commands run as they stand, where HIP is installed. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { parse } from 'yaml';
import { LAUNCHER, ROOT } from './hsa-program.ts';

const RECIPES = path.join(ROOT, 'examples/hip');
const isRequired = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] !== undefined;
const skip = isRequired || existsSync('/usr/bin/hipcc') ? false : 'hipcc is not installed';
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-hip-'));
after(() => rmSync(folder, { recursive: true }));

/** `npx wavewright` of this checkout; an npm and an apt-get that have nothing to install. */
const tools = path.join(folder, 'bin');
mkdirSync(tools);
for (const [name, text] of [
  ['npx', `[ "$1" = wavewright ] || exit 9\nshift\nexec "${process.execPath}" "${LAUNCHER}" "$@"\n`],
  ['npm', '[ "$*" = ci ] || exit 9\n'],
  ['apt-get', 'exit 0\n'],
] as const) {
  writeFileSync(path.join(tools, name), `#!/bin/sh\n${text}`, { mode: 0o755 });
}

function expectSums(name: string, commands: readonly string[]): void {
  const project = path.join(folder, name);
  mkdirSync(project);
  copyFileSync(path.join(RECIPES, 'vadd.hip'), path.join(project, 'vadd.hip'));
  // Where nvcc is installed, too, hipcc takes that.
  const env = { ...process.env, PATH: `${tools}:${process.env['PATH']}`, HIP_PLATFORM: 'amd' };
  const options = { cwd: project, env, encoding: 'utf8', timeout: 180_000 } as const;
  const { status, stdout, stderr } = spawnSync('sh', ['-c', commands.join(' && ')], options);
  assert.equal(stdout, '10000 sums, 0 wrong\n', stderr);
  assert.match(stderr, /programs with a GPU +1\n[\s\S]* {2}_Z4vaddPKfS0_Pfi /);
  assert.equal(status, 0);
}

const recipe = (name: string): string => readFileSync(path.join(RECIPES, name), 'utf8');

test('GitHub Actions', { skip }, () => {
  const { steps }: { steps: readonly { run?: string }[] } = parse(recipe('github-actions.yml')).jobs.test;
  expectSums(
    'github',
    steps.flatMap(({ run }) => (run === undefined ? [] : [run])),
  );
});

test('a container', { skip }, () => {
  const lines = recipe('Dockerfile').matchAll(/^(RUN|CMD) (.*)$/gm);
  expectSums(
    'container',
    Array.from(lines, ([, kind, text]) => (kind === 'RUN' ? text! : (JSON.parse(text!) as string[]).join(' '))),
  );
});
