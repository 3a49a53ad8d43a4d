/**
 * Programs and device processes that are killed at any time: the other one ends, and nothing is left over.
 * WAVEWRIGHT_SEED repeats a run, WAVEWRIGHT_SCALE=full makes it 200 kills.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../fuzz/random.ts';
import { HANG_MS, IS_FULL_SCALE } from '../scale.ts';
import { buildHsaProgram, LAUNCHER, storeKernel } from './hsa-program.ts';

const COUNT = IS_FULL_SCALE ? 200 : 4;
const seed = Number(process.env['WAVEWRIGHT_SEED'] ?? Date.now() % 2 ** 31);

/** Says when the program begins, in whose place it is then. */
const ANNOUNCED = ['sh', '-c', 'echo started; exec "$@"', 'sh'];

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-kills-'));
after(() => rmSync(folder, { recursive: true }));

/** Processes that are no zombies, with their parents. */
function processes(): Map<number, number> {
  const found = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
    try {
      const [, state, parent] = /\) (\w) (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))!;
      if (state !== 'Z' && state !== 'X') found.set(Number(name), Number(parent));
    } catch {
      // It ended meanwhile.
    }
  }
  return found;
}

function descendants(root: number): number[] {
  const all = processes();
  const found = [root];
  for (const process of found) for (const [child, parent] of all) if (parent === process) found.push(child);
  return found;
}

test(`${COUNT} processes killed at random times leave nothing over, seed ${seed}`, async (context) => {
  const program = buildHsaProgram('program', folder);
  const code = storeKernel(folder);
  const random = new Random(seed);
  const start = () =>
    spawn(process.execPath, [LAUNCHER, 'exec', ...ANNOUNCED, program, code], { stdio: ['ignore', 'pipe', 'pipe'] });
  // How long it takes to start the program, and that takes: machines with other load need longer.
  const begunMs = Date.now();
  const unharmed = start();
  const hasStarted = once(unharmed.stdout, 'data').then(() => Date.now());
  await once(unharmed, 'close');
  const startMs = (await hasStarted) - begunMs;
  const runMs = Date.now() - begunMs - startMs;
  let running = 0;
  let late = 0;
  for (let i = 0; i < COUNT; i++) {
    const [isEarly, isDevice] = [random.below(4) === 0, random.below(2) === 0];
    const delayMs = random.below(isEarly ? startMs : runMs);
    const child = start();
    const when = `${delayMs} ms after the start of the ${isEarly ? 'device process' : 'program'}`;
    const what = `kill ${i} of the ${isDevice ? 'device process' : 'program'} ${when}`;
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    const closed = new Promise((resolve) => child.once('close', resolve));
    if (!isEarly) await once(child.stdout, 'data');
    await sleep(delayMs);
    const family = descendants(child.pid!);
    const victim = isDevice ? child.pid! : (family[1] ?? child.pid!);
    if (child.exitCode === null) process.kill(victim, 'SIGKILL');
    if (child.exitCode !== null) late++;
    else if (family.length > 1) running++;
    // The time that is left of the limit keeps nobody waiting.
    const isInTime = await Promise.race([closed.then(() => true), sleep(HANG_MS, false, { ref: false })]);
    assert.ok(isInTime, `${what}: who held the output did not end; ${stderr}`);
    // Who ends closes its files a little before it is gone.
    const left = (): number[] => family.filter((each) => processes().has(each));
    for (const start = Date.now(); left().length > 0 && Date.now() - start < HANG_MS; ) await sleep(50);
    assert.deepEqual(left(), [], what);
    assert.doesNotMatch(stderr, /INTERNAL|Sanitizer|wrong/, what);
  }
  const times = `${startMs} ms to start, ${runMs} ms to run`;
  context.diagnostic(`${running} while the program ran, ${late} after the end; one that was not killed took ${times}`);
});
