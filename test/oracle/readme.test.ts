/**
 * Commands of README.md and docs/profiling.md that need clang or take long, with the package installed in an
 * empty folder, and in Chromium the web page of the one and the reports of the other.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { picture } from '../browser/picture.ts';
import { documentBlocks, type InstalledPackage, installPackage, needsOracle, runIn } from '../installed-package.ts';

const isRequired = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] !== undefined;
const isMissing = (program: string): boolean => spawnSync(program, ['--version']).error !== undefined;
const DEVICE_LIBRARIES = '/usr/lib/x86_64-linux-gnu/amdgcn/bitcode';
const CHROMIUM = '/usr/bin/chromium';
const TYPES: Readonly<Record<string, string>> = {
  ...{ '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript' },
};

const BLOCKS = documentBlocks('README.md');
const PROFILING = documentBlocks('docs/profiling.md');
const skip = !isRequired && isMissing('clang-19') && 'clang-19 is not installed';

let installed: InstalledPackage;
before(() => {
  installed = installPackage();
  // What the first kernel of README.md leaves, which commands after it read.
  writeFileSync(
    path.join(installed.folder, 'a'),
    Float32Array.from({ length: 256 }, (_, i) => i),
  );
});
after(() => installed[Symbol.dispose]());

const scripts = Object.entries({ README: BLOCKS, 'docs/profiling.md': PROFILING }).flatMap(([file, blocks]) =>
  blocks.filter((each) => each.language === 'sh' && needsOracle(each)).map((block) => ({ file, block })),
);
for (const { file, block } of scripts) {
  const lacksLibraries = block.text.includes(DEVICE_LIBRARIES) && !existsSync(DEVICE_LIBRARIES);
  const reason = skip || (!isRequired && lacksLibraries && 'rocm-device-libs is not installed');
  test(`${file} line ${block.line}: commands run as they stand`, { skip: reason }, () => {
    const { stdout, stderr, status } = runIn(installed.folder, 'bash', ['-euo', 'pipefail', '-c', block.text]);
    assert.equal(status, 0, `${stdout}${stderr}`);
    if (block.output !== undefined) assert.equal(stdout, block.output);
  });
}

test("README's page runs a program", {
  skip: !isRequired && !existsSync(CHROMIUM) && `${CHROMIUM} is not installed`,
}, async () => {
  const [page] = BLOCKS.filter(({ language }) => language === 'html');
  writeFileSync(path.join(installed.folder, 'page.html'), page!.text);
  await using resources = new AsyncDisposableStack();
  // As README says: a module worker, which has more threads.
  writeFileSync(
    path.join(installed.folder, 'worker.mjs'),
    `import { createEmulatedDevice, runProgram, webThreads } from './node_modules/wavewright/dist/browser.js';
    const image = new Uint8Array(await (await fetch('examples/reduction/reduction.gfx90a.co')).arrayBuffer());
    const device = createEmulatedDevice({ processor: 'gfx90a', threads: webThreads, workers: 2 });
    postMessage((await runProgram(image, { device, args: ['reduction'], blocks: [400, 1, 1], onStdout: () => undefined })).status);`,
  );
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url!);
    const file = path.join(installed.folder, new URL(request.url!, 'http://localhost').pathname);
    response.writeHead(existsSync(file) ? 200 : 404, {
      'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream',
      ...{ 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' },
    });
    response.end(existsSync(file) ? readFileSync(file) : undefined);
  });
  resources.defer(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // reason: a server that listens on a port has an address with one.
  const { port } = server.address() as AddressInfo;
  const browser = await chromium.launch({ executablePath: CHROMIUM, chromiumSandbox: process.getuid?.() !== 0 });
  resources.defer(() => browser.close());
  const tab = await browser.newPage();
  await tab.goto(`http://127.0.0.1:${port}/page.html`);
  const text = tab.locator('#out').filter({ hasText: 'Hello' });
  assert.equal(await text.textContent({ timeout: 60_000 }), 'Hello, browser, from lane 0 of 1 (argc=2)\n');
  const dist = '/node_modules/wavewright/dist/';
  const files = ['/page.html', `${dist}browser.js`, '/examples/hello/hello.gfx90a.co'];
  assert.deepEqual(
    asked.splice(0).filter((name) => name !== '/favicon.ico'),
    files,
  );
  const status = await tab.evaluate(
    async () =>
      await new Promise((resolve) => {
        // reason: runs in the browser, whose globals are not declared
        const scope = globalThis as unknown as { Worker: new (url: string, options: object) => WebWorker };
        interface WebWorker {
          onmessage(event: { data: unknown }): void;
          onerror(event: { message: string }): void;
        }
        const worker = new scope.Worker('./worker.mjs', { type: 'module' });
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = ({ message }) => resolve(`error: ${message}`);
      }),
  );
  assert.equal(status, 0);
  // One worker beside the thread that started it; the engine may look for the same file again.
  assert.deepEqual([...new Set(asked)].sort(), [
    '/examples/reduction/reduction.gfx90a.co',
    ...['browser.js', 'web-worker.js'].map((name) => dist + name),
    '/worker.mjs',
  ]);
});

test('a newcomer finds what docs/profiling.md says in the pages that its commands made', {
  skip: skip || (!isRequired && !existsSync(CHROMIUM) && `${CHROMIUM} is not installed`),
}, async () => {
  await using resources = new AsyncDisposableStack();
  const browser = await chromium.launch({ executablePath: CHROMIUM, chromiumSandbox: process.getuid?.() !== 0 });
  resources.defer(() => browser.close());
  const open = async (name: string): Promise<Page> => {
    const page = await browser.newPage({ viewport: { width: 1180, height: 700 }, colorScheme: 'light' });
    await page.goto(pathToFileURL(path.join(installed.folder, `${name}.html`)).href);
    await page.getByRole('tab', { name: 'Code' }).click();
    return page;
  };
  const nbody = await open('nbody');
  const hottest = await nbody.locator('#panel-code .data-table tbody tr').first().innerText();
  assert.match(hottest, /^nbody\.cl:20\s+float dx = other\.x - body\.x, dy = .*;\s+24\.9/);
  assert.match(
    (await nbody.locator('.node.selected text').allTextContents()).join(),
    /loop 2,64 instructions,× 4.096$/,
  );
  await picture(nbody, 'report-nbody');
  const transposition = await open('transpose');
  await transposition.getByRole('button', { name: 'Uncoalesced' }).click();
  assert.match(await transposition.locator('.item.selected').innerText(), /3\.1.%\s+[\da-f]+\s+global_store_dword/);
  const lines = await transposition.locator('#panel-code .data-table tbody tr').allInnerTexts();
  assert.match(lines.find((line) => line.startsWith('transpose.cl:6'))!, /out\[column \* n \+ row\] = value;.*\s3\.1/s);
  assert.match(lines.find((line) => line.startsWith('transpose.cl:5'))!, /float value = .*\s100/s);
  await picture(transposition, 'report-transpose');
});
