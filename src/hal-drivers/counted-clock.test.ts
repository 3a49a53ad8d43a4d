/** With a counted clock and a seed everything is the same in every run: events, times, what kernels read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conformanceCode } from '../hal/conformance/subject.test-support.ts';
import { createHal, type HalOptions, type ProfileEvent } from './index.ts';

/** A profile of kernels, transfers and command buffers on four queues of two GPUs. */
async function profileOf(options: HalOptions, seed: number): Promise<string> {
  await using hal = createHal({ ...options, processors: ['gfx90a', 'gfx90a'] });
  const device = await hal.open(`amdgpu?seed=${seed}`);
  using code = device.load(conformanceCode('gfx90a'));
  const events: ProfileEvent[] = [];
  const clocks: unknown[] = [];
  const sink = {
    write: (chunk: { readonly events: readonly ProfileEvent[]; readonly clocks: readonly unknown[] }) => {
      events.push(...chunk.events);
      clocks.push(...chunk.clocks);
    },
  };
  const totals = [0, 1].map((deviceOrdinal) => device.allocate(64, { deviceOrdinal }));
  const count = { entry: code.lookup('count_workgroups'), groups: 7 };
  using program = device.record({ slots: ['total'] }, (commands) => {
    commands.dispatch({ ...count, bindings: [{ slot: 'total' }] }).barrier();
    commands.dispatch({ ...count, bindings: [{ slot: 'total' }] });
  });
  const session = await device.profile({ sink });
  const gate = device.createSemaphore({ label: 'gate' });
  const ends = device.queues.flatMap((queue, i) => {
    const total = totals[queue.deviceOrdinal]!;
    const waits = [gate.at(1)];
    const fill = queue.fill({ target: total.subspan(16 * i, 16), pattern: Uint8Array.of(i), waits });
    const many = Array.from({ length: 4 }, () => queue.dispatch({ ...count, bindings: [total], waits }));
    return [...many, queue.execute({ commands: program, bindings: { total }, waits: [fill] })];
  });
  gate.signal(1);
  await device.queue(0).barrier({ waits: ends });
  await session.end();
  for (const total of totals) total[Symbol.dispose]();
  const text = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}` : value);
  return JSON.stringify({ events, clocks }, text, 1);
}

test('a profile is the same again, and another schedule has another one', async () => {
  const first = await profileOf({ clock: 'counted' }, 1);
  assert.ok(first.includes('"data": "dispatch-events"') && first.includes('"data": "device-queue-events"'));
  for (let run = 0; run < 3; run++) {
    const again = await profileOf({ clock: 'counted' }, 1);
    const [lines, others] = [first.split('\n'), again.split('\n')];
    const differing = lines.findIndex((line, i) => line !== others[i]);
    assert.equal(differing, -1, `line ${differing}: ${lines[differing]}, then ${others[differing]}`);
  }
  assert.ok((await profileOf({ clock: 'counted' }, 2)) !== first);
  assert.ok((await profileOf({}, 1)) !== first, 'time of the host is another one');
});

test('workers go by the time of the host', async () => {
  using hal = createHal({ clock: 'counted', workers: 2 });
  await assert.rejects(Promise.resolve(hal.open('amdgpu')), /workers go by the time of the host/);
});
