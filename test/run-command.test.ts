/** `wavewright run` as a process: streams, exit status and signals of a whole run. What programs compute is tested elsewhere. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';

const ROOT = path.resolve(import.meta.dirname, '..');
const example = (name: string) => path.join(ROOT, 'examples', `${name}.gfx90a.co`);
const command = (...argv: string[]) => [path.join(ROOT, 'bin/wavewright.js'), 'run', ...argv];

test('output and exit status are those of the program, and nothing else is printed', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, command(example('hello/hello'), 'world'), {
    encoding: 'utf8',
  });
  assert.deepEqual(
    { status, stdout, stderr },
    { status: 0, stdout: 'Hello, world, from lane 0 of 1 (argc=2)\n', stderr: '' },
  );
});

test('an image on standard input', () => {
  const image = spawnSync('cat', [example('hello/hello')]).stdout;
  const { status, stdout } = spawnSync(process.execPath, command('-', 'pipe'), { input: image, encoding: 'utf8' });
  assert.deepEqual({ status, stdout }, { status: 0, stdout: 'Hello, pipe, from lane 0 of 1 (argc=2)\n' });
});

test('a time limit ends an endless program with status 124 and says where it was', () => {
  const argv = command('--timeout=0.2', example('checks/infinite-loop'));
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
  assert.deepEqual({ status, stdout }, { status: 124, stdout: '' });
  assert.match(stderr, /^wavewright: error: .*infinite-loop.*time limit of 0\.2 s ran out.* \[TIMEOUT\]\n.*0x/);
});

test('SIGINT ends a running program at once, as shells see it with status 130', async () => {
  // The shell waits for the program like a user's shell does, and prints what it sees.
  const argv = [process.execPath, ...command('--print-resource-usage', example('checks/infinite-loop'))];
  const shell = spawn('sh', ['-c', '"$@" & echo $!; wait $!; echo $?', 'sh', ...argv], { stdio: 'pipe' });
  let stdout = '';
  shell.stdout.on('data', (data) => {
    stdout += data;
  });
  for await (const text of shell.stderr.setEncoding('utf8')) {
    if (text.includes('_start:')) process.kill(Number(stdout.trim()), 'SIGINT');
  }
  assert.equal(stdout.split('\n')[1], '130');
});
