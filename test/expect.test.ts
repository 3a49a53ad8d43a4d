/**
 * What the compiler makes of small programs, as text: meaning, region or loop, WebAssembly. A difference is
 * not always wrong, but should be looked at: `UPDATE_EXPECTED=1 npm run test:expect` writes what is accepted,
 * and the diff shows what was won or lost.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { probeHost } from '../src/emulator/lowering/host.ts';
import { expectedFile } from './expect/expected-file.ts';

const CASES = path.join(import.meta.dirname, 'expect/cases');
const updates = process.env['UPDATE_EXPECTED'] === '1';
const skip = probeHost().fused ? false : 'relaxed_madd rounds twice on this host, for which other code is made';

for (const name of readdirSync(CASES)) {
  test(path.parse(name).name.replaceAll('-', ' '), { skip }, () => {
    const file = path.join(CASES, name);
    const text = readFileSync(file, 'utf8');
    const found = expectedFile(text);
    if (updates && found !== text) writeFileSync(file, found);
    else assert.equal(found, text, `${file} is as it was; UPDATE_EXPECTED=1 accepts the change`);
  });
}

test('docs/jit.md shows what is in the cases', () => {
  const document = readFileSync(path.join(import.meta.dirname, '../docs/jit.md'), 'utf8');
  const quotes = [...document.matchAll(/<!-- (\S+) -->\n```\n([\s\S]*?)\n```\n/g)];
  assert.equal(quotes.length, 8);
  const plain = (text: string): string => text.replace(/^ +/gm, '');
  for (const [, file, quote] of quotes) {
    const whole = readFileSync(path.join(import.meta.dirname, '..', file!), 'utf8');
    assert.ok(plain(whole).includes(plain(quote!)), `${file} has:\n${quote}`);
  }
});
