/** PTX texts: what is parsed, what is refused and where, and that a printed module is the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../../base/errors.ts';
import { parsePtx } from './parser.ts';
import { printPtx } from './printer.ts';
import type { Initializer, PtxFunction, PtxModule, Statement, Variable } from './syntax.ts';

const HEAD = '.version 7.8\n.target sm_70, debug\n.address_size 64\n';

const parse = (text: string): PtxModule => parsePtx(HEAD + text, 'test.ptx');

/** Without places in the text. */
const bare = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, each) => (key === 'offset' ? undefined : typeof each === 'bigint' ? `${each}n` : each)),
  );

const MODULE = `
// A comment, and /* another */
.file 1 "dir/a.c", 12, 34
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.visible .global .align 4 .b8 text[32] = {1, 0x2, 03, 0b1};
.global .attribute(.managed) .align 8 .u64 table[2][2] = {{f, generic(text)+8}, {0xFF(text), generic(text + 3)}};
.const .f32 pi = 0f40490FDB, small = -1.5;
.const .v4 .f32 vector = {0d3FF0000000000000, 2.0, 1e3, -0f3F800000};
.weak .global .texref tex;
.extern .shared .align 1 .b8 dynamic[];
.alias other, f;
.pragma "nounroll";
.func (.param .align 8 .b8 result[24]) f(.param .b32 a, .param .u64 .ptr .global .align 16 b) .noreturn;
.visible .entry kernel(.param .u64 .ptr .align 1 p, .param .align 4 .b8 q[12])
.maxntid 128, 1, 1
.minnctapersm 2
{
  .reg .pred %p<3>;
  .reg .v2 .b32 pair, other;
  .local .align 8 .b8 depot[48];
  .loc 1 10 3
  .loc 1 11 0, function_name $name + 4, inlined_at 1 5 6
start:
  prototype_0: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _) .noreturn;
  list: .branchtargets start, done;
  @!%p1 bra.uni done;
  @%p2 brx.idx %r1, list;
  { .param .b32 p0; st.param.b32 [p0+0], 5; call.uni (r0), f, (p0, 7, %r1), prototype_0; }
  call f; call (r0), %rd1, ();
  ld.global.v2.u32 {%r1, _}, [%rd1+-8];
  mov.b64 {%r1, %r2}, %rd1; mov.u32 %r1, %tid.x; mov.u64 %rd1, text+12;
  setp.lt.and.s32 %p1|%p2, %r1, -5, !%p0;
  mad.lo.s32 %r1, %r2, WARP_SZ * (2 + 3) % 7 - 1, ~0x0fU;
  st.shared::cta.f32 [16], 0f3F800000;
  tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [tex, {%r1}];
  ;
done:
  .pragma "x";
  ret;
}
.section .debug_info
{
  .b32 $end-$begin, 4
$label:
  .b8 1,2
}
`;

test('a module with everything in it', () => {
  const module = parse(MODULE);
  assert.deepEqual(module.version, { major: 7, minor: 8 });
  assert.deepEqual(module.target, ['sm_70', 'debug']);
  const named = (name: string) => module.items.find((item) => 'name' in item && item.name === name);
  const kernel = named('kernel') as PtxFunction;
  assert.equal(kernel.isEntry, true);
  assert.deepEqual(
    kernel.directives.map(({ name, words }) => [name, ...words]),
    [
      ['.maxntid', '128', '1', '1'],
      ['.minnctapersm', '2'],
    ],
  );
  assert.deepEqual(bare((named('text') as Variable).dimensions), [32]);
  const { initializer } = named('table') as Variable;
  const rows = initializer?.kind === 'list' ? initializer.elements : [];
  const addresses = rows.flatMap((row) => (row.kind === 'list' ? row.elements : []));
  const [, generic, masked, inside] = addresses as Extract<Initializer, { kind: 'address' }>[];
  assert.deepEqual([generic!.isGeneric, generic!.addend], [true, 8n]);
  assert.deepEqual([masked!.mask, masked!.name], [0xffn, 'text']);
  assert.deepEqual([inside!.isGeneric, inside!.addend], [true, 3n]);
  const body = kernel.body!.filter((each) => each.kind === 'instruction');
  const last = body.find(({ opcode }) => opcode === 'mad.lo.s32')!;
  assert.deepEqual(bare(last.operands.slice(2)), [
    { kind: 'constant', constant: { kind: 'integer', value: `${((32 * 5) % 7) - 1}n`, isUnsigned: false } },
    { kind: 'constant', constant: { kind: 'integer', value: `${2n ** 64n - 16n}n`, isUnsigned: true } },
  ]);
  assert.deepEqual(bare(body.find(({ opcode }) => opcode === 'ld.global.v2.u32')!.operands[1]), {
    ...{ kind: 'address', base: '%rd1', addend: '-8n', coordinates: [] },
  });
});

test('a printed module is the same', () => {
  const smallest = 'add.s64 %rd1, %rd1, 1 << 63;';
  const module = parse(MODULE.replace('ret;', `${smallest} ret;`));
  assert.match(printPtx(module), /-9223372036854775807 - 1/);
  assert.deepEqual(bare(parsePtx(printPtx(module), 'again')), bare(module));
});

/** Values of a variable's constants, in their order. */
const constantsOf = (text: string): unknown[] => {
  const { initializer } = parse(`.const .u64 x[99] = {${text}};`).items[0] as Variable;
  assert.ok(initializer?.kind === 'list');
  return initializer.elements.map((each) => {
    assert.ok(each.kind === 'constant');
    return each.constant.kind === 'integer' ? each.constant.value : each.constant.bits;
  });
};

// PTX ISA 4.5.5: C's operators on 64 bits; an unsigned operand makes the other one so, but for shifts.
test('texts of old compilers: no size of addresses, nothing behind the declaration of a function', () => {
  const old = parsePtx(
    '.version 2.1\n.target sm_20\n.visible .func (.param .s32 r) f (.param .s32 a)\n.file 1 "a"\n',
    'a',
  );
  assert.equal(old.addressSizeBits, 64);
  assert.deepEqual(
    old.items.map(({ kind }) => kind),
    ['function', 'directive'],
  );
  assert.equal(parsePtx('.version 2.1\n.target sm_20\n.func f()', 'a').items.length, 1);
  assert.throws(() => parse('.func f() 5'), /expected ';' behind a declaration/);
});

test('constants are folded as the grammar says', () => {
  assert.deepEqual(constantsOf('1 + 2 * 3, (1 + 2) * 3, 7 / -2, -7 % 3, 010, 0b101, 0xffU'), [
    ...[7n, 9n, -3n, -1n, 8n, 5n, 255n],
  ]);
  assert.deepEqual(constantsOf('-1 < 1, -1 < 1U, -8 >> 1, 0x8000000000000000 >> 63, 1 << 65'), [
    ...[1n, 0n, -4n, 1n, 2n],
  ]);
  assert.deepEqual(constantsOf('5 & 6 | 8 ^ 1, !0 && 2, 0 || 0, 1 ? 2 : 3, 0 ? 2 : 1 ? 4 : 5, ~0'), [
    ...[(5n & 6n) | (8n ^ 1n), 1n, 0n, 2n, 4n, -1n],
  ]);
  assert.deepEqual(constantsOf('(.u64) -1, (.s64) 0xffffffffffffffff, WARP_SZ'), [2n ** 64n - 1n, -1n, 32n]);
  assert.deepEqual(constantsOf('0f3F800000, 0d3FF0000000000000, 1.0, -1.0'), [
    ...[0x3f800000n, 0x3ff0000000000000n, 0x3ff0000000000000n, 0xbff0000000000000n],
  ]);
});

test('errors name line and column and show the line', () => {
  const messageOf = (text: string): string => {
    try {
      parse(text);
    } catch (error) {
      assert.ok(error instanceof WavewrightError);
      return error.message;
    }
    return '';
  };
  assert.equal(
    messageOf('.global .u32 x;\n\t.global .u31 y;'),
    "test.ptx:5:10: unexpected '.u31' in a declaration\n        .global .u31 y;\n                ^",
  );
  assert.match(messageOf('.func f() { add.u32 %r1, %r2 }'), /^test\.ptx:4:30: expected ';' behind an instruction/);
  assert.match(messageOf('.const .u32 x = 1 / 0;'), /:4:19: a division by zero/);
  assert.match(messageOf('.const .u32 x = 99999999999999999999;'), /has more than 64 bits/);
  assert.match(messageOf('.func f() { /* '), /a comment without an end/);
  assert.match(messageOf('.func f() { `'), /unexpected character "`"/);
  assert.match(messageOf('.global .align 3 .b8 x;'), /an alignment of 3 bytes/);
  assert.match(messageOf(`.func f() ${'{'.repeat(100)}`), /more levels than the limit ptxDepth/);
  assert.match(messageOf(`.const .u32 x = ${'('.repeat(100)}1;`), /more levels than the limit ptxDepth/);
  assert.match(messageOf(`.const .u32 x = ${'-'.repeat(100_000)}1;`), /too many signs/);
  assert.match(messageOf('.func f() { .reg .b32 %r<99999999999>; }'), /expected 0 to 4194304/);
});

/** Statements that may stand in a body, with a number put into them. */
const STATEMENTS: readonly ((n: number) => string)[] = [
  (n) => `.reg .b32 %r<${n}>;`,
  (n) => `@%p1 add.s32 %r${n}, %r1, -${n};`,
  (n) => `L${n}:`,
  (n) => `{ .param .align 8 .b8 p${n}[${n}]; st.param.v2.b32 [p${n}+4], {%r1, ${n}}; }`,
  (n) => `ld.global.f64 %fd1, [%rd${n}+${n}];`,
  (n) => `.loc ${n} 2 3`,
  (n) => `selp.f32 %f1, 0f3F80000${n % 10}, ${n}.5, !%p1;`,
  (n) => `call (r), g, (a${n}, ${n});`,
];

test('random bodies are printed and parsed again', () => {
  const statement = fc.tuple(fc.nat(STATEMENTS.length - 1), fc.nat(9999)).map(([i, n]) => STATEMENTS[i]!(n));
  fc.assert(
    fc.property(fc.array(statement, { maxLength: 30 }), (lines) => {
      const module = parse(`.func f()\n{\n${lines.join('\n')}\n}`);
      const body = (module.items[0] as PtxFunction).body as readonly Statement[];
      assert.equal(body.length, lines.length);
      assert.deepEqual(bare(parsePtx(printPtx(module), 'again')), bare(module));
    }),
    { seed: 17, numRuns: 200 },
  );
});

test('damaged texts end in an error with a place, or are a module', () => {
  const text = HEAD + MODULE;
  const characters = fc.constantFrom(...'{}()[];,.:%@!-+0xfU"_$\0\n\u{1f600}');
  const change = fc.tuple(fc.nat(text.length), fc.nat(6), characters);
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
      let damaged = text;
      for (const [at, gone, more] of changes) damaged = damaged.slice(0, at) + more + damaged.slice(at + gone);
      try {
        const module = parsePtx(damaged, 'x');
        assert.deepEqual(bare(parsePtx(printPtx(module), 'again')), bare(module));
      } catch (error) {
        if (!(error instanceof WavewrightError)) throw error;
        assert.match(error.message, /^x:\d+:\d+: /);
      }
    }),
    { seed: 17, numRuns: 2000 },
  );
});
