/**
 * What `bin/wavewright.js` runs in a checkout: a bundle of the sources (bundle.ts), made anew when one of
 * them changed. To read some four hundred modules takes a fifth of the time of a short program.
 */
import { fileURLToPath } from 'node:url';

// Not imported: an import reads each export, and those of node:fs load streams.
const { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } =
  process.getBuiltinModule('node:fs');

const ROOT = new URL('..', import.meta.url);
const FOLDER = new URL('node_modules/.cache/wavewright/bundle/', ROOT);
/** Written last. */
const LIST = new URL('inputs.json', FOLDER);
/** Beside the sources, what they are bundled with. */
const TOOLS = ['tools/bundle.ts', 'tools/checkout-bundle.ts'];
/** Files of older bundles are kept so long: programs that run may still load them. */
const KEPT_MS = 24 * 60 * 60 * 1000;

/** When a file, or what leads to it, changed: a copy and an older version that comes back count, too. */
type Input = readonly [name: string, changedMs: number, sizeBytes: number];

/**
 * The command line: the file that names its script in the bundle. Where none can be made or kept, and where
 * stacks are to name sources (WAVEWRIGHT_DEBUG), it is the source to import, of which Node itself takes the
 * types away, file by file; an error in it is told then.
 */
export async function commandLine(): Promise<URL> {
  const source = new URL('src/cli/main.ts', ROOT);
  if (process.env['WAVEWRIGHT_DEBUG'] === '1') return source;
  try {
    if (!isCurrent()) await renew();
  } catch {
    return source;
  }
  return new URL('main.txt', FOLDER);
}

function isCurrent(): boolean {
  try {
    const inputs: Input[] = JSON.parse(readFileSync(LIST, 'utf8'));
    const root = fileURLToPath(ROOT);
    return inputs.every(([name, changedMs, sizeBytes]) => {
      const { ctimeMs, size } = statSync(root + name);
      return ctimeMs === changedMs && size === sizeBytes;
    });
  } catch {
    return false;
  }
}

async function renew(): Promise<void> {
  const startedMs = Date.now();
  const { bundleForCommands } = await import('./bundle.ts');
  const { files, inputs } = await bundleForCommands(
    JSON.stringify(new URL('src/base/node-package-file.ts', ROOT).href),
  );
  const listed = [...inputs, ...TOOLS].map((name): Input => {
    const { ctimeMs, size } = statSync(new URL(name, ROOT));
    // What changes meanwhile is not what was read, perhaps: the next process looks again.
    return [name, ctimeMs < startedMs ? ctimeMs : 0, size];
  });
  mkdirSync(FOLDER, { recursive: true });
  const known = new Set(readdirSync(FOLDER));
  const isPart = (name: string): boolean => /^(chunk|main|more)-/.test(name);
  // Parts before those that name them.
  for (const [name, bytes] of [...files].sort(([a], [b]) => Number(isPart(b)) - Number(isPart(a))))
    if (!isPart(name) || !known.has(name)) replace(new URL(name, FOLDER), bytes);
  // Without it Node looks into each file for what it is.
  replace(new URL('package.json', FOLDER), JSON.stringify({ type: 'module' }));
  replace(LIST, JSON.stringify(listed));
  for (const name of known)
    if (isPart(name) && !files.has(name) && statSync(new URL(name, FOLDER)).mtimeMs < startedMs - KEPT_MS)
      rmSync(new URL(name, FOLDER));
}

/** Beside the file first, so that whoever reads meanwhile has the old one or the new one. */
function replace(file: URL, content: string | Uint8Array): void {
  const written = new URL(`${file.href}.${process.pid}`);
  writeFileSync(written, content);
  renameSync(written, file);
}
