/** A fault ends the queue that it happened in, and nothing else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../../assembler/assemble-file.ts';
import { createEmulatedDevice } from '../../devices/emulated/index.ts';
import { linkCodeObject } from '../../linker/link.ts';
import { CodeObjectReader } from '../executables/loaded-code-object.ts';
import { HsaError } from '../objects/status.ts';
import type { QueueError } from '../queues/packet-processor.ts';
import { createRuntime } from './runtime.ts';

/** Adds 1 to the word of each work-item. */
const SOURCE = `.text
.globl increment
.p2align 8
.type increment,@function
increment:
  s_load_dwordx2 s[0:1], s[0:1], 0x0
  v_lshlrev_b32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[0:1]
  s_waitcnt vmcnt(0)
  v_add_u32 v1, 1, v1
  global_store_dword v0, v1, s[0:1]
  s_endpgm
.size increment, .-increment
.rodata
.p2align 6
.amdhsa_kernel increment
 .amdhsa_user_sgpr_kernarg_segment_ptr 1
 .amdhsa_kernarg_size 8
 .amdhsa_next_free_vgpr 2
 .amdhsa_next_free_sgpr 8
 .amdhsa_accum_offset 4
.end_amdhsa_kernel
`;
const QUEUES = 8;
const DISPATCHES = 30;
const BAD_QUEUE = 3;
const BAD_DISPATCH = 12;
const LANES = 64;

test('a fault in one of many queues', () => {
  using runtime = createRuntime({ devices: [createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 26 })] });
  const agent = runtime.gpuAgents[0]!;
  const executable = runtime.createExecutable();
  const image = linkCodeObject([{ bytes: assembleFile(SOURCE, { processor: 'gfx90a' }), name: 'increment.o' }]);
  executable.loadCodeObject(agent, new CodeObjectReader(image));
  executable.freeze();
  const kernel = executable.getSymbol('increment.kd').address;
  const pool = runtime.cpuAgent.pool('kernarg');
  const pointerTo = (address: bigint): bigint => {
    const kernarg = pool.allocate(8);
    const bytes = runtime.view(kernarg, 8);
    new DataView(bytes.buffer, bytes.byteOffset).setBigUint64(0, address, true);
    return kernarg;
  };
  const errors: [number, QueueError][] = [];
  const events: string[] = [];
  runtime.onSystemEvent(({ kernel: name, address }) => events.push(`${name} 0x${address.toString(16)}`));
  const outputs = Array.from({ length: QUEUES }, () => pool.allocate(4 * LANES));
  const queues = outputs.map((_, i) => runtime.createQueue(agent, { onError: (error) => errors.push([i, error]) }));
  const done = queues.map(() => runtime.createSignal(BigInt(DISPATCHES)));
  const launch = { kernel, grid: [LANES], workgroup: [LANES] };
  const nowhere = pointerTo(0x4000n);
  const kernargs = outputs.map(pointerTo);
  for (let n = 0; n < DISPATCHES; n++) {
    for (const [i, queue] of queues.entries()) {
      const kernarg = i === BAD_QUEUE && n === BAD_DISPATCH ? nowhere : kernargs[i]!;
      if (queue.error === undefined) queue.dispatch({ ...launch, kernarg, completionSignal: done[i]! });
    }
  }
  while (runtime.progress() !== 'idle');
  const words = (address: bigint): number[] => {
    const bytes = runtime.view(address, 4 * LANES);
    return [...new Uint32Array(bytes.buffer, bytes.byteOffset, LANES)];
  };
  for (const [i, output] of outputs.entries()) {
    const ran = i === BAD_QUEUE ? BAD_DISPATCH : DISPATCHES;
    assert.deepEqual(words(output), new Array(LANES).fill(ran), `queue ${i}`);
    assert.equal(done[i]!.load(), BigInt(DISPATCHES - ran));
  }
  assert.deepEqual(
    errors.map(([i, { packetIndex, kernel: name }]) => [i, packetIndex, name]),
    [[BAD_QUEUE, BigInt(BAD_DISPATCH), 'increment']],
  );
  assert.deepEqual(events, ['increment 0x4000']);
  const { error } = queues[BAD_QUEUE]!.error!;
  assert.ok(error instanceof HsaError && error.status === 'MEMORY_FAULT');
  assert.match(error.message, /0x4000.*increment/);
  // The agent works on, with a new queue in place of the one that ended.
  queues[BAD_QUEUE]![Symbol.dispose]();
  const again = runtime.createSignal(1n);
  runtime.createQueue(agent).dispatch({ ...launch, kernarg: kernargs[BAD_QUEUE]!, completionSignal: again });
  assert.equal(again.waitSync('eq', 0n), 0n);
  assert.deepEqual(words(outputs[BAD_QUEUE]!), new Array(LANES).fill(BAD_DISPATCH + 1));
});
