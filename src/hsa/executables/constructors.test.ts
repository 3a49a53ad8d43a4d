/** Constructors and destructors of linked code, on the emulated device. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../../assembler/assemble-file.ts';
import { createEmulatedDevice } from '../../devices/emulated/index.ts';
import { linkCodeObject } from '../../linker/link.ts';
import { HsaError } from '../objects/status.ts';
import { createRuntime } from '../runtime/runtime.ts';
import { constructorCalls } from './constructors.ts';
import type { FreezeOptions } from './executable.ts';
import { CodeObjectReader } from './loaded-code-object.ts';

const device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 26 });

const address = (register: number, name: string): string =>
  ` s_getpc_b64 s[${register}:${register + 1}]
 s_add_u32 s${register}, s${register}, ${name}@rel32@lo+4
 s_addc_u32 s${register + 1}, s${register + 1}, ${name}@rel32@hi+12
`;

/** Calls what the array holds, as compilers write it; destructors from the last one on. */
function caller(phase: 'init' | 'fini'): string {
  const name = `amdgcn.device.${phase}`;
  const [next, end, step] = phase === 'init' ? ['start', 'end', 8] : ['end', 'start', -8];
  const move = ` s_add_u32 s36, s36, ${step}\n s_addc_u32 s37, s37, ${step < 0 ? -1 : 0}\n`;
  return `.text
.p2align 8
.weak ${name}
.protected ${name}
.type ${name},@function
${name}:
 s_mov_b32 s32, 0
${address(36, `__${phase}_array_${next}`)}${address(38, `__${phase}_array_${end}`)}.Lnext_${phase}:
 s_cmp_eq_u64 s[36:37], s[38:39]
 s_cbranch_scc1 .Ldone_${phase}
${step < 0 ? move : ''} s_load_dwordx2 s[40:41], s[36:37], 0x0
 s_waitcnt lgkmcnt(0)
 s_swappc_b64 s[30:31], s[40:41]
${step > 0 ? move : ''} s_branch .Lnext_${phase}
.Ldone_${phase}:
 s_endpgm
.size ${name}, .-${name}
.section .rodata.${name},"a",@progbits
.p2align 6
.weak ${name}.kd
.amdhsa_kernel ${name}
 .amdhsa_next_free_vgpr 8
 .amdhsa_next_free_sgpr 48
 .amdhsa_accum_offset 8
.end_amdhsa_kernel
`;
}

/** A function in the array of the given section that appends a digit to `order`. */
const digit = (value: number, section: string, kind: 'init' | 'fini'): string => `.text
.p2align 2
.type f${value},@function
f${value}:
${address(42, 'order')} v_mov_b32_e32 v0, 0
 global_load_dword v1, v0, s[42:43]
 s_waitcnt vmcnt(0)
 v_mul_u32_u24_e32 v1, 10, v1
 v_add_u32_e32 v1, ${value}, v1
 global_store_dword v0, v1, s[42:43]
 s_waitcnt vmcnt(0)
 s_setpc_b64 s[30:31]
.size f${value}, .-f${value}
.section ${section},"aw",@${kind}_array
.p2align 3
.quad f${value}
`;
const init = (value: number, priority = ''): string => digit(value, `.init_array${priority}`, 'init');
const fini = (value: number, priority = ''): string => digit(value, `.fini_array${priority}`, 'fini');
const order = (visibility = 'hidden'): string =>
  `.data\n.p2align 3\n.weak order\n.${visibility} order\n.type order,@object\n.size order, 8\norder: .quad 0\n`;

const object = (name: string, ...texts: string[]) => ({
  name,
  bytes: assembleFile(texts.join(''), { processor: 'gfx90a', file: name }),
});
const linked = (name: string, ...texts: string[]) => ({ name, bytes: linkCodeObject([object(name, ...texts)]) });

function freeze(parts: readonly { name: string; bytes: Uint8Array }[], options: FreezeOptions = {}) {
  const runtime = createRuntime({ devices: [device] });
  const executable = runtime.createExecutable();
  for (const { bytes, name } of parts) {
    executable.loadCodeObject(runtime.gpuAgents[0]!, new CodeObjectReader(bytes, name));
  }
  executable.freeze(options);
  /** What the functions of a file left, newest last. */
  const seen = (file: number): number => {
    const { codeObject, view } = executable.loadedCodeObjects[file]!;
    const symbol = codeObject.elf.symbols.find(({ name }) => name === 'order')!;
    const bytes = view.call(executable.loadedCodeObjects[file], symbol.value, 4, 'order');
    return new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  };
  return { executable, seen };
}

const both = caller('init') + caller('fini');

test('those of relocatable objects run once, over all files by priority, destructors the other way round', () => {
  const a = object('a.o', both, init(1), init(2, '.200'), fini(3), fini(4, '.200'), order());
  const b = object('b.o', both, init(5), init(6, '.101'), fini(7), fini(8, '.300'), order());
  const { executable, seen } = freeze([a, b]);
  assert.deepEqual([seen(0), seen(1)], [6215, 0]);
  executable.runDestructors();
  assert.deepEqual([seen(0), seen(1)], [62157384, 0]);
  executable.runDestructors();
  assert.equal(seen(0), 62157384);
});

test('those of code objects run by themselves, in the order of loading', () => {
  const a = linked('a.co', both, init(1), fini(2), order('protected'));
  const b = linked('b.co', both, init(3), fini(4), order('protected'));
  const { executable, seen } = freeze([object('c.o', both, init(5), order()), a, b]);
  assert.deepEqual([0, 1, 2].map(seen), [5, 1, 3]);
  assert.deepEqual(
    constructorCalls(executable, 'init').map(({ codeObjects }) => codeObjects.map(({ name }) => name)),
    [['a.co'], ['b.co'], ['c.o']],
  );
  executable.runDestructors();
  assert.deepEqual([0, 1, 2].map(seen), [5, 12, 34]);
});

test('none run where none are asked for', () => {
  const { executable, seen } = freeze([object('a.o', both, init(1), fini(2), order())], { constructors: 'none' });
  executable.runDestructors();
  assert.equal(seen(0), 0);
});

test('constructors that no kernel calls are refused, an object without them needs none', () => {
  const refused = (error: unknown) =>
    error instanceof HsaError && /a\.o: it has constructors, but no file has the kernel/.test(error.message);
  assert.throws(() => freeze([object('a.o', init(1), order())]), refused);
  assert.equal(freeze([object('a.o', order())]).seen(0), 0);
  assert.equal(freeze([object('a.o', init(1), order()), object('b.o', caller('init'))]).seen(0), 1);
});

test('a fault in a constructor names its kernel, one that does not end runs out of time', () => {
  const fault = `.text\n.p2align 2\nbad: v_mov_b32_e32 v0, 0\n v_mov_b32_e32 v1, 0\n flat_store_dword v[0:1], v0\n s_setpc_b64 s[30:31]\n.section .init_array,"aw",@init_array\n.quad bad\n`;
  assert.throws(() => freeze([object('a.o', caller('init'), fault)]), /kernel 'amdgcn\.device\.init'/);
  const endless = `.text\n.p2align 2\nbad: s_branch bad\n.section .init_array,"aw",@init_array\n.quad bad\n`;
  assert.throws(
    () => freeze([object('a.o', caller('init'), endless)], { timeoutMs: 50 }),
    /kernel 'amdgcn\.device\.init' did not end within 0\.05 s/,
  );
});

test('a kernel that asks for more than the device has is refused with its status', () => {
  const greedy = caller('init').replace(' .amdhsa_next', ' .amdhsa_group_segment_fixed_size 65537\n .amdhsa_next');
  assert.throws(
    () => freeze([object('a.o', greedy, init(1), order())]),
    (error: unknown) => error instanceof HsaError && error.status === 'INVALID_ALLOCATION',
  );
});
