import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AmdgpuStepReader } from '../isa/amdgpu/step.ts';
import { StepTable } from './step-table.ts';

test('instructions are found by their addresses, and come in their order', () => {
  // s_nop 0 at each of them: the borders of pages, and far behind.
  const addresses = [8192, 4, 0, 4096, 4092, 0x10_0000];
  const code = new DataView(new ArrayBuffer(0x10_0004));
  for (const address of addresses) code.setUint32(address, 0xbf80_0000, true);
  const reader = new AmdgpuStepReader('gfx90a', 64, 0);
  const table = new StepTable();
  const steps = addresses.map((address) => {
    const step = reader.step(code, address);
    assert(typeof step === 'object');
    table.set(step);
    return step;
  });
  assert.deepEqual([...table.addresses()], [0, 4, 4092, 4096, 8192, 0x10_0000]);
  assert.deepEqual(
    addresses.map((address) => table.get(address)?.offset),
    addresses,
  );
  assert.deepEqual(
    [8, 2, 4088, 0x20_0000, -4].map((address) => table.get(address)),
    [undefined, undefined, undefined, undefined, undefined],
  );
  assert.deepEqual(
    steps.map((step) => table.numberOf(step)),
    [0, 1, 2, 3, 4, 5],
  );
  const again = reader.step(code, 4096);
  assert(typeof again === 'object');
  table.set(again);
  assert.equal(table.get(4096), again);
  assert.deepEqual([table.size, table.numberOf(again)], [6, 3]);
});
