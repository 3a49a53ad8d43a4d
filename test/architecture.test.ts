/**
 * Who may import whom; ARCHITECTURE.md shows the picture. A folder that is not listed may import nothing and
 * be imported by nobody but the command line.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import manifest from '../package.json' with { type: 'json' };
import { strongComponents } from '../src/flow/strong-components.ts';
import { lineAt, readSources, type SourceFile } from './sources.ts';

/** Folder under src -> folders that it may import. Its own files are always allowed. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  base: [],
  elf: ['base'],
  wasm: ['base'],
  ir: ['base'],
  printf: ['base'],
  codeobject: ['base', 'elf'],
  linker: ['base', 'elf', 'codeobject'],
  flow: ['base', 'ir'],
  isa: ['base', 'ir'],
  assembler: ['base', 'elf', 'codeobject', 'isa'],
  ptx: ['base', 'ir', 'flow'],
  nvptx: ['base', 'elf', 'codeobject', 'linker', 'ptx'],
  lift: ['base', 'elf', 'codeobject', 'ir', 'flow', 'isa'],
  inspect: ['base', 'elf', 'codeobject', 'linker', 'nvptx', 'ptx', 'ir', 'isa', 'flow', 'lift'],
  emulator: ['base', 'ir', 'flow', 'wasm'],
  instrument: ['base', 'elf', 'codeobject', 'linker', 'ir', 'isa', 'flow', 'lift'],
  device: ['base', 'codeobject'],
  launch: ['base', 'codeobject', 'device'],
  hsa: ['base', 'elf', 'codeobject', 'linker', 'flow', 'lift', 'device', 'launch'],
  'devices/emulated': ['base', 'codeobject', 'device', 'launch', 'hsa', 'isa', 'ptx', 'emulator'],
  'devices/null': ['base', 'device', 'hsa'],
  'devices/native': ['base', 'device', 'hsa'],
  'devices/hsa-native': ['base', 'codeobject', 'device', 'hsa', 'devices/native'],
  'devices/cuda-native': ['base', 'device', 'launch', 'hsa', 'devices/native'],
  bench: [
    'base',
    'codeobject',
    'assembler',
    'linker',
    'device',
    'launch',
    'hsa',
    'emulator',
    'devices/emulated',
    'ptx-host',
  ],
  services: ['base', 'codeobject', 'hsa', 'device', 'printf'],
  'ptx-host': ['base', 'elf', 'codeobject', 'ptx', 'nvptx', 'device', 'launch', 'services'],
  dispatch: ['base', 'codeobject', 'linker', 'inspect', 'hsa', 'device', 'launch', 'services'],
  exec: ['base', 'elf', 'codeobject', 'device', 'hsa'],
  fleet: ['base'],
  kernels: ['base', 'codeobject', 'assembler', 'linker', 'launch', 'hsa', 'device', 'services'],
  loader: ['base', 'elf', 'codeobject', 'ptx', 'ptx-host', 'launch', 'hsa', 'device', 'printf', 'services'],
  tools: ['base', 'codeobject', 'instrument', 'hsa'],
  hal: ['base', 'codeobject', 'linker', 'device', 'launch', 'hsa', 'printf'],
  'hal-drivers': ['base', 'codeobject', 'isa', 'device', 'hal', 'devices/emulated'],
  profile: ['base', 'hal'],
  replay: ['base', 'hal', 'hsa'],
  report: ['base', 'flow', 'profile'],
};

/**
 * Outermost folders: they may import everything below them, and nothing may import them, but for the command
 * line, which gives tools of users what the package exports.
 */
const SHELLS = ['cli', '(root)'];

/** Folders that also run in a browser: `node:*` only in files named node-*.ts and in tests. */
const NO_NODE = [
  'base',
  'elf',
  'wasm',
  'ir',
  'codeobject',
  'isa',
  'assembler',
  'ptx',
  'nvptx',
  'ptx-host',
  'lift',
  'inspect',
  'linker',
  'flow',
  'device',
  'emulator',
  'hsa',
  'launch',
  'services',
  'dispatch',
  'instrument',
  'tools',
  'printf',
  'devices/emulated',
  'devices/null',
  'kernels',
  'loader',
  'hal',
  'report',
];

/** Imports that break the rules and wait for repair, as `FILE -> TARGET`. Entries may only be removed. */
const DEBT: readonly string[] = [];

/**
 * The rooms inside a folder, low to high: each may import those before it and nothing behind. `.` is the room
 * of the files directly in the folder. Every folder that has folders stands here (`devices` has none of its
 * own: ALLOWED lists what is in it).
 */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  bench: ['kernels', 'applications', '.'],
  cli: ['process', 'arguments', 'text', 'program', 'batch', 'commands', '.'],
  'devices/emulated': ['amdgpu', 'ptx', '.'],
  emulator: ['machine', 'lowering', 'handlers', 'code', 'jit', 'reference', 'schedule', 'workers', '.'],
  fleet: ['.', 'queue'],
  'emulator/jit': ['function', 'regions', 'loops', '.'],
  hal: [
    'core',
    'memory',
    'executables',
    'backend',
    'commands',
    'queues',
    'devices',
    'local',
    'null',
    'amdgpu',
    'tooling',
    '.',
  ],
  'hal/amdgpu': ['packets', 'order', 'library', 'program', '.'],
  'hal/memory': ['.', 'pools'],
  hsa: ['objects', 'signals', 'memory', 'executables', 'queues', 'runtime', '.'],
  inspect: ['objdump', '.'],
  instrument: ['layout', 'machine', 'dsl', 'hooks', 'object', 'kernel', 'tool', 'points', '.'],
  isa: ['amdgpu'],
  'isa/amdgpu': ['encoding', 'semantics', 'rows', 'text', 'effects', 'report', '.'],
  'isa/amdgpu/semantics': ['.', 'buffer', 'matrix'],
  'isa/amdgpu/rows': ['table', 'matrix', 'vector', 'memory', 'scalar', '.'],
  'isa/amdgpu/text': ['reader', '.', 'assembler'],
  loader: ['host', 'rpc', '.'],
  'loader/rpc': ['protocol', 'handlers', '.'],
  ptx: ['text', 'machine', 'rows', 'compile', '.'],
  profile: ['format', '.', 'reports', 'export'],
  replay: ['format', 'dump', 'record', 'launches', 'execute'],
  services: ['hostcall', 'cuda', '.'],
};

/** Arrows between rooms that point upwards and wait for repair. Entries may only be removed. */
const ROOM_DEBT: Readonly<Record<string, readonly string[]>> = {};

/**
 * How many files of a folder import each other in circles and wait for repair. Numbers may only fall; at 0
 * the entry goes.
 */
const CIRCLE_DEBT: Readonly<Record<string, number>> = {};

interface Import {
  readonly file: string;
  readonly line: number;
  /** A path from the root of the repository, or the specifier of a package. */
  readonly target: string;
  readonly specifier: string;
}

const IMPORT =
  /^\s*(?:import|export)\b[^;'"`]*?\bfrom\s*['"]([^'"]+)['"]|^\s*import\s*['"]([^'"]+)['"]|\b(?:import|getBuiltinModule)\(\s*['"]([^'"]+)['"]/gm;

/**
 * Modules of Node that load streams, or are streams: some 20 modules and 3 MB. An import of node:fs does,
 * because it reads each of its exports. They are asked for with `process.getBuiltinModule`; all but node:fs
 * where they are used.
 */
const STREAMS = /^import (?!type)[^;]*'node:(?:fs|fs\/promises|zlib|net|tty|child_process|stream)'/m;
/** Files that only such commands load as need them anyway. */
const USES_STREAMS = [
  'src/bench/measure-application.ts',
  'src/bench/node-baseline.ts',
  'src/bench/node-launch-costs.ts',
];

/**
 * Static, side-effect, re-exporting, type-only and dynamic imports of one file, and the modules of Node that
 * it asks for.
 */
function importsOf({ path: file, text }: SourceFile): Import[] {
  const found: Import[] = [];
  for (const match of text.matchAll(IMPORT)) {
    const specifier = match[1] ?? match[2] ?? match[3]!;
    const target = specifier.startsWith('.') ? path.posix.join(path.posix.dirname(file), specifier) : specifier;
    found.push({ file, line: lineAt(text, match.index), target, specifier });
  }
  return found;
}

/**
 * The folder that a file under src belongs to: `isa`, `devices/emulated`, or `(root)` for a file directly in
 * src.
 */
function folderOf(file: string): string {
  const parts = file.split('/').slice(1, -1);
  if (parts.length === 0) return '(root)';
  return parts[0] === 'devices' ? parts.slice(0, 2).join('/') : parts[0]!;
}

const isTest = (file: string) => /\.test(?:-support)?\.ts$/.test(file);

/** Where the packages are loaded that only some users have. */
/** Packages that the bundle of ours contains (tools/bundle.ts). */
const BUNDLED = ['@msgpack/msgpack'];
const OPTIONAL_PACKAGES = 'src/fleet/queue/connection.ts';
const lineOf = ({ text }: SourceFile, line: number): string => text.split('\n')[line - 1] ?? '';
const isTypeImport = (file: SourceFile, line: number): boolean => /^import type /.test(lineOf(file, line));
const isDynamicImport = (file: SourceFile, line: number): boolean => /\bimport\('/.test(lineOf(file, line));

/** Every broken rule, as one line each. */
function violations(files: readonly SourceFile[]): string[] {
  const found: string[] = [];
  for (const file of files) {
    const folder = folderOf(file.path);
    for (const { line, target, specifier } of importsOf(file)) {
      const complain = (why: string) => found.push(`${file.path}:${line} -> ${target}: ${why}`);
      if (specifier.startsWith('.')) {
        if (!specifier.endsWith('.ts')) complain('relative imports name the file, with .ts');
        if (!target.startsWith('src/')) {
          if (!isTest(file.path)) complain('src imports nothing outside src');
          continue;
        }
        const other = folderOf(target);
        if (other === folder) continue;
        // A test may build its input with any folder that the product could combine it with, but never a
        // shell.
        if (SHELLS.includes(other) && !(folder === 'cli' && other === '(root)'))
          complain(`nothing may import ${other}`);
        else if (!SHELLS.includes(folder) && !isTest(file.path) && !ALLOWED[folder]?.includes(other)) {
          complain(`${folder} may not import ${other}`);
        }
      } else if (specifier.startsWith('node:')) {
        const adapter = path.posix.basename(file.path).startsWith('node-');
        if (NO_NODE.includes(folder) && !adapter && !isTest(file.path)) {
          complain(`${folder} runs in browsers too; node:* belongs in a file named node-*.ts`);
        }
      } else if (Object.keys(manifest.peerDependencies).includes(target)) {
        // Where a user does without them, nothing may ask for them.
        if (file.path !== OPTIONAL_PACKAGES && !isTypeImport(file, line))
          complain(`only ${OPTIONAL_PACKAGES} loads it`);
        else if (!isTypeImport(file, line) && !isDynamicImport(file, line)) complain('loaded by import() alone');
      } else if (!isTest(file.path) && !BUNDLED.some((name) => target.startsWith(name))) {
        complain('not a dependency of the published package');
      }
    }
  }
  return found;
}

/** A cycle of folders such as `['a', 'b', 'a']`, or undefined. */
function folderCycle(edges: ReadonlyMap<string, ReadonlySet<string>>): string[] | undefined {
  const done = new Set<string>();
  const visit = (folder: string, trail: readonly string[]): string[] | undefined => {
    const seen = trail.indexOf(folder);
    if (seen >= 0) return [...trail.slice(seen), folder];
    if (done.has(folder)) return undefined;
    for (const next of edges.get(folder) ?? []) {
      const cycle = visit(next, [...trail, folder]);
      if (cycle) return cycle;
    }
    done.add(folder);
    return undefined;
  };
  for (const folder of edges.keys()) {
    const cycle = visit(folder, []);
    if (cycle) return cycle;
  }
  return undefined;
}

function folderEdges(files: readonly SourceFile[]): Map<string, Set<string>> {
  const edges = new Map<string, Set<string>>();
  for (const file of files.filter(({ path: name }) => !isTest(name))) {
    for (const { target } of importsOf(file)) {
      const [from, to] = [folderOf(file.path), folderOf(target)];
      if (!target.startsWith('src/') || from === to) continue;
      const targets = edges.get(from) ?? new Set();
      edges.set(from, targets.add(to));
    }
  }
  return edges;
}

/** Where a product file imports another one under src. */
function productImports(files: readonly SourceFile[]): Import[] {
  return files
    .filter(({ path: name }) => !isTest(name))
    .flatMap(importsOf)
    .filter(({ target }) => target.startsWith('src/'));
}

/** The room of `folder` that a file below it is in. */
function roomOf(folder: string, file: string): string {
  const parts = file.slice(`src/${folder}/`.length).split('/');
  return parts.length === 1 ? '.' : parts[0]!;
}

/** Arrows between the rooms of `folder` that do not point down, each with the lines that draw it. */
function roomViolations(folder: string, rooms: readonly string[], files: readonly SourceFile[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const isInside = (file: string): boolean => file.startsWith(`src/${folder}/`);
  for (const { file, line, target } of productImports(files.filter((each) => isInside(each.path)))) {
    if (!isInside(target)) continue;
    const [from, to] = [roomOf(folder, file), roomOf(folder, target)];
    const isDown = rooms.includes(to) && rooms.indexOf(to) < rooms.indexOf(from);
    if (from === to || isDown) continue;
    const arrow = `${from} -> ${to}`;
    found.set(arrow, [...(found.get(arrow) ?? []), `${file}:${line} -> ${target}`]);
  }
  return found;
}

/** Folders under src with product files in folders of their own. */
function foldersWithRooms(files: readonly SourceFile[]): Set<string> {
  const folders = new Set<string>();
  for (const { path: file } of files.filter((each) => !isTest(each.path))) {
    const parts = file.split('/').slice(1, -1);
    for (let depth = 1; depth < parts.length; depth++) folders.add(parts.slice(0, depth).join('/'));
  }
  folders.delete('devices');
  return folders;
}

/** Groups of files that import each other. */
function fileCircles(files: readonly SourceFile[]): string[][] {
  const nodes = new Map(files.map((file) => [file.path, { path: file.path, next: new Set<string>() }]));
  for (const { file, target } of productImports(files)) if (nodes.has(target)) nodes.get(file)!.next.add(target);
  const done = new Set<object>();
  const circles: string[][] = [];
  for (const node of nodes.values()) {
    const successors = (each: typeof node) => [...each.next].map((name) => nodes.get(name)!);
    for (const component of strongComponents(node, successors, (each) => done.has(each))) {
      for (const each of component) done.add(each);
      if (component.length > 1) circles.push(component.map((each) => each.path).sort());
    }
  }
  return circles;
}

/** The files that those of `entries` import, at any distance, and themselves. */
function importedBy(entries: readonly string[], files: readonly SourceFile[]): Set<string> {
  const byFile = Map.groupBy(productImports(files), ({ file }) => file);
  const found = new Set(entries);
  for (const file of found) for (const { target } of byFile.get(file) ?? []) found.add(target);
  return found;
}

const sources = readSources('src').filter(({ path: name }) => name.endsWith('.ts'));

test('imports follow the allow-list', () => {
  assert.ok(sources.length > 20, 'the scan found the sources');
  const found = violations(sources);
  const open = found.filter((line) => !DEBT.some((debt) => line.includes(debt)));
  assert.deepEqual(open, []);
  const paid = DEBT.filter((debt) => !found.some((line) => line.includes(debt)));
  assert.deepEqual(paid, [], 'these debts are paid: remove them from DEBT');
});

test('what the package exports runs in browsers, but for what is named node', () => {
  const scripts = Object.values(manifest.exports).map(({ default: script }) => script);
  const entries = scripts.map((script) => script.replace('./dist/', 'src/').replace(/\.js$/, '.ts'));
  assert.deepEqual(
    entries.filter((file) => !sources.some((each) => each.path === file)),
    [],
  );
  const nodeImports = (from: readonly string[]) => {
    const reached = importedBy(from, sources);
    return sources
      .filter(({ path: file }) => reached.has(file))
      .flatMap(importsOf)
      .filter(({ target }) => target.startsWith('node:'))
      .map(({ file, line, target }) => `${file}:${line} -> ${target}`);
  };
  assert.ok(nodeImports(['src/node.ts']).length > 0);
  assert.deepEqual(nodeImports(entries.filter((file) => file !== 'src/node.ts')), []);
});

test('no import loads the streams of Node', () => {
  const found = sources
    .filter(({ path: file }) => !isTest(file) && !USES_STREAMS.includes(file))
    .filter(({ text }) => STREAMS.test(text))
    .map(({ path: file }) => file);
  assert.deepEqual(found, []);
});

test('no cycles between folders', () => {
  assert.equal(folderCycle(folderEdges(sources)), undefined);
});

test('the allow-list itself has no cycle and names no shell', () => {
  assert.equal(folderCycle(new Map(Object.entries(ALLOWED).map(([from, to]) => [from, new Set(to)]))), undefined);
  for (const targets of Object.values(ALLOWED)) {
    for (const target of targets) assert.ok(target in ALLOWED, target);
  }
});

test('every folder with folders in it says in what order they stand', () => {
  assert.deepEqual([...foldersWithRooms(sources)].filter((folder) => !(folder in ROOMS)).sort(), []);
});

for (const [folder, rooms] of Object.entries(ROOMS)) {
  test(`the rooms of ${folder} import downwards`, () => {
    const found = roomViolations(folder, rooms, sources);
    const debts = ROOM_DEBT[folder] ?? [];
    assert.deepEqual(
      [...found].filter(([arrow]) => !debts.includes(arrow)).flatMap(([, lines]) => lines),
      [],
    );
    assert.deepEqual(
      debts.filter((arrow) => !found.has(arrow)),
      [],
      'these debts are paid: remove them from ROOM_DEBT',
    );
  });
}

test('files import each other in no circle', () => {
  const circles = fileCircles(sources);
  const folders = new Set([...Object.keys(CIRCLE_DEBT), ...circles.flat().map(folderOf)]);
  for (const folder of folders) {
    const inFolder = circles.filter(([first]) => folderOf(first!) === folder);
    const debt = CIRCLE_DEBT[folder] ?? 0;
    const count = inFolder.flat().length;
    const text = inFolder.map((circle) => circle.join('\n  ')).join('\n\n  ');
    assert.ok(count <= debt, `${count} files of ${folder} are on circles, ${debt} are known:\n\n  ${text}`);
    assert.equal(count, debt, `fewer files of ${folder} are on circles: lower its number in CIRCLE_DEBT`);
  }
});

test('the rules for rooms and circles find what they should', () => {
  const at = (file: string, ...targets: string[]): SourceFile => ({
    path: file,
    text: targets.map((target) => `import type { x } from '${target}';`).join('\n'),
  });
  const rooms = ['low', 'high', '.'];
  const arrows = (...files: SourceFile[]) => [...roomViolations('a', rooms, files).keys()];
  assert.deepEqual(arrows(at('src/a/high/x.ts', '../low/x.ts', './y.ts', '../../b/x.ts')), []);
  assert.deepEqual(arrows(at('src/a/x.ts', './low/deep/x.ts', './y.ts')), []);
  assert.deepEqual(arrows(at('src/a/low/x.ts', '../high/x.ts')), ['low -> high']);
  assert.deepEqual(arrows(at('src/a/low/deep/x.ts', '../../x.ts')), ['low -> .']);
  assert.deepEqual(arrows(at('src/a/high/x.ts', '../unlisted/x.ts')), ['high -> unlisted']);
  assert.deepEqual(arrows(at('src/a/unlisted/x.ts', '../low/x.ts')), ['unlisted -> low']);
  assert.deepEqual(arrows(at('src/a/low/x.test.ts', '../high/x.ts')), []);
  const nested = [at('src/a/x.ts'), at('src/b/c/d/x.ts'), at('src/devices/e/x.ts'), at('src/f/g/x.test.ts')];
  assert.deepEqual([...foldersWithRooms(nested)], ['b', 'b/c']);
  const [x, y, z] = [at('src/a/x.ts', './y.ts'), at('src/a/y.ts', './z.ts'), at('src/a/z.ts', './x.ts')];
  assert.deepEqual(fileCircles([x, y]), []);
  assert.deepEqual(fileCircles([at('src/a/w.ts', './x.ts'), x, y, z]), [[x.path, y.path, z.path]]);
});

test('the rules find what they should', () => {
  const bad = (file: string, text: string) => violations([{ path: file, text }]);
  const file = 'src/elf/reader.ts';
  assert.deepEqual(bad(file, "import { x } from '../base/x.ts';\nimport type { y } from './y.ts';\n"), []);
  for (const text of [
    "import { x } from '../isa/x.ts';",
    "import type { x } from '../isa/x.ts';",
    "import {\n  a,\n  b,\n} from '../isa/x.ts';",
    "export { x } from '../isa/x.ts';",
    "export * from '../isa/x.ts';",
    "import '../isa/x.ts';",
    "const x = await import('../isa/x.ts');",
  ]) {
    assert.equal(bad(file, text).length, 1, text);
    assert.match(bad(file, text)[0]!, /elf may not import isa/);
  }
  assert.match(bad(file, "import { x } from '../cli/x.ts';")[0]!, /nothing may import cli/);
  assert.match(bad('src/elf/a.test.ts', "import { x } from '../cli/x.ts';")[0]!, /nothing may import cli/);
  assert.match(bad(file, "import { x } from '../index.ts';")[0]!, /nothing may import \(root\)/);
  assert.deepEqual(bad('src/cli/x.ts', "import { x } from '../index.ts';"), []);
  assert.match(bad(file, "import { x } from './x.js';")[0]!, /with \.ts/);
  assert.match(bad(file, "import { x } from '../../test/x.ts';")[0]!, /outside src/);
  assert.match(bad(file, "import fs from 'node:fs';")[0]!, /browsers/);
  assert.match(bad(file, "const fs = process.getBuiltinModule('node:fs');")[0]!, /browsers/);
  assert.deepEqual(bad('src/elf/node-reader.ts', "import fs from 'node:fs';"), []);
  assert.deepEqual(bad('src/elf/reader.test.ts', "import { test } from 'node:test';"), []);
  assert.match(bad('src/unlisted/x.ts', "import { x } from '../elf/x.ts';")[0]!, /unlisted may not import elf/);
  assert.match(bad('src/devices/emulated/x.ts', "import { x } from '../hsa-native/x.ts';")[0]!, /may not import/);
  assert.match(bad(file, "import fc from 'fast-check';")[0]!, /not a dependency/);
  assert.match(bad(file, "const x = await import('bullmq');")[0]!, /only .* loads it/);
  assert.deepEqual(bad(OPTIONAL_PACKAGES, "import type { Redis } from 'ioredis';\n  await import('bullmq');\n"), []);
  assert.match(bad(OPTIONAL_PACKAGES, "import { Redis } from 'ioredis';")[0]!, /import\(\) alone/);
  assert.deepEqual(bad('src/elf/reader.test.ts', "import fc from 'fast-check';"), []);
  const cycle = folderEdges([
    { path: 'src/a/x.ts', text: "import '../b/x.ts';" },
    { path: 'src/b/x.ts', text: "import '../c/x.ts';" },
    { path: 'src/c/x.ts', text: "import '../b/y.ts';" },
  ]);
  assert.deepEqual(folderCycle(cycle), ['b', 'c', 'b']);
});
