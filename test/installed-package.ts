/**
 * The package as a user gets it: packed as `npm pack` does, installed into an empty folder by npm, which asks
 * no registry.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import manifest from '../package.json' with { type: 'json' };

export const ROOT = path.resolve(import.meta.dirname, '..');
const TSC = path.join(ROOT, 'node_modules/typescript/bin/tsc');

export interface InstalledPackage extends Disposable {
  /** Where the user works: `node_modules`, `package.json` and a copy of the examples. */
  readonly folder: string;
  /** Files of the package, as paths in it. */
  readonly files: readonly string[];
  readonly unpackedSizeBytes: number;
}

interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: number | null;
}

/** Runs a command with the Node of this process, and no other, in its path. */
export function runIn(folder: string, command: string, argv: readonly string[]): Ran {
  const paths = [path.join(folder, 'node_modules/.bin'), path.dirname(process.execPath), process.env['PATH']];
  const env = { ...process.env, PATH: paths.join(path.delimiter), npm_config_update_notifier: 'false' };
  return spawnSync(command, argv, { cwd: folder, env, encoding: 'utf8', timeout: 120_000 });
}

function succeed(folder: string, command: string, ...argv: string[]): string {
  const { status, stdout, stderr } = runIn(folder, command, argv);
  if (status === 0) return stdout;
  throw new Error(`${[command, ...argv].join(' ')} ends with ${status}:\n${stdout}${stderr}`);
}

/** Packs what the manifest lists, with a build of its own: the checkout stays as it is. */
function pack(scratch: string): { readonly tarball: string; readonly files: string[]; readonly unpackedSize: number } {
  const source = path.join(scratch, 'source');
  mkdirSync(source);
  for (const name of ['package.json', 'README.md', 'LICENSE', ...manifest.files]) {
    if (name !== 'dist') cpSync(path.join(ROOT, name), path.join(source, name), { recursive: true });
  }
  const dist = path.join(source, 'dist');
  succeed(ROOT, process.execPath, TSC, '-p', 'tsconfig.build.json', '--emitDeclarationOnly', '--outDir', dist);
  succeed(ROOT, process.execPath, 'tools/bundle.ts', dist);
  const [report] = JSON.parse(succeed(source, 'npm', 'pack', '--ignore-scripts', '--json', '--offline'));
  const files = report.files.map((file: { path: string }) => file.path);
  return { tarball: path.join(source, report.filename), files, unpackedSize: report.unpackedSize };
}

/** Takes some seconds. Disposing removes it. */
export function installPackage(): InstalledPackage {
  const scratch = mkdtempSync(path.join(tmpdir(), 'wavewright-package-'));
  try {
    const { tarball, files, unpackedSize } = pack(scratch);
    const folder = path.join(scratch, 'project');
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'package.json'), '{}\n');
    succeed(folder, 'npm', 'install', '--offline', '--no-audit', '--no-fund', tarball);
    cpSync(path.join(folder, 'node_modules/wavewright/examples'), path.join(folder, 'examples'), { recursive: true });
    const unpackedSizeBytes = unpackedSize;
    return { folder, files, unpackedSizeBytes, [Symbol.dispose]: () => rmSync(scratch, { recursive: true }) };
  } catch (error) {
    rmSync(scratch, { recursive: true });
    throw error;
  }
}

/** A fenced block of a document. */
export interface Block {
  readonly language: string;
  readonly text: string;
  readonly line: number;
  /** What the block prints: the block of text that follows at once. */
  readonly output: string | undefined;
}

/** All of a document, in order. */
export function documentBlocks(file: string): Block[] {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  const fences = [...text.matchAll(/^```(\w*)\n(.*?)^```\n/gms)];
  return fences.map((match, i) => {
    const next = fences[i + 1];
    const isFollowed = next?.[1] === 'text' && text.slice(match.index + match[0].length, next.index).trim() === '';
    return {
      language: match[1]!,
      text: match[2]!,
      line: text.slice(0, match.index).split('\n').length,
      output: isFollowed ? next[2] : undefined,
    };
  });
}

/** Whether its commands need a compiler, or take long: test/oracle runs these. */
export const needsOracle = ({ text }: Block): boolean => /clang|wavewright bench/.test(text);
