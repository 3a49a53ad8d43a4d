#!/usr/bin/env node
// Starts the command line on a Node that can run it. An older Node (20 and later can run this file) hands
// over to the one that the npm package `node` brings. Plain JavaScript; nothing is imported on the common
// path but the command line itself.
const REQUIRED_MAJOR = 26;

if (Number.parseInt(process.versions.node, 10) >= REQUIRED_MAJOR) {
  // It has done its work: a wavewright that a program starts under an old Node hands over on its own.
  delete process.env.WAVEWRIGHT_HANDED_OVER;
  // Not imported: an import reads each export, and those of node:fs load streams.
  const { existsSync } = process.getBuiltinModule('node:fs');
  const { enableCompileCache, registerHooks } = process.getBuiltinModule('node:module');
  // Code is compiled once for all processes: NODE_COMPILE_CACHE, or a folder beside other temporary files.
  enableCompileCache();
  // A checkout runs its sources; the published package has only dist.
  const isCheckout = existsSync(new URL('../tools/checkout-bundle.ts', import.meta.url));
  const main = isCheckout ? await commandLineOfCheckout() : new URL('../dist/main.js', import.meta.url).href;
  const folder = main.slice(0, main.lastIndexOf('/') + 1);
  registerHooks({
    // Imports of a bundle name files exactly: there is nothing to search for.
    resolve: (specifier, context, next) =>
      specifier.startsWith('./') && specifier.endsWith('.js') && context.parentURL?.startsWith(folder)
        ? { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true }
        : next(specifier, context),
  });
  await import(main);
} else {
  await handOver();
}

async function commandLineOfCheckout() {
  const { commandLine } = await import('../tools/checkout-bundle.ts');
  return commandLine();
}

async function handOver() {
  const [{ spawn }, { existsSync }, path, { fileURLToPath }, { constants }] = await Promise.all([
    import('node:child_process'),
    import('node:fs'),
    import('node:path'),
    import('node:url'),
    import('node:os'),
  ]);
  const launcher = fileURLToPath(import.meta.url);
  const node = findNode(path, existsSync, path.dirname(launcher));
  // The variable stops a bundled Node that is itself too old from handing over to itself for ever.
  if (node === undefined || process.env.WAVEWRIGHT_HANDED_OVER !== undefined) {
    process.stderr.write(
      `wavewright: error: Node.js ${REQUIRED_MAJOR} or later is required, found ${process.versions.node} [USAGE]\n` +
        'hint: install Node.js 26 from nodejs.org, or run `npm install node@26` beside this package (`npm ci` in a checkout)\n',
    );
    process.exit(2);
  }
  const env = { ...process.env, WAVEWRIGHT_HANDED_OVER: '1' };
  const child = spawn(node, [launcher, ...process.argv.slice(2)], { stdio: 'inherit', env });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`wavewright: error: ${node}: ${error.message} [IO]\n`);
    process.exit(3);
  });
  // A child that a signal ended is reported the way shells do it: 128 + signal number (SIGINT: 130).
  child.on('exit', (status, signal) => process.exit(signal === null ? status : 128 + constants.signals[signal]));
}

/**
 * The binary of the npm package `node`, or of the per-platform package behind it, in any node_modules above
 * `directory`.
 */
function findNode(path, existsSync, directory) {
  const binary = process.platform === 'win32' ? 'node.exe' : 'node';
  const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  for (const packageName of ['node', `node-${platform}`, `node-bin-${platform}`]) {
    for (let at = directory; ; at = path.dirname(at)) {
      const candidate = path.join(at, 'node_modules', packageName, 'bin', binary);
      if (existsSync(candidate)) return candidate;
      if (at === path.dirname(at)) break;
    }
  }
  return undefined;
}
