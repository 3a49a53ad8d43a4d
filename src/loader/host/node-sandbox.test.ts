/**
 * Attempts to get out of the sandbox, each by name. What must not happen is checked on the files themselves.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { WavewrightError } from '../../base/errors.ts';
import { type FileSystem, type OpenFile, parseOpenMode } from './file-system.ts';
import { createSandbox } from './node-sandbox.ts';

const base = realpathSync(mkdtempSync(path.join(tmpdir(), 'wavewright-sandbox-')));
after(() => rmSync(base, { recursive: true }));
const at = (...names: string[]) => path.join(base, ...names);
const SECRET = 'secret';

/** `box` may be read and written, `library` read, `drop` written; `outside` is none of them. */
beforeEach(() => {
  for (const name of ['box', 'library', 'drop', 'outside', 'boxes']) {
    rmSync(at(name), { recursive: true, force: true });
    mkdirSync(at(name, 'inner'), { recursive: true });
    writeFileSync(at(name, 'file'), name === 'outside' || name === 'boxes' ? SECRET : name);
  }
  rmSync(at('secret'), { force: true });
  writeFileSync(at('secret'), SECRET);
  symlinkSync('../outside', at('box', 'to-outside'));
  symlinkSync('../outside/file', at('box', 'to-file'));
  symlinkSync('../outside/new', at('box', 'to-new'));
  symlinkSync('/', at('box', 'to-root'));
  symlinkSync('loop', at('box', 'loop'));
  symlinkSync('to-file', at('box', 'chain'));
  symlinkSync('../box/inner', at('outside', 'back'));
  symlinkSync('../file', at('box', 'inner', 'up'));
  linkSync(at('outside', 'file'), at('box', 'hard-link'));
  assert.equal(spawnSync('mkfifo', [at('box', 'fifo')]).status, 0);
});

const refusals: string[] = [];
const sandbox = (): FileSystem =>
  createSandbox({
    directory: at('box'),
    allowRead: [at('box'), at('library')],
    allowWrite: [at('box'), at('drop')],
    onRefusal: (what) => refusals.push(what),
  });

/** What stands in every file outside, by path; empty files and new names show. */
const outside = (): string => {
  const files = ['outside', 'boxes'].flatMap((name) =>
    readdirSync(at(name), { recursive: true })
      .map(String)
      // A link into the sandbox.
      .filter((file) => !file.startsWith('back/'))
      .map((file) => at(name, file)),
  );
  const texts = [at('secret'), ...files].sort().map((file) => {
    try {
      return `${file}: ${readFileSync(file, 'utf8')}`;
    } catch {
      return file;
    }
  });
  return texts.join('\n');
};

const opens = (name: string, mode: string) => (files: FileSystem) => files.open(name, parseOpenMode(mode)!);
const removes = (name: string) => (files: FileSystem) => files.remove(name);
const renames = (from: string, to: string) => (files: FileSystem) => files.rename(from, to);

const ATTEMPTS: Readonly<Record<string, (files: FileSystem) => unknown>> = {
  'read an absolute path': opens('/etc/passwd', 'r'),
  'read beside the sandbox': opens('../secret', 'r'),
  'read by many ..': opens(`${'../'.repeat(40)}etc/passwd`, 'r'),
  'read by .. behind a directory': opens('inner/../../secret', 'r'),
  'read by .. behind a symbolic link': opens('to-outside/../secret', 'r'),
  'read by doubled slashes': opens(`..//.//secret`, 'r'),
  'read by an absolute path with ..': opens(at('box/inner/../../secret').replace('/secret', '/box/../secret'), 'r'),
  'read a directory whose name starts the same': opens(at('boxes', 'file'), 'r'),
  'read through a link to a directory': opens('to-outside/file', 'r'),
  'read through a link to a file': opens('to-file', 'r'),
  'read through a chain of links': opens('chain', 'r'),
  'read through a link to the root': opens('to-root/etc/passwd', 'r'),
  'read through a link and back': opens('to-outside/../outside/file', 'r'),
  'read what may only be written': opens(at('drop', 'file'), 'r'),
  'read and write what may only be written': opens(at('drop', 'file'), 'r+'),
  'read a device': opens('/dev/zero', 'r'),
  'read the memory of this process': opens('/proc/self/mem', 'r'),
  'read the environment of this process': opens('/proc/self/environ', 'r'),
  'read by way of the root of this process': opens('/proc/self/root/etc/passwd', 'r'),
  'read by way of the working directory of this process': opens(`/proc/self/cwd/package.json`, 'r'),
  'read a named pipe': opens('fifo', 'r'),
  'read a directory': opens('inner', 'r'),
  'read an endless chain of links': opens('loop', 'r'),
  'read the parent': opens('..', 'r'),
  'read a name with a NUL': opens('file\0/../../secret', 'r'),
  'read an empty name': opens('', 'r'),
  'read a name of 100,000 characters': opens('a/'.repeat(50_000), 'r'),
  'read through a file as if it were a directory': opens('file/../../secret', 'r'),
  'write an absolute path': opens(at('outside', 'file'), 'w'),
  'write what may only be read': opens(at('library', 'file'), 'w'),
  'append to what may only be read': opens(at('library', 'file'), 'a'),
  'update what may only be read': opens(at('library', 'file'), 'r+'),
  'empty a file through a link': opens('to-file', 'w'),
  'empty a file through a hard link': opens('hard-link', 'w'),
  'append through a hard link': opens('hard-link', 'a'),
  'make a file beside the sandbox': opens('../new', 'w'),
  'make a file through a link that leads nowhere yet': opens('to-new', 'w'),
  'make a file only once through a link': opens('to-new', 'wx'),
  'make a file through a link to a directory': opens('to-outside/new', 'w'),
  'make a file in a directory that is only read': opens(at('library', 'new'), 'w'),
  'write to a device': opens('/dev/null', 'w'),
  'write to a file of the kernel': opens('/proc/self/oom_score_adj', 'w'),
  'write to a named pipe': opens('fifo', 'r+'),
  'write through an own descriptor': opens('/dev/fd/1', 'w'),
  'write through /proc/self/fd': opens('/proc/self/fd/1', 'w'),
  'remove outside': removes(at('outside', 'file')),
  'remove by ..': removes('../secret'),
  'remove through a link to a directory': removes('to-outside/file'),
  'remove what may only be read': removes(at('library', 'file')),
  'remove the sandbox itself': removes(at('drop')),
  'remove the directory by a dot': removes('inner/.'),
  'remove the parent': removes('..'),
  'move a file out': renames('file', '../stolen'),
  'move a file out over another': renames('file', at('outside', 'file')),
  'move a file in': renames(at('outside', 'file'), 'mine'),
  'move a file in through a link': renames('to-outside/file', 'mine'),
  'move a file that may only be read': renames(at('library', 'file'), 'mine'),
  'move to where it can be read': renames(at('drop', 'file'), 'mine'),
  'move a directory to where it can be read': renames(at('drop', 'inner'), 'mine'),
  'move a directory over another one': renames('inner', at('drop', 'inner')),
  'exchange the sandbox itself': renames(at('box'), at('drop', 'box')),
};

/** What fails by itself is no refusal. */
const FAILS_ANYHOW = [
  'read an empty name',
  'read a name of 100,000 characters',
  'make a file only once through a link',
];

test('there are 45 attempts at least', () => assert.ok(Object.keys(ATTEMPTS).length >= 45));

for (const [what, attempt] of Object.entries(ATTEMPTS)) {
  test(`refused: ${what}`, { timeout: 600_000 }, () => {
    const before = outside();
    refusals.length = 0;
    const result = attempt(sandbox());
    assert.ok(result === undefined || result === false);
    assert.equal(refusals.length, FAILS_ANYHOW.includes(what) ? 0 : 1, 'reported');
    assert.equal(outside(), before);
    assert.equal(readFileSync(at('library', 'file'), 'utf8'), 'library');
    assert.ok(!existsSync(at('new')) && !existsSync(at('stolen')) && !existsSync(at('library', 'new')));
  });
}

/**
 * Exchanges what `name` is for a link and back, as fast as it can, in a thread of its own; counts how often
 * in `words[0]` until `words[1]` is set.
 */
const EXCHANGE = `
  const { renameSync } = require('node:fs');
  const { name, link, words } = require('node:worker_threads').workerData;
  while (Atomics.load(words, 1) === 0) {
    renameSync(name, name + '.away');
    renameSync(link, name);
    renameSync(name, link);
    renameSync(name + '.away', name);
    Atomics.add(words, 0, 1);
    Atomics.notify(words, 0);
  }`;
const EXCHANGES = 300;

/** Attempts in the middle of an exchange: of `raced` for a link to the directory, or the file, outside. */
const RACES: Readonly<Record<string, { raced: string; link: string; attempt: (files: FileSystem) => unknown }>> = {
  'read below a directory': { raced: 'inner', link: 'to-outside', attempt: opens('inner/file', 'r') },
  'empty a file below a directory': { raced: 'inner', link: 'to-outside', attempt: opens('inner/file', 'w') },
  'make a file below a directory': { raced: 'inner', link: 'to-outside', attempt: opens('inner/new', 'wx') },
  'remove a file below a directory': { raced: 'inner', link: 'to-outside', attempt: removes('inner/file') },
  'move a file out of a directory': { raced: 'inner', link: 'to-outside', attempt: renames('inner/file', 'mine') },
  'move a file into a directory': { raced: 'inner', link: 'to-outside', attempt: renames('file', 'inner/file') },
  'read a file': { raced: 'file', link: 'to-file', attempt: opens('file', 'r') },
  'empty a file': { raced: 'file', link: 'to-file', attempt: opens('file', 'w') },
  'append to a file that is exchanged for another name of it': {
    raced: 'file',
    link: 'hard-link',
    attempt: opens('file', 'a'),
  },
};

for (const [what, { raced, link, attempt }] of Object.entries(RACES)) {
  test(`refused in a race: ${what}`, { timeout: 600_000 }, async () => {
    const before = outside();
    const words = new Int32Array(new SharedArrayBuffer(8));
    const workerData = { name: at('box', raced), link: at('box', link), words };
    const exchanger = new Worker(EXCHANGE, { eval: true, workerData });
    const ended = once(exchanger, 'exit');
    const files = sandbox();
    Atomics.wait(words, 0, 0);
    while (Atomics.load(words, 0) < EXCHANGES) {
      const file = attempt(files);
      if (typeof file !== 'object') continue;
      const opened = file as OpenFile; // reason: what is no boolean is a file
      const into = new Uint8Array(10);
      const count = Number(opened.read(into) ?? 0);
      assert.notEqual(new TextDecoder().decode(into.subarray(0, count)), SECRET);
      opened.write(new TextEncoder().encode('written'));
      opened.close();
    }
    Atomics.store(words, 1, 1);
    await ended;
    assert.equal(outside(), before);
  });
}

test('what is refused is reported, what is not there is not', () => {
  refusals.length = 0;
  const files = sandbox();
  files.open('../secret', parseOpenMode('r')!);
  files.open('fifo', parseOpenMode('r')!);
  files.open('missing', parseOpenMode('r')!);
  files.remove('/etc/passwd');
  assert.deepEqual(refusals, [
    "read '../secret': outside of what is allowed",
    "read 'fifo': is no regular file",
    "remove '/etc/passwd': outside of what is allowed",
  ]);
});

test('everything that is allowed works as without a sandbox', () => {
  const files = sandbox();
  const read = (name: string) => {
    const into = new Uint8Array(20);
    const file = files.open(name, parseOpenMode('r')!);
    assert.ok(file, name);
    const text = new TextDecoder().decode(into.subarray(0, Number(file.read(into))));
    file.close();
    return text;
  };
  for (const name of ['file', './file', 'inner/../file', at('box', 'file'), 'inner/up', '../box/file']) {
    assert.equal(read(name), 'box', name);
  }
  assert.equal(read(at('library', 'file')), 'library');
  assert.equal(read(at('outside', 'back', 'up')), 'box');
  const writing = files.open('inner/new', parseOpenMode('wx')!)!;
  assert.ok(writing.write(new TextEncoder().encode('text')) && writing.close());
  assert.equal(read('inner/new'), 'text');
  assert.ok(files.rename('inner/new', 'newer'));
  assert.ok(files.rename('newer', at('drop', 'given')));
  assert.equal(readFileSync(at('drop', 'given'), 'utf8'), 'text');
  const emptied = files.open('file', parseOpenMode('w')!)!;
  assert.equal(emptied.sizeBytes, 0);
  emptied.close();
  assert.ok(files.remove('to-outside'));
  assert.ok(existsSync(at('outside', 'file')));
  assert.ok(files.remove('inner/up') && files.remove('inner'));
});

test('an exchange of a directory for a link between two uses is seen', () => {
  const files = sandbox();
  assert.ok(files.open('inner/up', parseOpenMode('r')!)?.close());
  rmSync(at('box', 'inner'), { recursive: true });
  symlinkSync('../outside', at('box', 'inner'));
  assert.equal(files.open('inner/file', parseOpenMode('r')!), undefined);
});

test('without allowed directories nothing is opened', () => {
  const files = createSandbox({ directory: at('box') });
  for (const mode of ['r', 'w', 'a', 'r+']) assert.equal(files.open('file', parseOpenMode(mode)!), undefined);
  assert.ok(!files.remove('file') && !files.rename('file', 'other'));
  assert.throws(
    () => createSandbox({ allowRead: [at('nowhere')] }),
    (error: unknown) => error instanceof WavewrightError && error.code === 'USAGE',
  );
});
