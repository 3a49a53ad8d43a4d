import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { inflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { FileCodeStore, folderOf } from './node-code-store.ts';

const scratch = mkdtempSync(path.join(tmpdir(), 'wavewright-code-'));
after(() => rmSync(scratch, { recursive: true }));
const newFolder = (name: string): string => path.join(mkdtempSync(path.join(scratch, 'each-')), name);
const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(text));
const ROOT = path.resolve(import.meta.dirname, '../../..');

test('what is written is read, by its key alone', () => {
  const folder = newFolder('code');
  const key = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', 'a', 'µ'));
  const code = fc.uint8Array({ maxLength: 300 }).map((bytes) => new Uint8Array(bytes));
  fc.assert(
    fc.property(fc.dictionary(key, code), (entries) => {
      const store = new FileCodeStore(folder);
      for (const [each, bytes] of Object.entries(entries)) store.write(each, bytes);
      const other = new FileCodeStore(folder);
      for (const [each, bytes] of Object.entries(entries)) assert.deepEqual(other.read(each), bytes);
      assert.equal(other.read(`${Object.keys(entries).join()}?`), undefined);
    }),
    { numRuns: 50 },
  );
});

test('what is long is packed', () => {
  const folder = newFolder('code');
  const store = new FileCodeStore(folder);
  const key = 'a long key '.repeat(30_000);
  const code = Uint8Array.from({ length: 100_000 }, (_, i) => i % 251);
  store.write(key, code);
  const [name] = readdirSync(folder);
  const file = path.join(folder, name!);
  const whole = readFileSync(file);
  assert.ok(whole.length < 20_000);
  assert.deepEqual(store.read(key), code);
  assert.equal(store.read(key.replace('y', 'z')), undefined);
  for (const at of [3, 4, 7, 9, 13, 16, 1000, whole.length - 1]) {
    const damaged = Buffer.from(whole);
    damaged[at]! ^= 1;
    writeFileSync(file, damaged);
    assert.equal(store.read(key), undefined, `byte ${at}`);
  }
  writeFileSync(file, whole.subarray(0, -1));
  assert.equal(store.read(key), undefined);
});

test('a file that is damaged, or is of another key, is none', () => {
  const folder = newFolder('code');
  const store = new FileCodeStore(folder);
  store.write('key', bytesOf('some code'));
  const [name] = readdirSync(folder);
  const file = path.join(folder, name!);
  const whole = readFileSync(file);
  for (let at = 0; at < whole.length; at++) {
    const damaged = Buffer.from(whole);
    damaged[at]! ^= 1;
    writeFileSync(file, damaged);
    assert.equal(store.read('key'), undefined, `byte ${at}`);
    writeFileSync(file, whole.subarray(0, at));
    assert.equal(store.read('key'), undefined, `cut at ${at}`);
  }
  store.write('key', bytesOf('again'));
  assert.deepEqual(store.read('key'), bytesOf('again'));
});

test('nothing is thrown where there is no place', () => {
  const folder = newFolder('code');
  writeFileSync(folder, 'no folder');
  const store = new FileCodeStore(path.join(folder, 'code'));
  store.write('key', bytesOf('code'));
  assert.equal(store.read('key'), undefined);
});

test('of a full folder the older half goes, of other versions the oldest', () => {
  const parent = newFolder('wavewright');
  const old = (name: string, agoS: number): void => {
    const then = Date.now() / 1000 - agoS;
    utimesSync(path.join(parent, name), then, then);
  };
  for (let i = 1; i <= 5; i++) {
    mkdirSync(path.join(parent, `code-${i}`), { recursive: true });
    old(`code-${i}`, 100 * i);
  }
  mkdirSync(path.join(parent, 'of the user'));
  old('of the user', 10_000);
  const folder = folderOf(parent, 0xffn);
  new FileCodeStore(folder).write('key', bytesOf('code'));
  assert.deepEqual(readdirSync(parent).sort(), ['code-1', 'code-2', 'code-3', 'code-ff', 'of the user']);
  for (const name of [...new Array(16_385).keys().map((i) => `${i.toString(16)}-7`), 'notes']) {
    writeFileSync(path.join(folder, name), '');
    old(`code-ff/${name}`, 10_000 - (Number.parseInt(name, 16) || 0));
  }
  new FileCodeStore(folder).write('other', bytesOf('code'));
  const left = readdirSync(folder);
  assert.equal(left.length, 8192 + 2);
  assert.ok(!left.includes('0-7') && left.includes('4000-7') && left.includes('notes'));
  assert.deepEqual(new FileCodeStore(folder).read('key'), bytesOf('code'));
});

test('of files that are large together the older ones go', () => {
  const folder = newFolder('code');
  mkdirSync(folder, { recursive: true });
  for (let i = 0; i < 5; i++) {
    const file = path.join(folder, `${i}-7`);
    writeFileSync(file, '');
    truncateSync(file, 2 ** 27);
    utimesSync(file, 1000 + i, 1000 + i);
  }
  new FileCodeStore(folder).write('key', bytesOf('code'));
  assert.deepEqual(
    readdirSync(folder)
      .filter((name) => name.endsWith('-7'))
      .sort(),
    ['3-7', '4-7'],
  );
});

/** What a file of the store holds behind its numbers. */
function unpacked(file: string): string {
  const whole = readFileSync(file).subarray(16);
  try {
    return inflateRawSync(whole).toString('latin1');
  } catch {
    return whole.toString('latin1');
  }
}

for (const [program, kinds] of [
  ['examples/reduction/reduction.gfx90a.co', [' runners ', ' T0 ', ' T1 ']],
  ['examples/sieve/sieve.sm_70.ptx', ['PTX [', ' runners ', ' T0 ', ' T1 ']],
] as const)
  test(`${program} does the same with code of another process`, () => {
    const folder = newFolder('cache');
    const run = (place: string) => {
      const argv = ['bin/wavewright.js', 'run', '--stats', '--workers=1', program];
      const env = { ...process.env, WAVEWRIGHT_CODE_CACHE: place };
      const { status, stdout, stderr } = spawnSync(process.execPath, argv, { cwd: ROOT, env, encoding: 'utf8' });
      // Of what is counted times change.
      return { status, stdout, instructions: /instructions.*/.exec(stderr)?.[0] };
    };
    const kept = (): Map<string, number> => {
      const [version] = readdirSync(folder);
      const files = readdirSync(path.join(folder, version!)).map((name) => path.join(folder, version!, name));
      return new Map(files.map((file) => [file, statSync(file).mtimeMs]));
    };
    const without = run('off');
    assert.equal(without.status, 0);
    assert.ok(without.instructions, 'instructions are counted');
    assert.equal(existsSync(folder), false);
    assert.deepEqual(run(folder), without);
    const first = kept();
    const texts = [...first.keys()].map(unpacked);
    for (const kind of kinds)
      assert.ok(
        texts.some((text) => text.includes(kind)),
        kind,
      );
    assert.deepEqual(run(folder), without);
    assert.deepEqual(kept(), first, 'nothing was compiled again');
    for (const file of first.keys()) writeFileSync(file, readFileSync(file).subarray(0, -1));
    assert.deepEqual(run(folder), without);
    assert.equal(
      [...kept()].every(([file, changedMs]) => changedMs !== first.get(file)),
      true,
    );
  });
