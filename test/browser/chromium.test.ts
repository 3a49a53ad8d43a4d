/**
 * The library as it is published, in headless Chromium: whole programs, kernels on all tiers, threads.
 * Nothing leaves this machine.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { type Browser, chromium, type Page } from 'playwright-core';
import { World } from '../../src/hal/conformance/cts.test-support.ts';
import { suiteBodies } from '../../src/hal/conformance/cts-run.test-support.ts';
import { createRegistry, SUBJECTS } from '../../src/hal/conformance/subject.test-support.ts';
import type { HalExecutable } from '../../src/hal/index.ts';
import { recorded } from '../../src/replay/execute/recorded-suite.test-support.ts';
import type { PROGRAMS } from './programs.ts';
import { build, serve } from './site.ts';

const isRequired = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] !== undefined;
const CHROMIUM = '/usr/bin/chromium';
const skip = !isRequired && !existsSync(CHROMIUM) && `${CHROMIUM} is not installed`;

type ProgramName = keyof typeof PROGRAMS;

const directory = mkdtempSync(path.join(tmpdir(), 'wavewright-browser-'));
const resources = new AsyncDisposableStack();
resources.defer(() => rmSync(directory, { recursive: true }));
after(() => resources.disposeAsync());

let browser: Browser;
let url: string;
before(async () => {
  if (skip) return;
  build(directory);
  ({ url } = resources.use(await serve(directory)));
  // Its sandbox does not start for root.
  browser = await chromium.launch({ executablePath: CHROMIUM, chromiumSandbox: process.getuid?.() !== 0 });
  resources.defer(() => browser.close());
});

async function open(site: 'isolated' | 'plain'): Promise<Page> {
  const page = await browser.newPage();
  page.on('console', (message) => assert.fail(`the browser says: ${message.text()}`));
  await page.goto(`${url}/${site}`);
  return page;
}

/** Runs a program on a page itself. */
const onPage = async (page: Page, name: ProgramName): Promise<unknown> =>
  await page.evaluate(async (program) => {
    const { PROGRAMS: programs } = await import('/test/browser/programs.js' as string);
    return await programs[program]();
  }, name);

/** Runs a program in a worker of a page. */
const inWorker = async (page: Page, name: ProgramName): Promise<unknown> =>
  await page.evaluate(
    async (program) =>
      await new Promise((resolve) => {
        const { Worker } = globalThis as unknown as { Worker: new (url: string, options: object) => WebWorker }; // reason: runs in the browser, whose globals are not declared
        interface WebWorker {
          onmessage(event: { data: unknown }): void;
          onerror(event: { message: string }): void;
          postMessage(message: unknown): void;
        }
        const worker = new Worker('/bundled/test/browser/worker.js', { type: 'module' });
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = ({ message }) => resolve(`error: ${message}`);
        worker.postMessage(program);
      }),
    name,
  );

const HELLO = {
  status: 0,
  ended: 'exit',
  stdout: [0, 1, 2].map((lane) => `Hello, browser, from lane ${lane} of 3 (argc=2)\n`).join(''),
  stderr: '',
};

test('a page runs programs and kernels', { skip, timeout: 600_000 }, async () => {
  const page = await open('plain');
  assert.deepEqual(await onPage(page, 'hello'), HELLO);
  const digest = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
  assert.deepEqual(await onPage(page, 'files'), { ...HELLO, stdout: `${digest}  input\n` });
  assert.match(String(await onPage(page, 'timeLimit')), /the time limit of 3 s ran out in kernel '_start'\n/);
  assert.deepEqual(await onPage(page, 'dispatch'), { dispatches: 1, right: 1, compiled: true });
});

test('threads are refused where memory cannot be shared, or the caller must not wait', {
  skip,
  timeout: 600_000,
}, async () => {
  const [plain, isolated] = [await open('plain'), await open('isolated')];
  assert.equal(await onPage(isolated, 'parallelism'), 1);
  assert.equal(await inWorker(plain, 'parallelism'), 1);
  assert.match(String(await onPage(isolated, 'threadsOnDemand')), /2 workers: a page must not wait/);
  assert.match(
    String(await inWorker(plain, 'threadsOnDemand')),
    /2 workers: memory is shared .* Cross-Origin-Opener-Policy/,
  );
});

test('workers of an isolated page run programs and kernels, on several threads', {
  skip,
  timeout: 600_000,
}, async () => {
  const page = await open('isolated');
  assert.ok(Number(await inWorker(page, 'parallelism')) >= 1);
  assert.deepEqual(await inWorker(page, 'hello'), HELLO);
  assert.deepEqual(await inWorker(page, 'threads'), { allRight: true, helped: true, ends: [] });
});

test('every benchmark kernel gives what its model does, compiled', { skip, timeout: 300_000 }, async () => {
  const found = (await inWorker(await open('isolated'), 'kernels')) as { differences: string[]; compiled: number };
  assert.deepEqual(found.differences, [], String(found));
  assert.ok(found.compiled > 0);
});

/** Bodies of the conformance suite on gfx90a, as files of the site. */
async function recordSuite(groups: RegExp): Promise<number> {
  const subject = SUBJECTS.find(({ name }) => name === 'gfx90a')!;
  const site = path.join(directory, 'recordings');
  mkdirSync(site, { recursive: true });
  const names: string[] = [];
  for (const { name, run, skip: reason } of suiteBodies(subject, groups)) {
    if (reason) continue;
    using registry = createRegistry();
    const bytes = await recorded(registry, async (open) => {
      const device = await open.open(subject.uri);
      let loaded: HalExecutable | undefined;
      const code = (): HalExecutable => {
        loaded ??= device.load(subject.code());
        return loaded;
      };
      const world = new World({ subject, registry: open, uri: subject.uri, device, code, isIndirect: true });
      await run(world);
      world.dispose();
      await device.queue().barrier();
    });
    names.push(`${name}.ireereplay`);
    writeFileSync(path.join(site, names.at(-1)!), bytes);
  }
  writeFileSync(path.join(site, 'names.json'), JSON.stringify(names));
  return names.length;
}

test('recordings made on gfx90a are replayed in the browser with the same bytes', {
  skip,
  timeout: 600_000,
}, async () => {
  const count = await recordSuite(/^(?:Dispatch|CommandBuffer|QueueTransfer|Program|File)/);
  assert.ok(count > 50, `${count} recordings`);
  for (const runIn of [onPage, inWorker]) {
    const found = await runIn(await open('isolated'), 'replays');
    const { replays, compared, differences } = found as { replays: number; compared: number; differences: string[] };
    assert.deepEqual([replays, differences], [2 * count, []], String(found));
    assert.ok(compared > 2 * count);
  }
});
