/** What work costs grows with the work and no faster: counted in memory, instructions and bytes of WebAssembly, never in time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Emulator } from '../src/emulator/emulator.ts';
import type { EmulatorDispatch } from '../src/emulator/schedule/dispatch.ts';

const S_ENDPGM = 0xbf810000;
/** s_mov_b32 s0, `rounds`; s_sub_u32 s0, s0, 1; s_cmp_lg_u32 s0, 0; s_cbranch_scc1 back to the subtraction. */
const loop = (rounds: number): number[] => [0xbe8000ff, rounds, 0x80808100, 0xbf078000, 0xbf85fffd];
/** v_add_u32 among v1 to v20, another one for each number. */
const add = (i: number): number =>
  (0x68000000 | ((1 + (i % 20)) << 17) | ((1 + ((i * 7) % 20)) << 9) | (256 + 1 + ((i * 3) % 20))) >>> 0;

class Rig {
  readonly emulator = new Emulator({ processor: 'gfx90a', compileThreshold: 1, memorySizeBytes: 2 ** 28 });
  readonly #entry: number;

  /** `code`: dwords, or how many additions; the end follows. */
  constructor(code: number | readonly number[]) {
    const { memory } = this.emulator;
    const dwords = [...(typeof code === 'number' ? Array.from({ length: code }, (_, i) => add(i)) : code), S_ENDPGM];
    this.#entry = memory.allocate(dwords.length * 4);
    for (const [i, dword] of dwords.entries()) memory.view.setUint32(this.#entry + i * 4, dword, true);
  }

  /** Runs so many workgroups of one wave; `look` is called now and then. */
  run(workgroups: number, look = () => {}): EmulatorDispatch {
    const dispatch = this.emulator.dispatch({
      entry: this.#entry,
      waveSize: 64,
      gridSize: [64 * workgroups, 1, 1],
      workgroupSize: [64, 1, 1],
      ldsSizeBytes: 1024,
      privateSizeBytes: 64,
      userSgprs: new Uint32Array(),
      scratchDescriptorSgpr: undefined,
      flatScratchSgpr: undefined,
      workgroupIdSgprs: [2, undefined, undefined],
      scratchOffsetSgpr: undefined,
      workItemIdComponents: 0,
      mode: 0x3f0,
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
  const rig = new Rig(20);
  for (let i = 0; i < 10; i++) rig.run(1);
  const before = rig.usage;
  for (let i = 0; i < 5000; i++) rig.run(1);
  assert.deepEqual(rig.usage, before);
});

test('a large grid takes the memory of a small one', () => {
  const rig = new Rig(20);
  const most = (workgroups: number): number => {
    let bytes = 0;
    const dispatch = rig.run(workgroups, () => {
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
      rig.run(workgroups, () => {
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
      const rig = new Rig(instructions);
      for (let i = 0; i < 4; i++) rig.run(4);
      return { code: bytes, memory: rig.usedBytes };
    }) as [{ code: number; memory: number }, { code: number; memory: number }];
    assert.ok(small.code > 1000, `${small.code} bytes of code`);
    assert.ok(large.code < small.code * 8 * 1.2, `${large.code} bytes of code for 8 times ${small.code}`);
    assert.ok(large.memory < small.memory * 8 * 1.2, `${large.memory} bytes of memory for 8 times ${small.memory}`);
  } finally {
    WebAssembly.Module = Module;
  }
});
