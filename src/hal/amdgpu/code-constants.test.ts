/** Executables of several code objects: their constants, variables and device functions. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { assembleFile } from '../../assembler/assemble-file.ts';
import { conformanceModule } from '../conformance/kernels.test-support.ts';
import { contentsOf, integersOf } from '../conformance/readback.test-support.ts';
import { conformanceCode, createRegistry } from '../conformance/subject.test-support.ts';
import { HalError, type HalStatus } from '../core/status.ts';

/** `add` writes tile + offset + counter, of which others define `tile`, and `offset` is weak. */
const MAIN = `
  .text
  .globl add
  .p2align 8
  .type add,@function
add:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
${['tile', 'offset', 'counter']
  .map(
    (name, i) => `  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, ${name}@rel32@lo+4
  s_addc_u32 s5, s5, ${name}@rel32@hi+12
  s_load_dword s${6 + i}, s[4:5], 0x0`,
  )
  .join('\n')}
  s_waitcnt lgkmcnt(0)
  s_add_i32 s6, s6, s7
  s_add_i32 s6, s6, s8
  v_mov_b32 v0, 0
  v_mov_b32 v1, s6
  global_store_dword v0, v1, s[2:3]
  s_endpgm
  .size add, .-add
${variable('offset', '.weak', 5)}
${variable('counter', '.globl', 100)}
  .rodata
  .p2align 6
  .amdhsa_kernel add
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_kernarg_size 8
    .amdhsa_next_free_vgpr 2
    .amdhsa_next_free_sgpr 9
    .amdhsa_accum_offset 4
  .end_amdhsa_kernel
  .amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a
amdhsa.kernels:
  - .name: add
    .symbol: add.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 9
    .vgpr_count: 2
    .max_flat_workgroup_size: 64
    .reqd_workgroup_size: [1, 1, 1]
    .args:
      - .value_kind: global_buffer
        .address_space: global
        .offset: 0
        .size: 8
  .end_amdgpu_metadata
`;

function variable(name: string, binding: string, value: number): string {
  const symbol = `  ${binding} ${name}\n  .type ${name},@object\n`;
  return `  .data\n  .p2align 2\n${symbol}${name}: .long ${value}\n  .size ${name}, 4`;
}

const assemble = (source: string) => assembleFile(source, { processor: 'gfx90a', file: 'a.s' });
const main = assemble(MAIN);
/** A code object of examples/link. */
const example = (name: string): Uint8Array =>
  readFileSync(path.resolve(import.meta.dirname, `../../../examples/link/${name}.gfx90a.co`));

/** It throws this, with its hint. */
function fails(run: () => unknown, status: HalStatus, told: RegExp): void {
  assert.throws(run, (error) => {
    assert.ok(error instanceof HalError);
    assert.equal(error.status, status);
    assert.match(`${error.message} ${error.context.hint ?? ''}`, told);
    return true;
  });
}

const word = (value: number) => Int32Array.of(value);

test('constants are values of variables: of those that the code has, and of names that it lacks', async () => {
  using registry = createRegistry(2);
  const device = await registry.open('amdgpu?queues=1');
  const runs: number[][] = [];
  for (const constants of [{ tile: word(2) }, { tile: word(3), offset: word(-10), counter: word(2 ** 31 - 1) }]) {
    using code = device.load(main, { constants });
    for (const queue of device.queues) {
      using out = device.allocate(4, { deviceOrdinal: queue.deviceOrdinal });
      await queue.dispatch({ entry: code.lookup('add'), groups: 1, bindings: [out] });
      runs.push(await integersOf(device, out));
    }
  }
  assert.deepEqual(runs, [[107], [107], [(3 - 10 + 2 ** 31 - 1) | 0], [(3 - 10 + 2 ** 31 - 1) | 0]]);
  assert.equal(device.allocator.statistics.liveBytes, 0);
  // A device may go before its code and before buffers of its variables.
  const code = device.load(main, { constants: { tile: word(1) } });
  const counter = code.variable('counter');
  device[Symbol.dispose]();
  assert.throws(() => counter.read());
  counter[Symbol.dispose]();
  code[Symbol.dispose]();
});

test('what is no constant of the code is refused, with what there is', async () => {
  using registry = createRegistry();
  const device = await registry.open('amdgpu');
  const refused = (constants: object, told: RegExp) => {
    const given = { ...constants, tile: word(1), ...constants } as Record<string, Int32Array>;
    fails(() => device.load(main, { constants: given }), 'INVALID_ARGUMENT', told);
  };
  refused({ title: word(1) }, /no constant 'title'.*the code has tile, offset, counter/s);
  refused({ offset: new Int32Array(2) }, /'offset' of code has 4 bytes, 8 are given/);
  refused({ tile: 4 }, /'tile' is number, expected a view/);
  refused({ tile: new Int32Array(0) }, /'tile' is object, expected a view/);
  refused({ 'add.kd': word(1) }, /'add.kd' is a kernel of code, no variable/);
  const fixed = { constants: { filter_count: word(1) } };
  const told = /'filter_count' of code has a value that cannot change.*declare it extern/;
  fails(() => device.load(example('filters'), fixed), 'INVALID_ARGUMENT', told);
  assert.throws(() => device.load(main), { status: 'INVALID_ARGUMENT', message: /undefined symbol 'tile'/ });
});

/** What the loader runs first: it stores seed + 1 to `target`. */
const constructing = (target: string): string => `
  .text
  .p2align 8
  .weak amdgcn.device.init
  .protected amdgcn.device.init
  .type amdgcn.device.init,@function
amdgcn.device.init:
${['seed', target]
  .map(
    (name, i) => `  s_getpc_b64 s[${2 + 2 * i}:${3 + 2 * i}]
  s_add_u32 s${2 + 2 * i}, s${2 + 2 * i}, ${name}@rel32@lo+4
  s_addc_u32 s${3 + 2 * i}, s${3 + 2 * i}, ${name}@rel32@hi+12`,
  )
  .join('\n')}
  v_mov_b32 v0, 0
  global_load_dword v1, v0, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_u32 v1, 1, v1
  global_store_dword v0, v1, s[4:5]
  s_endpgm
  .size amdgcn.device.init, .-amdgcn.device.init
  .rodata
  .p2align 6
  .weak amdgcn.device.init.kd
  .amdhsa_kernel amdgcn.device.init
    .amdhsa_next_free_vgpr 2
    .amdhsa_next_free_sgpr 8
    .amdhsa_accum_offset 4
  .end_amdhsa_kernel
${variable('seed', '.globl', 5)}
${variable('next', '.globl', 0)}
  .section .init_array,"aw",@init_array
  .p2align 3
  .quad seed`;

test('constants are there for constructors; what these or the linker write is none', async () => {
  using registry = createRegistry();
  const device = await registry.open('amdgpu');
  const told = /constant '\w+' of code does not keep the value that is given.* from a constructor.*no constant/s;
  using code = device.load(assemble(constructing('next')), { constants: { seed: word(40) } });
  assert.deepEqual([...new Int32Array(code.variable('next').read().buffer)], [41]);
  const writing = assemble(constructing('seed'));
  fails(() => device.load(writing, { constants: { seed: word(40) } }), 'INVALID_ARGUMENT', told);
  const pointer =
    '  .data\n  .p2align 3\n  .globl place\n  .type place,@object\nplace: .quad number\n  .size place, 8\n';
  const linked = assemble(`${variable('number', '.globl', 1)}\n${pointer}`);
  using plain = device.load(linked, { constants: { number: word(2) } });
  assert.deepEqual([...new Int32Array(plain.variable('number').read().buffer)], [2]);
  fails(() => device.load(linked, { constants: { place: Int32Array.of(1, 2) } }), 'INVALID_ARGUMENT', told);
});

test('variables of code are buffers, whose code lives as long as they do', async () => {
  using registry = createRegistry();
  const device = await registry.open('amdgpu');
  const code = device.load([main, assemble(variable('tile', '.globl', 1))]);
  const counter = code.variable('counter');
  assert.deepEqual([counter.sizeBytes, counter.read()], [4, new Uint8Array(word(100).buffer)]);
  await device.queue().update({ target: counter, contents: word(1000) });
  using out = device.allocate(4);
  await device.queue().dispatch({ entry: code.lookup('add'), groups: 1, bindings: [out] });
  assert.deepEqual(await integersOf(device, out), [1006]);
  fails(() => code.variable('tiles'), 'NOT_FOUND', /no variable 'tiles' .*variables: .*counter.*tile/);
  assert.throws(() => code.variable('tile', 1), { status: 'OUT_OF_RANGE' });
  code[Symbol.dispose]();
  assert.throws(() => code.variable('tile'), { status: 'INVALID_ARGUMENT' });
  assert.deepEqual(await contentsOf(device, counter), new Uint8Array(word(1000).buffer));
  counter[Symbol.dispose]();
  assert.throws(() => counter.read(), { status: 'FAILED_PRECONDITION' });
});

test('a cache loads the same code with the same constants once', async () => {
  using registry = createRegistry();
  const device = await registry.open('amdgpu');
  using cache = device.createExecutableCache({ maxCount: 3 });
  const one = cache.prepare(main, { constants: { tile: word(1), offset: word(2) } });
  assert.equal(cache.prepare(main.slice(), { constants: { offset: word(2), tile: word(1) } }), one);
  const two = cache.prepare(main, { constants: { tile: word(2), offset: word(1) } });
  assert.notEqual(two, one);
  const suite = conformanceCode('gfx90a');
  const three = cache.prepare(suite);
  assert.equal(cache.prepare([suite]), three);
  assert.deepEqual(cache.statistics, { count: 3, hitCount: 2 });
  const tiles = { constants: { tile: word(3) } };
  assert.throws(() => cache.prepare(main, tiles), { status: 'RESOURCE_EXHAUSTED' });
  // Who disposes one of them makes room.
  one[Symbol.dispose]();
  const again = cache.prepare(main, { constants: { tile: word(1), offset: word(2) } });
  assert.notEqual(again, one);
  assert.equal(cache.statistics.count, 3);
  cache[Symbol.dispose]();
  assert.throws(() => again.expectLive(), { status: 'INVALID_ARGUMENT' });
});

test('kernels call functions of another code object, by name and by address', async () => {
  using registry = createRegistry();
  const device = await registry.open('amdgpu');
  using code = device.load([example('apply'), example('filters')]);
  const pixels = Uint32Array.of(0x010203, 0x102030);
  const usage = ['default', 'mapping'] as const;
  using input = device.allocate(8, { memoryType: 'host-local', usage });
  using output = device.allocate(8, { memoryType: 'host-local', usage });
  input.write(pixels);
  const run = async (name: string, constants: readonly number[]): Promise<number[]> => {
    const order = { entry: code.lookup(name), groups: 1, workgroupSize: 64, bindings: [output, input] };
    await device.queue().dispatch({ ...order, constants });
    return [...new Uint32Array(output.read().buffer)];
  };
  const invert = code.functionAddress('invert');
  const address = [Number(invert & 0xffff_ffffn), Number(invert >> 32n)];
  assert.deepEqual(await run('apply', [...address, 2]), [0xfefdfc, 0xefdfcf]);
  assert.notDeepEqual(await run('soften_all', [2]), [0xfefdfc, 0xefdfcf]);
  fails(() => code.functionAddress('vignette'), 'NOT_FOUND', /no symbol 'vignette'.*functions are .*invert/);
  assert.throws(() => code.functionAddress('invert', 1), { status: 'OUT_OF_RANGE' });
});

test('functions of the host have no variables, no constants and no addresses', async () => {
  using registry = createRegistry();
  for (const driver of ['local', 'null']) {
    const device = await registry.open(driver);
    using code = device.load(conformanceModule());
    assert.throws(() => code.variable('x'), { status: 'NOT_FOUND', message: /host code has none/ });
    assert.throws(() => code.functionAddress('negate'), { status: 'NOT_FOUND' });
    const constants = { tile: word(1) };
    assert.throws(() => device.load(conformanceModule(), { constants }), {
      status: 'UNIMPLEMENTED',
      message: /'tile'/,
    });
  }
});
