/** What dispatches learn of kernels from the metadata of their code. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildImage } from '../../hsa/runtime/image.test-support.ts';
import { conformanceCode, createRegistry } from '../conformance/subject.test-support.ts';

const argument = (kind: string, offset: number, size: number, further: object = {}) => ({
  '.value_kind': kind,
  '.offset': offset,
  '.size': size,
  ...further,
});

/** A code object of kernels without code, by name, with what their metadata says. */
const kernels = (all: Readonly<Record<string, object>>): Uint8Array =>
  buildImage({ kernels: Object.entries(all).map(([name, metadata]) => ({ name, metadata: { ...metadata } })) });

test('bindings and constants are what the metadata lists, without hidden arguments', async () => {
  using registry = createRegistry();
  const device = await registry.open('amdgpu');
  const pointer = { '.address_space': 'global', '.name': 'in', '.type_name': 'float*', '.is_const': true };
  const args = [
    argument('by_value', 0, 1),
    argument('global_buffer', 8, 8, pointer),
    argument('by_value', 16, 12),
    argument('hidden_global_offset_x', 32, 8),
  ];
  const size = { '.kernarg_segment_size': 40, '.reqd_workgroup_size': [8, 4, 2] };
  using code = device.load(kernels({ some: { '.args': args, ...size }, none: {} }));
  const { parameters, ...some } = code.lookup('some').info;
  const { name, bindingCount, constantCount, workgroupSize, problem } = some;
  // A byte is a word of the constants; so are twelve bytes three.
  assert.deepEqual([name, bindingCount, constantCount, workgroupSize, problem], ['some', 1, 4, [8, 4, 2], undefined]);
  assert.deepEqual(
    parameters.map(({ kind, offsetBytes, sizeBytes, isReadOnly }) => [kind, offsetBytes, sizeBytes, isReadOnly]),
    [
      ['constant', 0, 1, false],
      ['binding', 8, 8, true],
      ['constant', 16, 12, false],
    ],
  );
  assert.deepEqual([parameters[1]!.name, parameters[1]!.typeName], ['in', 'float*']);
  const none = code.lookup('none').info;
  assert.deepEqual([none.bindingCount, none.constantCount, none.workgroupSize], [0, 0, undefined]);
});

test('a kernel with arguments of other kinds is listed, and cannot be dispatched', async () => {
  using registry = createRegistry();
  const device = await registry.open('amdgpu');
  const image = argument('image', 0, 8, { '.name': 'picture' });
  using code = device.load(kernels({ draw: { '.args': [image], '.kernarg_segment_size': 8 }, other: {} }));
  const draw = code.lookup('draw');
  assert.match(draw.info.problem!, /argument picture is image, no buffer and no value/);
  assert.throws(() => device.queue().dispatch({ entry: draw, groups: 1, workgroupSize: 1 }), {
    status: 'UNIMPLEMENTED',
    message: /'draw' cannot be dispatched: its argument picture is image/,
  });
  await device.queue().barrier();
});

test('no beginning of a code object is one', async () => {
  using registry = createRegistry();
  const device = await registry.open('amdgpu');
  const whole = conformanceCode('gfx90a');
  // Section names and symbols that no loader needs may stand at the end.
  for (let length = 0; length < whole.length; length += 61) {
    assert.throws(() => device.load(whole.subarray(0, length)), { name: 'HalError', status: 'INVALID_ARGUMENT' });
  }
  const { liveBytes } = device.allocator.statistics;
  assert.equal(liveBytes, 0);
});
