/**
 * Takes checks out of a copy of the sources, one at a time, and runs the suite that is to notice:
 * `node test/fuzz/sabotage.ts [NAME-REGEX] [SECONDS]`. A check that nobody misses is not tested. Prints how
 * long each took to be missed; exits 1 when one was not within a minute, or within SECONDS.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SABOTAGES, type Sabotage } from './sabotages.ts';

const [NAMES = '', LIMIT_SECONDS = '60'] = process.argv.slice(2);
const LIMIT_MS = 1000 * Number(LIMIT_SECONDS);

function run(
  { file, from, to, noticedBy }: Sabotage,
  root: string,
): { readonly isNoticed: boolean; readonly ms: number } {
  const target = path.join(root, file);
  const text = readFileSync(target, 'utf8');
  assert.equal(text.split(from).length, 2, `${file} has once: ${from}`);
  writeFileSync(
    target,
    text.replace(from, () => to),
  );
  const load = spawnSync(process.execPath, ['--input-type=module', '--eval', `import ${JSON.stringify(target)}`]);
  assert.equal(load.status, 0, `${file} loads: ${load.stderr}`);
  const beginMs = performance.now();
  const { status } = spawnSync(process.execPath, noticedBy, { cwd: root, timeout: LIMIT_MS, stdio: 'ignore' });
  const ms = performance.now() - beginMs;
  writeFileSync(target, text);
  return { isNoticed: status !== 0 && ms < LIMIT_MS, ms };
}

const root = mkdtempSync(path.join(tmpdir(), 'sabotage-'));
try {
  const source = path.resolve(import.meta.dirname, '../..');
  for (const name of ['src', 'test', 'examples', 'package.json', 'tsconfig.json'])
    cpSync(path.join(source, name), path.join(root, name), { recursive: true });
  symlinkSync(path.join(source, 'node_modules'), path.join(root, 'node_modules'));
  const wanted = SABOTAGES.filter(({ name }) => new RegExp(NAMES).test(name));
  let missed = 0;
  for (const sabotage of wanted) {
    const { isNoticed, ms } = run(sabotage, root);
    if (!isNoticed) missed++;
    console.log(`${isNoticed ? 'noticed' : 'NOT NOTICED'} after ${(ms / 1000).toFixed(1)} s: ${sabotage.name}`);
  }
  console.log(`${wanted.length - missed} of ${wanted.length} noticed`);
  process.exitCode = missed > 0 ? 1 : 0;
} finally {
  rmSync(root, { recursive: true });
}
