/**
 * `wavewright run` as a process: streams, exit status and signals of a whole run. What programs compute is
 * tested elsewhere.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
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
  // On a busy machine a short one may be over before the program is loaded.
  for (const seconds of [2, 10, 60]) {
    const argv = command(`--timeout=${seconds}`, example('checks/infinite-loop'));
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
    assert.deepEqual({ status, stdout }, { status: 124, stdout: '' });
    assert.match(stderr, new RegExp(`^wavewright: error: .*infinite-loop.*time limit of ${seconds} s ran out`));
    if (/ran out while the program was loaded/.test(stderr)) continue;
    assert.match(stderr, /^.* \[TIMEOUT\]\n.*0x/);
    return;
  }
  assert.fail('the program never started');
});

test('the time limit holds before the program runs', () => {
  const argv = command('--timeout=0.000001', example('checks/infinite-loop'));
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
  assert.deepEqual({ status, stdout }, { status: 124, stdout: '' });
  assert.match(stderr, /time limit of 0\.000001 s ran out while the program was loaded \[TIMEOUT\]\n$/);
});

for (const [signal, status] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  test(`${signal} ends a running program at once, as shells see it with status ${status}`, async () => {
    // The shell waits for the program like a user's shell does, and prints what it sees.
    const argv = [process.execPath, ...command('--print-resource-usage', example('checks/infinite-loop'))];
    const shell = spawn('sh', ['-c', '"$@" & echo $!; wait $!; echo $?', 'sh', ...argv], { stdio: 'pipe' });
    const closed = once(shell, 'close');
    let stdout = '';
    let stderr = '';
    shell.stdout.on('data', (data) => {
      stdout += data;
    });
    for await (const text of shell.stderr.setEncoding('utf8')) {
      stderr += text;
      if (text.includes('_start:')) process.kill(Number(stdout.trim()), signal);
    }
    await closed;
    assert.equal(stdout.split('\n')[1], String(status));
    const report =
      /\nwavewright: interrupted in kernel '_start'\n {2}1 wave running at pc 0x.* in _start\+.*\n {2}this looks like/;
    if (signal === 'SIGINT') assert.match(stderr, report);
  });
}

test('what cannot be written is an error, of the output too; a reader that goes away ends the program', () => {
  const shell = (line: string) => spawnSync('sh', ['-c', line, process.execPath, ...command()], { encoding: 'utf8' });
  const hello = example('hello/hello');
  for (const [line, message] of [
    [`"$0" "$@" ${hello} >/dev/full`, /^wavewright: error: standard output: cannot be written \(ENOSPC\) \[IO\]\n$/],
    [
      `"$0" "$@" --trace-rpc=/dev/full ${hello}`,
      /^wavewright: error: \/dev\/full: cannot be written \(ENOSPC\) \[IO\]\n$/,
    ],
    [`"$0" "$@" --stats ${hello} 2>/dev/full`, /^$/],
  ] as const) {
    const { status, stderr } = shell(line);
    assert.equal(status, 3, line);
    assert.match(stderr, message);
  }
  const { stdout, stderr } = shell(`("$0" "$@" --blocks=500 ${hello}; echo "status $?" >&2) | head -n 1`);
  assert.match(stdout, /^Hello, world, from lane \d+ of 500 \(argc=1\)\n$/);
  assert.equal(stderr, 'status 141\n');
});

test('closed standard streams do no harm', () => {
  const argv = [process.execPath, ...command(example('hello/hello'))];
  for (const closed of ['<&-', '>&-', '2>&-', '<&- >&- 2>&-']) {
    const { status } = spawnSync('sh', ['-c', `"$@" ${closed}`, 'sh', ...argv], { encoding: 'utf8' });
    assert.equal(status, 0, closed);
  }
});

test("what follows the image is the program's, options and -- too", () => {
  for (const [argv, argc] of [
    [['--', example('hello/hello'), '--help'], 2],
    [[example('hello/hello'), '--', '--blocks', '3', '--timeout'], 5],
    [['--blocks-x=2', '--blocks=1', example('hello/hello'), '-h'], 2],
  ] as const) {
    const { status, stdout } = spawnSync(process.execPath, command(...argv), { encoding: 'utf8' });
    assert.deepEqual(
      [status, stdout],
      [0, `Hello, ${argv[argv.indexOf(example('hello/hello')) + 1]}, from lane 0 of 1 (argc=${argc})\n`],
    );
  }
});

test('a million workgroups, and workgroups of 1024 work-items, in three dimensions', { timeout: 600_000 }, () => {
  // Only work-item 0 has something to say.
  const quiet = example('checks/arguments');
  for (const grid of [
    ['--blocks=1000000'],
    ['--blocks-x=100', '--blocks-y=50', '--blocks-z=20', '--threads-x=32', '--threads-y=8', '--threads-z=4'],
  ]) {
    const argv = command('--timeout=1000', ...grid, quiet, 'one');
    const { stderr, stdout } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
    assert.deepEqual([stderr, stdout.split('\n')[0]], ['', '1: [one] 3 bytes'], grid.join(' '));
  }
  const { stdout } = spawnSync(
    process.execPath,
    command('--blocks-x=3', '--blocks-y=5', '--blocks-z=7', '--threads-x=2', '--threads-z=2', example('hello/hello')),
    { encoding: 'utf8' },
  );
  const lanes = stdout
    .trimEnd()
    .split('\n')
    .map((line) => Number(/lane (\d+) of 420 /.exec(line)?.[1]));
  assert.deepEqual(
    lanes.sort((a, b) => a - b),
    Array.from({ length: 420 }, (_, lane) => lane),
  );
});
