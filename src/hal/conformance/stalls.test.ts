/** What stands still says why: in reports when somebody asks or nothing moves, and in errors of waits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../../assembler/assemble-file.ts';
import { formatStall, type StallReport } from '../core/stall.ts';
import type { LogicalDevice } from '../devices/logical-device.ts';
import { failureOf } from './cts.test-support.ts';
import { createRegistry, onSubjects } from './subject.test-support.ts';

const ONE = Uint8Array.of(1);
const kindsOf = ({ causes }: StallReport) =>
  causes.map(({ kind, operations }) => [kind, ...operations.map(({ id }) => id)]);

onSubjects('a semaphore that nobody signals is the cause, by its name', async ({ device }) => {
  const gate = device.createSemaphore({ label: 'gate' });
  const [one, two] = [device.createSemaphore({ label: 'one' }), device.createSemaphore({ label: 'two' })];
  using target = device.allocate(16);
  const order = { waits: [gate.at(3)], signals: [one.at(1)], label: 'first' };
  const first = device.queue().fill({ target, pattern: ONE, ...order });
  const second = device.queue(1).barrier({ waits: [one.at(1)], signals: [two.at(1)] });
  const report = device.explainStall();
  assert.deepEqual(kindsOf(report), [['semaphore', first.info.id]]);
  assert.deepEqual(report.operations[1]!.blockers, [
    { kind: 'semaphore', semaphore: 'one', wantedValue: 1, presentValue: 0, signalledBy: [first.info] },
  ]);
  assert.ok(structuredClone(report), 'it is plain data');
  const why =
    /'gate' ≥ 3 is at 0, and nothing that was submitted signals it; for it waits fill 'first' \(operation 1 of/;
  assert.match(formatStall(report), why);
  assert.match(formatStall(report), /barrier \(operation 2 of .*: waits for 'one' ≥ 1, which is at 0; fill 'first'/);
  assert.throws(() => two.waitSync(1), { status: 'FAILED_PRECONDITION', message: why });
  const late = await failureOf(two.wait(1, { timeoutMs: 1 }));
  assert.equal(late.status, 'DEADLINE_EXCEEDED');
  assert.match(late.message, why);
  const alone = await failureOf(gate.wait(9, { timeoutMs: 1 }));
  assert.match(alone.message, /: 'gate' ≥ 9, which is at 0: nothing that was submitted signals 'gate' ≥ 9$/);
  gate.signal(3);
  await second;
  assert.deepEqual(device.explainStall(), { name: device.name, operations: [], causes: [] });
});

onSubjects('operations that wait for each other are a circle, over two devices, too', async ({ registry, device }) => {
  const other = await registry.open('null');
  const [a, b, c] = ['a', 'b', 'c'].map((label) => device.createSemaphore({ label }));
  const one = device.queue(0).barrier({ waits: [a!.at(1)], signals: [b!.at(1)], label: 'one' });
  const two = device.queue(1).barrier({ waits: [b!.at(1)], signals: [c!.at(1)], label: 'two' });
  // It signals what is waited for in the circle, and nobody knows that it is not going to.
  const way = device.queue().barrier({ waits: [c!.at(5)], signals: [b!.at(2)] });
  const three = other.queue().barrier({ waits: [c!.at(1)], signals: [a!.at(1)], label: 'three' });
  const behind = device.queue().barrier({ waits: [three] });
  assert.deepEqual(kindsOf(device.explainStall()), [['semaphore', way.info.id]]);
  assert.deepEqual(kindsOf(other.explainStall()), [['semaphore', way.info.id]]);
  b!.signal(1);
  await behind;
  const round = device.queue().barrier({ waits: [c!.at(3)], signals: [b!.at(4)], label: 'round' });
  const back = device.queue(1).barrier({ waits: [b!.at(4)], signals: [c!.at(3)], label: 'back' });
  const { causes } = device.explainStall();
  assert.deepEqual(causes.map(({ kind, operations }) => [kind, operations.length]).at(-1), ['circle', 2]);
  const text =
    /wait for each other: barrier 'round' .* waits for 'c' ≥ 3 \(at 1\) from barrier 'back' .*; barrier 'back' .* 'b' ≥ 4 \(at 1\)/;
  assert.match(causes.at(-1)!.text, text);
  c!.signal(5);
  await Promise.all([one, two, way, three, round, back]);
});

onSubjects('functions of the host, files and events that do not come', async ({ device }) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const call = device.queue().hostCall({ call: () => promise });
  using target = device.allocate(4);
  const file = { read: () => promise.then(() => 0), write: () => promise.then(() => 0) };
  const read = device.queue().read({ file, target });
  const event = device.createEvent('mark');
  using commands = device.record({}, (recorder) => recorder.waitEvents(event));
  const execution = device.queue().execute({ commands });
  await device.queue().barrier();
  assert.deepEqual(
    device.explainStall().operations.map(({ blockers }) => blockers),
    [
      [{ kind: 'host', what: 'the promise of its function' }],
      [{ kind: 'host', what: 'its file' }],
      [{ kind: 'host', what: "event 'mark'" }],
    ],
  );
  event.set();
  resolve();
  await Promise.all([call, execution]);
  assert.equal((await failureOf(read)).status, 'OUT_OF_RANGE');
});

/** Loops until a word is not zero. */
const SPIN = `
  .text
  .globl spin
  .p2align 8
  .type spin,@function
spin:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_mov_b32 v0, 0
  s_waitcnt lgkmcnt(0)
again:
  global_load_dword v1, v0, s[2:3] glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s4, v1
  s_cmp_eq_u32 s4, 0
  s_cbranch_scc1 again
  s_endpgm
  .size spin, .-spin
  .rodata
  .p2align 6
  .amdhsa_kernel spin
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_kernarg_size 8
    .amdhsa_next_free_vgpr 2
    .amdhsa_next_free_sgpr 5
    .amdhsa_accum_offset 4
  .end_amdhsa_kernel
  .amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a
amdhsa.kernels:
  - .name: spin
    .symbol: spin.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 5
    .vgpr_count: 2
    .max_flat_workgroup_size: 64
    .args:
      - .value_kind: global_buffer
        .address_space: global
        .offset: 0
        .size: 8
  .end_amdgpu_metadata
`;

/** A device with a kernel that does not end before `stop` is called, and what its watchdog says first. */
async function spinning(parameters: string) {
  const registry = createRegistry();
  const { promise, resolve } = Promise.withResolvers<StallReport>();
  const device: LogicalDevice = await registry.open(`amdgpu?stall=50&${parameters}`, { onStall: resolve });
  const code = device.load(assembleFile(SPIN, { processor: 'gfx90a', file: 'spin.s' }));
  const word = device.allocate(4, { memoryType: 'host-local', usage: ['default', 'mapping'] });
  const spin = { entry: code.lookup('spin'), groups: 1, workgroupSize: 64, bindings: [word], label: 'spin' };
  return { registry, device, spin, report: promise, stop: () => word.write(Uint8Array.of(1, 0, 0, 0)) };
}

test('a kernel that hangs is the cause; what is behind it, waits for it and finds no room says so', async () => {
  const { registry, device, spin, report, stop } = await spinning('ring=4&waits=barrier-value');
  using _ = registry;
  const hung = device.queue(0).dispatch(spin);
  const behind = device.queue(0).dispatch({ ...spin, label: 'behind' });
  const held = device.queue(1).dispatch({ ...spin, label: 'held', waits: [hung] });
  const more = Array.from({ length: 4 }, () => device.queue(0).dispatch({ ...spin, label: 'more' }));
  const found = await report;
  assert.ok(found.idleMs! >= 50);
  assert.deepEqual(kindsOf(found), [['running', hung.info.id]]);
  const queue = { completedEpoch: 0, submittedEpoch: 4 };
  const standings = found.operations.map(({ blockers: [blocker] }) => blocker);
  assert.deepEqual(standings.slice(0, 2), [
    { kind: 'queue', standing: { kind: 'running', ...queue } },
    { kind: 'queue', standing: { kind: 'behind', of: hung.info, ...queue } },
  ]);
  assert.deepEqual(standings[2], {
    kind: 'queue',
    standing: { kind: 'held', by: [hung.info], completedEpoch: 0, submittedEpoch: 2 },
  });
  assert.deepEqual(standings.at(-1), {
    kind: 'queue',
    standing: { kind: 'parked', ring: 'packets', until: hung.info, ...queue },
  });
  const text = formatStall(found);
  assert.match(
    text,
    /nothing began or ended for \d+ ms, 7 operations have not ended\n {2}cause: dispatch 'spin' \(operation 1 of/,
  );
  assert.match(text, /runs and does not end: 0 of 4 submissions of its queue are complete/);
  assert.match(text, /dispatch 'held' .* is in its queue, which waits for dispatch 'spin'/);
  assert.match(text, /dispatch 'more' .* has no room in the ring of packets until dispatch 'spin' .* ends/);
  stop();
  await Promise.all([hung, behind, held, ...more]);
});

test('rings of arguments and of notifications that are full are named', async () => {
  for (const [parameters, ring] of [
    ['notifications=1', 'notifications'],
    ['kernargs=5', 'arguments'],
  ]) {
    const { registry, device, spin, report, stop } = await spinning(parameters!);
    using _ = registry;
    const ends = Array.from({ length: 8 }, () => device.queue().dispatch(spin));
    const { operations } = await report;
    const last = operations.at(-1)!.blockers[0];
    assert.ok(last?.kind === 'queue' && last.standing.kind === 'parked');
    assert.deepEqual([last.standing.ring, last.standing.until], [ring, ends[0]!.info]);
    stop();
    await Promise.all(ends);
  }
});

test('a limit without anybody who is told is refused, and 0 watches nothing', async () => {
  const registry = createRegistry();
  using _ = registry;
  for (const driver of ['amdgpu', 'null']) {
    const refused = { status: 'INVALID_ARGUMENT', message: /parameter stall=5: nobody is told/ };
    await assert.rejects(registry.open(`${driver}?stall=5`), refused);
    const device = await registry.open(`${driver}?stall=0`, { onStall: () => assert.fail() });
    const gate = device.createSemaphore();
    assert.equal((await failureOf(gate.wait(1, { timeoutMs: 5 }))).status, 'DEADLINE_EXCEEDED');
  }
});

test('who waits on the spot is told, too; standstills are reported once each, long work is none', async () => {
  const registry = createRegistry();
  using _ = registry;
  const reports: StallReport[] = [];
  const device = await registry.open('local?stall=20', { onStall: (report) => reports.push(report) });
  const gate = device.createSemaphore();
  const { promise, resolve } = Promise.withResolvers<void>();
  const call = device.queue().hostCall({ call: () => promise });
  const waitLong = () => assert.throws(() => gate.waitSync(1, { timeoutMs: 30 }), { status: 'DEADLINE_EXCEEDED' });
  while (reports.length === 0) waitLong();
  waitLong();
  resolve();
  await call;
  for (let i = 0; i < 5; i++) {
    await new Promise((done) => setTimeout(done, 10));
    await device.queue().barrier();
  }
  assert.equal(reports.length, 1);
  const end = device.queue().barrier({ waits: [gate.at(1)] });
  while (reports.length === 1) await new Promise((done) => setTimeout(done, 10));
  await new Promise((done) => setTimeout(done, 50));
  assert.deepEqual(reports.map(kindsOf), [[['host', 1]], [['semaphore', end.info.id]]]);
  gate.signal(1);
  await end;
});
