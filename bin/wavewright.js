#!/usr/bin/env node
// Starts the command line on a Node that can run it. An older Node (20 and later can run this file) hands
// over to the one that the npm package `node` brings. Plain JavaScript; nothing is imported on the common
// path but the command line itself.
const REQUIRED_MAJOR = 26;
const USAGE_STATUS = 2;
/** What is kept of compiled code, and when. */
const MIN_KEEPING_US = 150_000;
const MAX_KEEPING_SECONDS = 30;
const MIN_GROWTH = 1.05;
const MAX_VERSIONS = 4;
/** Bits of a file's mode. */
const WRITTEN_BY_OTHERS = 0o022;
const WORD_BYTES = 4;
const TAIL_BYTES = 2 * WORD_BYTES;

if (Number.parseInt(process.versions.node, 10) >= REQUIRED_MAJOR) {
  // It has done its work: a wavewright that a program starts under an old Node hands over on its own.
  delete process.env.WAVEWRIGHT_HANDED_OVER;
  // Not imported: an import reads each export, and those of node:fs load streams.
  const { existsSync } = process.getBuiltinModule('node:fs');
  // Modules are compiled once for all processes: NODE_COMPILE_CACHE, or a folder of other temporary files.
  process.getBuiltinModule('node:module').enableCompileCache();
  // A checkout runs its sources; the published package has only dist.
  const isCheckout = existsSync(new URL('../tools/checkout-bundle.ts', import.meta.url));
  const main = isCheckout ? await commandLineOfCheckout() : new URL('../dist/main.txt', import.meta.url);
  if (main.pathname.endsWith('.ts')) await import(main.href);
  else runScripts(main);
} else {
  await handOver();
}

async function commandLineOfCheckout() {
  const { commandLine } = await import('../tools/checkout-bundle.ts');
  return commandLine();
}

/**
 * Runs the command line: scripts that are named in a file beside them, the first at once, the second when the
 * first one asks for a part of it.
 */
function runScripts(namesFile) {
  const { readFileSync } = process.getBuiltinModule('node:fs');
  const [main, more] = readFileSync(namesFile, 'latin1')
    .split('\n')
    .map((name) => new URL(name, namesFile));
  let partsOfMore;
  const partsOfMain = runScript(main, (name) => {
    partsOfMore ??= runScript(more, (ofMain) => partsOfMain[ofMain]());
    return partsOfMore[name]();
  });
}

/**
 * Runs a script, which asks `other` for parts that it has not; returns what gives its own parts, by name.
 * The engine compiles functions when they are called first; those that earlier processes of the same command
 * called are found compiled in the folder of Node's compile cache, which has of modules only what is compiled
 * before they run.
 */
function runScript(url, other) {
  const { readFileSync } = process.getBuiltinModule('node:fs');
  const { Script } = process.getBuiltinModule('node:vm');
  const filename = process.getBuiltinModule('node:url').fileURLToPath(url);
  const place = placeOfKeptCode(url.pathname.slice(url.pathname.lastIndexOf('/') + 1));
  const kept = place && readKeptCode(`${place.folder}/${place.name}`);
  // It has ASCII characters alone, so that nothing is decoded.
  const script = new Script(readFileSync(filename, 'latin1'), { filename, cachedData: kept?.code });
  if (place) {
    const keptBytes = script.cachedDataRejected === false ? kept.bytecodeBytes : 0;
    process.on('exit', (status) => {
      // What a user mistyped is no command.
      if (status !== USAGE_STATUS) keepCode(place, script, keptBytes);
    });
  }
  const module = { exports: {} };
  const importModule = (specifier) => import(specifier);
  script.runInThisContext()(process.getBuiltinModule, module.exports, module, url.href, importModule, other);
  return module.exports;
}

/** Of this command. Undefined where code is not to be kept; the script's name says what is in it. */
function placeOfKeptCode(scriptName) {
  const folder = process.getBuiltinModule('node:module').getCompileCacheDir();
  const [verb = ''] = process.argv.slice(2);
  if (folder === undefined || !/^[a-z-]{0,32}$/.test(verb)) return undefined;
  const name = `wavewright-${verb}-${scriptName}`;
  return { folder, name, stem: name.slice(0, name.lastIndexOf('-') + 1) };
}

/**
 * A file has the code, the size of all bytecode in the process that kept it, and a checksum, as the engine
 * takes code as it is. Undefined where there is none that is whole, or where others may have written it: the
 * folder may be one that all users share.
 */
function readKeptCode(file) {
  const { readFileSync, statSync } = process.getBuiltinModule('node:fs');
  try {
    const { uid, mode } = statSync(file);
    if (process.getuid && (uid !== process.getuid() || (mode & WRITTEN_BY_OTHERS) !== 0)) return undefined;
    const whole = readFileSync(file);
    const end = whole.length - TAIL_BYTES;
    if (checksumOf(whole.subarray(0, -WORD_BYTES)) !== whole.readInt32LE(end + WORD_BYTES)) return undefined;
    return { code: whole.subarray(0, end), bytecodeBytes: whole.readInt32LE(end) };
  } catch {
    return undefined;
  }
}

/** Keeps the code of a script where this process compiled much that was not; `keptBytes` of bytecode were. */
function keepCode({ folder, stem, name }, script, keptBytes) {
  const { user, system } = process.cpuUsage();
  // Little was compiled in little time; after a long one the engine has forgotten what ran in the beginning.
  if (keptBytes > 0 && user + system < MIN_KEEPING_US) return;
  if (process.uptime() > MAX_KEEPING_SECONDS) return;
  const { bytecode_and_metadata_size: bytecodeBytes } = process.getBuiltinModule('node:v8').getHeapCodeStatistics();
  if (bytecodeBytes < keptBytes * MIN_GROWTH) return;
  const { readdirSync, renameSync, rmSync, statSync, writeFileSync } = process.getBuiltinModule('node:fs');
  const code = script.createCachedData();
  const whole = Buffer.concat([code, Buffer.alloc(TAIL_BYTES)]);
  whole.writeInt32LE(bytecodeBytes, code.length);
  whole.writeInt32LE(checksumOf(whole.subarray(0, -WORD_BYTES)), code.length + WORD_BYTES);
  const written = `${folder}/${name}.${process.pid}`;
  try {
    // Beside it first, so that whoever reads meanwhile has the old one or the new one.
    writeFileSync(written, whole, { mode: 0o600 });
    renameSync(written, `${folder}/${name}`);
    const versions = readdirSync(folder)
      .filter((other) => other.startsWith(stem))
      .map((other) => ({ other, changedMs: statSync(`${folder}/${other}`).mtimeMs }))
      .sort((a, b) => b.changedMs - a.changedMs);
    for (const { other } of versions.slice(MAX_VERSIONS)) rmSync(`${folder}/${other}`, { force: true });
  } catch {
    // Without a place for it, the next process compiles it again.
  }
}

/** FNV-1a by words: those of Node's libraries that do this are loaded for longer than it takes. */
function checksumOf(bytes) {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / WORD_BYTES);
  let sum = 0x811c9dc5;
  for (let i = 0; i < words.length; i++) sum = Math.imul(sum ^ words[i], 0x01000193);
  return sum;
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
