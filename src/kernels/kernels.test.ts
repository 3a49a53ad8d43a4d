/**
 * Kernels from a host program: arguments against the metadata, launches in turn, what remains usable after
 * each kind of end.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { WavewrightError } from '../base/errors.ts';
import { createEmulatedDevice } from '../devices/emulated/index.ts';
import { createContext, LocalMemory } from './index.ts';

const EXAMPLES = path.resolve(import.meta.dirname, '../../examples');
const example = (name: string): Uint8Array => readFileSync(path.join(EXAMPLES, name));
const SCALE = readFileSync(path.join(EXAMPLES, 'assembler/scale.gfx90a.s'), 'utf8');

const resources = new DisposableStack();
after(() => resources.dispose());
const device = resources.use(createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 26 }));
const context = resources.use(createContext(device));
const vadd = context.load(example('kernels/vadd.gfx90a.co')).kernel('vadd');
const scale = context.load(SCALE, { name: 'scale.s' }).kernel('scale');

const LANES = { grid: 64, workgroup: 64 };
const usage = (message: RegExp) => ({ name: 'WavewrightError', code: 'USAGE', message });
// reason: what a caller without a type checker could pass.
const anything = (value: unknown) => value as never;

/** A kernel of assembler text with one `int*` or `local int*`, and values that follow it. */
function source(
  body: string,
  args: readonly { readonly kind: string; readonly type?: string; readonly size: number }[],
) {
  let offset = 0;
  const list = args.map(({ kind, type, size }) => {
    const start = Math.ceil(offset / size) * size;
    offset = start + size;
    const name = type === undefined ? '' : `\n        .type_name: '${type}'`;
    return `      - .value_kind: ${kind}${name}\n        .offset: ${start}\n        .size: ${size}\n`;
  });
  const end = SCALE.indexOf('    .args:\n') + '    .args:\n'.length;
  return `${SCALE.slice(0, end)}${list.join('')}    .end_amdgpu_metadata\n`
    .replace(/s_load_dwordx2[\s\S]*?(?=s_endpgm)/, `${body}\n    `)
    .replaceAll(/(amdhsa_kernarg_size|kernarg_segment_size:) 12/g, `$1 ${offset}`)
    .replaceAll(/(amdhsa_next_free_[vs]gpr|gpr_count:) \d+/g, '$1 12');
}

test('buffers go in and come out, values are what the metadata says', async () => {
  using a = context.buffer(Float32Array.from({ length: 256 }, (_, i) => i));
  using b = context.buffer(new Float32Array(256).fill(0.5));
  using sum = context.buffer(new Float32Array(256));
  const { durationNs, statistics } = await vadd.launch({ grid: 256, workgroup: [64] }, sum, a, b, 255);
  assert.deepEqual(
    sum.read(),
    Float32Array.from({ length: 256 }, (_, i) => (i < 255 ? i + 0.5 : 0)),
  );
  assert.ok(durationNs > 0);
  assert.deepEqual([statistics.waves, statistics.workgroups], [4, 4]);
  b.write(Float32Array.of(100), 3);
  await vadd.launch({ grid: 256, workgroup: 64 }, sum, a, b, 255n);
  assert.deepEqual(sum.read().slice(2, 5), Float32Array.of(2.5, 103, 4.5));
  assert.deepEqual([sum.length, sum.sizeBytes, sum.elements], [256, 1024, 'Float32Array']);
});

test('assembler text is code, too; a buffer of bytes fits every pointer', async () => {
  assert.equal(scale.name, 'scale');
  assert.deepEqual(scale.parameters, [
    { name: 'out', typeName: 'int*', valueKind: 'global_buffer', sizeBytes: 8 },
    { name: 'factor', typeName: 'int', valueKind: 'by_value', sizeBytes: 4 },
  ]);
  using out = context.buffer(256);
  assert.equal(out.elements, 'Uint8Array');
  await scale.launch(LANES, out, -7);
  assert.deepEqual(new Int32Array(out.read().buffer).slice(0, 3), Int32Array.of(0, -7, -14));
  await scale.launch(LANES, out, Uint8Array.of(0, 0, 1, 0));
  assert.equal(new Int32Array(out.read().buffer)[2], 2 << 16);
});

test('arguments that do not fit are named', async () => {
  using out = context.buffer(new Int32Array(64));
  using floats = context.buffer(new Float32Array(64));
  const cases: [readonly unknown[], RegExp][] = [
    [[out], /^kernel 'scale': argument 2 is missing: 'factor' is by_value \(int, 4 bytes\)$/],
    [[out, 1, 2], /^3 arguments, kernel 'scale' takes 2$/],
    [[out, 1.5], /^kernel 'scale': argument 2, 1\.5: '1\.5' is no i32; 'factor' is by_value \(int, 4 bytes\)$/],
    [[out, 2 ** 33], /argument 2, 8589934592: '8589934592' is no i32; 'factor'/],
    [[out, 2n ** 33n], /argument 2, 8589934592n: '8589934592' is no i32/],
    [[out, Number.NaN], /argument 2, NaN: 'NaN' is no i32/],
    [[out, Float32Array.of(1)], /argument 2, a Float32Array of 1: expected elements of type i32; 'factor'/],
    [[out, Int32Array.of(1, 2)], /argument 2, a Int32Array of 2: it has 8 bytes; 'factor'/],
    [[out, [1, 2]], /argument 2, an array of 2: expected one number; 'factor'/],
    [[out, out], /argument 2, a buffer, Int32Array of 64: an address has 8 bytes; 'factor'/],
    [[out, new LocalMemory(4)], /argument 2, local:4: expected no local memory; 'factor'/],
    [[out, '1'], /argument 2, "1": expected a buffer, a number, .*; 'factor'/],
    [[out, undefined], /argument 2, undefined: expected a buffer, a number/],
    [[out, null], /argument 2, null: expected/],
    [[out, true], /argument 2, true: expected/],
    [[out, {}], /argument 2, a value of class Object: expected/],
    [[1, 1], /argument 1, 1: expected a buffer; 'out' is global_buffer \(int\*, 8 bytes\)$/],
    [[new Int32Array(64), 1], /argument 1, a Int32Array of 64: expected a buffer, which `context\.buffer\(array\)`/],
    [[floats, 1], /argument 1, a buffer, Float32Array of 64: expected elements of type i32; 'out'/],
  ];
  for (const [args, message] of cases) {
    await assert.rejects(scale.launch(LANES, ...args.map(anything)), usage(message), String(message));
  }
  await scale.launch(LANES, out, 2);
  assert.equal(out.read()[5], 10);
});

test('grids and options that cannot be are named', async () => {
  using out = context.buffer(new Int32Array(64));
  const cases: [unknown, RegExp][] = [
    [{ grid: 64 }, /^kernel 'scale': workgroup is undefined, expected work-items/],
    [{ grid: '64', workgroup: 64 }, /grid is "64", expected work-items/],
    [{ grid: 0, workgroup: 64 }, /a grid of 0 work-items, expected 1 to 4294967295 in each dimension/],
    [{ grid: 2 ** 32, workgroup: 64 }, /a grid of 4294967296 work-items/],
    [{ grid: [1, 1, 1, 1], workgroup: 64 }, /a grid of 4 dimensions/],
    [{ grid: [], workgroup: 64 }, /a grid of 0 dimensions/],
    [{ grid: 64, workgroup: 1.5 }, /a workgroup of 1\.5 work-items, expected 1 to 65535/],
    [{ grid: 1024, workgroup: 512 }, /a workgroup of 512 work-items, kernel 'scale' takes at most 256/],
    [{ ...LANES, timeoutMs: '5' }, /timeoutMs is "5"/],
    [{ ...LANES, dynamicLdsSizeBytes: -1 }, /dynamicLdsSizeBytes is -1/],
    [out, /a value of class DeviceBuffer, expected \{ grid, workgroup \}/],
    [undefined, /undefined, expected \{ grid, workgroup \}/],
  ];
  for (const [options, message] of cases) {
    await assert.rejects(scale.launch(anything(options), out, 1), usage(message), String(message));
  }
});

test('values without a type in the metadata need one', async () => {
  const body = `s_load_dwordx2 s[2:3], s[0:1], 0x0
    s_load_dwordx2 s[4:5], s[0:1], 0x8
    v_mov_b32 v1, 0
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v2, s4
    v_mov_b32 v3, s5
    global_store_dwordx2 v1, v[2:3], s[2:3]`;
  const parameters = (type?: string) => [
    { kind: 'global_buffer', size: 8 },
    { kind: 'by_value', size: 8, ...(type && { type }) },
  ];
  const run = async (type: string | undefined, value: unknown): Promise<ArrayBuffer> => {
    using module = context.load(source(body, parameters(type)));
    using out = context.buffer(8);
    await module.kernel('scale').launch(LANES, out, anything(value));
    return out.read().buffer;
  };
  await assert.rejects(run(undefined, 1), usage(/argument 2, 1: the metadata does not say the type; .*Int32Array\.of/));
  assert.equal(new Float64Array(await run(undefined, Float64Array.of(0.1)))[0], 0.1);
  assert.equal(new BigInt64Array(await run(undefined, -5n))[0], -5n);
  assert.equal(new BigInt64Array(await run('long', 2 ** 40))[0], 2n ** 40n);
  assert.equal(new BigUint64Array(await run('ulong', 2n ** 64n - 1n))[0], 2n ** 64n - 1n);
  await assert.rejects(run('ulong', -1), usage(/'-1' is no u64/));
  assert.equal(new Float64Array(await run('double', 0.1))[0], 0.1);
  assert.deepEqual(new Float32Array(await run('float2', [1, 0.5])), Float32Array.of(1, 0.5));
  assert.deepEqual(new Float32Array(await run('float2', Float32Array.of(1, 2))), Float32Array.of(1, 2));
  await assert.rejects(run('float2', Float64Array.of(1)), usage(/expected elements of type f32/));
  await assert.rejects(run('float2', 1), usage(/expected 2 numbers/));
});

test('local memory, and functions that kernels call', async () => {
  const body = `s_load_dwordx2 s[2:3], s[0:1], 0x0
    s_load_dwordx2 s[4:5], s[0:1], 0x8
    v_mov_b32 v1, 0
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v2, s4
    v_mov_b32 v3, s5
    global_store_dwordx2 v1, v[2:3], s[2:3]`;
  const local = { kind: 'dynamic_shared_pointer', size: 4 };
  using module = context.load(source(body, [{ kind: 'global_buffer', size: 8 }, local, local]));
  using out = context.buffer(new Uint32Array(2));
  await module.kernel('scale').launch(LANES, out, new LocalMemory(20), new LocalMemory(4));
  assert.deepEqual(out.read(), Uint32Array.of(0, 32), 'each begins where its alignment allows');
  await assert.rejects(module.kernel('scale').launch(LANES, out, new LocalMemory(70_000), new LocalMemory(4)), {
    code: 'LIMIT_EXCEEDED',
    message: /kernel 'scale' asks for 70004 bytes of group memory/,
  });
  assert.throws(() => new LocalMemory(0), usage(/0 bytes of local memory/));

  using linked = context.load([example('link/apply.gfx90a.co'), example('link/filters.gfx90a.co')]);
  using pixels = context.buffer(Uint32Array.of(0x010203, 0x4080c0));
  using inverted = context.buffer(new Uint32Array(2));
  const invert = linked.deviceFunction('invert');
  await linked.kernel('apply').launch({ grid: 2, workgroup: 64 }, inverted, pixels, invert, 2);
  assert.deepEqual(inverted.read(), Uint32Array.of(0xfefdfc, 0xbf7f3f));
  assert.throws(() => linked.deviceFunction('nothing'), {
    code: 'BAD_INPUT',
    message: /no device function 'nothing'; .*invert/,
  });
});

/** Runs until the host stores something at the address. */
const SPIN = source(
  `s_load_dwordx2 s[2:3], s[0:1], 0x0
.Lagain:
    s_sleep 1
    s_load_dword s4, s[2:3], 0x0 glc
    s_waitcnt lgkmcnt(0)
    s_cmp_eq_u32 s4, 0
    s_cbranch_scc1 .Lagain`,
  [{ kind: 'global_buffer', size: 8 }],
);

test('variables of a module are read and written', () => {
  const variable = '  .globl answer\n  .type answer,@object\n  .size answer, 4\n  .data\nanswer:\n  .long 42\n';
  using module = context.load(SCALE + variable);
  const bytes = module.variable('answer');
  assert.deepEqual([...bytes], [42, 0, 0, 0]);
  bytes[1] = 7;
  assert.deepEqual([...module.variable('answer')], [42, 7, 0, 0]);
  assert.throws(() => module.variable('scale'), {
    code: 'BAD_INPUT',
    message: /no variable 'scale'; there are answer/,
  });
});

test('the event loop has its turns, and launches run one after the other', async () => {
  const spin = context.load(SPIN).kernel('scale');
  using flag = context.buffer(new Int32Array(1));
  using out = context.buffer(new Int32Array(64));
  const order: string[] = [];
  setTimeout(() => {
    order.push('timer');
    flag.write(Int32Array.of(1));
  }, 30);
  const launches = [
    spin.launch(LANES, flag).then(() => order.push('spin')),
    scale.launch(LANES, out, 3).then(() => order.push('scale')),
  ];
  await Promise.all(launches);
  assert.deepEqual(order, ['timer', 'spin', 'scale']);
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const end = performance.now() + 300;
  while (performance.now() < end) await scale.launch(LANES, out, 3);
  clearInterval(timer);
  assert.ok(turns > 0, 'a loop over short launches leaves turns, too');
});

test('code that is unloaded while another kernel runs leaves it alone', async () => {
  using small = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 22 });
  using inner = createContext(small);
  const spin = inner.load(SPIN).kernel('scale');
  const other = inner.load(SCALE);
  using flag = inner.buffer(new Int32Array(1));
  await other.kernel('scale').launch(LANES, inner.buffer(256), 1);
  const running = spin.launch({ ...LANES, timeoutMs: 10_000 }, flag);
  setTimeout(() => {
    other[Symbol.dispose]();
    setTimeout(() => flag.write(Int32Array.of(1)), 10);
  }, 30);
  assert.equal((await running).statistics.waves, 1);
});

test('a launch that is stopped, or faults, leaves the context usable', async () => {
  const spin = context.load(SPIN).kernel('scale');
  using flag = context.buffer(new Int32Array(1));
  using out = context.buffer(new Int32Array(64));
  const works = async () => {
    await scale.launch(LANES, out, 3);
    assert.equal(out.read()[2], 6);
  };
  await assert.rejects(spin.launch({ ...LANES, timeoutMs: 20 }, flag), (error) => {
    assert.ok(error instanceof WavewrightError && error.code === 'TIMEOUT');
    assert.match(error.message, /^kernel 'scale' did not end within 0\.02 s\n {2}.*scale\+0x/);
    return true;
  });
  await works();
  const controller = new AbortController();
  const stopped = spin.launch({ ...LANES, signal: controller.signal }, flag);
  const next = scale.launch({ ...LANES, signal: controller.signal }, out, 3);
  const reason = new Error('enough');
  setTimeout(() => controller.abort(reason), 10);
  assert.deepEqual(
    (await Promise.allSettled([stopped, next])).map((each) => each.status === 'rejected' && each.reason),
    [reason, reason],
  );
  await works();
  await assert.rejects(scale.launch(LANES, 4096n, 3), {
    code: 'GPU_FAULT',
    message: /^kernel 'scale': invalid write of address 0x1[0-9a-f]{3} by 'global_store_dword/,
  });
  await works();
});

test('what was disposed is refused in words', async () => {
  const other = createContext(device);
  const module = other.load(SCALE);
  const kernel = module.kernel('scale');
  const buffer = other.buffer(new Int32Array(64));
  const freed = other.buffer(new Int32Array(64));
  freed[Symbol.dispose]();
  freed[Symbol.dispose]();
  assert.throws(() => freed.read(), usage(/a buffer of 64 Int32Array elements that was freed/));
  await assert.rejects(kernel.launch(LANES, freed, 1), usage(/kernel 'scale': a buffer of 64 .* that was freed/));
  await kernel.launch(LANES, buffer, 1);
  const spin = other
    .load(SPIN)
    .kernel('scale')
    .launch(LANES, other.buffer(new Int32Array(1)));
  setTimeout(() => other[Symbol.dispose](), 10);
  await assert.rejects(spin, usage(/the context was disposed/));
  other[Symbol.dispose]();
  buffer[Symbol.dispose]();
  module[Symbol.dispose]();
  assert.throws(() => buffer.read(), WavewrightError);
  assert.throws(() => other.load(SCALE), usage(/the context was disposed/));
  assert.throws(() => other.buffer(4), usage(/the context was disposed/));
  await assert.rejects(kernel.launch(LANES, buffer, 1), usage(/the context was disposed/));
  using again = createContext(device);
  const unloaded = again.load(SCALE);
  const gone = unloaded.kernel('scale');
  unloaded[Symbol.dispose]();
  await assert.rejects(gone.launch(LANES, again.buffer(256), 1), {
    code: 'USAGE',
    message: /the executable was destroyed/,
  });
});

test('code and buffers that cannot be are named', () => {
  assert.throws(() => context.load('  s_nothing\n', { name: 'x.s' }), {
    code: 'BAD_INPUT',
    message: /^x\.s:1:3: unknown instruction 's_nothing'/,
  });
  assert.throws(() => context.load(Uint8Array.of(1, 2, 3)), { code: 'BAD_INPUT', message: /neither an ELF file/ });
  assert.throws(() => context.load(example('kernels/vadd.gfx1100.co')), { code: 'UNSUPPORTED' });
  assert.throws(() => context.load([]), usage(/no code to load/));
  assert.throws(() => context.load('', anything(null)), usage(/null, expected options such as/));
  for (const value of [undefined, {}, null]) {
    assert.throws(() => createContext(anything(value)), {
      code: 'USAGE',
      message: /expected what createEmulatedDevice gives/,
    });
    assert.throws(() => createEmulatedDevice(anything(value)), usage(/a device without a processor/));
  }
  assert.throws(() => context.load(anything(5)), usage(/5, expected bytes or assembler source/));
  assert.throws(() => context.load(SCALE).kernel('scala'), { message: /no kernel 'scala'; there are scale$/ });
  for (const [contents, message] of [
    [0, /a buffer of 0 bytes/],
    [1.5, /a buffer of 1\.5 bytes/],
    [new Float32Array(0), /a buffer of 0 bytes/],
    ['text', /a buffer of "text", expected a typed array/],
    [new DataView(new ArrayBuffer(4)), /expected a typed array/],
  ] as const) {
    assert.throws(() => context.buffer(anything(contents)), usage(message));
  }
  assert.throws(() => context.buffer(2 ** 30), { code: 'LIMIT_EXCEEDED' });
  using buffer = context.buffer(new Float32Array(4));
  assert.throws(
    () => buffer.write(anything(new Int32Array(1))),
    usage(/a Int32Array of 1 for a buffer of Float32Array/),
  );
  assert.throws(() => buffer.write(new Float32Array(2), 3), usage(/2 elements from number 3 on, the buffer has 4/));
  assert.throws(() => buffer.write(new Float32Array(1), -1), usage(/from number -1 on/));
});
