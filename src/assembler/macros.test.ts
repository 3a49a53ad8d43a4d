import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../base/errors.ts';
import { parseElf } from '../elf/elf.ts';
import { assembleFile } from './assemble-file.ts';

/** Files that sources include. */
const FILES: Readonly<Record<string, string>> = {
  'macros.inc': '.macro two a, b\n .byte \\a\n .byte \\b\n.endm\n',
  'self.inc': '.include "self.inc"\n',
  'wrong.inc': ' s_nop 0\n v_bad\n',
};

function readFile(name: string): Uint8Array {
  const text = FILES[name];
  if (text === undefined) throw new WavewrightError('IO', 'no such file', { file: name });
  return new TextEncoder().encode(text);
}

const assemble = (source: string) => assembleFile(source, { processor: 'gfx90a', file: 'f.s', readFile });

/** The bytes of .data, to which the source is appended. */
function bytesOf(source: string): number[] {
  const elf = parseElf(assemble(`.data\n${source}`));
  return [...elf.sectionBytes(elf.sectionNamed('.data')!)];
}

/** What a source says, and the bytes that LLVM's assembler makes of it. */
const EXAMPLES: Readonly<Record<string, readonly number[]>> = {
  '.macro m a, b=7, c:req\n.byte \\a, \\b, \\c\n.endm\nm 1, 2, 3\nm 4,,5\nm c=6, a=8': [1, 2, 3, 4, 7, 5, 8, 7, 6],
  '.macro m r:vararg\n.byte \\r\n.endm\nm 1, 2 , 3': [1, 2, 3],
  '.macro m a\n.byte 1\\a\\()2, \\@\n.endm\nm 0\nm 1': [102, 0, 112, 1],
  '.macro m a b\n.byte \\a\n.byte \\b\n.endm\nm 1 + 2, 3 * (4 + 5)\nm 5 (6)': [3, 27, 5, 6],
  '.macro m t\n.ascii "\\t"\n.endm\nm "a b"\nm c': [97, 32, 98, 99],
  '.macro m n\n.if \\n\n.byte \\n\nm (\\n-1)\n.endif\n.endm\nm 3': [3, 2, 1],
  '.macro m x\n.byte 1\n.ifc \\x,stop\n.exitm\n.endif\n.byte 2\n.endm\nm stop\nm go': [1, 1, 2],
  '.macro o n\n.macro i\\n v\n.byte \\v\n.endm\n.endm\no 5\ni5 3\n.purgem i5': [3],
  '.set i, 0\n.rept 3\n.byte i\n.set i, i + 1\n.endr\n.rept 0\n.byte 9\n.endr': [0, 1, 2],
  '.irp r, 1, 2,(3 + 4)\n.irp q,1,2\n.byte \\r * \\q\n.endr\n.endr': [1, 2, 2, 4, 7, 14],
  '.irpc c,abc\n.byte 0x\\c\n.endr': [10, 11, 12],
  '.if 0\n.byte 1\n.if 1\n.byte 2\n.else\n.byte 3\n.endif\n.elseif 1\n.byte 4\n.elseif 1\n.byte 5\n.else\n.byte 6\n.endif':
    [4],
  'x:\n.ifdef x\n.byte 1\n.endif\n.ifndef x\n.byte 2\n.else\n.byte 3\n.endif': [1, 3],
  '.ifb\n.byte 1\n.endif\n.ifnb a\n.byte 2\n.endif\n.ifeqs "a","b"\n.byte 3\n.endif\n.ifnc a b , a b\n.byte 4\n.endif':
    [1, 2],
  '.ifgt 1\n.byte 1\n.endif\n.ifle 1\n.byte 2\n.endif\n.iflt -1\n.byte 3\n.endif': [1, 3],
  '.include "macros.inc"\ntwo 1, 2\n.incbin "macros.inc", 1, 3': [1, 2, 109, 97, 99],
  '.byte 1\n.end\n.byte 2': [1],
};

test('macros, repetitions, conditions and included files', () => {
  for (const [source, bytes] of Object.entries(EXAMPLES)) assert.deepEqual(bytesOf(source), bytes, source);
});

/** Source and the lines of the message. */
const ERRORS: readonly (readonly [source: string, ...lines: string[]])[] = [
  ['.macro m\n s_nop', "f.s:1:1: no '.endm' behind"],
  ['.rept 2\n s_nop', "f.s:1:1: no '.endr' behind"],
  ['.if 1\n s_nop 0', "f.s:1:1: no '.endif' behind"],
  ['.endif', "f.s:1:1: '.endif' without '.if'"],
  ['.if 0\n.else\n.else\n.endif', "f.s:3:1: '.else' behind '.else'"],
  ['.endm', "f.s:1:1: '.endm' without a beginning"],
  ['.exitm', "f.s:1:1: '.exitm' outside of a macro"],
  ['.macro m a:req\n.endm\nm', "f.s:3:2: 'm' needs a value for 'a'"],
  ['.macro m\n.endm\nm 1', "f.s:3:3: too many arguments for 'm'"],
  ['.macro m a\n.endm\nm b=1', "f.s:3:3: 'm' has no parameter 'b'"],
  ['.macro m\n.endm\n.macro m\n.endm', "f.s:3:9: macro 'm' is already defined"],
  ['.if x\n v_bad\n.else\n v_bad\n.endif', 'f.s:1:5: the condition must be known here'],
  ['.error "as told"', 'f.s:1:1: as told'],
  ['.include "none"', "f.s:1:10: 'none': no such file"],
  ['.include "wrong.inc"', "wrong.inc:2:2: unknown instruction 'v_bad'", ' v_bad', ' ^', 'f.s:1: in this .include'],
  [
    '.macro in x\n s_bad \\x\n.endm\n.macro out y\n in \\y\\()1\n.endm\n\nout 4',
    "f.s:2:2: unknown instruction 's_bad'",
    ' s_bad 41',
    ' ^',
    "f.s:5: in macro 'in'",
    "f.s:8: in macro 'out'",
  ],
];

function messageOf(source: string): string {
  try {
    assemble(source);
  } catch (error) {
    assert.ok(error instanceof WavewrightError && error.code !== 'INTERNAL', String(error));
    return error.message;
  }
  return '';
}

test('errors say what was expanded where', () => {
  for (const [source, ...lines] of ERRORS) {
    assert.deepEqual(messageOf(source).split('\n').slice(0, lines.length), lines, source);
  }
});

test('further errors are reported, up to a limit', () => {
  const first = messageOf(' v_bad\n s_nop 0\n s_worse 1\n.byte 300\n s_branch nowhere');
  assert.deepEqual(
    first.split('\n').filter((line) => /^f\.s:/.test(line)),
    [
      "f.s:1:2: unknown instruction 'v_bad'",
      "f.s:3:2: unknown instruction 's_worse'",
      'f.s:4:1: 300 does not fit 1 bytes',
    ],
  );
  assert.match(first, /\n3 errors$/);
  const many = messageOf('v_bad\n'.repeat(1000));
  assert.equal(many.match(/^f\.s:\d+:1: unknown instruction/gm)?.length, 20);
  assert.match(many, /\ntoo many errors$/);
  assert.match(messageOf(' s_branch x\n s_branch y'), /1:2: undefined label 'x'[\s\S]*2:2: undefined label 'y'/);
});

test('what expansions ask for has a limit', () => {
  const bomb = '.macro m a\nm \\a\\a\n.endm\nm 1234567890';
  const wide = `.macro m a\n.ascii "${'\\a'.repeat(1000)}"\n.endm\n.macro n a\nm ${'\\a'.repeat(1000)}\n.endm\n`;
  for (const source of [
    bomb,
    '.macro m\nm\n.endm\nm',
    `${wide}n ${'1'.repeat(1000)}`,
    '.rept 1 << 62\n.endr\n.rept 1 << 62\n\n.endr',
    '.rept 100000\n.rept 100000\n.byte 1\n.endr\n.endr',
    `.irpc c,${'1'.repeat(100_000)}\n${'\n'.repeat(100_000)}.endr`,
    '.include "self.inc"',
  ]) {
    assert.match(messageOf(source), /is above the limit expan/, source.slice(0, 80));
  }
});

test('symbols may stand for what follows, within limits', () => {
  const source =
    '.set a, max(1, b)\n.set b, alignto(c, 4)\n.set c, or(1, 4)\n.byte a, b, c, totalnumvgprs(3, 5), extrasgprs(1, 0, 0)';
  assert.deepEqual(bytesOf(source), [8, 8, 5, 11, 2]);
  const doubled = Array.from({ length: 60 }, (_, i) => `.set a${i + 1}, max(a${i}, a${i})`).join('\n');
  assert.match(messageOf(`${doubled}\n.set a0, 1\n.long a60`), /takes too many steps/);
  assert.match(messageOf('.set a, max(a, 1)\n.long a'), /defined by themselves/);
  assert.match(messageOf('.set a, alignto(1)'), /expected 2 arguments of 'alignto'/);
});

test('numbers in LEB128 have the size that their values need', () => {
  assert.deepEqual(bytesOf('.uleb128 300, 5\n.sleb128 -300, -64, 63, 64'), [172, 2, 5, 212, 125, 64, 63, 192, 0]);
  // The size of the first is part of its value.
  const source = '.uleb128 end - start\nstart:\n.uleb128 end - start\n.skip 126\n.byte 9\nend:\n.byte end - start';
  const bytes = bytesOf(source);
  assert.deepEqual([...bytes.slice(0, 4), bytes.length, bytes.at(-1)], [129, 1, 129, 1, 132, 129]);
});

test('mutated macros end in nothing but a WavewrightError', () => {
  const source = Object.keys(EXAMPLES).join('\n');
  const pieces = [
    '',
    ',',
    '"',
    '\\',
    '\n',
    '(',
    '.if 1\n',
    '.endif\n',
    '.endm\n',
    '.rept 9\n',
    '.endr\n',
    '\\a',
    '=',
    ':',
    'm ',
  ];
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(source.length), fc.constantFrom(...pieces), fc.nat(3)), { minLength: 1, maxLength: 6 }),
      (changes) => {
        let text = source;
        for (const [at, piece, cut] of changes) text = text.slice(0, at) + piece + text.slice(at + cut);
        messageOf(text);
      },
    ),
    { numRuns: 500 },
  );
});
