import assert from 'node:assert/strict';
import { test } from 'node:test';
import { initialSgprs, type SgprTraits } from './initial-sgprs.ts';
import { decodeKernelDescriptor, KERNEL_DESCRIPTOR_SIZE_BYTES, type KernelDescriptor } from './kernel-descriptor.ts';

const GFX90A: SgprTraits = { flatScratch: 'sgprs', workgroupIdsInTrapRegisters: false };

const blank = (): KernelDescriptor => decodeKernelDescriptor(new Uint8Array(KERNEL_DESCRIPTOR_SIZE_BYTES), 'gfx90a');

const listing = (descriptor: KernelDescriptor, traits = GFX90A): string =>
  [...initialSgprs(descriptor, traits).values]
    .map(([name, { first, dwords }]) => `${name} s${first}${dwords > 1 ? `-${first + dwords - 1}` : ''}`)
    .join(', ');

// The registers that clang 19 gives a kernel on gfx90a that needs all of it.
test('values stand without gaps, users first', () => {
  const descriptor = blank();
  const { properties, rsrc2 } = descriptor;
  properties.enableSgprPrivateSegmentBuffer = true;
  properties.enableSgprDispatchPtr = true;
  properties.enableSgprKernargSegmentPtr = true;
  properties.enableSgprFlatScratchInit = true;
  rsrc2.userSgprCount = 10;
  rsrc2.enableSgprWorkgroupIdX = true;
  rsrc2.enableSgprWorkgroupIdZ = true;
  rsrc2.enablePrivateSegment = true;
  const users = 'privateSegmentBuffer s0-3, dispatchPtr s4-5, kernargSegmentPtr s6-7, flatScratchInit s8-9';
  assert.equal(listing(descriptor), `${users}, workgroupIdX s10, workgroupIdZ s11, scratchWaveOffset s12`);
  assert.equal(
    listing(descriptor, { ...GFX90A, flatScratch: 'architected' }),
    `${users}, workgroupIdX s10, workgroupIdZ s11`,
  );
  assert.equal(listing(descriptor, { flatScratch: 'architected', workgroupIdsInTrapRegisters: true }), users);
});

test('more user SGPRs than are enabled are left out, but for preloaded arguments', () => {
  const descriptor = blank();
  descriptor.properties.enableSgprKernargSegmentPtr = true;
  descriptor.rsrc2.userSgprCount = 15;
  descriptor.rsrc2.enableSgprWorkgroupIdX = true;
  assert.equal(listing(descriptor), 'kernargSegmentPtr s0-1, workgroupIdX s15');
  descriptor.kernargPreload.lengthDwords = 3;
  assert.equal(listing(descriptor), 'kernargSegmentPtr s0-1, kernargPreload s2-4, workgroupIdX s15');
  // Hardware sets up no more than the descriptor counts.
  descriptor.kernargPreload.lengthDwords = 127;
  assert.equal(listing(descriptor), 'kernargSegmentPtr s0-1, kernargPreload s2-14, workgroupIdX s15');
  assert.equal(initialSgprs(descriptor, GFX90A).count, 16);
});
