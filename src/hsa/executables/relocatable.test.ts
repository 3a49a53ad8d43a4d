/** Relocatable objects that are loaded as they are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../../assembler/assemble-file.ts';
import { WavewrightError } from '../../base/errors.ts';
import { createEmulatedDevice } from '../../devices/emulated/index.ts';
import { parseElf } from '../../elf/elf.ts';
import { createRuntime } from '../runtime/runtime.ts';
import { CodeObjectReader } from './loaded-code-object.ts';

const device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 26 });
const assemble = (source: string) => assembleFile(source, { processor: 'gfx90a', file: 'a.s' });

function setUp(...objects: readonly Uint8Array[]) {
  const runtime = createRuntime({ devices: [device] });
  const executable = runtime.createExecutable();
  for (const [i, bytes] of objects.entries()) {
    executable.loadCodeObject(runtime.gpuAgents[0]!, new CodeObjectReader(bytes, `${i}.o`));
  }
  executable.freeze();
  const view = (name: string, offset = 0) => {
    const bytes = runtime.view(executable.getSymbol(name).address + BigInt(offset), 8);
    return new DataView(bytes.buffer, bytes.byteOffset, 8);
  };
  return { executable, view };
}

const variable = (name: string, section: string, text: string, rest = ''): string =>
  `${section}\n.globl ${name}\n${rest}.type ${name},@object\n.p2align 3\n${name}: ${text}\n.size ${name}, 8\n`;
const LIBRARY = assemble(
  `${variable('ext', '.data', '.quad 0x1122334455667788')}.text\n.globl g\n.type g,@function\ng: s_setpc_b64 s[30:31]\n.size g, .-g\n`,
);

const low = (value: bigint): number => Number(BigInt.asUintN(32, value));
const high = (value: bigint): number => Number(BigInt.asUintN(32, value >> 32n));

/** Text of a dword or two, and what stands there: S is the symbol, P the place, both loaded. */
const FIELDS: readonly [
  type: string,
  text: string,
  width: 32 | 64,
  value: (s: bigint, p: bigint) => bigint | number,
][] = [
  ['ABS64', '.quad SYM+8', 64, (s) => s + 8n],
  ['REL64', '.quad SYM-.', 64, (s, p) => BigInt.asUintN(64, s - p)],
  ['REL32', '.long SYM-.\n .long 0', 32, (s, p) => low(s - p)],
  ['ABS32_LO', 's_mov_b32 s0, SYM@abs32@lo+4', 32, (s) => low(s + 4n)],
  ['ABS32_HI', 's_mov_b32 s0, SYM@abs32@hi', 32, (s) => high(s)],
  ['REL32_LO', 's_add_u32 s0, s0, SYM@rel32@lo+4', 32, (s, p) => low(s + 4n - p)],
  ['REL32_HI', 's_addc_u32 s0, s0, SYM@rel32@hi+12', 32, (s, p) => high(s + 12n - p)],
];

/** Defined elsewhere; here and preemptible, protected, hidden; local. */
const SYMBOLS: readonly [what: string, name: string, definition: string][] = [
  ['an undefined', 'ext', ''],
  ['a default', 'own', variable('own', '.data', '.quad 5')],
  ['a protected', 'own', variable('own', '.data', '.quad 5', '.protected own\n')],
  ['a hidden', 'own', `${variable('own', '.data', '.quad 5', '.hidden own\n')}${variable('seen', '.data', '.quad 6')}`],
  ['a local', 'own', `.data\n.p2align 3\nown: .quad 5\n${variable('seen', '.data', '.quad 6')}`],
];

for (const [type, text, width, value] of FIELDS) {
  test(`R_AMDGPU_${type} against symbols of all kinds`, () => {
    for (const [what, name, definition] of SYMBOLS) {
      const isCode = text.startsWith('s_');
      const place = `${isCode ? '.text' : '.section .rodata.x,"aw",@progbits'}\n.globl place\n.type place,@object\n.p2align 3\nplace:\n ${text.replaceAll('SYM', name)}\n.size place, 8\n`;
      const { executable, view } = setUp(assemble(`${place}${definition}`), LIBRARY);
      const at = isCode ? 4 : 0;
      const p = executable.getSymbol('place').address + BigInt(at);
      // What only the object itself sees stands before something that others see.
      const s = ['a hidden', 'a local'].includes(what)
        ? executable.getSymbol('seen').address - 8n
        : executable.getSymbol(name).address;
      const found = width === 64 ? view('place', at).getBigUint64(0, true) : view('place', at).getUint32(0, true);
      assert.equal(found, value(s, p), what);
      assert.equal(executable.findSymbol('own') === undefined, ['an undefined', 'a hidden', 'a local'].includes(what));
    }
  });
}

test('slots of the global offset table hold addresses of this object and of others', () => {
  const code = ['ext', 'own'].map(
    (name) => ` s_add_u32 s0, s0, ${name}@gotpcrel32@lo+4\n s_addc_u32 s1, s1, ${name}@gotpcrel32@hi+12\n`,
  );
  const { executable, view } = setUp(
    assemble(
      `.text\n.globl f\n.type f,@function\nf:\n${code.join('')}.size f, .-f\n${variable('own', '.data', '.quad 5')}`,
    ),
    LIBRARY,
  );
  for (const [i, name] of ['ext', 'own'].entries()) {
    // With the 4 that the text adds, the displacement counts from the instruction whose second dword it is.
    const address = view('f', 16 * i + view('f', 16 * i + 4).getInt32(0, true)).getBigUint64(0, true);
    assert.equal(address, executable.getSymbol(name).address, name);
  }
});

test('a 32-bit address that does not fit is refused when the executable is frozen', () => {
  assert.throws(
    () => setUp(assemble(variable('place', '.data', '.long ext')), LIBRARY),
    (error: unknown) =>
      error instanceof WavewrightError && /R_AMDGPU_ABS32: 0x[0-9a-f]+ does not fit 32 bits/.test(error.message),
  );
});

test('data, zeroed data, constants and common symbols of several objects', () => {
  const { executable, view } = setUp(
    assemble(
      `${variable('d', '.data', '.quad 7')}${variable('z', '.bss', '.zero 8')}${variable('r', '.section .rodata,"a",@progbits', '.quad 9')}.comm c,16,16\n${variable('p', '.data', '.quad c')}`,
    ),
    assemble(`${variable('q', '.data', '.quad c\n.quad z')}`),
  );
  assert.deepEqual(
    ['d', 'z', 'r', 'c'].map((name) => view(name).getBigUint64(0, true)),
    [7n, 0n, 9n, 0n],
  );
  const c = executable.getSymbol('c').address;
  assert.equal(c % 16n, 0n);
  assert.deepEqual([view('p').getBigUint64(0, true), view('q').getBigUint64(0, true)], [c, c]);
  assert.equal(view('q', 8).getBigUint64(0, true), executable.getSymbol('z').address);
});

test('group memory that a linker would have to place is refused by name', () => {
  const bytes = assemble('.globl shared_words\n.data\n.type shared_words,@object\nshared_words: .quad 0\n');
  const elf = parseElf(bytes, 'a.o');
  const symbols = elf.sections.find(({ type }) => type === 2)!;
  const index = elf.symbols.findIndex(({ name }) => name === 'shared_words');
  new DataView(bytes.buffer, bytes.byteOffset).setUint16(symbols.offset + index * 24 + 6, 0xff00, true);
  assert.throws(
    () => setUp(bytes),
    (error: unknown) =>
      error instanceof WavewrightError &&
      error.code === 'UNSUPPORTED' &&
      /0\.o: 'shared_words' is a variable in group memory/.test(error.message),
  );
});
