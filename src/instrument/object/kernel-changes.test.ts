import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTestFile } from '../../../test/data/codeobjects/load.ts';
import { type Kernel, parseCodeObject } from '../../codeobject/code-object.ts';
import { scalarRegisterCount, vectorRegisterCount } from '../../codeobject/kernel-descriptor.ts';
import { instrumentCodeObject } from '../instrument.ts';
import type { KernelChanges } from './kernel-changes.ts';

/** The first kernel before and after a change, and another kernel's bytes. */
function changed(file: string, changes: KernelChanges): readonly [before: Kernel, after: Kernel] {
  const bytes = readTestFile(file);
  const [before, other] = parseCodeObject(bytes, file).kernels;
  const kernelChanges = (name: string) => (name === before!.name ? changes : undefined);
  const result = parseCodeObject(instrumentCodeObject(bytes, { kernelChanges }).bytes, file);
  assert.deepEqual(result.kernels[1]!.metadata, other!.metadata);
  return [before!, result.kernels[0]!];
}

/** What differs, by path. */
function differences(before: unknown, after: unknown, path = ''): string[] {
  if (typeof before !== 'object' || before === null || typeof after !== 'object' || after === null) {
    return Object.is(before, after) ? [] : [`${path}: ${String(before)} -> ${String(after)}`];
  }
  const [a, b] = [before, after] as Readonly<Record<string, unknown>>[];
  return Object.keys({ ...a, ...b }).flatMap((key) => differences(a![key], b![key], `${path}.${key}`));
}

const partsOf = ({ descriptor, metadata }: Kernel) => {
  const { kernelCodeEntryByteOffset: _entry, ...rest } = descriptor;
  return { descriptor: rest, metadata };
};

const CDNA2 = 'kernels.gfx90a.v5.co';
const RDNA3 = 'kernels.gfx1100.v5.co';

const CASES: readonly [file: string, changes: KernelChanges, expected: readonly RegExp[]][] = [
  [
    CDNA2,
    { privateSegmentSizeBytes: 4096 },
    [/descriptor\.privateSegmentFixedSizeBytes: .* 4096/, /metadata\.privateSegmentFixedSizeBytes: .* 4096/],
  ],
  [
    RDNA3,
    { groupSegmentSizeBytes: 8192 },
    [/descriptor\.groupSegmentFixedSizeBytes: .* 8192/, /metadata\.groupSegmentFixedSizeBytes: .* 8192/],
  ],
  [
    CDNA2,
    { kernargSizeBytes: 1024 },
    [/descriptor\.kernargSizeBytes: .* 1024/, /metadata\.kernargSegmentSizeBytes: .* 1024/],
  ],
  [CDNA2, { properties: { enableSgprDispatchId: true } }, [/properties\.enableSgprDispatchId: false -> true/]],
  [CDNA2, { rsrc2: { userSgprCount: 15 } }, [/rsrc2\.userSgprCount: .* 15/]],
  [CDNA2, { kernargPreload: { lengthDwords: 2, offsetDwords: 0 } }, [/kernargPreload\.lengthDwords: 0 -> 2/]],
  [CDNA2, { sgprCount: 90 }, [/granulatedWavefrontSgprCount: .* 11/, /metadata\.sgprCount: .* 96/]],
  [RDNA3, { sgprCount: 90 }, [/metadata\.sgprCount: .* 92/]],
  [CDNA2, { vgprCount: 61 }, [/granulatedWorkitemVgprCount: .* 7/, /accumOffset: .* 15/, /metadata\.vgprCount: .* 61/]],
  [
    CDNA2,
    { vgprCount: 61, agprCount: 10 },
    [/granulatedWorkitemVgprCount: .* 9/, /accumOffset: .* 15/, /metadata\.vgprCount: .* 74/, /agprCount: 0 -> 10/],
  ],
  [RDNA3, { vgprCount: 100 }, [/granulatedWorkitemVgprCount: .* 12/, /metadata\.vgprCount: .* 100/]],
];

for (const [file, changes, expected] of CASES) {
  const text = JSON.stringify(changes);
  test(`${file}: ${text} changes that and nothing else`, () => {
    const [before, after] = changed(file, changes);
    const found = differences(partsOf(before), partsOf(after));
    assert.equal(found.length, expected.length, found.join('\n'));
    for (const pattern of expected)
      assert.ok(
        found.some((line) => pattern.test(line)),
        `${pattern}: ${found.join('\n')}`,
      );
  });
}

test('counts are those that are asked for, rounded up', () => {
  const { descriptor } = changed(CDNA2, { vgprCount: 61, agprCount: 10, sgprCount: 50 })[1];
  assert.deepEqual([vectorRegisterCount(descriptor), scalarRegisterCount(descriptor)], [80, 56]);
});

test('what does not fit its bits is refused', () => {
  assert.throws(() => changed(CDNA2, { vgprCount: 600 }), { code: 'USAGE' });
});
