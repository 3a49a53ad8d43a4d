import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../base/errors.ts';
import {
  decodeKernelDescriptor,
  encodeKernelDescriptor,
  type KernelDescriptor,
} from '../../codeobject/kernel-descriptor.ts';
import type { ProcessorFamily } from '../../codeobject/processors.ts';
import { guestAddress } from '../../device/guest-address.ts';
import { AmdgpuEmulator } from './amdgpu/emulator.ts';
import type { AmdgpuLaunch } from './amdgpu/initial-registers.ts';
import { createEmulatedDevice } from './index.ts';
import { launchOf } from './kernel-abi.ts';

/** The launch of a kernel that asks for kernel arguments, workgroup ids x and z, and what `change` adds. */
function launchWith(
  processor: string,
  family: ProcessorFamily,
  change: (descriptor: KernelDescriptor) => void,
): AmdgpuLaunch {
  const emulator = new AmdgpuEmulator({ processor, memorySizeBytes: 2 ** 24 });
  const offset = emulator.memory.allocate(4096);
  const descriptor = decodeKernelDescriptor(new Uint8Array(64), family);
  descriptor.kernelCodeEntryByteOffset = 256n;
  descriptor.properties.enableSgprKernargSegmentPtr = true;
  descriptor.rsrc2.userSgprCount = 6;
  descriptor.rsrc2.enableSgprWorkgroupIdX = true;
  descriptor.rsrc2.enableSgprWorkgroupIdZ = true;
  descriptor.rsrc1.granulatedWorkitemVgprCount = 4;
  change(descriptor);
  emulator.memory.bytes.set(encodeKernelDescriptor(descriptor), offset);
  const { name, properties } = createEmulatedDevice({ processor, memorySizeBytes: 2 ** 24 });
  const memory = {
    guestView: (address: bigint, size: number) =>
      new Uint8Array(emulator.memory.buffer, emulator.memory.offset(address), size),
  };
  return launchOf(
    emulator,
    { name, properties, memory },
    {
      workgroupSize: [64, 1, 1],
      gridSize: [64, 1, 1],
      entry: guestAddress(emulator.memory.address(offset)),
      argumentsAddress: guestAddress(0x1_0000_2000n),
      resources: { privateSizeBytes: 0, groupSizeBytes: 0 },
    },
  );
}

// LLVM AMDGPU usage: GRANULATED_WORKITEM_VGPR_COUNT counts in 8 for wave32 of gfx10 and gfx11, in 4 for
// wave64; SGPRs after the user's.
test('gfx1100: the descriptor chooses the wave size; scratch needs no register', () => {
  for (const [waveSize, vgprCount] of [
    [32, 40],
    [64, 20],
  ] as const) {
    const launch = launchWith('gfx1100', 'gfx11', ({ properties, rsrc1, rsrc2 }) => {
      properties.enableWavefrontSize32 = waveSize === 32;
      rsrc2.enablePrivateSegment = true;
      rsrc1.enableIeeeMode = true;
      rsrc1.enableDx10Clamp = true;
      rsrc1.floatDenormMode16And64 = 3;
    });
    assert.deepEqual([launch.waveSize, launch.vgprCount, launch.agprCount], [waveSize, vgprCount, 0]);
    assert.deepEqual(launch.workgroupIdSgprs, [6, undefined, 7]);
    assert.equal(launch.scratchOffsetSgpr, undefined);
    assert.deepEqual([...launch.userSgprs], [0x2000, 1]);
    assert.equal(launch.mode, 0x3c0);
  }
});

test('what a processor does not have is refused', () => {
  const isRefused = (code: string) => (error: unknown) => error instanceof WavewrightError && error.code === code;
  const wave32 = ({ properties }: KernelDescriptor): void => {
    properties.enableWavefrontSize32 = true;
  };
  const clamped = ({ rsrc1 }: KernelDescriptor): void => {
    rsrc1.fp16Overflow = true;
  };
  assert.throws(() => launchWith('gfx90a', 'gfx10', wave32), isRefused('BAD_INPUT'));
  assert.throws(() => launchWith('gfx1100', 'gfx11', clamped), isRefused('UNSUPPORTED'));
});
