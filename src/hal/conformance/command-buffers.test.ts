/** What command buffers can do beyond what IREE asks for: findings, control flow, nesting, events. */
import assert from 'node:assert/strict';
import { bufferOf, contentsOf, integersOf } from './readback.test-support.ts';
import { onSubjects } from './subject.test-support.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

onSubjects('a recorded program runs with other buffers in its slots each time', async ({ device, load }) => {
  using code = load();
  const entry = code.lookup('scale_and_offset');
  using program = device.record({ slots: ['in', 'out'], label: 'twice' }, (commands) => {
    using middle = device.allocate(16);
    commands.dispatch({ entry, groups: 1, constants: [2, 1], bindings: [{ slot: 'in' }, middle] }).barrier();
    commands.dispatch({ entry, groups: 1, constants: [2, 1], bindings: [middle, { slot: 'out', offsetBytes: 16 }] });
  });
  assert.deepEqual(program.findings, []);
  using output = device.allocate(32);
  const queue = device.queue();
  for (const start of [1, 100]) {
    using input = await bufferOf(device, Int32Array.of(start, 0, 0, 0));
    await queue.execute({ commands: program, bindings: { in: input, out: output } });
    if (device.physicalDevices[0]!.executes) {
      assert.deepEqual((await integersOf(device, output)).slice(4), [4 * start + 3, 3, 3, 3]);
    }
  }
  assert.equal(program.executions, 2);
});

onSubjects('everything that is wrong is said at once, with its command', async ({ device, load }) => {
  using code = load();
  using buffer = device.allocate(16);
  const entry = code.lookup('scale_and_offset');
  const wrong = (commands: Parameters<Parameters<typeof device.record>[1]>[0]) =>
    commands
      .fill({ target: buffer, pattern: bytes(1, 2, 3) })
      .copy({ source: buffer, target: buffer })
      .dispatch({ entry, groups: 1, constants: [1], bindings: [{ slot: 0 }, { slot: 7 }] })
      .update({ contents: new Uint8Array(65_537), target: buffer })
      .barrier();
  const findings = device.validate({ slots: 1 }, wrong);
  assert.deepEqual(
    findings.map(({ severity, command }) => [severity, command]),
    [0, 1, 2, 3].map((command) => ['error', command]),
  );
  assert.throws(() => device.record({ slots: 1 }, wrong), {
    status: 'INVALID_ARGUMENT',
    message: /command 0: a pattern of 3 bytes.*command 1: .*overlaps.*command 2: 1 words of constants.*command 3: /s,
  });
});

onSubjects('commands that race are a warning, until there is a barrier', async ({ device }) => {
  using buffer = device.allocate(64);
  const [left, right] = [buffer.subspan(0, 32), buffer.subspan(32)];
  const racing = device.validate({}, (commands) => {
    commands.fill({ target: left, pattern: bytes(1) }).fill({ target: right, pattern: bytes(2) });
    commands.copy({ source: left, target: right });
  });
  assert.deepEqual(racing, [
    { severity: 'warning', command: 2, message: 'reads what command 0 writes, without a barrier' },
    { severity: 'warning', command: 2, message: 'writes what command 1 writes, without a barrier' },
  ]);
  const ordered = device.validate({}, (commands) => {
    commands
      .fill({ target: left, pattern: bytes(1) })
      .fill({ target: right, pattern: bytes(2) })
      .barrier();
    commands.copy({ source: left, target: right });
  });
  assert.deepEqual(ordered, []);
});

onSubjects('programs branch and loop on what memory holds', async ({ device }) => {
  // A shift register: as long as its first word is not 0, its words move down.
  using words = await bufferOf(device, Int32Array.of(1, 2, 3, 0, 9));
  using copy = device.allocate(20);
  using flag = device.allocate(8);
  using program = device.record({ slots: ['state', 'flag'], label: 'loop' }, (commands) => {
    commands.while({ slot: 'state', sizeBytes: 4 }, (body) =>
      body
        .copy({ source: { slot: 'state', offsetBytes: 4, sizeBytes: 16 }, target: copy.subspan(0, 16) })
        .barrier()
        .copy({ source: copy.subspan(0, 16), target: { slot: 'state', sizeBytes: 16 } }),
    );
    commands.if(
      { slot: 'state', offsetBytes: 4, sizeBytes: 4 },
      (yes) => yes.fill({ target: { slot: 'flag', sizeBytes: 4 }, pattern: bytes(7) }),
      (no) => no.fill({ target: { slot: 'flag', sizeBytes: 4 }, pattern: bytes(8) }),
    );
    commands.if({ slot: 'state', sizeBytes: 4 }, (yes) => yes.fill({ target: { slot: 'flag' }, pattern: bytes(1) }));
  });
  await device.queue().execute({ commands: program, bindings: [words, flag] });
  assert.deepEqual(await integersOf(device, words), [0, 9, 9, 9, 9]);
  assert.deepEqual([...(await contentsOf(device, flag))], [7, 7, 7, 7, 0, 0, 0, 0]);
});

onSubjects('a program that loops for ever lets the host go on, and ends with its device', async ({ device }) => {
  using one = await bufferOf(device, Int32Array.of(1));
  using target = device.allocate(4);
  using program = device.record({}, (commands) =>
    commands.while(one, (body) => body.fill({ target, pattern: bytes(5) })),
  );
  const end = device.queue().execute({ commands: program });
  await device.queue().barrier();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(end.state, 'running');
  device[Symbol.dispose]();
  assert.equal(end.failure?.status, 'CANCELLED');
});

onSubjects('programs are parts of programs', async ({ device }) => {
  using inner = device.record({ slots: 1 }, (commands) => commands.fill({ target: { slot: 0 }, pattern: bytes(3) }));
  using outer = device.record({ slots: ['x'] }, (commands) => {
    commands.execute(inner, [{ slot: 'x', offsetBytes: 4, sizeBytes: 4 }]);
    commands.copy({ source: { slot: 'x', offsetBytes: 4, sizeBytes: 2 }, target: { slot: 'x', sizeBytes: 2 } });
  });
  using buffer = device.allocate(8);
  await device.queue().execute({ commands: outer, bindings: [buffer] });
  assert.deepEqual([...(await contentsOf(device, buffer))], [3, 3, 0, 0, 3, 3, 3, 3]);
  using readOnly = device.allocate(8, { usage: 'transfer-source' });
  assert.throws(() => device.queue().execute({ commands: outer, bindings: [readOnly] }), {
    status: 'PERMISSION_DENIED',
  });
});

onSubjects('tables are held against all that a program does with them', async ({ device }) => {
  using program = device.record({ slots: ['a', 'unused'] }, (commands) =>
    commands.fill({ target: { slot: 'a', offsetBytes: 8, sizeBytes: 8 }, pattern: bytes(1) }),
  );
  using small = device.allocate(15);
  const run = (bindings: Parameters<ReturnType<typeof device.queue>['execute']>[0]['bindings']) =>
    device.queue().execute({ commands: program, ...(bindings && { bindings }) });
  assert.throws(() => run(undefined), { status: 'INVALID_ARGUMENT', message: /slot 0 \(a\) .* has no buffer/ });
  assert.throws(() => run({ b: small }), { status: 'INVALID_ARGUMENT', message: /no slot 'b'/ });
  assert.throws(() => run([small]), { status: 'OUT_OF_RANGE', message: /has 15 bytes, its commands use 16/ });
  using once = device.record({ mode: 'one-shot' }, (commands) => commands.barrier());
  await device.queue().execute({ commands: once });
  assert.throws(() => device.queue().execute({ commands: once }), { status: 'FAILED_PRECONDITION' });
});

onSubjects('an event of one program holds another', async ({ device }) => {
  const event = device.createEvent();
  using buffer = device.allocate(4);
  using waiting = device.record({}, (commands) =>
    commands
      .waitEvents(event)
      .fill({ target: buffer, pattern: bytes(2) })
      .resetEvent(event),
  );
  using setting = device.record({}, (commands) => commands.fill({ target: buffer, pattern: bytes(1) }).setEvent(event));
  const late = device.queue(0).execute({ commands: waiting });
  await device.queue(1).execute({ commands: setting });
  await late;
  assert.deepEqual([...(await contentsOf(device, buffer))], [2, 2, 2, 2]);
  assert.equal(event.isSet, false);
});

onSubjects('what fails in a program fails its execution, when all that began has ended', async ({ device, load }) => {
  using code = load();
  using counts = await bufferOf(device, Uint32Array.of(0xffff_ffff, 2 ** 30, 1));
  using out = device.allocate(16);
  const entry = code.lookup('export0');
  using program = device.record({}, (commands) =>
    commands
      .fill({ target: out, pattern: bytes(1) })
      .dispatch({ entry, workgroupSize: 64, groups: { from: counts }, constants: [0, 0], bindings: [out, counts] })
      .barrier()
      .fill({ target: out, pattern: bytes(2) }),
  );
  const end = device.createSemaphore();
  device.queue().execute({ commands: program, signals: [end.at(1)], label: 'bad' });
  await assert.rejects(end.wait(1), { status: 'INVALID_ARGUMENT', message: /^execute 'bad' .* failed: a grid of/ });
  assert.deepEqual([...(await contentsOf(device, out.subspan(0, 2)))], [1, 1]);
});
