/** Pictures of documents, which tests make: `UPDATE_EXPECTED=1` writes them. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';

const FOLDER = path.resolve(import.meta.dirname, '../../docs/images');

/** What is seen of a page, as docs/images/NAME.png. */
export async function picture(page: Page, name: string): Promise<void> {
  const file = path.join(FOLDER, `${name}.png`);
  if (process.env['UPDATE_EXPECTED'] === undefined) assert.ok(existsSync(file), `${file}: UPDATE_EXPECTED=1 writes it`);
  else {
    mkdirSync(FOLDER, { recursive: true });
    await page.screenshot({ path: file });
  }
}
