/**
 * The package in an empty folder: what is in it, its types for a strict user, and README.md's commands and
 * programs as they stand there.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import manifest from '../package.json' with { type: 'json' };
import { bundleForCommands } from '../tools/bundle.ts';
import {
  type Block,
  documentBlocks,
  type InstalledPackage,
  installPackage,
  needsOracle,
  ROOT,
  runIn,
} from './installed-package.ts';

/** Close above what it is: growth is to be noticed. */
const MAX_UNPACKED_BYTES = 16 * 2 ** 20;
const BLOCKS = documentBlocks('README.md');
const scripts = BLOCKS.filter(({ language }) => language === 'sh');
const programs = BLOCKS.filter(({ language }) => language === 'ts');
assert.ok(scripts.length >= 10 && programs.length >= 4, 'the blocks are found');

let installed: InstalledPackage;
before(() => {
  installed = installPackage();
});
after(() => installed[Symbol.dispose]());

/** Where `exec` looks for them in the package. */
const NATIVE_LIBRARIES = ['x86-64', 'arm64'].flatMap((machine) =>
  ['so.1', 'so'].map((end) => `native/hsa/${machine}/libhsa-runtime64.${end}`),
);

const isInstallation = ({ text }: Block): boolean => text.startsWith('npm install');
const inPackage = (file: string): string => path.join(installed.folder, 'node_modules/wavewright', file);

test('the package has what it needs and nothing besides', () => {
  const { files, unpackedSizeBytes } = installed;
  for (const name of Object.values(manifest.bin)) assert.ok(files.includes(name), name);
  for (const { types, default: script } of Object.values(manifest.exports)) {
    for (const name of [types, script]) assert.ok(files.includes(name.replace('./', '')), name);
  }
  for (const name of ['README.md', 'LICENSE', 'NOTICE', 'examples/kernels/vadd.cl', ...NATIVE_LIBRARIES])
    assert.ok(files.includes(name), name);
  const stray = files.filter((name) => /\.map$|\.test|test-support|(^|\/)(\.|platform\.info|node_modules)/.test(name));
  assert.deepEqual(stray, []);
  const known =
    /^(bin|docs|examples|include|native|src\/tools)\/|^dist\/(main\.txt|.+\.(js|d\.ts))$|^[A-Z]+(\.md)?$|^package\.json$/;
  assert.deepEqual(
    files.filter((name) => !known.test(name)),
    [],
  );
  assert.ok(unpackedSizeBytes < MAX_UNPACKED_BYTES, `${unpackedSizeBytes} bytes`);
  for (const name of files.filter((file) => file.endsWith('.js'))) {
    assert.ok(!/sourceMappingURL=/.test(readFileSync(inPackage(name), 'utf8')), name);
  }
});

test('NOTICE has the licence of each package that is bundled', async () => {
  const words = (text: string): string => text.replace(/\s+/g, ' ').trim();
  const scripts = installed.files
    .filter((name) => name.endsWith('.js'))
    .map((name) => readFileSync(inPackage(name), 'utf8'));
  // A comment in front of each module says where it is from; the scripts of the command line have none.
  const { inputs } = await bundleForCommands("''");
  const places = [...scripts, ...inputs.map((input) => `// ${input}`)];
  const found = places.flatMap((text) => [...text.matchAll(/^\/\/ node_modules\/((?:@[^/\n]+\/)?[^/\n]+)/gm)]);
  const bundled = new Set(found.map(([, name]) => name!));
  assert.deepEqual([...bundled], ['@msgpack/msgpack']);
  const notice = words(readFileSync(inPackage('NOTICE'), 'utf8'));
  for (const name of bundled) {
    const licence = readFileSync(path.join(ROOT, 'node_modules', name, 'LICENSE'), 'utf8');
    assert.ok(notice.includes(words(licence)), name);
  }
});

test('programs and tests load what one machine needs, and no other package', () => {
  const { folder } = installed;
  assert.deepEqual(
    readdirSync(path.join(folder, 'node_modules'))
      .filter((name) => !name.startsWith('.'))
      .sort(),
    ['wavewright'],
  );
  const hook = `const urls = [];
    process.getBuiltinModule('node:module').registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
    const vm = process.getBuiltinModule('node:vm');
    vm.Script = class extends vm.Script {
      constructor(source, options) {
        super(source, options);
        urls.push('file:' + options.filename);
      }
    };
    process.on('exit', () => process.getBuiltinModule('node:fs').writeFileSync('loaded.json', JSON.stringify(urls)));`;
  const loadedBy = (...argv: string[]): string[] => {
    const node = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`, inPackage('bin/wavewright.js')];
    assert.equal(runIn(folder, process.execPath, [...node, ...argv, 'examples/hello/hello.gfx90a.co']).status, 0);
    return JSON.parse(readFileSync(path.join(folder, 'loaded.json'), 'utf8'));
  };
  const packages = (urls: readonly string[]) =>
    new Set(urls.flatMap((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []));
  for (const [command, wanted] of [
    ['run', ['main']],
    ['test', ['main', 'more']],
  ] as const) {
    const urls = loadedBy(command);
    const scripts = urls.flatMap((url) => /\/dist\/(main|more)-\w+\.js$/.exec(url)?.[1] ?? []);
    assert.deepEqual(scripts, wanted, command);
    assert.deepEqual([...packages(urls)].sort(), ['wavewright']);
  }
});

test('links lead to what is in the package', () => {
  const broken: string[] = [];
  for (const name of installed.files.filter((file) => file.endsWith('.md'))) {
    const text = readFileSync(inPackage(name), 'utf8');
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:|^#/.test(target)) continue;
      const file = path.posix.join(path.posix.dirname(name), target.replace(/#.*/, '')).replace(/\/$/, '');
      const isThere = installed.files.some((each) => each === file || each.startsWith(`${file}/`));
      if (!isThere) broken.push(`${name}: ${target}`);
    }
  }
  assert.deepEqual(broken, []);
});

test("README's programs and every type of the package pass a strict compiler", () => {
  const { folder } = installed;
  for (const [i, { text }] of programs.entries()) writeFileSync(path.join(folder, `program-${i}.mts`), text);
  const compilerOptions = {
    ...{ strict: true, noEmit: true, module: 'nodenext', target: 'esnext', skipLibCheck: false },
    ...{ types: ['node'], typeRoots: [path.join(ROOT, 'node_modules/@types')] },
  };
  const include = ['*.mts', 'examples/**/*.mts'];
  writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }));
  const { stdout, status } = runIn(folder, process.execPath, [path.join(ROOT, 'node_modules/typescript/bin/tsc')]);
  assert.equal(stdout, '');
  assert.equal(status, 0);
});

test("README's first program in TypeScript is the example", () => {
  assert.equal(programs[0]!.text, readFileSync(path.join(ROOT, 'examples/typescript/vadd.mts'), 'utf8'));
});

test('the pipeline of the HAL computes what the host does', () => {
  const { stdout, stderr, status } = runIn(installed.folder, process.execPath, ['examples/hal/pipeline.mts']);
  assert.deepEqual({ stderr, status }, { stderr: '', status: 0 });
  assert.match(stdout, /^(batch \d: [\da-f]+ as expected\n){6}$/);
});

for (const [i, block] of programs.entries()) {
  test(`README line ${block.line}: a program prints what is said`, () => {
    writeFileSync(path.join(installed.folder, `program-${i}.mts`), block.text);
    const { stdout, stderr, status } = runIn(installed.folder, process.execPath, [`program-${i}.mts`]);
    assert.deepEqual({ stdout, stderr, status }, { stdout: block.output, stderr: '', status: 0 });
  });
}

test('README says how the package is installed as these tests do it', () => {
  const [block] = scripts.filter(isInstallation);
  const { name, version } = manifest;
  assert.equal(block?.text, `npm install ${name}-${version}.tgz\ncp -r node_modules/${name}/examples .\n`);
});

for (const block of scripts.filter((each) => !isInstallation(each) && !needsOracle(each))) {
  test(`README line ${block.line}: commands run as they stand`, () => {
    const { stdout, stderr, status } = runIn(installed.folder, 'bash', ['-euo', 'pipefail', '-c', block.text]);
    assert.equal(status, 0, stderr);
    if (block.output !== undefined) assert.equal(stdout, block.output);
  });
}

for (const { text, line } of documentBlocks('docs/profiling.md').filter(
  (each) => each.language === 'sh' && !needsOracle(each),
)) {
  test(`docs/profiling.md line ${line}: commands run as they stand`, () => {
    const { stderr, status } = runIn(installed.folder, 'bash', ['-euo', 'pipefail', '-c', text]);
    assert.equal(status, 0, stderr);
  });
}

test('every command in README is in a block that is run', () => {
  const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');
  const prose = readme.replace(/^```\w*\n.*?^```\n/gms, '');
  assert.deepEqual(prose.match(/^ {4}\S.*$/gm), null, 'no indented blocks');
  const languages = new Set(BLOCKS.map(({ language }) => language));
  assert.deepEqual([...languages].sort(), ['bash', 'html', 'sh', 'text', 'ts']);
  // For a checkout, which the tests run in already.
  assert.deepEqual(
    BLOCKS.filter(({ language }) => language === 'bash').map(({ text }) => text),
    ['npm ci && npx wavewright run examples/hello/hello.gfx90a.co world\n', 'npm ci && npm test\n'],
  );
  const synopses = BLOCKS.filter(({ language, text }) => language === 'text' && /^(npx )?wavewright .*/.test(text));
  for (const { text } of synopses) assert.match(text, /\[/, 'what is no command to paste shows what can be left out');
});
