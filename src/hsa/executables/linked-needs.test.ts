/** What linked code needs, over all that it calls. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../../assembler/assemble-file.ts';
import { createEmulatedDevice } from '../../devices/emulated/index.ts';
import { UNKNOWN_STACK_BYTES } from '../../launch/private-memory.ts';
import type { CodeNeeds } from '../../lift/call-graph.ts';
import { callText } from '../runtime/call.test-support.ts';
import { createRuntime } from '../runtime/runtime.ts';
import type { KernelSymbol } from './kernel-symbol.ts';
import { CodeObjectReader } from './loaded-code-object.ts';

const device = createEmulatedDevice({ processor: 'gfx942', memorySizeBytes: 2 ** 28 });

/** Each source is a relocatable object. */
function link(...sources: readonly string[]) {
  const runtime = createRuntime({ devices: [device] });
  const executable = runtime.createExecutable();
  for (const [i, source] of sources.entries()) {
    const bytes = assembleFile(source, { processor: 'gfx942', file: `${i}.s` });
    executable.loadCodeObject(runtime.gpuAgents[0]!, new CodeObjectReader(bytes, `${i}.o`));
  }
  executable.freeze();
  const needs = (name: string): CodeNeeds => {
    const symbol = executable.getSymbol(name);
    assert.ok(symbol.kind === 'indirect-function' && symbol.needs, name);
    return symbol.needs;
  };
  return { executable, needs };
}

const symbol = (name: string): string => `.text\n.globl ${name}\n.type ${name},@function\n${name}:\n`;
/** Uses `frame` bytes of stack, then calls in turn. */
function func(name: string, { frame = 0, calls = [] as readonly string[], body = '', size = true } = {}): string {
  const calling = calls.map(callText).join('');
  const code = `s_add_i32 s32, s32, ${frame}\n ${body}\n ${calling} s_add_i32 s32, s32, ${-frame}\n s_setpc_b64 s[30:31]\n`;
  return `${symbol(name)} ${code}${size ? `.size ${name}, .-${name}\n` : ''}`;
}
const kernel = (name: string, { calls = [] as readonly string[], dynamic = 0 } = {}): string =>
  `.text\n.p2align 8\n.globl ${name}\n.protected ${name}\n.type ${name},@function\n${name}:\n s_mov_b32 s32, 0\n ${calls.map(callText).join('')} s_endpgm
.size ${name}, .-${name}
.rodata
.p2align 6
.amdhsa_kernel ${name}
 .amdhsa_next_free_vgpr 8
 .amdhsa_next_free_sgpr 34
 .amdhsa_accum_offset 8
 .amdhsa_uses_dynamic_stack ${dynamic}
.end_amdhsa_kernel
`;

test('the deepest path counts, over objects and with what other paths share', () => {
  const { needs } = link(
    func('top', { frame: 16, calls: ['left', 'right'] }),
    func('left', { frame: 100, calls: ['leaf'] }) + func('right', { frame: 32, calls: ['middle'] }),
    func('middle', { frame: 96, calls: ['leaf'], body: 'v_mov_b32_e32 v77, 0' }) + func('leaf', { frame: 8 }),
  );
  const { privateSegmentSizeBytes, isStackKnown, vgprCount, callees, directCallees } = needs('top');
  assert.deepEqual([privateSegmentSizeBytes, isStackKnown, vgprCount], [16 + 32 + 96 + 8, true, 78]);
  assert.deepEqual(callees, ['left', 'right', 'leaf', 'middle']);
  assert.deepEqual(directCallees, ['left', 'right']);
  assert.equal(needs('left').vgprCount, 0);
});

test('a cycle is recursion for all in it and above it, and has the same needs from wherever it is asked', () => {
  const sources = [
    func('above', { frame: 4, calls: ['a'] }),
    func('a', { frame: 16, calls: ['b'] }) + func('b', { frame: 64, calls: ['c', 'below'] }),
    func('c', { frame: 32, calls: ['a'] }) + func('below', { frame: 8, body: 'v_mov_b32_e32 v9, 0' }),
  ];
  for (const first of ['a', 'b', 'c']) {
    const { needs } = link(...sources);
    const seen = needs(first);
    for (const name of ['a', 'b', 'c', 'above']) {
      assert.deepEqual([needs(name).isRecursive, needs(name).isStackKnown, needs(name).vgprCount], [true, false, 10]);
    }
    assert.ok(seen.privateSegmentSizeBytes >= 64 + 8 + 16);
    assert.equal(needs('above').privateSegmentSizeBytes, 4 + seen.privateSegmentSizeBytes);
    assert.deepEqual([needs('below').isRecursive, needs('below').privateSegmentSizeBytes], [false, 8]);
  }
});

test('an indirect call may reach every device function', () => {
  const { needs } = link(
    func('caller', { frame: 16, body: 's_swappc_b64 s[30:31], s[6:7]' }) +
      func('above', { frame: 4, calls: ['caller'] }),
    func('large', { frame: 256, body: 'v_mov_b32_e32 v99, 0' }),
  );
  const { hasIndirectCalls, isStackKnown, isRecursive, vgprCount, privateSegmentSizeBytes, callees } = needs('above');
  assert.deepEqual([hasIndirectCalls, isStackKnown, isRecursive, vgprCount], [true, false, false, 100]);
  assert.equal(privateSegmentSizeBytes, 4 + 16 + 256);
  assert.deepEqual(callees, ['caller', 'large']);
  assert.equal(needs('large').hasIndirectCalls, false);
});

test('functions without sizes end where the next one begins, and may run into it', () => {
  const { needs } = link(
    `${func('a', { body: 'v_mov_b32_e32 v20, 0', size: false })}${symbol('through')} v_mov_b32_e32 v3, 0\n${func('b', { frame: 24, body: 'v_mov_b32_e32 v40, 0', size: false })}`,
  );
  assert.deepEqual([needs('a').vgprCount, needs('b').vgprCount], [21, 41]);
  assert.deepEqual([needs('through').vgprCount, needs('through').callees], [41, ['b']]);
  assert.equal(needs('through').privateSegmentSizeBytes, 24);
});

test('code that no symbol names is looked into by its address', () => {
  const body = 's_getpc_b64 s[4:5]\n s_add_u32 s4, s4, 36\n s_addc_u32 s5, s5, 0\n s_swappc_b64 s[30:31], s[4:5]';
  const { needs } = link(
    `${func('caller', { body })} .fill 4, 4, 0xbf800000\n v_mov_b32_e32 v50, 0\n s_setpc_b64 s[30:31]\n`,
  );
  const { hasIndirectCalls, callees, vgprCount } = needs('caller');
  assert.equal(hasIndirectCalls, false);
  assert.match(callees.join(), /^0x7f[0-9a-f]+$/);
  assert.equal(vgprCount, 51);
});

test('code that cannot be read may need everything', () => {
  const { executable, needs } = link(
    kernel('k', { calls: ['odd'] }),
    `${symbol('odd')} .long 0xffffffff\n s_setpc_b64 s[30:31]\n.size odd, .-odd\n`,
  );
  assert.deepEqual([needs('odd').isReadable, needs('odd').vgprCount, needs('odd').agprCount], [false, 256, 256]);
  const { hardwareProblems } = executable.getSymbol('k.kd') as KernelSymbol;
  assert.match(hardwareProblems.join('; '), /needs 256 VGPRs, .*reaches code that cannot be read/);
});

const INFO = `.section .amdgpu.info,"e",@progbits\n`;
const told = (name: string, numbers: Readonly<Record<number, number>>, calls: readonly string[] = []): string =>
  `${INFO}.byte 1, 8\n.quad ${name}\n` +
  Object.entries(numbers)
    .map(([kind, value]) => `.byte ${kind}, 4\n.long ${value}\n`)
    .join('') +
  calls.map((callee) => `.byte 8, 8\n.quad ${callee}\n`).join('');

test('what the compiler says in .amdgpu.info comes before what the code shows', () => {
  const { needs } = link(
    `${func('a', { frame: 8, calls: ['b'] })}${told('a', { 3: 40, 4: 60, 5: 12, 6: 512, 2: 1 }, ['b'])}`,
    `${func('b', { frame: 16, body: 'v_mov_b32_e32 v5, 0' })}${func('c')}${told('c', { 4: 3, 6: 64, 2: 4 })}`,
    `${func('d')}${told('d', { 4: 2 }, ['c'])}.byte 200, 3, 1, 2, 3\n.byte 9, 4\n.long 0\n`,
  );
  const a = needs('a');
  // The function that it calls is read from code: gfx942 has all that stands before VCC.
  assert.deepEqual([a.vgprCount, a.agprCount, a.sgprCount, a.specialSgprCount], [60, 12, 40, 6]);
  assert.deepEqual([a.privateSegmentSizeBytes, a.isStackKnown, a.callees], [512 + 16, true, ['b']]);
  assert.deepEqual([needs('b').vgprCount, needs('c').isStackKnown], [6, false]);
  assert.deepEqual([needs('d').hasIndirectCalls, needs('d').isStackKnown], [true, false]);
});

test('a call in .amdgpu.info of what is not there is one of unknown needs', () => {
  const { needs } = link(`${func('a')}${told('a', { 4: 2 }, ['ghost'])}`);
  assert.equal(needs('a').hasIndirectCalls, true);
});

test('SGPRs behind the numbered ones are part of what hardware must have', () => {
  const { executable } = link(
    kernel('k', { calls: ['f'] }),
    func('f', { body: 's_mov_b32 s45, 0\n s_mov_b64 flat_scratch, 0' }),
  );
  const { hardwareProblems } = executable.getSymbol('k.kd') as KernelSymbol;
  assert.deepEqual(hardwareProblems, ['needs 52 SGPRs, its descriptor asks for 40']);
});

test('SGPRs that the hardware allocates besides are no problem', () => {
  const { executable } = link(
    kernel('k', { calls: ['f'] }),
    func('f', { body: 's_mov_b32 s41, 0\n s_mov_b64 flat_scratch, 0' }),
  );
  // 48 SGPRs: the descriptor asks for 40, of which the hardware makes a multiple of 16.
  const { hardwareProblems } = executable.getSymbol('k.kd') as KernelSymbol;
  assert.deepEqual(hardwareProblems, []);
});

test('a packet gets what is known to be needed, and more where that is not all', () => {
  const { executable } = link(
    kernel('known', { calls: ['leaf'], dynamic: 1 }) + kernel('unknown', { calls: ['loop'] }),
    func('leaf', { frame: 2000 }) + func('loop', { frame: 48, calls: ['loop'] }),
  );
  const [known, unknown] = ['known', 'unknown'].map((name) => executable.getSymbol(`${name}.kd`) as KernelSymbol);
  assert.deepEqual([known!.dynamicCallstack, known!.privateSegmentSizeBytes], [false, 2000]);
  assert.deepEqual(
    [0, 2000, 2001].map((bytes) => known!.privateBytesFor(bytes)),
    [2000, 2000, 2001],
  );
  assert.deepEqual([unknown!.dynamicCallstack, unknown!.privateSegmentSizeBytes], [true, 48]);
  // What the symbol says is no choice of the host's, more is.
  assert.deepEqual(
    [0, 48, 49, 100_000].map((bytes) => unknown!.privateBytesFor(bytes)),
    [48 + UNKNOWN_STACK_BYTES, 48 + UNKNOWN_STACK_BYTES, 49, 100_000],
  );
});

test('objects that a linker put into one file are looked into, where the compiler says that it did not see all', () => {
  const { executable } = link(kernel('k', { calls: ['leaf'], dynamic: 1 }) + func('leaf', { frame: 30_000 }));
  const symbol = executable.getSymbol('k.kd') as KernelSymbol;
  assert.deepEqual([symbol.dynamicCallstack, symbol.privateBytesFor(0)], [true, 30_000]);
  // A host that chooses has nothing looked into.
  assert.equal(symbol.privateBytesFor(16_384), 16_384);
});

test('a chain of calls may be as long as memory', () => {
  const count = 2500;
  const names = Array.from({ length: count }, (_, i) => `f${i}`);
  const source = names.map((name, i) => func(name, { frame: 4, calls: i + 1 < count ? [names[i + 1]!] : [] }));
  const { needs } = link(source.join(''));
  assert.deepEqual([needs('f0').privateSegmentSizeBytes, needs('f0').isStackKnown], [4 * count, true]);
  assert.equal(needs('f0').callees.length, count - 1);
  assert.equal(needs('f2400').privateSegmentSizeBytes, 400);
});
