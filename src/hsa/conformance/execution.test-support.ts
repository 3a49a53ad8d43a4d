/**
 * What becomes of launches: they complete with times on every device; on those that execute, kernels do what
 * they say.
 */
import assert from 'node:assert/strict';
import { assembleFile } from '../../assembler/assemble-file.ts';
import { linkCodeObject } from '../../linker/link.ts';
import { CodeObjectReader } from '../executables/loaded-code-object.ts';
import type { Signal } from '../signals/signal.ts';
import { refused, type Setting, type Subject, withRuntime } from './subject.test-support.ts';

/** A kernel that stores 42 where its argument points to. */
function storeKernel(processor: string): Uint8Array {
  const [load, store] = processor.startsWith('gfx9')
    ? ['s_load_dwordx2', 'global_store_dword']
    : ['s_load_b64', 'global_store_b32'];
  const source = `.text
.globl store
.p2align 8
.type store,@function
store:
${load} s[2:3], s[0:1], 0x0
v_mov_b32 v0, 0
v_mov_b32 v1, 42
s_waitcnt lgkmcnt(0)
${store} v0, v1, s[2:3]
s_endpgm
.size store, .-store
.rodata
.p2align 6
.amdhsa_kernel store
 .amdhsa_next_free_vgpr 8
 .amdhsa_next_free_sgpr 8
${processor === 'gfx90a' ? ' .amdhsa_accum_offset 8\n' : ''} .amdhsa_kernarg_size 8
 .amdhsa_user_sgpr_kernarg_segment_ptr 1
.end_amdhsa_kernel
`;
  return linkCodeObject([{ bytes: assembleFile(source, { processor }), name: 'store.o' }]);
}

/** Launches the kernel for one wave with a pointer to `target`; returns the completion signal. */
function launchStore({ device, runtime, agent }: Setting, target: bigint): Signal {
  const executable = runtime.createExecutable();
  executable.loadCodeObject(agent, new CodeObjectReader(storeKernel(device.properties.processor)));
  executable.freeze();
  const kernarg = runtime.cpuAgent.pool('kernarg').allocate(16);
  const bytes = runtime.view(kernarg, 16);
  new DataView(bytes.buffer, bytes.byteOffset, 16).setBigUint64(0, target, true);
  const completionSignal = runtime.createSignal(1n);
  const kernel = executable.getSymbol('store.kd').address;
  runtime.createQueue(agent).dispatch({ kernel, grid: [64], workgroup: [64], kernarg, completionSignal });
  return completionSignal;
}

export function conformExecution(subject: Subject): void {
  withRuntime(subject, 'a launch completes, with times in order', (setting) => {
    const target = setting.runtime.cpuAgent.pool('fine-grained').allocate(4096);
    const done = launchStore(setting, target);
    assert.equal(done.waitSync('lt', 1n), 0n);
    assert.ok(done.startTicks > 0n && done.startTicks <= done.endTicks);
  });

  withRuntime(
    subject,
    'a kernel stores what it should',
    (setting) => {
      const target = setting.runtime.cpuAgent.pool('fine-grained').allocate(4096);
      launchStore(setting, target).waitSync('lt', 1n);
      assert.deepEqual([...setting.runtime.view(target, 8)], [42, 0, 0, 0, 0, 0, 0, 0]);
    },
    { needs: ['execution'] },
  );

  withRuntime(
    subject,
    'a store to memory that is not there ends the queue',
    (setting) => {
      const done = launchStore(setting, 4096n);
      assert.throws(() => done.waitSync('lt', 1n), refused('MEMORY_FAULT'));
      assert.equal(done.load(), 1n);
    },
    { needs: ['execution', 'faults'] },
  );
}
