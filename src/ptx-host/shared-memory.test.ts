/** Where variables are in shared memory: none is where another one is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPtxDevice } from '../devices/emulated/ptx-device.ts';
import { PtxExecutable } from './ptx-executable.ts';
import { output, runOn, WAYS } from './ptx-runs.test-support.ts';

const HEAD = '.version 7.8\n.target sm_70\n.address_size 64\n';

/** Adds what it gets to variables of its own and of the module; the dynamic one is declared before them. */
const LIBRARY = `${HEAD}
.extern .shared .align 16 .b8 dynamic[];
.shared .b32 counted[3];
.visible .func (.reg .b32 sum) store(.reg .b32 x)
{
  .shared .align 8 .b32 own;
  .reg .b32 %a<5>;
  st.shared.u32 [own], x;
  add.u32 %a0, x, 1;
  st.shared.u32 [counted], %a0;
  add.u32 %a0, x, 2;
  st.shared.u32 [dynamic], %a0;
  ld.shared.u32 %a1, [own];
  ld.shared.u32 %a2, [counted];
  ld.shared.u32 %a3, [dynamic];
  mad.lo.u32 %a4, %a2, 100, %a1;
  mad.lo.u32 sum, %a3, 10000, %a4;
  ret;
}
`;

const kernel = (name: string, bytes: number): string => `
.visible .entry ${name}(.param .u64 out)
{
  .shared .align 4 .b8 tile[${bytes}];
  .reg .b64 %p;
  .reg .b32 %s<4>;
  ld.param.u64 %p, [out];
  mov.u32 %s3, 7;
  st.shared.u32 [tile+${bytes - 4}], %s3;
  mov.u32 %s0, 1;
  call (%s1), store, (%s0);
  ld.shared.u32 %s2, [tile+${bytes - 4}];
  st.global.u32 [%p], %s1;
  st.global.u32 [%p+4], %s2;
  ret;
}
`;

const USER = `${HEAD}
.extern .shared .b32 counted[];
.extern .func (.reg .b32 sum) store(.reg .b32 x);
${kernel('small', 64)}
${kernel('large', 40_000)}
`;

const TEXTS = [
  { text: USER, name: 'user.ptx' },
  { text: LIBRARY, name: 'library.ptx' },
];

test('variables of modules, functions, kernels and the launch are apart, in linked modules too', async () => {
  for (const [name, options] of Object.entries(WAYS)) {
    for (const kernelName of ['small', 'large']) {
      const { outputs } = await runOn(options, {
        ...{ texts: TEXTS, kernel: kernelName, grid: [1], workgroup: [1] },
        ...{ args: [output(8)], dynamicSharedSizeBytes: 16 },
      });
      assert.deepEqual([...new Uint32Array(outputs[0]!.bytes.slice().buffer)], [30_201, 7], `${name}: ${kernelName}`);
    }
  }
});

test('kernels share the place of what each has for itself; with dynamic memory all have it at one place', () => {
  using device = createPtxDevice({ processor: 'sm_70', memorySizeBytes: 2 ** 26 });
  const sizes = (texts: typeof TEXTS): Record<string, number | undefined> => {
    using executable = new PtxExecutable(device, texts);
    return Object.fromEntries(
      executable.kernels.map(({ name, metadata }) => [name, metadata?.groupSegmentFixedSizeBytes]),
    );
  };
  // 12 bytes of the module, 4 of the function behind 4 that align it, 40,000 of the larger kernel.
  assert.deepEqual(sizes(TEXTS), { small: 40_032, large: 40_032 });
  const without = LIBRARY.replace(/.*dynamic.*\n/g, '').replace('%a3, 10000', '%a2, 10000');
  const alone = [TEXTS[0]!, { text: without, name: 'library.ptx' }];
  assert.deepEqual(sizes(alone), { small: 84, large: 40_020 });
});

test('more than a block can have is refused with the kernel', () => {
  using device = createPtxDevice({ processor: 'sm_70', memorySizeBytes: 2 ** 26 });
  const load = (bytes: number) => {
    const text = `${USER}${kernel('huge', bytes)}`;
    using _ = new PtxExecutable(device, [{ text, name: 'user.ptx' }, TEXTS[1]!]);
  };
  load(65_536 - 32);
  assert.throws(() => load(65_536), {
    code: 'LIMIT_EXCEEDED',
    message: /^user\.ptx: kernel '\w+' has 655\d\d bytes of shared memory, at most 65536 are supported/,
  });
});
