/** bin/wavewright.js as a process: which Node runs, what reaches the command line, what comes back. */
import assert from 'node:assert/strict';
import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { ENTRIES } from '../tools/bundle.ts';

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

/** What a bundle makes of it. */
const asScript = (text: string): string =>
  `(function (require, exports, module, scriptUrl, importModule, other) {${text}\n})`;

/**
 * A package with only a dist folder, as published, whose command line is `main`; with or without the npm
 * package `node`.
 */
function publishedPackage(name: string, main: string, withNode: boolean): string {
  const root = path.join(scratch, name);
  for (const folder of ['bin', 'dist', 'node_modules/node/bin'])
    mkdirSync(path.join(root, folder), { recursive: true });
  copyFileSync(LAUNCHER, path.join(root, 'bin/wavewright.js'));
  writeFileSync(path.join(root, 'package.json'), '{"type":"module"}');
  writeFileSync(path.join(root, 'dist/main.txt'), 'main-0.js\nmore-0.js');
  writeFileSync(path.join(root, 'dist/main-0.js'), asScript(main));
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

/** A checkout with little in it, which prints what src/word.ts says. */
function smallCheckout(): { readonly root: string; readonly write: (name: string, text: string) => void } {
  const root = path.join(scratch, 'checkout');
  const write = (name: string, text: string): void => {
    const file = path.join(root, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  for (const file of ['bin/wavewright.js', 'tools/bundle.ts', 'tools/checkout-bundle.ts', 'package.json'])
    write(file, readFileSync(path.resolve(import.meta.dirname, '..', file), 'utf8'));
  mkdirSync(path.join(root, 'node_modules'));
  for (const name of ['esbuild', '@esbuild'])
    symlinkSync(path.resolve(import.meta.dirname, '../node_modules', name), path.join(root, 'node_modules', name));
  for (const name of ENTRIES) write(`src/${name}.ts`, '');
  write('src/cli/main.ts', "import { word } from '../word.ts';\nprocess.stdout.write(word satisfies string);");
  return { root, write };
}

test('a checkout runs what its sources say now, whatever was kept of them', async () => {
  const { root, write } = smallCheckout();
  const launcher = path.join(root, 'bin/wavewright.js');
  const folder = path.join(root, 'node_modules/.cache/wavewright/bundle');
  for (const word of ['µ1', 'µ2']) {
    write('src/word.ts', `export const word: string = '${word}';`);
    for (const _ of ['bundled', 'kept']) assert.equal(await printed(launcher), word);
  }
  const [script = ''] = readFileSync(path.join(folder, 'main.txt'), 'utf8').split('\n');
  const [main, list] = [script, 'inputs.json'].map((name) => path.join(folder, name)) as [string, string];
  const whole = readFileSync(main, 'utf8');
  // It is used: what stands there runs as long as the sources are as they were.
  writeFileSync(main, whole.replace('2', '33'));
  assert.equal(await printed(launcher), 'µ33');
  const inputs = readFileSync(list);
  for (const spoiled of [inputs.subarray(0, -1), Buffer.alloc(0), Buffer.from('{}')]) {
    rmSync(main);
    writeFileSync(list, spoiled);
    assert.equal(await printed(launcher), 'µ2');
    assert.deepEqual([readFileSync(main, 'utf8'), readFileSync(list)], [whole, inputs]);
  }
  for (const [stem, agoS, isKept] of [
    ['chunk', 3600, true],
    ['chunk', 25 * 3600, false],
    ['main', 3600, true],
    ['more', 25 * 3600, false],
  ] as const) {
    const old = path.join(folder, `${stem}-OLD.js`);
    writeFileSync(old, '');
    utimesSync(old, Date.now() / 1000 - agoS, Date.now() / 1000 - agoS);
    rmSync(list);
    assert.equal(await printed(launcher), 'µ2');
    assert.equal(existsSync(old), isKept, 'programs that run may still load parts of an older bundle');
  }
  write('src/word.ts', 'export const word: string = 1 +;');
  const { stderr, status } = await start(launcher, [], []).end;
  assert.equal(status, 1);
  assert.match(stderr, /src\/word\.ts/, 'Node says what is wrong');
  write('src/word.ts', "export const word: string = 'µ4';");
  rmSync(folder, { recursive: true });
  writeFileSync(folder, 'no folder');
  assert.equal(await printed(launcher), 'µ4', 'nothing can be kept');
});

/** A published package that prints what a function returns, and what it keeps of compiled code. */
function packageThatKeeps(name: string, status = 0) {
  const launcher = publishedPackage(name, '', false);
  const dist = path.join(path.dirname(launcher), '../dist');
  const cache = path.join(scratch, `cache-of-${name}`);
  const write = (word: string): void => {
    const say = `function say() { process.stdout.write('${word}'); process.exit(${status}); }`;
    const main = `exports.say = () => say; ${say} Promise.resolve().then(() => other('say')());`;
    writeFileSync(path.join(dist, 'main-0.js'), asScript(main));
    writeFileSync(path.join(dist, 'more-0.js'), asScript("exports.say = () => () => other('say')();"));
  };
  const run = async (verb: string): Promise<string> => {
    const env = { ...process.env, NODE_COMPILE_CACHE: cache };
    const end = await start(launcher, [], [verb], { env }).end;
    assert.deepEqual([end.status, end.stderr], [status, '']);
    return end.stdout;
  };
  /** The folder of it. */
  const folder = (): string => path.join(cache, readdirSync(cache)[0]!);
  return { write, run, folder, kept: () => readdirSync(folder()).filter((file) => file.startsWith('wavewright')) };
}

test('what a command compiled is there in the next process, whole or not at all', async () => {
  const { write, run, folder, kept } = packageThatKeeps('keeps');
  write('one');
  for (let i = 0; i < 2; i++) assert.equal(await run('run'), 'one');
  assert.deepEqual(kept().sort(), ['wavewright-run-main-0.js', 'wavewright-run-more-0.js']);
  // It is used: a script of that name has to be what it was, which the engine knows by its length alone.
  write('two');
  assert.equal(await run('run'), 'one');
  assert.equal(await run('dispatch'), 'two', 'each command has its own');
  const file = path.join(folder(), 'wavewright-run-main-0.js');
  const whole = readFileSync(file);
  const flipped = (at: number): Buffer => Buffer.from(whole.map((byte, i) => (i === at ? byte ^ 0x10 : byte)));
  const places = [0, 8, 64, whole.length >> 1, whole.length - 6, whole.length - 1];
  for (const spoiled of [Buffer.alloc(0), Buffer.alloc(3), whole.subarray(0, -4), ...places.map(flipped)]) {
    writeFileSync(file, spoiled);
    assert.equal(await run('run'), 'two');
    assert.notDeepEqual(readFileSync(file), spoiled, 'it is kept anew');
  }
  if (process.platform === 'win32') return;
  chmodSync(file, 0o620);
  write('six');
  assert.equal(await run('run'), 'six', 'somebody else may have written it');
});

test('code is kept of some versions of a script, and not of what is no command', async () => {
  const { write, run, folder, kept } = packageThatKeeps('versions');
  write('one');
  await run('run');
  const others = ['a', 'b', 'c', 'd', 'e'].map((version) => `wavewright-run-main-${version}.js`);
  for (const [agoS, name] of others.entries()) {
    writeFileSync(path.join(folder(), name), '');
    utimesSync(path.join(folder(), name), 1e9 - agoS, 1e9 - agoS);
  }
  writeFileSync(path.join(folder(), 'wavewright-run-main-0.js'), '');
  await run('run');
  const left = ['wavewright-run-main-0.js', ...others.slice(0, 3), 'wavewright-run-more-0.js'];
  assert.deepEqual(kept().sort(), left.sort());
  const usage = packageThatKeeps('usage', 2);
  usage.write('one');
  await usage.run('run');
  const named = packageThatKeeps('named');
  named.write('one');
  for (const verb of ['../run', 'R', 'a'.repeat(33)]) await named.run(verb);
  for (const { folder: made, kept: files } of [usage, named]) {
    mkdirSync(made(), { recursive: true });
    assert.deepEqual(files(), []);
  }
});

test('arguments, standard streams and the exit status pass through a hand-over', async () => {
  const echo = `
    process.stdin.toArray().then((chunks) => {
      console.log(JSON.stringify(process.argv.slice(2)), chunks.join(''));
      console.error(process.versions.node === '20.1.0' ? 'old' : 'new');
      process.exit(42);
    });`;
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
