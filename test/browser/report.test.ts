/**
 * The page of `profile html` in headless Chromium, from a file: searched, zoomed, sorted, in both themes, by
 * keyboard, on paper. With UPDATE_EXPECTED=1 its pictures become those of docs/profiling.md.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { Profile } from '../../src/profile/profile.ts';
import { reportPage } from '../../src/report/page.ts';
import { sampleProfile } from '../../src/report/sample-profile.test-support.ts';
import { IS_FULL_SCALE } from '../scale.ts';
import { picture } from './picture.ts';

const isRequired = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] !== undefined;
const CHROMIUM = '/usr/bin/chromium';
const skip = !isRequired && !existsSync(CHROMIUM) && `${CHROMIUM} is not installed`;
const options = { skip, timeout: 120_000 };
/** Of each operation there are five events. */
const MANY_OPERATIONS = IS_FULL_SCALE ? 200_000 : 10_000;
/** The goal is for an idle machine; elsewhere only what grows faster than its events takes so long. */
const MAX_OPEN_MS = IS_FULL_SCALE ? 3_000 : 30_000;

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-report-'));
let browser: Browser;
before(async () => {
  // Its sandbox does not start for root.
  if (!skip) browser = await chromium.launch({ executablePath: CHROMIUM, chromiumSandbox: process.getuid?.() !== 0 });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

/** The address of a report on a profile. */
async function reportOn(bytes: Uint8Array, name: string): Promise<string> {
  const file = path.join(folder, `${name}.html`);
  writeFileSync(file, await reportPage(Profile.read(bytes, `${name}.ireeprof`), { madeBy: 'a test' }));
  return pathToFileURL(file).href;
}

/** Fails for whatever the page complains of, its policy's refusals too, and for what it loads. */
async function open(url: string, context: BrowserContextOptions = {}): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: 'light', ...context });
  page.on('console', (message) => assert.fail(`the page says: ${message.text()}`));
  page.on('pageerror', (error) => assert.fail(error));
  page.on('request', (request) => assert.equal(request.url().split('#')[0], url.split('#')[0]));
  await page.goto(url);
  await page.waitForSelector('html[data-ready]');
  return page;
}

let sample: string;
before(async () => {
  sample = await reportOn(sampleProfile(400), 'sample');
});

const ALL = '0 ns – 8.00 ms';
/** Which time is seen, once it is another one. */
async function rangeAfter(page: Page, before: string): Promise<string> {
  // The page's policy forbids what Playwright would wait with.
  for (let tries = 0; tries < 500; tries++) {
    const range = await page.locator('.range').innerText();
    if (range !== before) return range;
    await page.waitForTimeout(10);
  }
  return assert.fail(`the range stays ${before}`);
}
const backgroundOf = async (page: Page): Promise<string> =>
  String(await page.evaluate('getComputedStyle(document.body).backgroundColor'));

test('the timeline is searched and zoomed by keyboard alone', options, async () => {
  const page = await open(sample);
  assert.equal(await rangeAfter(page, ''), ALL);
  await page.keyboard.press('/');
  await page.keyboard.type('softmax');
  assert.equal(await page.locator('.found').innerText(), '55 found');
  await page.keyboard.press('Enter');
  const details = page.locator('.details');
  assert.match(await details.innerText(), /^softmax\n+dispatch event\n[\s\S]*submission_id\n/);
  const first = await details.innerText();
  await page.keyboard.press('Enter');
  assert.notEqual(await details.innerText(), first);
  await page.keyboard.press('Shift+Enter');
  assert.equal(await details.innerText(), first);
  await page.locator('.timeline').focus();
  await page.keyboard.press('Enter');
  const zoomed = await rangeAfter(page, ALL);
  assert.match(zoomed, /µs – \d+(\.\d+)? µs$/);
  await page.keyboard.press('d');
  const moved = await rangeAfter(page, zoomed);
  await page.keyboard.press('0');
  assert.equal(await rangeAfter(page, moved), ALL);
  await page.keyboard.press('Escape');
  await page.keyboard.press('ArrowDown');
  assert.match(await details.innerText(), /^dispatch\n+queue event/);
  await page.keyboard.press('ArrowDown');
  assert.match(await details.innerText(), /dispatch event/);
  await page.close();
});

test('the pointer zooms, moves, and tells of what it is over', options, async () => {
  const page = await open(sample);
  const canvas = page.locator('.timeline canvas');
  const { x, y } = (await canvas.boundingBox())!;
  await page.mouse.move(x + 500, y + 80);
  await page.mouse.wheel(0, -600);
  const zoomed = await rangeAfter(page, ALL);
  await page.mouse.down();
  await page.mouse.move(x + 300, y + 80, { steps: 4 });
  await page.mouse.up();
  await rangeAfter(page, zoomed);
  const tooltip = page.locator('.tooltip');
  for (let px = 160; px < 900 && !(await tooltip.isVisible()); px += 3) await page.mouse.move(x + px, y + 80);
  assert.match(await tooltip.innerText(), /^(matmul16|softmax|reduce_sum|<img .*>): took \d+(\.\d+)? µs, at /);
  await page.mouse.down();
  await page.mouse.up();
  assert.match(await page.locator('.details').innerText(), /dispatch event/);
  await page.close();
});

test('the picture of docs/profiling.md: a kernel is selected, with what led to it', options, async () => {
  const page = await open(sample, { viewport: { width: 1280, height: 520 } });
  await page.locator('[type=search]').fill('reduce_sum');
  for (let i = 0; i < 12; i++) await page.keyboard.press('Enter');
  await page.locator('[type=search]').fill('');
  await page.locator('.timeline').focus();
  await page.keyboard.press('Enter');
  await rangeAfter(page, ALL);
  for (let i = 0; i < 6; i++) await page.keyboard.press('-');
  await page.waitForTimeout(100);
  await picture(page, 'report-timeline');
  await page.close();
});

test('names of a profile are text', options, async () => {
  const page = await open(`${sample}#kernels`);
  assert.equal(await page.locator('img').count(), 0);
  assert.equal(
    await page.locator('#panel-kernels td', { hasText: '<img' }).innerText(),
    '<img src=x onerror=alert(1)>',
  );
  const policy = await page.locator('meta[http-equiv]').getAttribute('content');
  assert.match(policy!, /^default-src 'none'; script-src 'sha256-[^' ]+'; style-src 'sha256-[^' ]+'; base-uri 'none'/);
  await page.close();
});

test('tables sort and are searched; the tabs are reached by keyboard', options, async () => {
  const page = await open(`${sample}#kernels`);
  const names = async () => await page.locator('#panel-kernels tbody td:first-child').allInnerTexts();
  const byTotal = await names();
  assert.equal(byTotal[0], 'matmul16');
  await page.locator('#panel-kernels th button', { hasText: 'launches' }).click();
  const launches = await page.locator('#panel-kernels tbody td:nth-child(3)').allInnerTexts();
  assert.deepEqual(
    launches,
    launches.toSorted((one, other) => Number(other) - Number(one)),
  );
  await page.locator('#panel-kernels th button', { hasText: 'kernel' }).press('Enter');
  assert.deepEqual(await names(), byTotal.toSorted());
  await page.locator('[type=search]').fill('reduce');
  assert.deepEqual(await names(), ['reduce_sum']);
  await page.locator('[type=search]').press('Escape');
  await page.locator('[role=tab][aria-selected=true]').focus();
  await page.keyboard.press('ArrowRight');
  await page.waitForSelector('[role=tab][aria-selected=true]:text("Code")');
  await page.keyboard.press('ArrowRight');
  await page.waitForSelector('.chart canvas');
  await page.close();
});

test('code is read by keyboard: lines, listing, graph and search show one place', options, async () => {
  const page = await open(`${sample}#kernels`);
  await page.locator('#panel-kernels a', { hasText: 'matmul16' }).click();
  const code = page.locator('#panel-code');
  const lines = await code.locator('.data-table tbody tr').allInnerTexts();
  assert.match(lines[0]!, /^transpose\.cl:(4|5)\s+47\.6.%\s+480\s+/);
  const selected = code.locator('.item.selected');
  assert.match(await selected.innerText(), /1908\s+v_add_u32_e32 v1, 1, v1$/);
  assert.match(
    (await code.locator('.node.selected text').allTextContents()).join(' '),
    /^1908, loop 1 6 instructions × 160$/,
  );
  await code.locator('.listing-scroller').focus();
  await page.keyboard.press('End');
  assert.match(await selected.innerText(), /s_endpgm$/);
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  assert.match(await selected.innerText(), /v_add_u32_e32/, 'a branch is followed');
  await page.locator('[type=search]').fill('global_store');
  await page.locator('[type=search]').press('Enter');
  assert.deepEqual(await code.locator('.way-count').allTextContents(), ['16', '144'], 'ways of the branch');
  assert.match(await selected.innerText(), /\s16\s+6\.3.%\s+1914\s+global_store_dword/, 'lanes of the store');
  await page.locator('[type=search]').press('Escape');
  await page.getByRole('button', { name: 'Uncoalesced' }).click();
  assert.match(
    await selected.innerText(),
    /\s16\s+6\.3.%\s+1914\s+global_store/,
    'of 16 lanes with 4 bytes each in 16 lines',
  );
  await code.locator('.node').first().focus();
  await page.keyboard.press('Enter');
  assert.match(await selected.innerText(), /1900\s+s_load_dwordx4/);
  await page.close();
});

test('it is light or dark as the system is, until the reader chooses, and light on paper', options, async () => {
  const light = await open(sample);
  const lightColour = await backgroundOf(light);
  await light.close();
  const page = await open(sample, { colorScheme: 'dark', viewport: { width: 800, height: 700 } });
  const darkColour = await backgroundOf(page);
  assert.notEqual(darkColour, lightColour);
  await page.keyboard.press('t');
  assert.equal(await backgroundOf(page), lightColour);
  await page.keyboard.press('t');
  assert.equal(await backgroundOf(page), darkColour);
  await page.emulateMedia({ media: 'print' });
  await page.waitForSelector('html[data-theme=light]');
  for (const id of ['timeline', 'kernels', 'code', 'memory', 'statistics'])
    assert.ok(await page.locator(`#panel-${id}`).isVisible());
  assert.ok((await page.pdf()).length > 10_000);
  await page.close();
});

test(`${5 * MANY_OPERATIONS} events open in less than ${MAX_OPEN_MS} ms`, options, async () => {
  const page = await open(await reportOn(sampleProfile(MANY_OPERATIONS), 'many'));
  const openMs = Number(await page.locator('html').getAttribute('data-ready'));
  assert.ok(openMs < MAX_OPEN_MS, `${openMs} ms`);
  await page.close();
});
