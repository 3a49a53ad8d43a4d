/**
 * What work costs grows with the work and no faster: counted in memory, instructions and bytes of
 * WebAssembly, never in time.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EmulatorDispatch } from '../src/emulator/dispatch.ts';
import { EmulatorRig } from '../src/emulator/emulator-rig.test-support.ts';

const loop = (rounds: number): string => `
  s_mov_b32 s0, ${rounds}
.Lloop:
  s_sub_u32 s0, s0, 1
  s_cmp_lg_u32 s0, 0
  s_cbranch_scc1 .Lloop
  s_endpgm`;

/** Additions among v1 to v20, another one for each number. */
const additions = (count: number): string =>
  Array.from(
    { length: count },
    (_, i) => `v_add_u32 v${1 + (i % 20)}, v${1 + ((i * 3) % 20)}, v${1 + ((i * 7) % 20)}\n`,
  )
    .join('')
    .concat('s_endpgm');

class Rig extends EmulatorRig {
  constructor(code: string) {
    super({ compileThreshold: 1 });
    this.place(code);
  }

  /** Runs so many workgroups of one wave; `look` is called now and then. */
  runGroups(workgroups: number, look = () => {}): EmulatorDispatch {
    const dispatch = this.launch({
      gridSize: [64 * workgroups, 1, 1],
      ldsSizeBytes: 1024,
      privateSizeBytes: 64,
      vgprCount: 24,
      agprCount: 0,
    });
    while (this.emulator.advance(1) !== 'idle') look();
    assert.equal(dispatch.state, 'complete');
    return dispatch;
  }

  /** What is allocated in device memory, and in state memory. */
  get usage() {
    return { device: this.emulator.memory.usage, stateBytes: this.emulator.state.usedBytes };
  }

  get usedBytes(): number {
    return this.usage.device.bytes + this.usage.stateBytes;
  }
}

test('dispatches leave nothing behind', () => {
  const rig = new Rig(additions(20));
  for (let i = 0; i < 10; i++) rig.runGroups(1);
  const before = rig.usage;
  for (let i = 0; i < 5000; i++) rig.runGroups(1);
  assert.deepEqual(rig.usage, before);
});

test('a large grid takes the memory of a small one', () => {
  const rig = new Rig(additions(20));
  const most = (workgroups: number): number => {
    let bytes = 0;
    const dispatch = rig.runGroups(workgroups, () => {
      bytes = Math.max(bytes, rig.usedBytes);
    });
    assert.deepEqual([dispatch.waves, dispatch.instructions], [workgroups, workgroups * 21]);
    return bytes;
  };
  most(1000);
  const small = most(100_000);
  assert.ok(small > 0 && most(1_000_000) === small);
});

test('long workgroups do not pile up', () => {
  for (const rounds of [1_000_000, 3_000_000]) {
    const rig = new Rig(loop(rounds));
    const most = (workgroups: number): number => {
      let bytes = 0;
      rig.runGroups(workgroups, () => {
        bytes = Math.max(bytes, rig.usedBytes);
      });
      return bytes;
    };
    most(1);
    const few = most(10);
    assert.ok(few > 0 && most(60) <= few, `${rounds} rounds: ${most(60)} bytes, with few workgroups ${few}`);
  }
});

test('compiled code grows with the kernel', () => {
  const { Module } = WebAssembly;
  let bytes = 0;
  WebAssembly.Module = class extends Module {
    constructor(code: Uint8Array<ArrayBuffer>) {
      bytes += code.byteLength;
      super(code);
    }
  };
  try {
    const [small, large] = [1000, 8000].map((instructions) => {
      bytes = 0;
      const rig = new Rig(additions(instructions));
      for (let i = 0; i < 4; i++) rig.runGroups(4);
      return { code: bytes, memory: rig.usedBytes };
    }) as [{ code: number; memory: number }, { code: number; memory: number }];
    assert.ok(small.code > 1000, `${small.code} bytes of code`);
    assert.ok(large.code < small.code * 8 * 1.2, `${large.code} bytes of code for 8 times ${small.code}`);
    assert.ok(large.memory < small.memory * 8 * 1.2, `${large.memory} bytes of memory for 8 times ${small.memory}`);
  } finally {
    WebAssembly.Module = Module;
  }
});
