/**
 * Machine code of the PTX device that no compiler made, as kernels that write over code could leave it: what
 * is no instruction is refused when it is reached, and nothing reaches beyond what the kernel may touch.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../src/base/errors.ts';
import type { Device } from '../src/device/device.ts';
import { createPtxDevice } from '../src/devices/emulated/ptx-device.ts';
import { kernelText, output, u32, WAYS } from '../src/ptx-host/ptx-runs.test-support.ts';
import { runPtxKernel } from '../src/ptx-host/run-kernel.ts';
import { Random } from './fuzz/random.ts';

const PROGRAMS = 60;
const THREADS = 64;
const CANARY = 0xa5;

const TEXT = kernelText(
  `
  mov.u32 %r3, 0;
again:
  shl.b32 %r4, %r3, 3;
  cvt.u64.u32 %rd2, %r4;
  add.s64 %rd3, %in, %rd2;
  ld.global.u64 %rd4, [%rd3];
  mad.wide.u32 %rd5, %r3, %gid, %rd4;
  shfl.sync.bfly.b32 %r5, %r3, 1, 31, -1;
  st.shared.u32 [tile], %r5;
  bar.sync 0;
  ld.shared.u32 %r6, [tile];
  cvt.rn.f64.u32 %fd1, %r6;
  fma.rn.f64 %fd2, %fd1, %fd1, %fd1;
  mov.b64 %rd6, %fd2;
  atom.global.add.u64 %rd7, [%out], %rd6;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, 3;
  @%p1 bra again;
  st.global.u64 [%out], %rd5;`,
  '.shared .align 8 .b8 tile[256];',
);

/** Has some bytes of the code changed before they are decoded for the first time. */
function spoilCode(device: Device, random: Random): void {
  const publish = device.publishCode.bind(device);
  device.publishCode = (code) => {
    const bytes = device.memory.view(code.address, code.sizeBytes);
    for (let i = random.between(1, 12); i > 0; i--) bytes[random.below(bytes.length)] = random.below(256);
    publish(code);
  };
}

for (const [way, options] of Object.entries(WAYS)) {
  test(`${way}: spoiled machine code ends, faults or is refused, and its neighbours stay`, async () => {
    const endings = new Set<string>();
    for (let seed = 1; seed <= PROGRAMS; seed++) {
      using device = createPtxDevice({ processor: 'sm_70', memorySizeBytes: 2 ** 26, ...options });
      spoilCode(device, new Random(seed));
      const address = device.memory.allocate(4096, { label: 'neighbour' });
      device.memory.setAccess!(address, false);
      const neighbour = device.memory.view(address, 4096).fill(CANARY);
      const request = {
        ...{ device, texts: [{ text: TEXT, name: 'k.ptx' }], grid: [THREADS], workgroup: [THREADS], timeoutMs: 1000 },
        args: [output(THREADS * 8), output(THREADS * 8 + 64), u32(THREADS)],
      };
      const ending = await runPtxKernel(request).then(
        () => 'complete',
        (error: unknown) => (error instanceof WavewrightError ? error.code : `${error}`),
      );
      assert.match(
        ending,
        /^(complete|BAD_INPUT|GPU_FAULT|TIMEOUT|UNSUPPORTED|LIMIT_EXCEEDED)$/,
        `${way}, seed ${seed}`,
      );
      assert.ok(
        neighbour.every((byte) => byte === CANARY),
        `${way}, seed ${seed}`,
      );
      endings.add(ending);
    }
    assert.ok(endings.has('GPU_FAULT') && endings.has('complete'), [...endings].join());
  });
}
