import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { errorCodeOf } from '../../test/data/codeobjects/load.ts';
import { WavewrightError } from '../base/errors.ts';
import { readMetadata } from './metadata-reader.ts';

type Map = Record<string, unknown>;

const KERNEL: Map = {
  '.name': 'k',
  '.symbol': 'k.kd',
  '.kernarg_segment_size': 24,
  '.kernarg_segment_align': 8,
  '.group_segment_fixed_size': 0,
  '.private_segment_fixed_size': 4,
  '.wavefront_size': 64,
  '.sgpr_count': 10,
  '.vgpr_count': 2,
  '.max_flat_workgroup_size': 1024,
};
const ARGUMENT: Map = { '.offset': 0, '.size': 8, '.value_kind': 'global_buffer' };

const document = (kernel: Map = {}, argument: Map = {}): Map => ({
  'amdhsa.version': [1, 2],
  'amdhsa.kernels': [{ ...KERNEL, '.args': [{ ...ARGUMENT, ...argument }], ...kernel }],
});
const read = (value: unknown) => readMetadata(encode(value, { useBigInt64: true }), { file: 'x.co', section: '.note' });

test('the listed keys become typed properties, others are kept', () => {
  const kernel = {
    '.language': 'OpenCL C',
    '.language_version': [2, 0],
    '.reqd_workgroup_size': [8, 4, 2],
    '.uses_dynamic_stack': true,
    '.workgroup_processor_mode': 1,
    '.max_num_workgroups_y': 3,
    '.kind': 'init',
    '.cluster_dims': [1, 2, 1],
    '.vendor_key': { a: [1, 'x'] },
  };
  const argument = {
    '.name': 'out',
    '.type_name': 'int*',
    '.address_space': 'global',
    '.access': 'read_write',
    '.is_const': false,
    '.pointee_align': 4,
    '.surprise': 7,
  };
  const metadata = read({ ...document(kernel, argument), 'amdhsa.target': 'amdgcn-amd-amdhsa--gfx90a', other: 'kept' });
  assert.deepEqual(metadata.version, [1, 2]);
  assert.equal(metadata.target, 'amdgcn-amd-amdhsa--gfx90a');
  assert.deepEqual(metadata.unknown, { other: 'kept' });
  const [first] = metadata.kernels;
  assert.equal(first!.kernargSegmentSizeBytes, 24);
  assert.deepEqual(first!.reqdWorkgroupSize, [8, 4, 2]);
  assert.deepEqual([first!.usesDynamicStack, first!.workgroupProcessorMode, first!.kind], [true, 1, 'init']);
  assert.deepEqual([first!.maxWorkgroupsX, first!.maxWorkgroupsY], [undefined, 3]);
  assert.deepEqual(first!.clusterDims, [1, 2, 1]);
  assert.deepEqual(first!.unknown, { '.vendor_key': { a: [1, 'x'] } });
  const [out] = first!.args;
  assert.deepEqual(
    [
      out!.name,
      out!.typeName,
      out!.sizeBytes,
      out!.offsetBytes,
      out!.valueKind,
      out!.addressSpace,
      out!.access,
      out!.isConst,
    ],
    ['out', 'int*', 8, 0, 'global_buffer', 'global', 'read_write', false],
  );
  assert.deepEqual([out!.pointeeAlignmentBytes, out!.isVolatile, out!.unknown], [4, undefined, { '.surprise': 7 }]);
});

test('a kernel without .args takes none', () => {
  assert.deepEqual(read({ 'amdhsa.version': [1, 2], 'amdhsa.kernels': [KERNEL] }).kernels[0]!.args, []);
});

test('a number in a 64-bit encoding is the same number', () => {
  assert.equal(read(document({}, { '.size': 8n })).kernels[0]!.args[0]!.sizeBytes, 8);
});

const WRONG: [what: string, value: unknown, message: RegExp][] = [
  ['no map', 7, /metadata {2}is 7, expected a map/],
  ['kernels that are no array', { ...document(), 'amdhsa.kernels': {} }, /amdhsa\.kernels is a map, expected an array/],
  ['no version', { 'amdhsa.kernels': [] }, /metadata map lacks the key amdhsa\.version/],
  [
    'a version of three',
    { ...document(), 'amdhsa.version': [1, 2, 3] },
    /amdhsa\.version is an array of 3, expected an array of 2/,
  ],
  ['a kernel without size', document({ '.vgpr_count': undefined }), /amdhsa\.kernels\[0\]\.vgpr_count is nil/],
  [
    'a text for a size',
    document({}, { '.size': '8' }),
    /amdhsa\.kernels\[0\]\.args\[0\]\.size is the string '8', expected an integer/,
  ],
  ['a negative offset', document({}, { '.offset': -1 }), /\.args\[0\]\.offset is -1, expected an integer from 0/],
  [
    'a huge offset',
    document({}, { '.offset': 2n ** 40n }),
    /\.args\[0\]\.offset is 1099511627776, expected an integer/,
  ],
  ['a fraction', document({ '.sgpr_count': 1.5 }), /\.sgpr_count is 1\.5/],
  [
    'an unknown address space',
    document({}, { '.address_space': 'far' }),
    /is the string 'far', expected one of private, global/,
  ],
  ['a number for a flag', document({ '.uses_dynamic_stack': 1 }), /\.uses_dynamic_stack is 1, expected true or false/],
  ['binary for a name', document({ '.name': Uint8Array.of(1) }), /\.name is binary data, expected a string/],
];

for (const [what, value, message] of WRONG) {
  test(`${what} is BAD_INPUT with its path`, () => {
    assert.throws(
      () => read(value),
      (error) => error instanceof WavewrightError && error.code === 'BAD_INPUT' && message.test(error.message),
    );
  });
}

test('a missing key is named', () => {
  const { '.symbol': _, ...kernel } = KERNEL;
  assert.throws(
    () => read({ 'amdhsa.version': [1, 2], 'amdhsa.kernels': [kernel] }),
    /amdhsa\.kernels\[0\] lacks the key \.symbol/,
  );
});

test('depth and counts have limits', () => {
  let deep: unknown = 1;
  for (let depth = 0; depth < 60; depth++) deep = [deep];
  assert.equal(
    errorCodeOf(() => read({ ...document(), deep })),
    'LIMIT_EXCEEDED',
  );
  assert.equal(
    errorCodeOf(() => read({ ...document(), 'amdhsa.kernels': new Array(70_000).fill(0) })),
    'LIMIT_EXCEEDED',
  );
  assert.equal(
    errorCodeOf(() => read(document({ '.args': new Array(5_000).fill(ARGUMENT) }))),
    'LIMIT_EXCEEDED',
  );
  // An array32 that announces 2^32 - 1 elements.
  const announced = Uint8Array.of(0xdd, 0xff, 0xff, 0xff, 0xff, 0x01);
  assert.equal(
    errorCodeOf(() => readMetadata(announced, {})),
    'BAD_INPUT',
  );
});

test('cut and mutated bytes are BAD_INPUT or still a document', () => {
  const bytes = encode(document({ '.reqd_workgroup_size': [1, 2, 3] }));
  for (let length = 0; length < bytes.length; length++) {
    assert.equal(
      errorCodeOf(() => readMetadata(bytes.subarray(0, length), {})),
      'BAD_INPUT',
    );
  }
  const change = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255));
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
      const mutated = bytes.slice();
      for (const [at, value] of changes) mutated[at] = value;
      errorCodeOf(() => readMetadata(mutated, {}));
    }),
    { numRuns: 2_000 },
  );
});
