import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeKernelDescriptor, KERNEL_DESCRIPTOR_SIZE_BYTES } from '../../codeobject/kernel-descriptor.ts';
import { processorNamed } from '../../codeobject/processors.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import { AmdgpuStepReader } from '../../isa/amdgpu/step.ts';
import { kernelPreamble, type PreambleRequest } from './preamble.ts';

interface Shape {
  readonly processor: string;
  readonly userSgprCount: number;
  readonly hasBuffer?: boolean;
  readonly preloadDwords?: number;
}

/** A kernel that begins with the address of its arguments and the workgroup's x. */
function descriptorOf({ processor, userSgprCount, hasBuffer = false, preloadDwords = 0 }: Shape) {
  const { family } = processorNamed(processor)!;
  const descriptor = decodeKernelDescriptor(new Uint8Array(KERNEL_DESCRIPTOR_SIZE_BYTES), family);
  descriptor.properties.enableSgprPrivateSegmentBuffer = hasBuffer;
  descriptor.properties.enableSgprKernargSegmentPtr = true;
  descriptor.rsrc2.userSgprCount = userSgprCount;
  descriptor.rsrc2.enableSgprWorkgroupIdX = true;
  descriptor.kernargPreload.lengthDwords = preloadDwords;
  return descriptor;
}

function listing(shape: Shape, request: PreambleRequest): string {
  const preamble = kernelPreamble({ descriptor: descriptorOf(shape) }, shape.processor, request);
  if (typeof preamble === 'string') return preamble;
  const reader = new AmdgpuStepReader(shape.processor, targetFor(shape.processor).waveSizes[0]!, 0);
  return preamble.items
    .map((item) => {
      assert.ok(item.kind === 'instruction');
      const code = new DataView(Uint32Array.from(item.words).buffer);
      const step = reader.step(code, 0);
      assert.ok(typeof step !== 'string', String(step));
      return item.fixup ? step.text().replace(/0$/, item.fixup.half) : step.text();
    })
    .join('\n');
}

const dispatchPtr = { kind: 'initial', value: 'dispatchPtr', first: 40 } as const;

test('what stood behind a value that is added moves back to its place', () => {
  assert.equal(
    listing({ processor: 'gfx90a', userSgprCount: 6, hasBuffer: true }, { kept: [dispatchPtr] }),
    // The pointer takes s4 and s5, so that the arguments came to s6 and s7, and the workgroup's x to s8.
    ['s_mov_b32 s41, s5', 's_mov_b32 s5, s7', 's_mov_b32 s40, s4', 's_mov_b32 s4, s6', 's_mov_b32 s6, s8'].join('\n'),
  );
});

test('a value that the kernel has is copied, and addresses and constants are set', () => {
  const kept = [
    { kind: 'initial', value: 'kernargSegmentPtr', first: 50 },
    { kind: 'address', place: { symbol: 'counters', addend: 8 }, first: 52 },
    { kind: 'constant', constant: 7, first: 54 },
  ] as const;
  assert.equal(
    listing({ processor: 'gfx942', userSgprCount: 2 }, { kept }),
    ['s_mov_b32 s51, s1', 's_mov_b32 s50, s0', 's_mov_b32 s52, low', 's_mov_b32 s53, high', 's_mov_b32 s54, 7'].join(
      '\n',
    ),
  );
});

test('users that the descriptor counts without need make room', () => {
  // As clang pads them for gfx1100: the workgroup's x stays in s15.
  assert.equal(
    listing({ processor: 'gfx1100', userSgprCount: 15 }, { kept: [dispatchPtr] }),
    ['s_mov_b32 s41, s1', 's_mov_b32 s1, s3', 's_mov_b32 s40, s0', 's_mov_b32 s0, s2'].join('\n'),
  );
});

test('scratch needs registers where hardware does not find it', () => {
  const request = { kept: [], usesScratch: true };
  assert.equal(listing({ processor: 'gfx942', userSgprCount: 2 }, request), '');
  // The workgroup's x moves back; behind it code may expect the wave's offset without asking for it.
  const shared = ['s_mov_b32 s3, s5', 's_mov_b32 s2, s4'];
  assert.equal(
    listing({ processor: 'gfx90a', userSgprCount: 2 }, request),
    ['s_add_u32 flat_scratch_lo, s2, s5', 's_addc_u32 flat_scratch_hi, s3, 0', ...shared].join('\n'),
  );
  assert.equal(
    listing({ processor: 'gfx1030', userSgprCount: 2 }, request),
    [
      ...['s_add_u32 vcc_lo, s2, s5', 's_addc_u32 vcc_hi, s3, 0'],
      ...['s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), vcc_lo', 's_setreg_b32 hwreg(HW_REG_FLAT_SCR_HI), vcc_hi'],
      ...shared,
    ].join('\n'),
  );
});

test('FLAT_SCRATCH is kept as the kernel begins with it', () => {
  const request = { kept: [{ kind: 'flat scratch', first: 40 }], usesScratch: true } as const;
  const last = (processor: string): string[] => listing({ processor, userSgprCount: 2 }, request).split('\n').slice(-2);
  assert.deepEqual(last('gfx90a'), ['s_mov_b32 s40, flat_scratch_lo', 's_mov_b32 s41, flat_scratch_hi']);
  assert.deepEqual(last('gfx1030'), [
    ...['s_getreg_b32 s40, hwreg(HW_REG_FLAT_SCR_LO)', 's_getreg_b32 s41, hwreg(HW_REG_FLAT_SCR_HI)'],
  ]);
});

test('the position of the workgroup comes from trap registers where it is there', () => {
  const ids = (['X', 'Y', 'Z'] as const).map((axis, i) => ({
    ...({ kind: 'initial', value: `workgroupId${axis}`, first: 40 + i } as const),
  }));
  assert.equal(
    listing({ processor: 'gfx1200', userSgprCount: 2 }, { kept: ids }),
    ['s_mov_b32 s40, ttmp9', 's_and_b32 s41, ttmp7, 0xffff', 's_lshr_b32 s42, ttmp7, 16'].join('\n'),
  );
});

test('more user SGPRs than hardware sets up are refused', () => {
  assert.equal(
    listing({ processor: 'gfx90a', userSgprCount: 16, preloadDwords: 14 }, { kept: [dispatchPtr] }),
    'dispatchPtr would take user SGPR 18, of at most 16',
  );
});

test('vector registers begin with zeros in all lanes and ones in some, and nothing sets what needs nothing', () => {
  const kept = [
    { kind: 'zero', first: 40, dwords: 2 },
    { kind: 'scratch', first: 42, dwords: 2 },
  ] as const;
  const vectors = { registers: [8, 9], ones: [{ register: 8, lane: 3 }] };
  assert.equal(
    listing({ processor: 'gfx90a', userSgprCount: 2 }, { kept, vectors }),
    [
      ...['s_mov_b64 s[40:41], 0', 's_or_saveexec_b64 vcc, -1', 'v_mov_b32_e32 v8, 0', 'v_mov_b32_e32 v9, 0'],
      ...['s_mov_b64 exec, vcc', 'v_writelane_b32 v8, 1, 3'],
    ].join('\n'),
  );
});
