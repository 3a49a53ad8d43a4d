/**
 * Constructs of C, C++, OpenCL C and HIP over two files, which must mean what lld's link of the same objects
 * means, and what the host makes of the same source: linked when they are loaded, as objects and as code
 * objects, in both orders.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { CodeObjectReader, type Executable } from '../../src/hsa/index.ts';
import { sampled } from '../scale.ts';
import { build, C, CPP, HIP, hasClang, type Language, OPENCL, run } from './device-code.ts';

const isRequired = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] !== undefined;
const hasTools = hasClang && ['ld.lld-19', 'gcc', 'g++'].every((name) => spawnSync(name, ['--version']).status === 0);
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-matrix-'));
process.on('exit', () => rmSync(folder, { recursive: true }));

interface Construct {
  readonly name: string;
  readonly languages: readonly Language[];
  readonly a: string;
  readonly b: string;
  /** A number, computed in a. */
  readonly value: string;
}

const ALL = [C, CPP, OPENCL, HIP];
const WITH_POINTERS = [C, CPP, HIP];
const CLASSES = [CPP, HIP];

const BUILDS = ['gfx90a', 'gfx942', 'gfx1100'].flatMap((processor) =>
  ['-O0', '-O2'].map((level) => ({ processor, level })),
);

const CONSTRUCTS: readonly Construct[] = [
  {
    name: 'a weak hook with a strong replacement',
    languages: ALL,
    a: 'EXTERN __attribute__((weak)) DEVICE int hook(int x) { return x + 1; }',
    b: 'EXTERN DEVICE int hook(int x) { return x + 2; }',
    value: 'hook(5)',
  },
  {
    name: 'two weak functions',
    languages: ALL,
    a: 'EXTERN __attribute__((weak)) DEVICE int both(int x) { return x + 1; }\nEXTERN DEVICE int ask_both(int x);',
    b: 'EXTERN __attribute__((weak)) DEVICE int both(int x) { return x + 2; }\nEXTERN DEVICE int ask_both(int x) { return both(x); }',
    value: 'both(5) * 10 + ask_both(5)',
  },
  {
    name: 'a weak variable with a strong one',
    languages: ALL,
    a: 'DEFINED __attribute__((weak)) VARIABLE int setting = 3;\nEXTERN DEVICE int get_setting(void);',
    b: 'DEFINED VARIABLE int setting = 4;\nEXTERN DEVICE int get_setting(void) { return setting; }',
    value: 'setting * 10 + get_setting()',
  },
  {
    name: 'a weak function that is nowhere',
    languages: ALL,
    a: 'EXTERN __attribute__((weak)) DEVICE int nobody(int x);',
    b: '',
    value: 'nobody ? nobody(1) : 7',
  },
  {
    name: 'addresses of functions',
    languages: WITH_POINTERS,
    a: 'typedef int (*fn)(int);\nEXTERN DEVICE int there(int x);\nEXTERN DEVICE fn address_there(void);',
    b: 'typedef int (*fn)(int);\nEXTERN DEVICE int there(int x) { return x * 3; }\nEXTERN DEVICE fn address_there(void) { return there; }',
    value: '(address_there() == there) * 100 + address_there()(7)',
  },
  {
    name: 'a table of functions',
    languages: ALL,
    a: 'typedef int (*table_fn)(int);\nDECLARED CONSTANT table_fn table[2];\nEXTERN DEVICE int entry(int x) { return x + 40; }',
    b: 'typedef int (*table_fn)(int);\nEXTERN DEVICE int entry(int x);\nEXTERN DEVICE int entry2(int x) { return x * 2; }\nDEFINED CONSTANT table_fn table[2] = {entry, entry2};',
    value: 'table[0](2) * 100 + table[1](9)',
  },
  {
    name: 'structures by value, as argument and as result',
    languages: ALL,
    a: 'struct big { int v[9]; };\nEXTERN DEVICE struct big change(struct big s, int at);\nEXTERN DEVICE int use_big(int x) { struct big s; for (int i = 0; i < 9; i++) s.v[i] = i * x; struct big t = change(s, 4); return t.v[4] * 100 + s.v[4] + t.v[8]; }',
    b: 'struct big { int v[9]; };\nEXTERN DEVICE struct big change(struct big s, int at) { s.v[at] += 7; return s; }',
    value: 'use_big(3)',
  },
  {
    name: 'variable arguments',
    languages: [C, CPP],
    a: 'EXTERN DEVICE int total(int n, ...);',
    b: 'EXTERN DEVICE int total(int n, ...) { __builtin_va_list list; __builtin_va_start(list, n); int sum = 0; for (int i = 0; i < n; i++) sum += i % 2 ? (int)__builtin_va_arg(list, double) : __builtin_va_arg(list, int); __builtin_va_end(list); return sum; }',
    value: 'total(4, 1, 20.0, 300, 4000.0)',
  },
  {
    name: 'memory that the host writes before the launch',
    languages: ALL,
    a: 'EXTERN DEVICE int get_written(void);',
    b: 'DEFINED __attribute__((visibility("default"))) WRITTEN int written = 3;\nEXTERN DEVICE int get_written(void) { return written; }',
    value: 'get_written()',
  },
  {
    name: 'pointers to variables of the other file',
    languages: WITH_POINTERS,
    a: 'DECLARED VARIABLE int word[4];\nDEFINED VARIABLE int *pointer = &word[2];',
    b: 'DEFINED VARIABLE int word[4] = {1, 2, 3, 4};',
    value: '*pointer',
  },
  {
    name: 'an inline variable',
    languages: CLASSES,
    a: 'inline VARIABLE unsigned counter = 10;\nDEVICE void set_counter();\nDEVICE int read_counter() { set_counter(); return counter; }',
    b: 'inline VARIABLE unsigned counter = 10;\nDEVICE void set_counter() { counter = 77; }',
    value: 'read_counter()',
  },
  {
    name: 'a static member of a template',
    languages: CLASSES,
    a: 'template <class T> struct Store { static VARIABLE int v; };\ntemplate <class T> VARIABLE int Store<T>::v = 5;\nDEVICE void set_store();\nDEVICE int read_store() { set_store(); return Store<long>::v * 10 + Store<char>::v; }',
    b: 'template <class T> struct Store { static VARIABLE int v; };\ntemplate <class T> VARIABLE int Store<T>::v = 5;\nDEVICE void set_store() { Store<long>::v++; Store<char>::v--; }',
    value: 'read_store()',
  },
  {
    name: 'a static variable of an inline function, and its address',
    languages: CLASSES,
    a: 'inline DEVICE int *place() { static VARIABLE int v = 3; return &v; }\nDEVICE int *place_of_b();\nDEVICE int read_place() { *place_of_b() = 8; return (place() == place_of_b()) * 10 + *place(); }',
    b: 'inline DEVICE int *place() { static VARIABLE int v = 3; return &v; }\nDEVICE int *place_of_b() { return place(); }',
    value: 'read_place()',
  },
  {
    name: 'virtual functions, and a cast between bases',
    languages: CLASSES,
    a: 'struct Left { int l = 1; DEVICE virtual int f(int x); };\nstruct Right { int r = 2; DEVICE virtual int g(int x) { return x + r; } };\nstruct Both : Left, Right { int b = 3; DEVICE int f(int x) override { return x * b; } DEVICE int g(int x) override { return x * 10 + b; } };\nDEVICE int through(Left &left, Right &right);\nDEVICE int dispatch_both() { Both both; Left left; return through(both, both) * 100 + left.f(4) + static_cast<Both &>(static_cast<Right &>(both)).b; }',
    b: 'struct Left { int l = 1; DEVICE virtual int f(int x); };\nDEVICE int Left::f(int x) { return x - l; }\nstruct Right { int r = 2; DEVICE virtual int g(int x) { return x + r; } };\nDEVICE int through(Left &left, Right &right) { Right own; return left.f(2) + right.g(1) + own.g(1); }',
    value: 'dispatch_both()',
  },
  {
    name: 'pointers to members',
    languages: CLASSES,
    a: 'struct Pair { int x, y; DEVICE int sum(int k); DEVICE virtual int twice(int k); };\ntypedef int (Pair::*Method)(int);\nDEVICE int call(Pair &pair, Method method, int Pair::*field);\nDEVICE int call_pair() { Pair pair; pair.x = 3; pair.y = 4; return call(pair, &Pair::sum, &Pair::y) * 1000 + call(pair, &Pair::twice, &Pair::x); }',
    b: 'struct Pair { int x, y; DEVICE int sum(int k); DEVICE virtual int twice(int k); };\ntypedef int (Pair::*Method)(int);\nDEVICE int Pair::sum(int k) { return x + y + k; }\nDEVICE int Pair::twice(int k) { return 2 * k + x; }\nDEVICE int call(Pair &pair, Method method, int Pair::*field) { return (pair.*method)(pair.*field) + (method == &Pair::sum); }',
    value: 'call_pair()',
  },
  {
    name: 'addresses of inline functions',
    languages: CLASSES,
    a: 'typedef int (*inline_fn)(int);\ninline DEVICE int near_by(int x) { return x + 6; }\nDEVICE inline_fn address_near();',
    b: 'typedef int (*inline_fn)(int);\ninline DEVICE int near_by(int x) { return x + 6; }\nDEVICE inline_fn address_near() { return near_by; }',
    value: '(address_near() == near_by) * 100 + address_near()(1)',
  },
  {
    name: 'constructors',
    languages: [CPP],
    a: 'extern volatile int seed;\nstruct T { int v; T() : v(seed * 3) {} };\nT made;\nint of_made();',
    b: 'volatile int seed = 7;\nstruct U { int v; U() : v(seed * 5) {} };\nU made_of_b;\nint of_made() { return made_of_b.v; }',
    value: 'made.v * 100 + of_made()',
  },
  {
    name: 'an inline variable with a constructor',
    languages: [CPP],
    a: 'extern int constructions;\nstruct Once { int v; Once() : v(++constructions * 11) {} };\ninline Once once;\nint once_of_b();',
    b: 'int constructions = 0;\nextern int constructions;\nstruct Once { int v; Once() : v(++constructions * 11) {} };\ninline Once once;\nint once_of_b() { return once.v; }',
    value: 'once.v * 1000 + once_of_b() * 10 + constructions',
  },
];

const WRITTEN_VALUE = 91;
/** Of what the host writes. */
const SPACES = new Map([
  [OPENCL, 'global'],
  [HIP, '__attribute__((constant))'],
]);

function sources(language: Language): { constructs: readonly Construct[]; a: string; b: string } {
  const constructs = CONSTRUCTS.filter(({ languages }) => languages.includes(language));
  const space = `#define WRITTEN ${SPACES.get(language) ?? ''}\n`;
  const stores = constructs.map(({ value }, i) => `out[${i}] = ${value};`).join('\n');
  const kernel = `EXTERN KERNEL __attribute__((visibility("protected"))) void k(GLOBAL int *out) {\n${stores}\n}\n`;
  const text = (file: 'a' | 'b') => constructs.map((each) => each[file]).join('\n');
  return { constructs, a: `${space}${text('a')}\n${kernel}`, b: `${space}${text('b')}\n` };
}

function execute(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  assert.equal(status, 0, `${command} ${args.join(' ')}\n${stderr}`);
  return stdout;
}

/** What the processor of this machine makes of the files, linked in the order. */
function hostValues(language: Language, files: { a: string; b: string }, order: readonly ('a' | 'b')[], count: number) {
  const isCpp = language === CPP || language === HIP;
  const prelude = isCpp ? CPP.prelude : C.prelude;
  const [compiler, suffix] = isCpp ? ['g++', '.cpp'] : ['gcc', '.c'];
  const plain = prelude.replace(/#define KERNEL.*/, '#define KERNEL');
  const main = `#include <stdio.h>\n${isCpp ? 'extern "C" ' : ''}void k(int *); extern int written;
int main(void) { int out[64] = {0}; written = ${WRITTEN_VALUE}; k(out); for (int i = 0; i < ${count}; i++) printf("%d\\n", out[i]); }`;
  const write = (name: string, text: string): string => {
    const file = path.join(folder, `${name}${suffix}`);
    writeFileSync(file, text);
    return file;
  };
  const strip = (text: string) => plain + text.replace(/#define WRITTEN.*/, '#define WRITTEN');
  const inputs = order.map((name) => write(`host-${name}`, strip(files[name])));
  const program = path.join(folder, 'host');
  execute(compiler, [
    '-w',
    '-O1',
    ...inputs,
    write('host-main', main.replace('extern int written', isCpp ? 'extern "C" int written' : 'extern int written')),
    '-o',
    program,
  ]);
  return execute(program, []).trim().split('\n').map(Number);
}

let count = 0;
function lld(objects: readonly CodeObjectReader[]): CodeObjectReader {
  const inputs = objects.map(({ bytes }) => {
    const file = path.join(folder, `${count++}.o`);
    writeFileSync(file, bytes);
    return file;
  });
  const output = path.join(folder, `${count++}.co`);
  execute('ld.lld-19', ['-shared', '-z', 'undefs', ...inputs, '-o', output]);
  return new CodeObjectReader(new Uint8Array(readFileSync(output)), 'joint.co');
}

if (!hasTools) {
  test('constructs over two files', { skip: isRequired ? false : 'no clang-19, lld-19 or gcc' }, () =>
    assert.fail('no clang-19, lld-19 or gcc'),
  );
} else {
  for (const [turn, language] of ALL.entries()) {
    const files = sources(language);
    const names = files.constructs.map(({ name }) => name);
    for (const { processor, level } of sampled(BUILDS, 3, turn)) {
      test(`${language.name}, ${processor}, ${level}`, () => {
        const options = [level, '-fvisibility=default'];
        const part = (file: 'a' | 'b', isObject: boolean, visibility = 'default') =>
          build(language, files[file], processor, [...options, `-fvisibility=${visibility}`], isObject);
        const objects = { a: part('a', true), b: part('b', true) };
        const linked = { a: part('a', false), b: part('b', false) };
        const hidden = { a: part('a', true, 'hidden'), b: part('b', true, 'hidden') };
        const kinds = { objects, linked, hidden, 'an object and a code object': { a: objects.a, b: linked.b } };
        const write = (executable: Executable): readonly bigint[] => {
          const { address, codeObject } = executable.getSymbol('written');
          const bytes = codeObject.agent.requireDevice().memory.view(address, 4);
          new DataView(bytes.buffer, bytes.byteOffset, 4).setInt32(0, WRITTEN_VALUE, true);
          return [];
        };
        const values = (readers: readonly CodeObjectReader[]) => {
          const results = run(processor, readers, { workItems: 1, more: write }).values;
          return Object.fromEntries(names.map((name, i) => [name, results[i]]));
        };
        for (const order of [['a', 'b'] as const, ['b', 'a'] as const]) {
          const host = hostValues(language, files, order, names.length);
          const expected = Object.fromEntries(names.map((name, i) => [name, host[i]]));
          assert.deepEqual(values([lld(order.map((name) => objects[name]))]), expected, `lld, ${order}`);
          for (const [kind, pair] of Object.entries(kinds)) {
            assert.deepEqual(values(order.map((name) => pair[name])), expected, `${kind}, ${order}`);
          }
        }
      });
    }
  }

  for (const processor of ['gfx90a', 'gfx942', 'gfx1100']) {
    test(`constructors and common symbols of objects, as lld orders them, ${processor}`, () => {
      const append = (name: string, priority: number, digit: number): string =>
        `__attribute__((constructor(${priority}))) static void ${name}(void) { order = order * 10 + ${digit}; }\n`;
      const parts = {
        a: `volatile int order = 0; int shared[4];\n${append('one', 300, 1)}${append('two', 102, 2)}
int *of_b(void); int last(void);
EXTERN KERNEL void k(GLOBAL int *out) { *of_b() = 5; out[0] = order; out[1] = last(); out[2] = of_b() == shared + 3; out[3] = shared[3]; }`,
        b: `extern volatile int order; int shared[9];\n${append('three', 101, 3)}${append('four', 200, 4)}
int *of_b(void) { return &shared[3]; } int last(void) { shared[8] = 6; return shared[8]; }`,
      };
      const options = ['-O2', '-fcommon', '-fvisibility=default'];
      const objects = {
        a: build(C, parts.a, processor, options, true),
        b: build(C, parts.b, processor, options, true),
      };
      for (const order of [['a', 'b'] as const, ['b', 'a'] as const]) {
        const readers = order.map((name) => objects[name]);
        const values = (linked: readonly CodeObjectReader[]) =>
          run(processor, linked, { workItems: 1 }).values.slice(0, 4);
        assert.deepEqual(values([lld(readers)]), [3241, 6, 1, 5], `lld, ${order}`);
        assert.deepEqual(values(readers), [3241, 6, 1, 5], `${order}`);
      }
    });
  }
}
