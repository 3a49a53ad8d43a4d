/**
 * The check of waits finds nothing in what clang makes, on all levels and targets; and what is taken away, by
 * its line.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { KernelRunner } from '../../src/bench/kernel-runner.ts';
import { KERNELS } from '../../src/bench/kernels.ts';
import type { MissedWaitReport } from '../../src/devices/emulated/missed-wait.ts';
import { createEmulatedDevice } from '../../src/index.ts';
import { hasClang } from './device-code.ts';

const CLANG = 'clang-19';
const skip = hasClang ? false : `no ${CLANG}`;
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-waits-'));
after(() => rmSync(folder, { recursive: true }));

function compile(name: string, processor: string, ...options: string[]): Uint8Array {
  const file = path.join(folder, 'kernel.co');
  const common = ['--target=amdgcn-amd-amdhsa', '-nogpulib', '-mcode-object-version=5', '-o', file];
  execFileSync(CLANG, [...common, `-mcpu=${processor}`, ...options, `examples/kernels/${name}.cl`]);
  return Uint8Array.from(readFileSync(file));
}

function check(name: string, processor: string, bytes: Uint8Array): MissedWaitReport[] {
  const found: MissedWaitReport[] = [];
  const device = createEmulatedDevice({ processor, checkWaits: {}, onMissedWait: (report) => found.push(report) });
  using runner = new KernelRunner(device);
  const benchmark = KERNELS.find((each) => each.name === name)!;
  runner.prepare({ name: `${name}.co`, bytes }, benchmark.kernel ?? name, benchmark.launch('small'))();
  return found;
}

for (const processor of ['gfx90a', 'gfx942', 'gfx1030', 'gfx1100', 'gfx1200']) {
  test(`${processor}: kernels at all levels`, { skip }, () => {
    for (const level of ['-O0', '-O1', '-O2', '-O3', '-Os']) {
      for (const name of ['gather', 'histogram', 'stencil', 'saxpy']) {
        const messages = check(name, processor, compile(name, processor, level)).map(({ message }) => message);
        assert.deepEqual(messages, [], `${name} ${level}`);
      }
    }
  });
}

test('a wait that is taken away is told with the source lines', { skip }, () => {
  const bytes = compile('gather', 'gfx90a', '-O2', '-g');
  const view = new DataView(bytes.buffer);
  // Every s_waitcnt becomes s_nop 0.
  for (let at = 0; at < bytes.length; at += 4) {
    if (view.getUint32(at, true) >>> 16 === 0xbf8c) view.setUint32(at, 0xbf800000, true);
  }
  const reports = check('gather', 'gfx90a', bytes);
  assert.ok(reports.length > 0);
  const place = String.raw`gather\+0x[0-9a-f]+ \(.*/(gather\.cl|gpu\.clh):\d+\)`;
  const expected = new RegExp(
    `^missing wait: '.*' at ${place} (reads|writes) [sv]\\d+, which '.*' at ${place} is still`,
  );
  for (const { message } of reports) assert.match(message, expected);
});
