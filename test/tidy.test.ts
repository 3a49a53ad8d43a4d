/**
 * Style that a machine can check, for every file of the repository. Each rule is proven on a snippet that
 * breaks it. How long a function may be and how many parameters it may have is Biome's business (biome.json).
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { slowFiles } from './run-files.ts';
import { lineAt, readSources, type SourceFile, withoutCommentsAndStrings } from './sources.ts';

const MAX_LINES = 500;
const MAX_MEDIAN_LINES = 200;
const MAX_COMMENT_COLUMNS = 110;
/** A file with at most this many lines may explain itself. */
const SMALL_FILE_LINES = 40;
/** Tables, as long as their subject. */
const TABLES = /^src\/isa\/amdgpu\/rows\//;

/** Where the numbers of ELF files and of registers get their names. */
const NUMBER_TABLES = ['src/elf/constants.ts', 'src/codeobject/elf-flags.ts', 'src/isa/amdgpu/encoding/registers.ts'];

const UNUSED_FILES: readonly string[] = [];

/** Files that test which family a target is of, instead of asking for a trait. */
const FAMILY_TESTS: readonly string[] = [
  'src/instrument/dsl/global-memory.ts',
  'src/instrument/layout/layout-code.ts',
  'src/instrument/object/kernel-changes.ts',
  'src/instrument/points/kernel-registers.ts',
  'src/lift/check-code.ts',
  'src/lift/gpr-index-mode.ts',
  'src/lift/in-flight.ts',
  'src/lift/step-checks.ts',
];

/** How the names of instructions start. */
const INSTRUCTION_NAME = '(?:s|v|ds|buffer|tbuffer|global|flat|scratch|image)_';
/** Names compared with literals: the whole, a part, or by a pattern. */
const NAME_TESTS = new RegExp(
  [
    `\\bname\\s*[!=]==?\\s*['"\`]${INSTRUCTION_NAME}`,
    `\\bname\\??\\.(?:startsWith|endsWith|includes)\\(\\s*['"\`]_?[a-z]`,
    `/[^/\\n]*(?<![a-z])${INSTRUCTION_NAME}[^/\\n]*/\\w*\\.(?:test|exec)\\([^)\\n]*\\bname\\b`,
    `\\bname\\??\\.(?:match|search)\\(\\s*/[^/\\n]*(?<![a-z])${INSTRUCTION_NAME}`,
  ].join('|'),
  'g',
);

/**
 * The error class, its HSA and HAL forms, what unwinds a wave in the emulator, and what BullMQ is told by.
 */
const THROWN = ['WavewrightError', 'HsaError', 'HalError', 'WaveFault', 'WaitingError', 'UnrecoverableError'];

interface Rule {
  readonly name: string;
  readonly applies: (file: string) => boolean;
  /** One line for each place that breaks the rule. */
  readonly check: (file: SourceFile) => string[];
  /** Breaks the rule once. */
  readonly bad: SourceFile;
  /** Keeps it, narrowly. */
  readonly good: SourceFile;
  /**
   * Files and folders that still break the rule. An entry may only be removed, and has to be when nothing
   * below it does.
   */
  readonly debts?: readonly string[];
}

/** A rule about all files together. */
interface TreeRule extends Pick<Rule, 'name' | 'debts'> {
  readonly check: (files: readonly SourceFile[]) => string[];
  readonly bad: readonly SourceFile[];
  readonly good: readonly SourceFile[];
}

const isTypeScript = (file: string) => file.endsWith('.ts');
const isCode = (file: string) => /\.[jt]s$/.test(file);
const isProduct = (file: string) =>
  isTypeScript(file) && file.startsWith('src/') && !/\.test(?:-support)?\.ts$/.test(file);
/** This file spells out what it forbids, and pictures hold any bytes. */
const isAnyOther = (file: string) => file !== 'test/tidy.test.ts' && !file.endsWith('.png');

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
    name: 'documents that code names exist',
    applies: (file) => isCode(file) && isAnyOther(file),
    check: (file) =>
      matches(file, /(?<![\w./-])[\w.-][\w./-]*\.md\b/g).filter(
        (found) => !documents.has(found.split(': ')[1]!.replace(/^(?:\.\.?\/)+/, '')),
      ),
    bad: src('/** As docs/missing.md says. */\n'),
    good: src("/** As docs/hsa.md says. */\nread('../docs/hsa.md');\n"),
  },
  {
    name: `lines of comments have at most ${MAX_COMMENT_COLUMNS} columns`,
    applies: isCode,
    check: ({ path: file, text }) =>
      text.split('\n').flatMap((line, index) => {
        const isTooLong = /^\s*(?:\/\/|\/\*|\*)/.test(line) && line.length > MAX_COMMENT_COLUMNS;
        return isTooLong ? [`${file}:${index + 1}: ${line.length} columns`] : [];
      }),
    bad: src(`  // ${'x'.repeat(MAX_COMMENT_COLUMNS - 4)}\n`),
    good: src(`  // ${'x'.repeat(MAX_COMMENT_COLUMNS - 5)}\nconst ${'x'.repeat(MAX_COMMENT_COLUMNS)} = 1;\n`),
  },
  {
    name: 'numbers of ELF and of registers are named in one place',
    applies: (file) => isProduct(file) && !NUMBER_TABLES.includes(file),
    check: (file) =>
      matches(file, /\bconst (?:\w+|\[[^\]]*\]) = (?=-?\d|\[-?\d)/g, true).filter((found) =>
        /\b(?:(?:ET|EM|PT|PF|SHT|SHF|SHN|STB|STT|STV|DT|NT|GRP|R_AMDGPU|ELFOSABI)_[A-Z0-9_]+|(?:SGPR_)?(?:VCC|EXEC|M0)(?:_LO|_HI)?)\b/.test(
          found,
        ),
      ),
    bad: src('const [EXEC, SHF_ALLOC] = [126, 2n];\n'),
    good: src('const READABLE_FLAGS = SHF_ALLOC;\nconst [DTYPE] = [1];\n'),
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
    // Flags, operands, formats and effects tell instructions apart; a name is what a target calls one.
    name: 'no names of instructions are tested outside their rows',
    applies: (file) => isProduct(file) && !file.startsWith('src/isa/amdgpu/rows/'),
    check: (file) => matches(file, NAME_TESTS),
    bad: src("if (row.name.includes('saveexec')) f();\n"),
    good: src("x = format.name.endsWith('_SDWA') || name === '' || name.endsWith('.kd') || /^src[01]$/.test(name);\n"),
  },
  {
    // What targets differ in is a trait, which a new target sets, or an entry of a table by family.
    name: 'no code tests which family a target is of',
    applies: isProduct,
    check: (file) => matches(file, /\bfamilies\.includes\(\s*['"`]/g),
    bad: src("if (target.families.includes('gfx10')) f();\n"),
    good: src('rows.filter(({ family }) => families.includes(family));\n'),
    debts: FAMILY_TESTS,
  },
  {
    name: 'only the command line prints',
    applies: (file) => isProduct(file) && !file.startsWith('src/cli/'),
    check: (file) => matches(file, /\bconsole\.\w+/g, true),
    bad: src('console.log(1);\n'),
    good: src('// console.log(1)\n'),
  },
];

const EXPORTED = /^export (?:abstract |async |declare )*(?:const|let|function\*?|class|interface|type) (\w+)/gm;

/**
 * Where programs start: the package's modules, its commands, and a worker that a page of the browser test
 * loads by its address.
 */
const ENTRIES = /^(?:src\/(?:index|browser|hal|instrument|isa|node|ptx|web|cli\/main)\.ts|bin\/.*\.js)$/;
const TEST_ENTRIES = /\.test\.ts$|^test\/browser\/worker\.ts$/;
const SCRIPT = /[\w./-]+\.[jt]s\b/g;

/**
 * The code files that `entries` import, start as workers or name by their path, at any distance, and
 * themselves.
 */
function reachedFrom(entries: readonly string[], all: readonly SourceFile[]): Set<string> {
  const byPath = new Map(all.map((file) => [file.path, file]));
  const reached = new Set<string>();
  const waiting = [...entries];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const file = byPath.get(at);
    if (file === undefined || reached.has(at)) continue;
    reached.add(at);
    // `./worker${extension}` is a file as well.
    for (const [, name] of file.text.matchAll(/['"`]([^'"`\n$]*?[\w-]+)(?:\.[jt]s|\$\{[^}]*\})['"`]/g)) {
      for (const from of [path.posix.join(path.posix.dirname(at), name!), name!]) {
        waiting.push(`${from}.ts`, `${from}.js`);
      }
    }
  }
  return reached;
}

const TREE_RULES: readonly TreeRule[] = [
  {
    name: 'an exported name has one meaning',
    check: (all) => {
      const places = new Map<string, string[]>();
      for (const { path: file, text } of all.filter((each) => isProduct(each.path))) {
        for (const [, name] of text.matchAll(EXPORTED)) places.set(name!, [...(places.get(name!) ?? []), file]);
      }
      const isOverloaded = ([, where]: [string, string[]]) => new Set(where).size > 1;
      return [...places].filter(isOverloaded).map(([name, where]) => `${name}: ${[...new Set(where)].join(' ')}`);
    },
    bad: [at('src/elf/x.ts', 'export const A = 1;\n'), at('src/ir/y.ts', 'export interface A {}\n')],
    good: [
      at('src/elf/x.ts', 'export const A = 1;\nexport type A = 1;\n'),
      at('src/ir/y.test.ts', 'export const A = 1;\n'),
    ],
  },
  {
    name: 'every file is used by what the package starts, by a test, or by a script that is named',
    check: (all) => {
      const started = all.map((file) => file.path).filter((file) => ENTRIES.test(file));
      const tested = all.map((file) => file.path).filter((file) => TEST_ENTRIES.test(file));
      const prose = all.filter((file) => !isCode(file.path) && !file.path.startsWith('test/data/'));
      const named = prose.flatMap((file) =>
        [...file.text.matchAll(SCRIPT)].map(([name]) => path.posix.normalize(name)),
      );
      const product = reachedFrom(started, all);
      const any = reachedFrom([...started, ...tested, ...named], all);
      return all
        .map((file) => file.path)
        .filter((file) => isCode(file) && !file.endsWith('.d.ts') && !(isProduct(file) ? product : any).has(file));
    },
    bad: [
      at('src/index.ts', "export * from './elf/used.ts';\n"),
      at('src/elf/used.ts', ''),
      at('src/elf/tested.ts', ''),
      at('src/elf/tested.test.ts', "import './tested.ts';\n"),
    ],
    good: [
      at('src/index.ts', `new Worker(\`./worker\${ending}\`);\n`),
      at('src/worker.ts', ''),
      at('package.json', '"bench": "node bench/run.ts"'),
      at('bench/run.ts', "import('./sizes.ts');\n"),
      at('bench/sizes.ts', ''),
    ],
    debts: UNUSED_FILES,
  },
];

const files = readSources('');
const documents = new Set(files.map((file) => file.path));

/** `found`, without what `debts` name; a debt that is paid is found as well. */
function withoutDebts(found: readonly string[], debts: readonly string[] = []): string[] {
  const paid = debts.filter((debt) => !found.some((line) => line.startsWith(debt)));
  const rest = found.filter((line) => !debts.some((debt) => line.startsWith(debt)));
  return [...rest, ...paid.map((debt) => `${debt}: the debt is paid, remove it`)];
}

test('debts are forgiven once, and end', () => {
  assert.deepEqual(withoutDebts(['a/x.ts:1', 'b/y.ts:2'], ['a/', 'c/']), [
    'b/y.ts:2',
    'c/: the debt is paid, remove it',
  ]);
});

for (const rule of RULES) {
  test(rule.name, () => {
    assert.ok(rule.applies(rule.bad.path) && rule.applies(rule.good.path), 'the samples are in the scope of the rule');
    assert.equal(rule.check(rule.bad).length, 1, 'the rule finds its bad sample');
    assert.deepEqual(rule.check(rule.good), [], 'the rule lets its good sample pass');
    const scope = files.filter((file) => rule.applies(file.path));
    assert.ok(scope.length > 0, 'the rule applies to something');
    assert.deepEqual(withoutDebts(scope.flatMap(rule.check), rule.debts), []);
  });
}

for (const rule of TREE_RULES) {
  test(rule.name, () => {
    assert.equal(rule.check(rule.bad).length, 1, 'the rule finds its bad sample');
    assert.deepEqual(rule.check(rule.good), [], 'the rule lets its good sample pass');
    assert.deepEqual(withoutDebts(rule.check(files), rule.debts), []);
  });
}

test('what counts as a slow test is one', () => {
  assert.deepEqual(
    slowFiles().filter((file) => !documents.has(file)),
    [],
  );
});

test(`the median source file is under ${MAX_MEDIAN_LINES} lines`, () => {
  const median = (counts: number[]) => counts.sort((a, b) => a - b)[counts.length >> 1]!;
  assert.equal(median([1, 500, 3]), 3);
  const found = median(files.filter((file) => isProduct(file.path)).map((file) => lineCount(file.text)));
  assert.ok(found < MAX_MEDIAN_LINES, `${found} lines`);
});
