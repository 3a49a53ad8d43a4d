import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmulatorRig, PLAIN_LAUNCH } from '../emulator-rig.test-support.ts';
import type { Launch } from '../machine/launch.ts';
import { WorkgroupSlot } from './workgroup.ts';

/** Stores the sum of v9, which nothing has written, and the workgroup's id in each lane's place. */
const KERNEL = `
  v_lshlrev_b32 v0, 2, v0
  s_lshl_b32 s3, s2, 8
  v_add_u32 v0, s3, v0
  v_add_u32 v9, s2, v9
  global_store_dword v0, v9, s[0:1]
  v_mov_b32 v9, 77
  s_endpgm`;

function finish({ emulator }: EmulatorRig): void {
  while (emulator.advance(5) !== 'idle');
}

test('launches of kernels that take turns have the slots of those before', () => {
  using rig = new EmulatorRig();
  const kernels = [rig.place(KERNEL), rig.place(`s_nop 0\n${KERNEL}`)];
  const { state } = rig.emulator;
  let [allocations, usedBytes] = [0, 0];
  const allocate = state.allocate.bind(state);
  state.allocate = (sizeBytes, owner) => {
    if (owner !== undefined) allocations++;
    return allocate(sizeBytes, owner);
  };
  for (let i = 0; i < 10; i++) {
    rig.emulator.memory.bytes.fill(255, rig.buffer, rig.buffer + 1024);
    rig.entry = kernels[i % 2]!;
    rig.launch({ gridSize: [256, 1, 1] });
    finish(rig);
    for (let item = 0; item < 256; item++) assert.equal(rig.dword(item), item >> 6, `launch ${i}, item ${item}`);
    if (i === 1) usedBytes = state.usedBytes;
  }
  assert.equal(allocations, kernels.length);
  assert.equal(state.usedBytes, usedBytes);
});

test('a slot is for launches alone for which one like it would be made', () => {
  using rig = new EmulatorRig();
  const launch: Launch = { ...PLAIN_LAUNCH, entry: rig.place(KERNEL) };
  const slot = new WorkgroupSlot(rig.emulator, launch);
  assert.ok(slot.fits({ ...launch, gridSize: [6400, 2, 1], mode: 0 }));
  const others: readonly Partial<Launch>[] = [
    { entry: launch.entry + 4 },
    { waveSize: 32 },
    { workgroupSize: [32, 2, 1] },
    { ldsSizeBytes: 64 },
    { privateSizeBytes: 64 },
    { workgroupIdSgprs: [3, undefined, undefined] },
    { packedWorkgroupIdSgpr: 3 },
    { vgprCount: 32 },
    { agprCount: 32 },
  ];
  for (const other of others) assert.ok(!slot.fits({ ...launch, ...other }), JSON.stringify(other));
});

test('a slot with memory of the device is not kept', () => {
  using rig = new EmulatorRig();
  rig.place(KERNEL);
  const { regions } = rig.emulator.memory.usage;
  for (const sizes of [{ ldsSizeBytes: 64 }, { privateSizeBytes: 64 }]) {
    rig.launch(sizes);
    finish(rig);
    assert.equal(rig.emulator.memory.usage.regions, regions);
  }
});

test('no slot is kept for code that goes', () => {
  using rig = new EmulatorRig();
  const { state } = rig.emulator;
  const slots = new Set<number>();
  const [allocate, free] = [state.allocate.bind(state), state.free.bind(state)];
  state.allocate = (sizeBytes, owner) => {
    const offset = allocate(sizeBytes, owner);
    if (owner !== undefined) slots.add(offset);
    return offset;
  };
  state.free = (offset) => {
    slots.delete(offset);
    free(offset);
  };
  rig.run(KERNEL);
  assert.equal(slots.size, 1);
  rig.emulator.withdrawCode(rig.entry);
  assert.equal(slots.size, 0);
});
