/** bin/wavewright.js as a process: which Node runs, what reaches the command line, what comes back. */
import assert from 'node:assert/strict';
import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';

const LAUNCHER = path.resolve(import.meta.dirname, '../bin/wavewright.js');
/** Makes the launcher believe that it runs on an old Node; its child does not inherit this. */
const OLD_NODE = [
  '--import',
  "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.1.0'}})",
];

const scratch = mkdtempSync(path.join(tmpdir(), 'wavewright-launcher-'));
after(() => rmSync(scratch, { recursive: true }));

function start(launcher: string, nodeArguments: string[], argv: string[], options: SpawnOptions = {}) {
  const child = spawn(process.execPath, [...nodeArguments, launcher, ...argv], {
    stdio: 'pipe',
    timeout: 600_000,
    killSignal: 'SIGKILL',
    ...options,
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (data) => {
    stdout += data;
  });
  child.stderr?.on('data', (data) => {
    stderr += data;
  });
  const end = once(child, 'close').then(([status, signal]) => ({ status, signal, stdout, stderr }));
  return { child, end };
}

/**
 * A package with only a dist folder, as published, whose command line is `main`; with or without the npm
 * package `node`.
 */
function publishedPackage(name: string, main: string, withNode: boolean): string {
  const root = path.join(scratch, name);
  for (const folder of ['bin', 'dist/cli', 'node_modules/node/bin'])
    mkdirSync(path.join(root, folder), { recursive: true });
  copyFileSync(LAUNCHER, path.join(root, 'bin/wavewright.js'));
  writeFileSync(path.join(root, 'package.json'), '{"type":"module"}');
  writeFileSync(path.join(root, 'dist/cli/main.js'), main);
  if (withNode) symlinkSync(process.execPath, path.join(root, 'node_modules/node/bin/node'));
  return path.join(root, 'bin/wavewright.js');
}

test('a checkout runs from its sources, on either Node', async () => {
  const direct = await start(LAUNCHER, [], ['--version']).end;
  assert.match(direct.stdout, /^wavewright \d+\.\d+\.\d+\n$/);
  assert.deepEqual([direct.status, direct.stderr], [0, '']);
  assert.deepEqual(await start(LAUNCHER, OLD_NODE, ['--version']).end, direct);
});

/** What a checkout's command line prints, time and again. */
async function printed(launcher: string): Promise<string> {
  const { status, stdout, stderr } = await start(launcher, [], []).end;
  assert.deepEqual([status, stderr], [0, '']);
  return stdout;
}

test('a checkout runs what its sources say now, whatever was kept of them', async () => {
  const root = path.join(scratch, 'checkout');
  for (const folder of ['bin', 'src/cli', 'tools']) mkdirSync(path.join(root, folder), { recursive: true });
  for (const file of ['bin/wavewright.js', 'tools/stripped-sources.ts', 'package.json'])
    copyFileSync(path.resolve(import.meta.dirname, '..', file), path.join(root, file));
  const launcher = path.join(root, 'bin/wavewright.js');
  const write = (name: string, text: string) => writeFileSync(path.join(root, 'src', name), text);
  write('cli/main.ts', "import { word } from '../word.ts';\nprocess.stdout.write(word satisfies string);");
  write('word.ts', "export const word: string = 'µ1';");
  for (const _ of ['stripped', 'kept']) assert.equal(await printed(launcher), 'µ1');
  write('word.ts', "export const word: string = 'µ2';");
  for (const _ of ['stripped', 'kept']) assert.equal(await printed(launcher), 'µ2');
  const folder = path.join(root, 'node_modules/.cache/wavewright');
  const [kept] = readdirSync(folder);
  assert.ok(kept !== undefined, 'it is kept');
  const file = path.join(folder, kept);
  const whole = readFileSync(file);
  assert.ok(whole.includes('µ2'));
  // It is used: what stands there runs as long as the sources are as they were.
  writeFileSync(file, Buffer.from(whole.toString().replace('µ2', 'µ3')));
  assert.equal(await printed(launcher), 'µ3');
  for (const spoiled of [whole.subarray(0, -1), whole.subarray(0, 10), Buffer.alloc(0)]) {
    writeFileSync(file, spoiled);
    assert.equal(await printed(launcher), 'µ2');
    assert.deepEqual(readFileSync(file), whole);
  }
  rmSync(folder, { recursive: true });
  writeFileSync(folder, 'no folder');
  assert.equal(await printed(launcher), 'µ2', 'nothing can be kept');
});

test('arguments, standard streams and the exit status pass through a hand-over', async () => {
  const echo = `
    let text = '';
    for await (const chunk of process.stdin) text += chunk;
    console.log(JSON.stringify(process.argv.slice(2)), text);
    console.error(process.versions.node === '20.1.0' ? 'old' : 'new');
    process.exit(42);`;
  for (const nodeArguments of [[], OLD_NODE]) {
    const { child, end } = start(publishedPackage(`echo${nodeArguments.length}`, echo, true), nodeArguments, [
      'a b',
      '--c=',
    ]);
    child.stdin?.end('input');
    assert.deepEqual(await end, { status: 42, signal: null, stdout: '["a b","--c="] input\n', stderr: 'new\n' });
  }
});

test('nothing of a hand-over stays in the environment', async () => {
  const print = "console.log(Object.keys(process.env).filter((name) => name.startsWith('WAVEWRIGHT')).join());";
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('WAVEWRIGHT')));
  const { stdout, status } = await start(publishedPackage('environment', print, true), OLD_NODE, [], { env }).end;
  assert.deepEqual([status, stdout], [0, '\n']);
});

test('a signal reaches the command line, and its status is 128 + the signal', async () => {
  const wait = "console.log('ready'); setInterval(() => {}, 1000);";
  const launcher = publishedPackage('wait', wait, true);
  for (const [signal, status] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const { child, end } = start(launcher, OLD_NODE, []);
    await once(child.stdout!, 'data');
    child.kill(signal);
    assert.deepEqual(await end, { status, signal: null, stdout: 'ready\n', stderr: '' });
  }
});

test('without a Node that is new enough: a clear error, no loop', async () => {
  const expected =
    /^wavewright: error: Node\.js 26 or later is required, found 20\.1\.0 \[USAGE\]\nhint: install Node\.js 26/;
  const none = await start(publishedPackage('none', '', false), OLD_NODE, []).end;
  assert.equal(none.status, 2);
  assert.match(none.stderr, expected);
  const env = { ...process.env, WAVEWRIGHT_HANDED_OVER: '1' };
  const loop = await start(publishedPackage('loop', '', true), OLD_NODE, [], { env }).end;
  assert.equal(loop.status, 2);
  assert.match(loop.stderr, expected);
});

test('usage errors go to stderr with status 2', async () => {
  const { status, stdout, stderr } = await start(LAUNCHER, [], ['rnu']).end;
  assert.deepEqual([status, stdout], [2, '']);
  assert.equal(stderr, "wavewright: error: unknown command 'rnu' [USAGE]\nhint: did you mean 'run'?\n");
});
