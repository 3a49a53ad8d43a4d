/** Code objects that call each other, on the emulated device. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { assembleFile } from '../../assembler/assemble-file.ts';
import { createEmulatedDevice } from '../../devices/emulated/index.ts';
import { linkCodeObject } from '../../linker/link.ts';
import { HsaError } from '../objects/status.ts';
import { callText } from '../runtime/call.test-support.ts';
import { createRuntime } from '../runtime/runtime.ts';
import type { KernelSymbol } from './kernel-symbol.ts';
import { CodeObjectReader } from './loaded-code-object.ts';
import { symbolInfo } from './symbol-info.ts';

const EXAMPLES = path.join(import.meta.dirname, '../../../examples/link');

interface Part {
  readonly name: string;
  readonly bytes: Uint8Array;
}

const example = (name: string): Part => ({ name, bytes: new Uint8Array(readFileSync(path.join(EXAMPLES, name))) });

function setUp(processor = 'gfx90a') {
  const device = createEmulatedDevice({ processor, memorySizeBytes: 2 ** 28 });
  const runtime = createRuntime({ devices: [device] });
  const agent = runtime.gpuAgents[0]!;
  const executable = runtime.createExecutable();
  const load = (...parts: Part[]) =>
    parts.map(({ bytes, name }) => executable.loadCodeObject(agent, new CodeObjectReader(bytes, name)));
  const host = runtime.cpuAgent.pool('fine-grained');
  const words = (address: bigint, count: number): Uint32Array => {
    const bytes = runtime.view(address, count * 4);
    return new Uint32Array(bytes.buffer, bytes.byteOffset, count);
  };
  /** One wave of one work-item; the argument is the address of a result. */
  const run = (name: string, privateSegmentSizeBytes = 0, more: readonly bigint[] = []): number => {
    const [out, kernarg] = [host.allocate(4), host.allocate(64)];
    new BigUint64Array(words(kernarg, 16).buffer, words(kernarg, 16).byteOffset, 8).set([out, ...more]);
    const done = runtime.createSignal(1n);
    const kernel = (executable.getSymbol(`${name}.kd`) as KernelSymbol).kernelObject;
    const sizes = { grid: [1], workgroup: [1], privateSegmentSizeBytes };
    runtime.createQueue(agent).dispatch({ kernel, kernarg, ...sizes, completionSignal: done });
    done.waitSync('lt', 1n);
    return words(out, 1)[0]!;
  };
  return { runtime, agent, device, executable, load, host, words, run };
}

const refused = (status: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof HsaError, String(error));
  assert.equal(error.status, status);
  assert.match(error.message, message);
  return true;
};

type Visibility = 'protected' | 'hidden' | 'default';

const declare = (name: string, visibility: Visibility, binding = 'globl'): string =>
  `.${binding} ${name}\n${visibility === 'default' ? '' : `.${visibility} ${name}\n`}.type ${name},@function\n${name}:\n`;

/**
 * A function of v0 that ends with a call of another one; the return address is kept in lanes of a register.
 */
function functionText(
  name: string,
  body: string,
  { binding = 'globl', visibility = 'protected' as Visibility, calls = '', keeps = 'v40' } = {},
) {
  const call = `v_writelane_b32 ${keeps}, s30, 0
 v_writelane_b32 ${keeps}, s31, 1
 ${callText(calls)}v_readlane_b32 s30, ${keeps}, 0
 v_readlane_b32 s31, ${keeps}, 1
`;
  return `.text\n${declare(name, visibility, binding)}${body}\n${calls === '' ? '' : call}s_setpc_b64 s[30:31]\n.size ${name}, .-${name}\n`;
}

/** Stores what a function makes of 1. */
function kernelText(name: string, call: string, setting = '.amdhsa_accum_offset 8'): string {
  return `.text\n.p2align 8\n${declare(name, 'protected')}s_load_dwordx4 s[36:39], s[0:1], 0x0
 s_waitcnt lgkmcnt(0)
 s_mov_b32 s32, 0
 v_mov_b32_e32 v0, 1
 ${call}
 v_mov_b32_e32 v1, 0
 global_store_dword v1, v0, s[36:37]
 s_endpgm
.size ${name}, .-${name}
.rodata
.p2align 6
.amdhsa_kernel ${name}
 .amdhsa_user_sgpr_kernarg_segment_ptr 1
 .amdhsa_next_free_vgpr 8
 .amdhsa_next_free_sgpr 48
 ${setting}
.end_amdhsa_kernel
`;
}

const object = (name: string, source: string, processor = 'gfx90a', features: string[] = []): Part => ({
  name,
  bytes: assembleFile(source, { processor, file: name, features }),
});
const linked = (name: string, source: string): Part => ({ name, bytes: linkCodeObject([object(name, source)]) });

const PIXELS = Uint32Array.from({ length: 100 }, (_, i) => Math.imul(i, 0x9e3779b1) >>> 8);
const blend = (a: number, b: number): number => ((a & 0xfefefe) >> 1) + ((b & 0xfefefe) >> 1);
const gray = (p: number): number =>
  ((((p >> 16) & 255) * 77 + ((p >> 8) & 255) * 150 + (p & 255) * 29) >> 8) * 0x010101;
/** The functions of examples/link/filters.c. */
const FILTERS: Readonly<Record<string, (p: number) => number>> = {
  invert: (p) => ~p & 0xffffff,
  gray,
  posterize: (p) => p & 0xc0c0c0,
  soften: (p) => blend(p, gray(p)),
  digits: (p) => {
    const digits = (q: number): number => (q < 10 ? q : ((q % 10) + 0x100 * digits(Math.floor(q / 10))) >>> 0);
    return digits(p);
  },
};

for (const processor of ['gfx90a', 'gfx1100']) {
  for (const order of [
    ['apply', 'filters'],
    ['filters', 'apply'],
  ]) {
    test(`compiled code objects link in the order ${order.join(', ')} (${processor})`, () => {
      const { runtime, agent, executable, load, host, words } = setUp(processor);
      load(...order.map((name) => example(`${name}.${processor}.co`)));
      executable.freeze();
      const sizeBytes = PIXELS.length * 4;
      const [out, input, kernarg] = [host.allocate(sizeBytes), host.allocate(sizeBytes), host.allocate(512)];
      words(input, PIXELS.length).set(PIXELS);
      const queue = runtime.createQueue(agent);
      const run = (name: string, extra: readonly bigint[]): number[] => {
        const kernel = executable.getSymbol(`${name}.kd`) as KernelSymbol;
        const view = words(kernarg, 128);
        const quads = new BigUint64Array(view.buffer, view.byteOffset, 64);
        quads.set([out, input, ...extra, BigInt(PIXELS.length)]);
        // Hidden arguments: two whole groups of 64 work-items, the group's size.
        const hidden = 8 * (extra.length + 3);
        new DataView(view.buffer, view.byteOffset + hidden, 16).setUint16(12, 64, true);
        const done = runtime.createSignal(1n);
        queue.dispatch({ kernel: kernel.kernelObject, kernarg, grid: [128], workgroup: [64], completionSignal: done });
        done.waitSync('lt', 1n);
        return [...words(out, PIXELS.length)];
      };
      for (const [name, filter] of Object.entries(FILTERS)) {
        const symbol = executable.getSymbol(name);
        assert.equal(symbol.kind, 'indirect-function');
        assert.deepEqual(run('apply', [symbol.address]), [...PIXELS].map(filter), name);
      }
      assert.deepEqual(run('soften_all', []), [...PIXELS].map(FILTERS['soften']!));
      const all = Object.values(FILTERS);
      assert.deepEqual(
        run('apply_each', []),
        [...PIXELS].map((p, i) => all[i % all.length]!(p)),
      );
    });
  }
}

test('a relocatable object loads directly and links with a linked one', () => {
  const { executable, load } = setUp();
  load(example('filters.gfx90a.o'), example('apply.gfx90a.co'));
  executable.freeze();
  assert.deepEqual(
    executable.symbols.filter(({ kind }) => kind === 'indirect-function').map(({ name }) => name),
    ['blend', ...Object.keys(FILTERS)].sort((a, b) => orderOf(executable, a) - orderOf(executable, b)),
  );
});

const orderOf = ({ symbols }: { symbols: readonly { name: string }[] }, name: string): number =>
  symbols.findIndex((symbol) => symbol.name === name);

test('what a linked kernel needs is known over the calls', () => {
  const { executable, load } = setUp();
  load(example('apply.gfx90a.co'), example('filters.gfx90a.co'));
  const kernel = executable.getSymbol('soften_all.kd') as KernelSymbol;
  assert.deepEqual([kernel.needs, kernel.dynamicCallstack], [undefined, true], 'as compiled');
  executable.freeze();
  assert.deepEqual(kernel.needs?.callees, ['soften', 'blend']);
  assert.equal(kernel.dynamicCallstack, false);
  const indirect = executable.getSymbol('apply.kd') as KernelSymbol;
  assert.equal(indirect.dynamicCallstack, true);
  assert.equal(indirect.needs?.hasIndirectCalls, true);
  assert.match(indirect.hardwareProblems.join('; '), /private memory of unknown size \(an indirect call\)/);
  const recursive = executable.getSymbol('digits');
  assert.ok(recursive.kind === 'indirect-function' && recursive.needs?.isRecursive);
});

test('a device function has an object address once the executable is frozen', () => {
  const { executable, load } = setUp();
  load(linked('f.co', functionText('f', 'v_add_u32_e32 v0, 1, v0')));
  const symbol = executable.getSymbol('f');
  assert.ok(symbol.kind === 'indirect-function');
  assert.equal(symbol.functionObject, 0n);
  executable.freeze();
  assert.equal(symbol.functionObject, symbol.address);
});

test('what can be asked of a device function by number', () => {
  const { agent, executable, load } = setUp();
  const [codeObject] = load(
    linked(
      'library.co',
      functionText('f', 'v_add_u32_e32 v8, 1, v0', { calls: 'g' }) +
        functionText('g', 's_nop 0') +
        functionText('inner', 's_nop 0', { visibility: 'hidden' }) +
        kernelText('k', 's_nop 0') +
        '.data\n.globl x\n.type x,@object\n.size x, 8\n.p2align 3\nx: .quad 1\n',
    ),
  );
  const ask = (name: string, id: number) => symbolInfo(executable.symbols.find((each) => each.name === name)!, id);
  const { address } = executable.getSymbol('f');
  assert.deepEqual([ask('f', 23), ask('f', 16)], [0n, 0]);
  executable.freeze();
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5, 17, 16, 23].map((id) => ask('f', id)),
    [2, 1, 'f', 0, '', 1, true, 0, address],
  );
  assert.deepEqual([ask('f', 20), ask('f', 0xa002)], [agent, codeObject]);
  assert.deepEqual(
    [0xa001, 0xa003, 0xa007].map((id) => ask('f', id)),
    [4, 41, ['g']],
  );
  assert.deepEqual([ask('inner', 5), ask('inner', 4)], [0, codeObject!.uri]);
  for (const id of [6, 9, 11, 14, 21, 22, 99]) {
    assert.throws(() => ask('f', id), refused('INVALID_ARGUMENT', /symbol 'f' \(indirect-function\)/));
  }
  assert.deepEqual(
    [ask('k.kd', 0), ask('k.kd', 22), ask('k.kd', 15)],
    [1, executable.getSymbol('k.kd').address, false],
  );
  assert.deepEqual([ask('x', 0), ask('x', 9), ask('x', 10)], [0, 8, false]);
  assert.equal(Number(ask('x', 8)) % 8, 0);
  assert.throws(() => ask('x', 23), refused('INVALID_ARGUMENT', /'x' \(variable\)/));
  const names = (functions: boolean) => executable.agentSymbols(agent, { functions }).map(({ name }) => name);
  assert.deepEqual(names(false).sort(), ['k.kd', 'x']);
  assert.ok(names(true).includes('inner'));
});

test('calls go back and forth between code objects, in cycles too', () => {
  const { executable, load, run } = setUp();
  load(
    object('a.o', kernelText('k', callText('f')) + functionText('h', 'v_add_u32_e32 v0, 16, v0')),
    object('b.o', functionText('f', 'v_lshlrev_b32_e32 v0, 1, v0', { calls: 'g' })),
    object('c.o', functionText('g', 'v_mul_u32_u24_e32 v0, 3, v0', { calls: 'h', keeps: 'v42' })),
  );
  executable.freeze();
  assert.equal(run('k'), 1 * 2 * 3 + 16);
  const { needs } = executable.getSymbol('k.kd') as KernelSymbol;
  assert.deepEqual(needs?.callees, ['f', 'g', 'h']);
  assert.equal(needs.vgprCount, 43);
});

test('functions that call each other are recursion', () => {
  const { executable, load } = setUp();
  load(
    object('a.o', kernelText('k', callText('even')) + functionText('even', 'v_mov_b32_e32 v0, v0', { calls: 'odd' })),
    object('b.o', functionText('odd', 'v_mov_b32_e32 v0, v0', { calls: 'even' })),
  );
  executable.freeze();
  const kernel = executable.getSymbol('k.kd') as KernelSymbol;
  assert.equal(kernel.needs?.isRecursive, true);
  assert.match(kernel.hardwareProblems.join('; '), /recursion/);
});

test('a strong function replaces a weak one, the first of two weak ones stays, two strong ones are refused', () => {
  const weak = { binding: 'weak' };
  const { executable, load, run } = setUp();
  load(
    object('user.o', kernelText('k', callText('f')) + kernelText('k2', callText('g'))),
    linked(
      'a.co',
      functionText('f', 'v_add_u32_e32 v0, 10, v0', weak) + functionText('g', 'v_add_u32_e32 v0, 20, v0', weak),
    ),
    linked('b.co', functionText('f', 'v_add_u32_e32 v0, 30, v0') + functionText('g', 'v_add_u32_e32 v0, 40, v0', weak)),
  );
  assert.throws(
    () => load(linked('c.co', functionText('f', 's_nop 0'))),
    refused('VARIABLE_ALREADY_DEFINED', /c\.co: symbol 'f'/),
  );
  executable.freeze();
  assert.equal(run('k'), 31);
  assert.equal(run('k2'), 21);
});

test('a function that nobody defines is named; a hidden one is not found', () => {
  const { executable, load } = setUp();
  load(
    object('user.o', kernelText('k', callText('f'))),
    linked('library.co', functionText('f', 's_nop 0', { visibility: 'hidden' })),
  );
  assert.equal(executable.linkMap().find(({ symbol }) => symbol.name === 'f')?.resolution, 'undefined');
  assert.throws(() => executable.freeze(), refused('VARIABLE_UNDEFINED', /user\.o: undefined symbol 'f'/));
  const local = executable.symbols.find(({ name }) => name === 'f');
  assert.equal(local?.linkage, 'module');
  assert.equal(executable.findSymbol('f'), undefined);
});

test('what a relocatable object declares as hidden must be in another one', () => {
  const user = object('user.o', `.hidden f\n${kernelText('k', callText('f'))}`);
  const body = 'v_add_u32_e32 v0, 3, v0';
  for (const others of [[], [linked('library.co', functionText('f', body))]]) {
    const { executable, load } = setUp();
    load(user, ...others);
    assert.throws(
      () => executable.freeze(),
      (error: unknown) =>
        refused('VARIABLE_UNDEFINED', /user\.o: undefined hidden symbol 'f'/)(error) &&
        /-fvisibility/.test((error as HsaError).context.hint ?? ''),
    );
  }
  const { executable, load, run } = setUp();
  load(user, object('library.o', functionText('f', body, { visibility: 'hidden' })));
  executable.freeze();
  assert.equal(run('k'), 4);
});

test('the host can define a function of one code object as one of its own choice', () => {
  const { agent, executable, load, run } = setUp();
  load(
    object('user.o', kernelText('k', callText('f'))),
    linked('library.co', functionText('instrumented', 'v_add_u32_e32 v0, 7, v0')),
  );
  executable.defineVariable(agent, 'f', executable.getSymbol('instrumented').address);
  executable.freeze();
  assert.equal(run('k'), 8);
});

test('a kernel calls what the host hands it', () => {
  const { executable, load, run } = setUp();
  load(
    object('user.o', kernelText('k', 's_swappc_b64 s[30:31], s[38:39]')),
    linked('library.co', functionText('f', 'v_add_u32_e32 v0, 5, v0') + functionText('g', 'v_add_u32_e32 v0, 6, v0')),
  );
  executable.freeze();
  assert.equal(run('k', 0, [executable.getSymbol('f').address]), 6);
  assert.equal(run('k', 0, [executable.getSymbol('g').address]), 7);
});

const WAVE64 = ['+wavefrontsize64'];
const WAVE64_USER = kernelText('k', callText('f'), '.amdhsa_wavefront_size32 0')
  .replace('global_store_dword', 'global_store_b32')
  .replace('s_load_dwordx4', 's_load_b128')
  .replace('s_load_dwordx2', 's_load_b64');

test('a wave32 library is refused for a wave64 kernel, before memory is touched', () => {
  const wave32 = functionText('f', 's_or_saveexec_b32 s4, -1\n s_mov_b32 exec_lo, s4');
  const { executable, load } = setUp('gfx1100');
  load(object('user.o', WAVE64_USER, 'gfx1100', WAVE64), object('library.o', wave32, 'gfx1100'));
  assert.throws(
    () => executable.freeze(),
    refused('INCOMPATIBLE_ARGUMENTS', /user\.o: 'f' of library\.o has waves of lanes: 32, its user has 64/),
  );
  assert.equal(executable.frozen, false);
});

test('a library whose code does not show its wave size is refused for a wave64 kernel until the user says it', () => {
  const unclear = functionText('f', 'v_cmp_lt_i32_e64 s[0:1], v0, v1\n v_cndmask_b32_e64 v0, 7, 8, s[0:1]');
  const parts = [object('user.o', WAVE64_USER, 'gfx1100', WAVE64), object('library.o', unclear, 'gfx1100', WAVE64)];
  const { executable, load } = setUp('gfx1100');
  load(...parts);
  const status = 'INCOMPATIBLE_ARGUMENTS';
  assert.throws(() => executable.freeze(), refused(status, /'f' of library\.o has waves of lanes: unknown/));
  assert.throws(() => executable.freeze({ waveSize: 32 }), refused(status, /'f' of library\.o has waves of lanes: 32/));
  executable.freeze({ waveSize: 64 });
});

test('a library with another xnack setting than the agent is refused', () => {
  const { load } = setUp();
  load(object('off.o', functionText('f', 's_nop 0'), 'gfx90a:xnack-'));
  assert.throws(
    () => load(object('on.o', functionText('g', 's_nop 0'), 'gfx90a:xnack+')),
    refused('INCOMPATIBLE_ARGUMENTS', /xnack on/),
  );
});

test('declared and defined kinds are compared', () => {
  const { executable, load } = setUp();
  load(
    object('user.o', `.type f,@function\n${kernelText('k', callText('f'))}`),
    linked('library.co', '.data\n.globl f\n.type f,@object\n.size f, 4\nf: .long 1\n'),
  );
  assert.deepEqual(executable.validate(), [
    "user.o: 'f' is declared as a function, library.co defines it as a variable",
  ]);
});

test('a fault in a device function names its kernel and stops its queue alone', () => {
  const { runtime, agent, executable, load, host, words } = setUp();
  const bad = 'v_mov_b32_e32 v2, 0x1234\n v_mov_b32_e32 v3, 0\n global_load_dword v0, v[2:3], off';
  load(
    object('user.o', kernelText('k', callText('f')) + kernelText('fine', 's_nop 0')),
    linked('library.co', functionText('f', bad)),
  );
  executable.freeze();
  const events: unknown[] = [];
  runtime.onSystemEvent(({ kernel, address, reason, fault }) => events.push([kernel, address, reason, fault.access]));
  const [out, kernarg] = [host.allocate(4), host.allocate(64)];
  new BigUint64Array(words(kernarg, 2).buffer, words(kernarg, 2).byteOffset, 1).set([out]);
  const errors: unknown[] = [];
  const onError = ({ error, kernel }: { error: Error; kernel?: string }) => errors.push([kernel, error.message]);
  const [broken, healthy] = [runtime.createQueue(agent, { onError }), runtime.createQueue(agent)];
  const start = (name: string, queue = healthy) => {
    const completionSignal = runtime.createSignal(1n);
    const { kernelObject: kernel } = executable.getSymbol(`${name}.kd`) as KernelSymbol;
    queue.dispatch({ kernel, kernarg, grid: [1], workgroup: [1], completionSignal });
    return completionSignal;
  };
  const lost = start('k', broken);
  assert.equal(start('fine').waitSync('eq', 0n), 0n);
  assert.throws(() => lost.waitSync('eq', 0n), refused('MEMORY_FAULT', /in f\+0x.*; kernel k; agent 1 \(gfx90a\)$/));
  assert.deepEqual(events, [['k', 0x1234n, 1, 'read']]);
  assert.equal(errors.length, 1);
  assert.throws(() => start('fine', broken), refused('MEMORY_FAULT', /kernel k/));
  assert.equal(start('fine').load() >= 0n, true);
  while (runtime.progress() !== 'idle');
  assert.equal(words(out, 1)[0], 1);
});

test('code objects of several agents share an executable, not their names', () => {
  const processors = ['gfx90a', 'gfx1100'];
  const devices = processors.map((processor, index) =>
    createEmulatedDevice({ processor, index, memorySizeBytes: 2 ** 26 }),
  );
  using runtime = createRuntime({ devices });
  const executable = runtime.createExecutable();
  for (const agent of runtime.gpuAgents) {
    for (const name of ['apply', 'filters']) {
      const { bytes } = example(`${name}.${agent.name}.co`);
      executable.loadCodeObject(agent, new CodeObjectReader(bytes, `${name}.${agent.name}`));
    }
  }
  executable.freeze();
  const addresses = runtime.gpuAgents.map((agent) => executable.getSymbol('soften', agent).address);
  assert.notEqual(addresses[0], addresses[1]);
  runtime.gpuAgents.forEach((agent, i) => {
    assert.deepEqual(runtime.memory.pointerInfo(addresses[i]!).agents, [agent]);
    const kernel = executable.getSymbol('soften_all.kd', agent) as KernelSymbol;
    const pool = runtime.cpuAgent.pool('fine-grained', agent);
    const [out, input, kernarg] = [pool.allocate(64), pool.allocate(64), pool.allocate(512)];
    const dwords = (address: bigint, count: number) =>
      new Uint32Array(runtime.view(address, count * 4).buffer, runtime.view(address, count * 4).byteOffset, count);
    dwords(input, 16).set(PIXELS.subarray(0, 16));
    const segment = dwords(kernarg, 128);
    new BigUint64Array(segment.buffer, segment.byteOffset, 3).set([out, input, 16n]);
    new DataView(segment.buffer, segment.byteOffset + 24, 16).setUint16(12, 16, true);
    const done = runtime.createSignal(1n, agent);
    const queue = runtime.createQueue(agent);
    queue.dispatch({ kernel: kernel.kernelObject, kernarg, grid: [16], workgroup: [16], completionSignal: done });
    done.waitSync('eq', 0n);
    assert.deepEqual([...dwords(out, 16)], [...PIXELS.subarray(0, 16)].map(FILTERS['soften']!));
  });
});

test('a fault says that the memory was freed', () => {
  const { runtime, agent, executable, load, host, words } = setUp();
  load(object('user.o', kernelText('k', 's_nop 0')));
  executable.freeze();
  const out = agent.pool('coarse-grained').allocate(8192, { label: 'result' });
  const kernarg = host.allocate(64);
  new BigUint64Array(words(kernarg, 2).buffer, words(kernarg, 2).byteOffset, 1).set([out + 4096n]);
  const queue = runtime.createQueue(agent);
  agent.pool('coarse-grained').free(out);
  const { kernelObject: kernel } = executable.getSymbol('k.kd') as KernelSymbol;
  queue.dispatch({ kernel, kernarg, grid: [1], workgroup: [1] });
  while (runtime.progress() !== 'idle');
  const { fault, kernel: name } = queue.error!;
  assert.deepEqual(fault?.freedAllocation, { address: out, sizeBytes: 8192, label: 'result' });
  assert.deepEqual([name, fault?.address, fault?.access, fault?.lane], ['k', out + 4096n, 'write', 0]);
  assert.match(fault?.message ?? '', /inside freed result/);
});
