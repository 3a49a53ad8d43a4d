/** Style that a machine can check, for every file of the repository. Each rule is proven on a snippet that breaks it. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { lineAt, readSources, type SourceFile, withoutCommentsAndStrings } from './sources.ts';

const MAX_LINES = 500;
const MAX_MEDIAN_LINES = 200;
/** A file with at most this many lines may explain itself. */
const SMALL_FILE_LINES = 40;
/** Tables, as long as their subject. */
const TABLES = /^src\/isa\/amdgpu\/rows\//;

/** The error class, its HSA form, and what unwinds a wave inside the emulator. */
const THROWN = ['WavewrightError', 'HsaError', 'WaveFault'];

interface Rule {
  readonly name: string;
  readonly applies: (file: string) => boolean;
  /** One line for each place that breaks the rule. */
  readonly check: (file: SourceFile) => string[];
  /** Breaks the rule once. */
  readonly bad: SourceFile;
  /** Keeps it, narrowly. */
  readonly good: SourceFile;
}

const isTypeScript = (file: string) => file.endsWith('.ts');
const isProduct = (file: string) =>
  isTypeScript(file) && file.startsWith('src/') && !/\.test(?:-support)?\.ts$/.test(file);
/** This file spells out what it forbids. */
const isAnyOther = (file: string) => file !== 'test/tidy.test.ts';

/** The lines where `pattern` matches; `code`: outside comments and strings only. */
function matches(file: SourceFile, pattern: RegExp, code = false): string[] {
  const text = code ? withoutCommentsAndStrings(file.text) : file.text;
  return [...text.matchAll(pattern)].map((match) => `${file.path}:${lineAt(text, match.index)}: ${match[0].trim()}`);
}

/** As `matches` in code, but a `// reason:` on the line, or on the one above, excuses it. */
function unexcused(file: SourceFile, pattern: RegExp): string[] {
  const lines = file.text.split('\n');
  return matches(file, pattern, true).filter((found) => {
    const line = Number(found.split(':')[1]);
    return !lines.slice(Math.max(0, line - 2), line).some((text) => /\/\/ reason: \S/.test(text));
  });
}

const lineCount = (text: string) => text.split('\n').length - 1;
const lines = (count: number) => 'x;\n'.repeat(count);
const at = (file: string, text: string): SourceFile => ({ path: file, text });
const src = (text: string) => at('src/elf/x.ts', text);

const RULES: readonly Rule[] = [
  {
    name: `files have at most ${MAX_LINES} lines`,
    applies: (file) => isTypeScript(file) && !TABLES.test(file),
    check: ({ path: file, text }) => (lineCount(text) > MAX_LINES ? [`${file}: ${lineCount(text)} lines`] : []),
    bad: src(lines(MAX_LINES + 1)),
    good: src(lines(MAX_LINES)),
  },
  {
    name: 'no leftover markers',
    applies: isAnyOther,
    check: (file) => matches(file, /\b(?:TODO|FIXME|XXX|HACK)\b/g),
    bad: at('README.md', 'TODO: write this'),
    good: at('README.md', 'mktemp fooXXXXXX'),
  },
  {
    name: 'casts through any or unknown state their reason',
    applies: isTypeScript,
    check: (file) => unexcused(file, /\bas\s+(?:any|unknown\s+as)\b/g),
    bad: src('const x = y as unknown as Z;\n'),
    good: src("const x = y as unknown as Z; // reason: two views of one thing\nconst s = 'as any';\n"),
  },
  {
    name: 'the type checker is not switched off',
    applies: (file) => isTypeScript(file) && isAnyOther(file),
    check: (file) => matches(file, /@ts-(?:ignore|nocheck|expect-error)/g),
    bad: src('// @ts-ignore\nx();\n'),
    good: src('x(); // ts-ignore\n'),
  },
  {
    name: 'files are named for what they hold',
    applies: isTypeScript,
    check: ({ path: file }) => (/^(?:utils?|helpers?|misc|common)\./.test(path.basename(file)) ? [file] : []),
    bad: at('src/elf/utils.ts', ''),
    good: at('src/elf/util-lines.ts', ''),
  },
  {
    name: 'TypeScript files have kebab-case names',
    applies: isTypeScript,
    check: ({ path: file }) =>
      /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.test|\.test-support|\.d)?\.ts$/.test(path.basename(file)) ? [] : [file],
    bad: at('src/elf/elfReader.ts', ''),
    good: at('src/elf/elf64-reader.test.ts', ''),
  },
  {
    name: 'files with exports are documented',
    applies: isProduct,
    check: ({ path: file, text }) =>
      lineCount(text) > SMALL_FILE_LINES && /^export /m.test(text) && !text.includes('/**') ? [file] : [],
    bad: src(`export const x = 1;\n${lines(SMALL_FILE_LINES)}`),
    good: src(`/** What x is. */\nexport const x = 1;\n${lines(SMALL_FILE_LINES)}`),
  },
  {
    name: 'no paths of one machine',
    applies: isAnyOther,
    check: (file) => matches(file, /(?<![\w.])\/(?:work|home|root|tmp)\/[\w.-]+/g),
    bad: at('README.md', 'see /home/me/notes'),
    good: at('README.md', 'see src/work/notes and ./tmp/x'),
  },
  {
    name: 'no documents that are not in the repository',
    applies: isAnyOther,
    check: (file) => matches(file, /\bspec\/[a-z-]+\.md\b|\bdesign section \d/g),
    bad: src(`/** As ${'spec'}/hsa.md says. */\n`),
    good: src('/** As docs/hsa.md says. */\n'),
  },
  {
    name: 'no registry hosts, not in the lock file either',
    applies: isAnyOther,
    check: (file) => matches(file, /registry\.(?:npmjs|yarnpkg)\.\w+|"resolved": "https?:[^"]*"/g),
    bad: at('package-lock.json', '"resolved": "https://host.example/x.tgz"'),
    good: at('package-lock.json', '"resolved": "packages/ui"'),
  },
  {
    name: `only ${THROWN.join(', ')} are thrown`,
    applies: isProduct,
    check: (file) => matches(file, new RegExp(`\\bthrow\\s+(?:['"\`]|new\\s+(?!(?:${THROWN.join('|')})\\b)\\w+)`, 'g')),
    bad: src("throw 'no';\n"),
    good: src("throw new WavewrightError('USAGE', 'no');\nthrow new HsaError('ERROR', 'no');\nthrow error;\n"),
  },
  {
    // Offsets in device memory use all 32 bits; those of constants in compiled code are small.
    name: 'offsets are not taken for signed integers',
    applies: (file) => isProduct(file) && /^src\/(?:emulator\/(?!jit\/|lowering\/)|devices\/|hsa\/)/.test(file),
    check: (file) =>
      matches(file, /\b(?:offset|address|base|start|end|entry|low)\b\s*(?:>>(?!>| 32n)|<<|\|\s*0\b)/g, true),
    bad: at('src/emulator/x.ts', 'words[offset >> 2] = 1;\n'),
    good: at('src/emulator/x.ts', 'words[offset >>> 2] = 1;\nwindow = address >> 32n;\n'),
  },
  {
    name: 'only the command line prints',
    applies: (file) => isProduct(file) && !file.startsWith('src/cli/'),
    check: (file) => matches(file, /\bconsole\.\w+/g, true),
    bad: src('console.log(1);\n'),
    good: src('// console.log(1)\n'),
  },
];

const files = readSources('');

for (const rule of RULES) {
  test(rule.name, () => {
    assert.ok(rule.applies(rule.bad.path) && rule.applies(rule.good.path), 'the samples are in the scope of the rule');
    assert.equal(rule.check(rule.bad).length, 1, 'the rule finds its bad sample');
    assert.deepEqual(rule.check(rule.good), [], 'the rule lets its good sample pass');
    const scope = files.filter((file) => rule.applies(file.path));
    assert.ok(scope.length > 0, 'the rule applies to something');
    assert.deepEqual(scope.flatMap(rule.check), []);
  });
}

test(`the median source file is under ${MAX_MEDIAN_LINES} lines`, () => {
  const median = (counts: number[]) => counts.sort((a, b) => a - b)[counts.length >> 1]!;
  assert.equal(median([1, 500, 3]), 3);
  const found = median(files.filter((file) => isProduct(file.path)).map((file) => lineCount(file.text)));
  assert.ok(found < MAX_MEDIAN_LINES, `${found} lines`);
});
