/**
 * Bundles the sources: a program then reads some dozen files in place of hundreds. `npm run build` runs it
 * for the package, `bin/wavewright.js` in a checkout whose sources changed (checkout-bundle.ts).
 *
 *     node tools/bundle.ts FOLDER
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build, type Plugin } from 'esbuild';

const ROOT = path.resolve(import.meta.dirname, '..');
const PACKAGE_FILE = 'base/node-package-file';

/** Sources that are files of the bundle: what the package exports, programs, and threads that they start. */
export const ENTRIES = [
  ...['index', 'hal', 'instrument', 'isa', 'node', 'ptx', 'web'],
  ...['cli/main', 'cli/batch/child', 'cli/batch/worker'],
  ...['devices/emulated/node-worker', 'devices/emulated/web-worker'],
] as const;

export interface Bundle {
  /** By name; all stand in one folder. Those that others import have their content in their name. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Sources that it was made of, by their path from the repository. */
  readonly inputs: readonly string[];
}

/** `packageFileUrl`: an expression for the URL of src/base/node-package-file.ts. */
export async function bundle(packageFileUrl: string): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ENTRIES.map((name) => `src/${name}.ts`),
    outdir: '.',
    entryNames: '[name]',
    chunkNames: 'chunk-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    // Browsers lack what comes later, such as `using`.
    target: 'es2024',
    platform: 'neutral',
    packages: 'external',
    external: ['node:*'],
    charset: 'utf8',
    legalComments: 'none',
    write: false,
    metafile: true,
    plugins: [movesPackageFile(packageFileUrl)],
  });
  const files = new Map(outputFiles.map(({ path: file, contents }) => [path.basename(file), contents]));
  return { files, inputs: Object.keys(metafile.inputs) };
}

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
  for (const [name, bytes] of files) writeFileSync(path.join(folder, name), bytes);
}
