/**
 * Bundles the sources: a program then reads some dozen files in place of hundreds. `npm run build` runs it
 * for the package, `bin/wavewright.js` in a checkout whose sources changed (checkout-bundle.ts).
 *
 *     node tools/bundle.ts FOLDER
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type BuildOptions, build, type OutputFile, type Plugin } from 'esbuild';

const ROOT = path.resolve(import.meta.dirname, '..');
const PACKAGE_FILE = 'base/node-package-file';

/** Sources that are files of the bundle: what the package exports, programs, and threads that they start. */
export const ENTRIES = [
  ...['index', 'hal', 'instrument', 'isa', 'node', 'ptx', 'web'],
  ...['cli/main', 'cli/batch/child', 'cli/batch/worker'],
  'devices/emulated/node-worker',
] as const;
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
  /** By name; all stand in one folder. Those that others import have their content in their name. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Sources that it was made of, by their path from the repository. */
  readonly inputs: readonly string[];
}

/** `packageFileUrl`: an expression for the URL of src/base/node-package-file.ts. */
export async function bundle(packageFileUrl: string): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    ...{ ...COMMON, write: false, metafile: true },
    entryPoints: ENTRIES.map(sourceOf),
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
  return {
    name: 'moves-package-file',
    setup: ({ onLoad }) =>
      onLoad({ filter: new RegExp(`${PACKAGE_FILE}\\.ts$`) }, ({ path: file }) => ({
        contents: readFileSync(file, 'utf8').replaceAll('import.meta.url', url),
        loader: 'ts',
      })),
  };
}

if (import.meta.main) {
  const [folder = 'dist'] = process.argv.slice(2);
  const { files } = await bundle(`new URL('./${PACKAGE_FILE}.js', import.meta.url)`);
  mkdirSync(folder, { recursive: true });
  for (const [name, bytes] of [...files, ...(await bundleForPages())]) writeFileSync(path.join(folder, name), bytes);
}
