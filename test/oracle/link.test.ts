/**
 * Libraries and their users, compiled apart by clang from C, OpenCL C and HIP, linked when they are loaded,
 * run on the emulator.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { CodeObjectReader, type Executable, HsaError } from '../../src/hsa/index.ts';
import { build, C, HIP, hasClang, LANGUAGES, OPENCL, run } from './device-code.ts';

const isRequired = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] !== undefined;
const PROCESSORS = ['gfx90a', 'gfx942', 'gfx1100'];

/** The kernel's code object calls the library, which calls back, has a stack of its own and recursion. */
const LIBRARY = `
EXTERN DEVICE int base(int);
EXTERN DEVICE int twice(int x) { return 2 * base(x); }
EXTERN DEVICE int deep(int x) { volatile int a[500]; for (int i = 0; i < 500; i++) a[i] = i * x; return a[x & 255] + a[499]; }
EXTERN DEVICE int sum(int n) { return n < 1 ? twice(n) : n + sum(n - 1) - sum(n - 2) + sum(n - 2); }
`;
const USER = `
EXTERN DEVICE int twice(int);
EXTERN DEVICE int deep(int);
EXTERN DEVICE int sum(int);
EXTERN DEVICE int base(int x) { return x + 100; }
EXTERN KERNEL void k(GLOBAL int *out) {
  int i = __builtin_amdgcn_workitem_id_x();
  out[i] = twice(i) + 3 * deep(i) + 5 * sum(i & 7);
}
`;
const twice = (x: number): number => 2 * (x + 100);
const deep = (x: number): number => (x & 255) * x + 499 * x;
const sum = (n: number): number => (n < 1 ? twice(n) : n + sum(n - 1));
const EXPECTED = Array.from({ length: 64 }, (_, i) => twice(i) + 3 * deep(i) + 5 * sum(i & 7));

/** One work-item uses everything that a loader resolves. */
const FEATURES = {
  a: `
typedef int (*fn)(int);
EXTERN __attribute__((weak)) DEVICE int pick(int x) { return x + 1000; }
EXTERN __attribute__((weak)) DEVICE int both(int x) { return x + 1; }
EXTERN __attribute__((visibility("hidden"), noinline)) DEVICE int secret(int x) { return x ^ 0x55; }
EXTERN DEVICE int open_secret(int x) { return secret(x) + 1; }
EXTERN DEVICE int wide(int x) {
  int result;
  __asm__ volatile("v_mov_b32 v150, %1\\n v_mov_b32 %0, v150" : "=v"(result) : "v"(x) : "v150");
  return result * 3;
}
DEFINED CONSTANT fn table[3] = {pick, open_secret, wide};
DECLARED VARIABLE int word;
EXTERN DEVICE void set_word(int x) { word = x; }
EXTERN DEVICE int is_odd(int);
EXTERN DEVICE int is_even(int x) { return x == 0 ? 100 : is_odd(x - 1); }
`,
  b: `
EXTERN DEVICE int pick(int x) { return x + 2000; }
EXTERN __attribute__((weak)) DEVICE int both(int x) { return x + 2; }
EXTERN DEVICE int is_even(int);
EXTERN DEVICE int is_odd(int x) { return x == 0 ? 200 : is_even(x - 1); }
DEFINED VARIABLE int word = 3;
`,
  user: `
typedef int (*fn)(int);
EXTERN DEVICE int pick(int);
EXTERN DEVICE int both(int);
EXTERN DEVICE int open_secret(int);
EXTERN DEVICE int wide(int);
EXTERN DEVICE int is_even(int);
EXTERN DEVICE void set_word(int);
EXTERN __attribute__((weak)) DEVICE int nobody(int);
DECLARED CONSTANT fn table[3];
DECLARED VARIABLE int word;
DEFINED CONSTANT fn own_table[2] = {pick, wide};
EXTERN KERNEL void k(GLOBAL int *out, unsigned long address, int which) {
  out[0] = pick(5);
  out[1] = both(5);
  out[2] = open_secret(5);
  out[3] = wide(77);
  out[4] = table[which](5);
  out[5] = table[which + 1](5);
  out[6] = own_table[which](5);
  out[7] = own_table[which + 1](5);
  out[8] = ((fn)address)(9);
  out[9] = is_even(7);
  out[10] = word;
  set_word(44);
  out[11] = *(volatile IN_VARIABLE int *)&word;
  out[12] = nobody ? nobody(1) : 7;
}
`,
};
/** No recursion: a compiler that sees all of it knows what it needs. */
const CHAIN = [
  `EXTERN __attribute__((noinline)) DEVICE int inner(int x) { volatile int a[100]; for (int i = 0; i < 100; i++) a[i] = i * x; return a[x & 63] + x; }`,
  `EXTERN DEVICE int inner(int);
EXTERN __attribute__((noinline)) DEVICE int outer(int x) { volatile int a[20]; for (int i = 0; i < 20; i++) a[i] = inner(x + i); return a[x & 15] + inner(x + 1); }`,
  `EXTERN DEVICE int inner(int); EXTERN DEVICE int outer(int);
EXTERN KERNEL void k(GLOBAL int *out) { int i = __builtin_amdgcn_workitem_id_x(); out[i] = outer(i) + inner(i); }`,
];

if (!hasClang) {
  test('linked code objects', { skip: isRequired ? false : 'no clang-19' }, () => assert.fail('no clang-19'));
} else {
  for (const processor of PROCESSORS) {
    for (const language of LANGUAGES) {
      for (const level of ['-O0', '-O2']) {
        for (const visibility of ['default', 'protected']) {
          test(`${language.name}, ${level}, ${visibility}, ${processor}`, () => {
            const options = [level, `-fvisibility=${visibility}`];
            const user = build(language, USER, processor, options);
            const library = build(language, LIBRARY, processor, options);
            const { values, kernel } = run(processor, [user, library]);
            assert.deepEqual(values, EXPECTED);
            assert.deepEqual([...kernel.needs!.callees].sort(), ['base', 'deep', 'sum', 'twice']);
            assert.equal(kernel.needs!.isRecursive, true);
            assert.ok(kernel.needs!.isStackKnown || kernel.hardwareProblems.length > 0);
          });
        }
      }
      test(`weak, hidden, wide and unknown functions, tables, pointers and variables: ${language.name}, ${processor}`, () => {
        const part = (source: string, isObject: boolean) =>
          build(language, source, processor, ['-O1', '-fvisibility=default'], isObject);
        const [user, a, b] = [FEATURES.user, FEATURES.a, FEATURES.b].map((source) => part(source, false));
        const objects = [FEATURES.a, FEATURES.user, FEATURES.b].map((source) => part(source, true));
        const expected = (both: number) => [2005, both, 0x51, 231, 2005, 0x51, 2005, 15, 0x5d, 200, 3, 44, 7];
        const cases = [
          { readers: [user!, a!, b!], both: 6 },
          { readers: [b!, a!, user!], both: 7 },
          { readers: objects, both: 6 },
        ];
        for (const { readers, both } of cases) {
          for (const executor of ['reference', 'jit'] as const) {
            const more = (executable: Executable) => [executable.getSymbol('open_secret').address, 0n];
            const { values, kernel } = run(processor, readers, { executor, workItems: 1, more });
            assert.deepEqual(values.slice(0, 13), expected(both), executor);
            assert.equal(kernel.needs?.vgprCount, 151);
            assert.match(kernel.hardwareProblems.join('; '), /needs 151 VGPRs/);
          }
        }
      });
    }
  }

  for (const processor of PROCESSORS) {
    test(`recursion has 16 KiB, and ends in a fault that names the stack: ${processor}`, () => {
      const parts = [
        `EXTERN int fall(int n); EXTERN KERNEL void k(GLOBAL int *out, long n) { out[0] = fall(n); }`,
        `EXTERN int fall(int n) { volatile int a[64]; a[n & 63] = n; return n <= 0 ? 0 : fall(n - 1) + a[n & 63]; }`,
      ].map((source) => build(C, source, processor, ['-O2', '-fvisibility=default']));
      for (const executor of ['reference', 'jit'] as const) {
        const fall = (n: bigint) => run(processor, parts, { executor, workItems: 1, more: () => [n] }).values[0];
        assert.equal(fall(50n), 1275);
        assert.throws(
          () => fall(100_000n),
          (error: unknown) =>
            error instanceof HsaError &&
            /(outside the private segment|after scratch).*in fall\+|in fall\+.*after scratch/.test(error.message),
        );
      }
    });

    test(`constructors run once before the first kernel, in their order, and call what is linked: ${processor}`, () => {
      const user = `int v = 1, order = 0;
int other(int);
__attribute__((constructor(200))) static void second(void) { v = v * 10 + other(order++); }
__attribute__((constructor(101))) static void first(void) { v = v * 10 + other(order++); }
EXTERN KERNEL void k(GLOBAL int *out) { out[0] = v; }`;
      for (const isObject of [false, true]) {
        const options = ['-O2', '-fvisibility=default'];
        const part = (source: string) => build(C, source, processor, options, isObject);
        const readers = [part(user), part('int other(int x) { return x + 5; }')];
        assert.equal(run(processor, readers, { workItems: 1 }).values[0], 156);
        const own = { workItems: 1, constructors: 'none' } as const;
        assert.equal(run(processor, readers, own).values[0], 1);
        assert.equal(run(processor, readers, { ...own, before: ['amdgcn.device.init'] }).values[0], 156);
      }
    });

    test(`what code needs is what the compiler says of the whole, and linked parts get it, too: ${processor}`, () => {
      const options = ['-O2', '-fvisibility=protected'];
      const whole = run(processor, [build(C, CHAIN.join('\n'), processor, options)]);
      const { metadata, needs } = whole.kernel;
      assert.equal(needs?.vgprCount, metadata?.vgprCount);
      // The compiler counts VCC, and what stands before it up to gfx9.
      const special = metadata!.sgprCount! - needs!.sgprCount;
      assert.ok(processor === 'gfx1100' ? special === 0 || special === 2 : special === needs!.specialSgprCount);
      assert.deepEqual([whole.kernel.dynamicCallstack, whole.kernel.hardwareProblems], [false, []]);
      const { kernel, values } = run(
        processor,
        CHAIN.map((source) => build(C, source, processor, options)),
      );
      assert.deepEqual(values, whole.values);
      assert.deepEqual(kernel.needs?.callees, ['outer', 'inner']);
      assert.ok(kernel.privateBytesFor(0) >= metadata!.privateSegmentFixedSizeBytes);
    });
  }

  test('a library for waves of another size is refused', () => {
    const options = ['-O2', '-fvisibility=default'];
    const user = build(C, USER, 'gfx1100', options);
    const library = build(C, LIBRARY, 'gfx1100', [...options, '-mwavefrontsize64']);
    for (const readers of [
      [user, library],
      [library, user],
    ]) {
      assert.throws(
        () => run('gfx1100', readers),
        (error: unknown) => error instanceof HsaError && /waves of lanes: (32|64)/.test(error.message),
      );
    }
  });

  test('-Bsymbolic keeps a code object to its own definitions', () => {
    const options = ['-O2', '-fvisibility=default'];
    const user = `EXTERN __attribute__((weak)) int hook(int x) { return x + 1; }
EXTERN KERNEL void k(GLOBAL int *out) { out[0] = hook(5); }`;
    const strong = build(C, 'EXTERN int hook(int x) { return x + 2; }', 'gfx90a', options);
    for (const [more, expected] of [
      [[], 7],
      [['-Wl,-Bsymbolic'], 6],
    ] as const) {
      const readers = [build(C, user, 'gfx90a', [...options, ...more]), strong];
      assert.equal(run('gfx90a', readers, { workItems: 1 }).values[0], expected);
    }
  });

  test('the lines of README.md build libraries that link', () => {
    const root = path.join(import.meta.dirname, '../..');
    const readme = readFileSync(path.join(root, 'README.md'), 'utf8');
    const lines = [...readme.matchAll(/^(clang.*filters\.(c|hip) -o filters\.co)$/gm)];
    assert.deepEqual(
      lines.map(([, , suffix]) => suffix),
      ['c', 'hip'],
    );
    const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-readme-'));
    try {
      for (const [, line, suffix] of lines) {
        const device = suffix === 'hip' ? 'extern "C" __attribute__((device)) ' : '';
        writeFileSync(path.join(folder, `filters.${suffix}`), `${device}int twice(int x) { return 2 * x; }\n`);
        execFileSync('sh', ['-c', line!.replace('examples/link/', '')], { cwd: folder });
        const library = new CodeObjectReader(
          new Uint8Array(readFileSync(path.join(folder, 'filters.co'))),
          'filters.co',
        );
        const user = 'EXTERN int twice(int); EXTERN KERNEL void k(GLOBAL int *out) { out[0] = twice(21); }';
        const readers = [build(C, user, 'gfx90a', ['-O2', '-fvisibility=default']), library];
        assert.equal(run('gfx90a', readers, { workItems: 1 }).values[0], 42);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('a library with another xnack setting is refused', () => {
    const options = ['-O2', '-fvisibility=default'];
    const readers = [build(C, USER, 'gfx90a:xnack-', options), build(C, LIBRARY, 'gfx90a:xnack+', options)];
    assert.throws(
      () => run('gfx90a', readers),
      (error: unknown) => error instanceof HsaError && /built with xnack on/.test(error.message),
    );
  });

  test('languages mix, relocatable objects and linked ones too', () => {
    const options = ['-O1', '-fvisibility=default'];
    for (const [user, library] of [
      [OPENCL, C],
      [HIP, OPENCL],
      [C, HIP],
    ] as const) {
      const readers = [build(library, LIBRARY, 'gfx90a', options, true), build(user, USER, 'gfx90a', options)];
      assert.deepEqual(run('gfx90a', readers).values, EXPECTED);
    }
  });
}
