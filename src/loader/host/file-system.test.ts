import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { WavewrightError } from '../../base/errors.ts';
import type { Conversation } from './conversation.ts';
import { type FileSystem, type OpenFile, parseOpenMode } from './file-system.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import { nodeFileSystem } from './node-file-system.ts';
import { HostStream, StreamTable } from './streams.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-files-'));
after(() => rmSync(folder, { recursive: true }));

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const bytes = (string: string) => new TextEncoder().encode(string);

/** What a read gives that need not wait. */
function now<T>(reading: Conversation<T>): T {
  const { done, value } = reading.next();
  assert.ok(done, 'waits');
  return value;
}

/** Opens as a C program would; fails the test when it cannot. */
function open(files: FileSystem, name: string, mode: string): HostStream {
  const parsed = parseOpenMode(mode)!;
  const file = files.open(name, parsed);
  assert.ok(file !== undefined, `open ${name} as ${mode}`);
  return new HostStream(file, parsed);
}

test('modes are those of fopen', () => {
  const flags = (mode: string) => {
    const parsed = parseOpenMode(mode);
    return (
      parsed &&
      Object.entries(parsed)
        .filter(([, on]) => on)
        .map(([name]) => name)
        .join(' ')
    );
  };
  assert.equal(flags('r'), 'read');
  assert.equal(flags('rb+'), 'read write');
  assert.equal(flags('w'), 'write create truncate');
  assert.equal(flags('w+x'), 'read write create truncate exclusive');
  assert.equal(flags('a'), 'write append create');
  assert.equal(flags('a+b'), 'read write append create');
  for (const bad of ['', 'q', 'rw', 'r+,ccs=x', '+r', ' r']) assert.equal(flags(bad), undefined, bad);
});

/** What every file system must do; names are relative to its root. */
const systems: Record<string, { files: FileSystem; root: string }> = {
  'in memory': { files: new MemoryFileSystem(), root: '' },
  'of the host': { files: nodeFileSystem, root: `${folder}/` },
};

for (const [name, { files, root }] of Object.entries(systems)) {
  test(`files ${name}: write, seek, read, append, exclusive, rename, remove`, () => {
    const file = `${root}f`;
    assert.equal(files.open(file, parseOpenMode('r')!), undefined);
    const writing = open(files, file, 'w');
    assert.equal(writing.write(bytes('0123456789')), 10);
    assert.equal(writing.seek(2n, 0), 0);
    assert.equal(writing.write(bytes('ab')), 2);
    assert.equal(writing.tell(), 4);
    assert.equal(now(writing.read(1)).length, 0);
    assert.ok(writing.failed);
    assert.ok(writing.close());

    const reading = open(files, file, 'r');
    assert.equal(text(now(reading.read(4))), '01ab');
    assert.equal(reading.seek(-1n, 2), 0);
    assert.equal(text(now(reading.read(4))), '9');
    assert.ok(reading.atEnd);
    assert.equal(reading.write(bytes('x')), 0);
    assert.ok(reading.failed && reading.close());

    const appending = open(files, file, 'a+');
    assert.equal(text(now(appending.read(2))), '01');
    assert.equal(appending.write(bytes('END')), 3);
    assert.equal(appending.tell(), 13);
    assert.equal(appending.seek(8n, 0), 0);
    assert.equal(text(now(appending.read(100))), '89END');
    assert.ok(appending.close());

    assert.equal(files.open(file, parseOpenMode('wx')!), undefined);
    const sparse = open(files, `${root}sparse`, 'w+');
    assert.equal(sparse.seek(5n, 0), 0);
    assert.equal(sparse.write(bytes('!')), 1);
    assert.equal(sparse.seek(0n, 0), 0);
    assert.equal(text(now(sparse.read(100))), '\0\0\0\0\0!');
    assert.ok(sparse.close());

    assert.ok(files.rename(file, `${root}g`));
    assert.ok(!files.rename(file, `${root}h`));
    assert.ok(files.remove(`${root}g`));
    assert.ok(!files.remove(`${root}g`));
    const truncated = open(files, `${root}sparse`, 'w');
    assert.ok(truncated.close());
    assert.equal(now(open(files, `${root}sparse`, 'r').read(10)).length, 0);
  });
}

test('long reads and lines come in one piece', () => {
  const files = new MemoryFileSystem();
  const long = 'x'.repeat(10_000);
  files.set('f', bytes(`${long}\nrest`));
  const stream = open(files, 'f', 'r');
  assert.equal(text(now(stream.readLine(100_000))), `${long}\n`);
  assert.equal(stream.tell(), 10_001);
  assert.equal(text(now(stream.read(100))), 'rest');
  const again = open(files, 'f', 'r');
  assert.equal(now(again.read(9_999)).length, 9_999);
  assert.equal(text(now(again.read(3))), 'x\nr');
});

test('pushed-back characters come first and do not change the file', () => {
  const files = new MemoryFileSystem();
  files.set('f', bytes('bc'));
  const stream = open(files, 'f', 'r+');
  assert.equal(stream.unget(0x61), 0x61);
  assert.equal(text(now(stream.read(2))), 'ab');
  assert.equal(stream.unget(0x1ff), 0xff);
  assert.equal(stream.seek(0n, 1), 0);
  assert.equal(text(now(stream.read(1))), 'b');
  assert.equal(text(files.get('f')!), 'bc');
});

test('what was read ahead from a terminal is still there after a write', () => {
  let input = bytes('one\ntwo\n');
  const terminal: OpenFile = {
    position: undefined,
    sizeBytes: undefined,
    seek: () => assert.fail('a terminal has no position'),
    close: () => true,
    write: () => true,
    read: (into) => {
      const { length } = input;
      into.set(input);
      input = new Uint8Array();
      return length;
    },
  };
  const stream = new HostStream(terminal, { read: true, write: true });
  assert.equal(text(now(stream.readLine(100))), 'one\n');
  assert.equal(stream.write(bytes('?')), 1);
  assert.equal(text(now(stream.readLine(100))), 'two\n');
});

test('tags name the standard streams, handles the open ones', () => {
  const table = new StreamTable({ stdin: { read: () => 0 }, stdout: () => undefined, stderr: () => undefined });
  assert.equal(table.tagged(0x101n), table.stdin);
  assert.equal(table.tagged(0x102n), table.stdout);
  assert.equal(table.tagged(0x103n), table.stderr);
  const files = new MemoryFileSystem();
  const mode = parseOpenMode('w')!;
  const handles = ['a', 'b'].map((name) => table.add(files.open(name, mode)!, mode));
  for (const [index, handle] of handles.entries()) {
    assert.equal(handle % 4n, 0n);
    assert.equal(table.tagged(handle), table.raw(handle));
    assert.equal(table.raw(handle).write(bytes(`${index}`)), 1);
  }
  assert.deepEqual(
    ['a', 'b'].map((name) => text(files.get(name)!)),
    ['0', '1'],
  );
  assert.ok(table.close(handles[0]!));
  assert.throws(() => table.close(handles[0]!), /no open stream has the handle/);
  assert.throws(() => table.raw(0n), /no open stream has the handle 0x0/);
});

test('files open at once and bytes written have limits', () => {
  const streams = { stdin: { read: () => 0 }, stdout: () => undefined, stderr: () => undefined };
  const table = new StreamTable(streams, { openFiles: 1, outputBytes: 10 });
  const files = new MemoryFileSystem();
  const mode = parseOpenMode('w')!;
  assert.ok(table.hasRoom);
  const handle = table.add(files.open('a', mode)!, mode);
  assert.ok(!table.hasRoom);
  assert.equal(table.raw(handle).write(bytes('01234')), 5);
  assert.equal(table.stdout.write(bytes('01234')), 5);
  assert.throws(
    () => table.stderr.write(bytes('!')),
    (error: unknown) => error instanceof WavewrightError && error.code === 'LIMIT_EXCEEDED',
  );
  table.close(handle);
  assert.ok(table.hasRoom);
});

test('an endless file is a limit, not an endless read', () => {
  const endless = {
    position: undefined,
    sizeBytes: undefined,
    seek: () => undefined,
    close: () => true,
    write: () => false,
  };
  const stream = new HostStream({ ...endless, read: (into) => into.length }, { read: true, write: false });
  assert.throws(
    () => now(stream.read(Number.MAX_SAFE_INTEGER)),
    (error: unknown) => error instanceof WavewrightError && error.code === 'LIMIT_EXCEEDED',
  );
});

test('files of the host: directories, pipes and what is not there', () => {
  mkdirSync(path.join(folder, 'dir'));
  const directory = open(nodeFileSystem, path.join(folder, 'dir'), 'r');
  assert.equal(now(directory.read(1)).length, 0);
  assert.ok(directory.failed && directory.close());
  assert.equal(nodeFileSystem.open(path.join(folder, 'dir'), parseOpenMode('w')!), undefined);
  assert.ok(nodeFileSystem.remove(path.join(folder, 'dir')));
  const device = open(nodeFileSystem, '/dev/null', 'r+');
  assert.equal(device.write(bytes('gone')), 4);
  assert.equal(device.tell(), -1);
  assert.equal(device.seek(0n, 0), -1);
  const file = path.join(folder, 'plain');
  writeFileSync(file, 'abc');
  const stream = open(nodeFileSystem, file, 'r+');
  assert.equal(text(now(stream.read(1))), 'a');
  assert.equal(stream.write(bytes('X')), 1);
  assert.equal(readFileSync(file, 'utf8'), 'aXc');
});

/** A named pipe with both ends open, so that it never ends; closed after the test. */
function pipe(context: TestContext): { readonly name: string; readonly descriptor: number } {
  const name = path.join(mkdtempSync(path.join(folder, 'pipe-')), 'pipe');
  assert.equal(spawnSync('mkfifo', [name]).status, 0);
  const descriptor = openSync(name, 'r+');
  context.after(() => closeSync(descriptor));
  return { name, descriptor };
}

test('a pipe without anything in it is waiting, not the end', { skip: process.platform !== 'linux' }, (context) => {
  const { name, descriptor } = pipe(context);
  const file = nodeFileSystem.open(name, parseOpenMode('r')!)!;
  const into = new Uint8Array(10);
  assert.equal(file.read(into), 'waiting');
  writeSync(descriptor, 'abc');
  let count = file.read(into);
  while (count === 'waiting') count = file.read(into);
  assert.equal(count, 3);
  assert.equal(file.read(into), 'waiting');
  assert.ok(file.close());
  assert.equal(file.read(into), undefined);
  assert.ok(!file.write(into) && !file.close());
});

test('standard input that has nothing yet does not hold the process up', {
  skip: process.platform !== 'linux',
}, (context) => {
  const script = `
    import { nodeStdin } from ${JSON.stringify(path.join(import.meta.dirname, 'node-file-system.ts'))};
    console.log(nodeStdin.read(new Uint8Array(10)));`;
  const argv = ['--input-type=module-typescript', '-e', script];
  const read = (stdin: 'pipe' | number, input?: string) => {
    const options = { stdio: [stdin, 'pipe', 'inherit'] as ('pipe' | 'inherit' | number)[], timeout: 600_000 };
    return String(spawnSync(process.execPath, argv, { ...options, ...(input !== undefined && { input }) }).stdout);
  };
  const { descriptor } = pipe(context);
  assert.equal(read(descriptor), 'waiting\n');
  writeSync(descriptor, 'xyz');
  assert.equal(read(descriptor), '3\n');
  assert.equal(read('pipe', 'text'), '4\n');
});
