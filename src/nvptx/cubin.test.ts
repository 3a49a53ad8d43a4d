/** What launches need to know of cubins, and which of several images a GPU runs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../base/errors.ts';
import { parseElf } from '../elf/elf.ts';
import { cubinWith, type EntryToWrite, fatBinary, ptxFor } from './containers.test-support.ts';
import { cubinKernels } from './cubin.ts';
import { openNvptx } from './images.ts';
import { pickForGpu } from './pick.ts';

const PARAMETERS = [
  [0, 1],
  [8, 24],
  [32, 8],
] as const;

test('kernels of a cubin with offsets and sizes of their parameters', () => {
  const bytes = cubinWith(
    [
      { name: 'k', parameters: PARAMETERS },
      { name: 'none', parameters: [] },
    ],
    90,
  );
  assert.deepEqual(cubinKernels(parseElf(bytes, 'k.cubin')), [
    {
      name: 'k',
      parameters: PARAMETERS.map(([offset, sizeBytes]) => ({ offset, sizeBytes })),
      parametersSizeBytes: 40,
    },
    { name: 'none', parameters: [], parametersSizeBytes: 0 },
  ]);
  const closed = cubinWith([{ name: 'k', parameters: PARAMETERS, isListed: false }], 90);
  const [kernel] = cubinKernels(parseElf(closed, 'k.cubin'));
  assert.deepEqual(kernel, { name: 'k', parameters: undefined, parametersSizeBytes: 40 });
});

test('damaged cubins end in clear errors', () => {
  const bytes = cubinWith([{ name: 'k', parameters: PARAMETERS }], 90);
  for (let at = 0; at < bytes.length; at++) {
    const damaged = bytes.slice();
    damaged[at] = damaged[at]! ^ 0xff;
    try {
      for (const { parameters = [] } of cubinKernels(parseElf(damaged, 'k.cubin'))) assert.ok(parameters.length <= 4);
    } catch (error) {
      assert.ok(error instanceof WavewrightError && error.code !== 'INTERNAL', String(error));
    }
  }
});

const entry = (kind: 'ptx' | 'cubin', processor: number): EntryToWrite => ({
  ...{ kind: kind === 'ptx' ? 1 : 2, processor },
  bytes: kind === 'ptx' ? ptxFor(`sm_${processor}`) : cubinWith([{ name: 'k', parameters: [] }], processor),
});

test('a GPU gets machine code of its generation, else PTX of earlier ones', () => {
  const entries = [entry('cubin', 75), entry('cubin', 80), entry('cubin', 86), entry('ptx', 70), entry('ptx', 86)];
  const { images } = openNvptx(fatBinary(entries), 'file')!;
  const picked = (processor: string): string => {
    const [{ kind, processor: of } = { kind: 'ptx', processor: '' }] = pickForGpu(images, processor, 'cuda:0');
    return `${kind} ${of}`;
  };
  assert.deepEqual(['sm_70', 'sm_75', 'sm_80', 'sm_86', 'sm_89', 'sm_90', 'sm_103'].map(picked), [
    'ptx sm_70',
    'cubin sm_75',
    'cubin sm_80',
    'cubin sm_86',
    'cubin sm_86',
    'ptx sm_86',
    'ptx sm_86',
  ]);
  assert.throws(
    () => picked('sm_60'),
    /it has machine code for sm_86, sm_80, sm_75 and PTX for sm_86, sm_70; cuda:0 is sm_60/,
  );
});
