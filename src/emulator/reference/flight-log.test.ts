import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AmdgpuStepReader } from '../../isa/amdgpu/step.ts';
import { FlightLog } from './flight-log.ts';

test('what keeps registers busy without an end does not pile up', () => {
  const code = new DataView(Uint32Array.of(0xbf800000).buffer);
  const step = new AmdgpuStepReader('gfx90a', 64, 0).step(code, 0);
  assert.ok(typeof step === 'object');
  const log = new FlightLog(() => undefined);
  for (let i = 0; i < 1000; i++) {
    const [results, none] = [new Map<number, number>(), new Set<number>()];
    const kinds = new Map([['expcnt', 'any'] as const]);
    log.issue({ step, results, rows: none, sources: new Set([i]), stored: none, isAtomic: false, kinds });
  }
  assert.equal(log.flying.length, 63);
  assert.deepEqual([...log.flying.at(-1)!.sources], [999]);
  log.wait('expcnt', 0);
  assert.equal(log.flying.length, 0);
});
