/**
 * The recipes of `examples/fleet`: their commands run as they stand, each with what its system would set, for
 * a run of two parts; and the sweep.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { parse } from 'yaml';

const ROOT = path.resolve(import.meta.dirname, '..');
const RECIPES = path.join(ROOT, 'examples/fleet');
const scratch = mkdtempSync(path.join(tmpdir(), 'wavewright-recipes-'));
after(() => rmSync(scratch, { recursive: true }));

/** `npx wavewright` of this checkout, and an npm that has nothing to install. */
const tools = path.join(scratch, 'bin');
mkdirSync(tools);
const wavewright = `exec "${process.execPath}" "${ROOT}/bin/wavewright.js" "$@"\n`;
for (const [name, text] of [
  ['npx', `[ "$1" = wavewright ] || exit 9\nshift\n${wavewright}`],
  ['npm', '[ "$*" = ci ] || exit 9\n'],
  ['wavewright', wavewright],
  ['ssh', 'host=$1\nshift\n[ -n "$host" ] || exit 9\nexec sh -c "$*"\n'],
] as const) {
  writeFileSync(path.join(tools, name), `#!/bin/sh\n${text}`);
  chmodSync(path.join(tools, name), 0o755);
}

/** A folder with two programs below `tests`: one passes, one fails. */
function project(name: string): string {
  const folder = path.join(scratch, name);
  mkdirSync(path.join(folder, 'tests'), { recursive: true });
  for (const [from, to] of [
    ['hello/hello', 'good'],
    ['checks/exit-early', 'bad'],
  ] as const) {
    copyFileSync(path.join(ROOT, `examples/${from}.gfx90a.co`), path.join(folder, 'tests', to));
  }
  return folder;
}

function shell(folder: string, command: string, env: Readonly<Record<string, string>> = {}, ...argv: string[]) {
  const PATH = [tools, process.env['PATH']].join(path.delimiter);
  const all = { ...process.env, PATH, ...env };
  return spawnSync('sh', ['-c', command, 'sh', ...argv], { cwd: folder, env: all, encoding: 'utf8' });
}

const recipe = (name: string): string => readFileSync(path.join(RECIPES, name), 'utf8');
const MERGED = /^FAIL {4}bad .*\n {8}leaving with 3\n {8}goodbye\n1 passed, 1 failed of 2 programs/;

test('GitHub Actions', () => {
  const folder = project('github');
  const { jobs } = parse(recipe('github-actions.yml'));
  assert.deepEqual(jobs.test.strategy.matrix.shard, [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(jobs.merge.needs, 'test');
  const commands = (steps: readonly { run?: string }[]) => steps.flatMap(({ run }) => (run === undefined ? [] : [run]));
  const statuses = ['1', '2'].map((shard) => {
    const text = commands(jobs.test.steps).join(' && ');
    return shell(folder, text.replaceAll(/\$\{\{ matrix\.shard \}\}/g, shard).replace('/8 ', '/2 ')).status;
  });
  assert.deepEqual(statuses, [1, 0]);
  const merged = shell(folder, commands(jobs.merge.steps).join(' && '));
  assert.match(merged.stdout, MERGED);
  assert.deepEqual([merged.status, merged.stderr], [1, '']);
  assert.deepEqual(readdirSync(folder).sort(), ['all.xml', 'r1.jsonl', 'r2.jsonl', 'tests']);
});

test('GitLab CI', () => {
  const folder = project('gitlab');
  const { 'gpu-tests': part, 'gpu-results': results } = parse(recipe('gitlab-ci.yml'));
  assert.equal(part.parallel, 8);
  shell(folder, part.script.join(' && '), { CI_NODE_INDEX: '1', CI_NODE_TOTAL: '2' });
  const { stderr } = shell(folder, results.script.join(' && '));
  assert.match(stderr, /^wavewright: 1 of 2 programs have no verdict\nwavewright: parts without a report: 2\/2;/);
});

test('Slurm', () => {
  const folder = project('slurm');
  const command = `sh "${path.join(RECIPES, 'slurm-array.sh')}"`;
  assert.match(recipe('slurm-array.sh'), /^#SBATCH --array=1-64%32$/m);
  const array = { SLURM_ARRAY_TASK_ID: '1', SLURM_ARRAY_TASK_MIN: '1', SLURM_ARRAY_TASK_COUNT: '2' };
  const { status, stderr } = shell(folder, command, { ...array, SLURM_CPUS_PER_TASK: '1' });
  assert.deepEqual([status, stderr], [0, '']);
  assert.equal(reportHead(folder, 'r1.jsonl').shard, '1/2');
  // A part that could not run fails its task.
  assert.equal(shell(folder, command, { SLURM_ARRAY_TASK_ID: '1' }).status, 1);
});

const reportHead = (folder: string, report: string) =>
  JSON.parse(readFileSync(path.join(folder, report), 'utf8').split('\n', 1)[0]!);

test('ssh', () => {
  const merged = shell(project('ssh'), `sh "${path.join(RECIPES, 'ssh.sh')}" "$@"`, {}, 'one', 'two');
  assert.match(merged.stdout, MERGED);
  assert.deepEqual([merged.status, merged.stderr], [1, '']);
});

test('Kubernetes', () => {
  const folder = project('kubernetes');
  const { apiVersion, kind, spec } = parse(recipe('kubernetes-indexed-job.yaml'));
  assert.deepEqual([apiVersion, kind, spec.completionMode], ['batch/v1', 'Job', 'Indexed']);
  const [container] = spec.template.spec.containers;
  const [variable] = container.env;
  assert.deepEqual(variable, { name: 'WAVEWRIGHT_SHARDS', value: String(spec.completions) });
  const volumes = spec.template.spec.volumes.map(({ name }: { name: string }) => name);
  assert.deepEqual(
    container.volumeMounts.map(({ name }: { name: string }) => name),
    volumes,
  );
  assert.deepEqual(container.command, ['sh', '-c']);
  const command = container.args[0]
    .replace('/reports', '.')
    .replace(' /tests', ' tests')
    .replace('--jobs=4', '--jobs=1');
  const { status, stderr } = shell(folder, command, { JOB_COMPLETION_INDEX: '0', WAVEWRIGHT_SHARDS: '2' });
  assert.deepEqual([status, stderr], [0, '']);
  assert.equal(reportHead(folder, 'r0.jsonl').shard, '1/2');
});

test('the sweep', () => {
  const { status, stdout } = shell(ROOT, 'wavewright sweep --list examples/fleet/sweep.json');
  assert.deepEqual([status, stdout.split('\n').length - 1], [0, 24]);
});

test('workers over ssh, on Slurm, on Kubernetes: commands that look for their queue', () => {
  const folder = project('workers');
  // There is no queue: what is wrong with a command is said before.
  const nowhere = { WAVEWRIGHT_QUEUE: 'redis://127.0.0.1:1', PORT: '1', SSH: 'ssh' };
  const run = (text: string, ...argv: string[]) =>
    shell(folder, text.replaceAll(' worker ', ' worker --queue-timeout=0.2 --cache=. '), nowhere, ...argv);
  const slurm = run(recipe('slurm-workers.sh'));
  assert.deepEqual([slurm.status, slurm.stderr.match(/\[UNREACHABLE\]/g)?.length], [69, 1], slurm.stderr);
  const ssh = run(recipe('ssh-workers.sh'), 'one', 'two');
  assert.deepEqual([ssh.status, ssh.stderr.match(/\[UNREACHABLE\]/g)?.length], [0, 2], ssh.stderr);
  const { kind, spec } = parse(recipe('kubernetes-workers.yaml'));
  assert.deepEqual([kind, spec.completions], ['Job', undefined]);
  const [{ args, env, volumeMounts }] = spec.template.spec.containers;
  assert.equal(env[0].name, 'WAVEWRIGHT_QUEUE');
  assert.deepEqual(
    volumeMounts.map(({ name }: { name: string }) => name),
    spec.template.spec.volumes.map(({ name }: { name: string }) => name),
  );
  const drain = Number(/--drain=(\d+)/.exec(args.join(' '))?.[1]);
  assert.ok(drain < spec.template.spec.terminationGracePeriodSeconds);
  const pod = run(args.join(' ').replace('--cache=/cache', ''));
  assert.deepEqual([pod.status, pod.stderr.match(/\[UNREACHABLE\]/g)?.length], [69, 1], pod.stderr);
});
