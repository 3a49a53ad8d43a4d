/**
 * Bundles the sources: the command line is two scripts, what others import some dozen modules in place of
 * hundreds. `npm run build` runs it for the package, `bin/wavewright.js` in a checkout whose sources changed
 * (checkout-bundle.ts).
 *
 *     node tools/bundle.ts FOLDER
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type BuildOptions, build, type Metafile, type OutputFile, type Plugin } from 'esbuild';

const ROOT = path.resolve(import.meta.dirname, '..');
const PACKAGE_FILE = 'base/node-package-file';
const COMMAND_LINE = 'cli/main';
/** The part of it that begins. */
const MAIN_PART = 'main.js';
/** The file that names its scripts, whose names say what is in them. */
const MAIN = 'main.txt';
/** Sources of the command line that are loaded on demand where a program is run on the emulator. */
const ON_DEMAND_IN_MAIN = new Set([
  ...['src/cli/commands/run.ts', 'src/cli/commands/dispatch.ts', 'src/cli/upstream-loader.ts'],
  ...['src/cli/arguments/code-folder.ts', 'src/cli/arguments/nvptx-device.ts', 'src/nvptx/images.ts'],
  ...['src/devices/emulated/index.ts', 'src/devices/emulated/ptx-device.ts', 'src/devices/emulated/node-threads.ts'],
  ...['src/loader/amdgpu-program.ts', 'src/loader/ptx-program.ts', 'src/ptx/text/recognize.ts'],
  ...['src/ptx-host/load.ts', 'src/ptx-host/ptx-executable.ts'],
]);

/** Sources that programs and threads begin with which the command line starts. */
const STARTED = ['cli/batch/child', 'cli/batch/worker', 'devices/emulated/node-worker'] as const;
/** What the package exports for Node. */
const EXPORTED = ['index', 'hal', 'instrument', 'isa', 'node', 'ptx', 'web'] as const;
/** All sources that a bundle begins with, but for those for pages. */
export const ENTRIES = [COMMAND_LINE, ...STARTED, ...EXPORTED] as const;
/** Each becomes one file that imports no other: a page waits for each. */
const FOR_PAGES = ['browser', 'devices/emulated/web-worker'];
/** How all bundles are made. */
const COMMON: BuildOptions = {
  absWorkingDir: ROOT,
  outdir: '.',
  entryNames: '[name]',
  bundle: true,
  format: 'esm',
  // Browsers lack what comes later, such as `using`.
  target: 'es2024',
  platform: 'neutral',
  mainFields: ['module', 'main'],
  conditions: ['import'],
  external: ['node:*', 'bullmq', 'ioredis'],
  charset: 'utf8',
  legalComments: 'none',
};

export interface Bundle {
  /** By name; all stand in one folder. Scripts and what modules share have their content in their names. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Sources that it was made of, by their path from the repository. */
  readonly inputs: readonly string[];
}

/**
 * What the command line is run from. `packageFileUrl`: an expression for the URL of
 * src/base/node-package-file.ts.
 */
export async function bundleForCommands(packageFileUrl: string): Promise<Bundle> {
  const all = await Promise.all([commandLine(packageFileUrl), modules(STARTED, packageFileUrl)]);
  const inputs = new Set(all.flatMap((each) => each.inputs));
  return { files: new Map(all.flatMap(({ files }) => [...files])), inputs: [...inputs] };
}

/**
 * The command line as two scripts, as `bin/wavewright.js` runs them: each is a function, which gets what that
 * gives. The first has what runs programs (ON_DEMAND_IN_MAIN), the second all else; each asks `other` for
 * parts of the other one.
 */
async function commandLine(packageFileUrl: string): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    ...{ ...COMMON, write: false, metafile: true },
    entryPoints: [sourceOf(COMMAND_LINE)],
    entryNames: '[name]',
    chunkNames: '[name]-[hash]',
    splitting: true,
    plugins: [movesPackageFile(packageFileUrl), importsModules],
  });
  const all = byName(outputFiles);
  const isInMain = partsOfMain(metafile);
  const names = [...all.keys()];
  const [main, more] = [names.filter((name) => isInMain.has(name)), names.filter((name) => !isInMain.has(name))];
  const shared = (own: readonly string[], others: readonly string[]): string[] => {
    const asked = new Set(others.flatMap((name) => importsOf(metafile, name).map(({ path: imported }) => imported)));
    return own.filter((name) => asked.has(name)).map((name) => `exports['./${name}'] = () => require('./${name}');`);
  };
  const scripts = await Promise.all([
    script('main', all, main, [...shared(main, more), `require('./${MAIN_PART}');`]),
    script('more', all, more, shared(more, main)),
  ]);
  const list = Buffer.from(scripts.map(({ name }) => name).join('\n'));
  const files = new Map([...scripts.map(({ name, bytes }) => [name, bytes] as const), [MAIN, list]]);
  return { files, inputs: Object.keys(metafile.inputs) };
}

/** Those that the first script has. Throws where a source imports on demand what a script cannot. */
function partsOfMain(metafile: Metafile): ReadonlySet<string> {
  const found = new Set([MAIN_PART]);
  for (const name of found)
    for (const { kind, path: imported } of importsOf(metafile, name)) {
      const { entryPoint } = metafile.outputs[imported]!;
      if (kind !== 'dynamic-import' || (entryPoint !== undefined && ON_DEMAND_IN_MAIN.has(entryPoint)))
        found.add(imported);
    }
  for (const { imports } of Object.values(metafile.outputs))
    for (const { external, kind, path: imported } of imports)
      if (external && kind === 'dynamic-import')
        throw new Error(`importsModules does not know who imports ${imported}`);
  return found;
}

/** What a part imports of the other parts. */
const importsOf = ({ outputs }: Metafile, name: string) => outputs[name]!.imports.filter(({ external }) => !external);

/** A script of some parts, which does what `lines` say. */
async function script(
  stem: string,
  parts: ReadonlyMap<string, Uint8Array>,
  own: readonly string[],
  lines: readonly string[],
): Promise<{ readonly name: string; readonly bytes: Uint8Array }> {
  const { outputFiles } = await build({
    ...{ ...COMMON, write: false },
    stdin: { contents: lines.join('\n'), sourcefile: stem },
    entryNames: `${stem}-[hash]`,
    format: 'cjs',
    banner: { js: '(function (require, exports, module, scriptUrl, importModule, other) {' },
    footer: { js: '})' },
    charset: 'ascii',
    minifyWhitespace: true,
    define: { 'import.meta.url': 'scriptUrl' },
    plugins: [takesParts(parts, new Set(own))],
  });
  const [{ path: file, contents: bytes }] = outputFiles as [OutputFile];
  return { name: path.basename(file), bytes };
}

/** Modules that share parts. */
async function modules(entries: readonly string[], packageFileUrl: string): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    ...{ ...COMMON, write: false, metafile: true },
    entryPoints: entries.map(sourceOf),
    chunkNames: 'chunk-[hash]',
    splitting: true,
    plugins: [movesPackageFile(packageFileUrl)],
  });
  return { files: byName(outputFiles), inputs: Object.keys(metafile.inputs) };
}

/** The files of the package for pages. */
async function bundleForPages(): Promise<ReadonlyMap<string, Uint8Array>> {
  const { outputFiles } = await build({
    ...{ ...COMMON, write: false },
    entryPoints: FOR_PAGES.map(sourceOf),
    minifySyntax: true,
    minifyWhitespace: true,
  });
  return byName(outputFiles);
}

const sourceOf = (name: string): string => `src/${name}.ts`;

const byName = (files: readonly OutputFile[]): Map<string, Uint8Array> =>
  new Map(files.map(({ path: file, contents }) => [path.basename(file), contents]));

function movesPackageFile(url: string): Plugin {
  return rewrites('moves-package-file', new RegExp(`${PACKAGE_FILE}\\.ts$`), 'import.meta.url', url);
}

function rewrites(name: string, filter: RegExp, from: string | RegExp, to: string): Plugin {
  return {
    name,
    setup: ({ onLoad }) =>
      onLoad({ filter }, ({ path: file }) => ({
        contents: readFileSync(file, 'utf8').replaceAll(from, to),
        loader: 'ts',
      })),
  };
}

/** Imports of what is no part of a script: it has none of its own. */
const IMPORT = /\bimport\((?!'\.)/g;
const importsModules = rewrites(
  'imports-modules',
  /\/src\/(base\/node-ffi|fleet\/queue\/connection|cli\/program\/user-module)\.ts$/,
  IMPORT,
  'importModule(',
);

/** Puts parts together that are of one script; the others come from the other one. */
function takesParts(parts: ReadonlyMap<string, Uint8Array>, own: ReadonlySet<string>): Plugin {
  return {
    name: 'takes-parts',
    setup: ({ onResolve, onLoad }) => {
      onResolve({ filter: /^/ }, ({ path: specifier }) => {
        if (!specifier.startsWith('./')) return { external: true };
        const name = path.basename(specifier);
        return { path: name, namespace: own.has(name) ? 'own' : 'other' };
      });
      onLoad({ filter: /^/, namespace: 'own' }, ({ path: name }) => ({ contents: parts.get(name)! }));
      onLoad({ filter: /^/, namespace: 'other' }, ({ path: name }) => ({
        contents: `module.exports = other('./${name}');`,
      }));
    },
  };
}

if (import.meta.main) {
  const [folder = 'dist'] = process.argv.slice(2);
  const url = `new URL('./${PACKAGE_FILE}.js', import.meta.url)`;
  const [script, shared, pages] = await Promise.all([
    commandLine(url),
    modules([...STARTED, ...EXPORTED], url),
    bundleForPages(),
  ]);
  mkdirSync(folder, { recursive: true });
  for (const [name, bytes] of [...script.files, ...shared.files, ...pages])
    writeFileSync(path.join(folder, name), bytes);
}
