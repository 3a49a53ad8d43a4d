/** Which programs a batch runs, and how. */
import path from 'node:path';
import { WavewrightError } from '../../base/errors.ts';
import { PROGRAM_KERNEL, parseCodeObject } from '../../codeobject/code-object.ts';
import { EM_AMDGPU, EM_CUDA } from '../../codeobject/elf-flags.ts';
import { ET_DYN } from '../../elf/constants.ts';
import { parseElf } from '../../elf/elf.ts';
import { elfMachine } from '../../elf/header.ts';
import type { Case } from '../../fleet/case.ts';
import type { CaseDefaults } from '../../fleet/cases-file.ts';
import { cubinKernels } from '../../nvptx/cubin.ts';
import { isPtxText } from '../../ptx/text/recognize.ts';

const { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, statSync } =
  process.getBuiltinModule('node:fs');

const BUNDLE_MAGIC = '__CLANG_OFFLOAD_BUNDLE__';
const PTX_START = /^\s*(?:\.visible\s+)?\.entry\s+_start\b/m;
/** What says the kind of a file; comments of PTX may stand before that. */
const HEAD_BYTES = 4096;
const SIDECAR = '.params';

/**
 * The programs that an operand names: those below a directory, the one in a file, or those in a list, a text
 * file with a path on each line, relative to the list if that is a file; lines that start with # are
 * comments. Throws IO and BAD_INPUT.
 */
export function collectTests(operand: string, defaults: CaseDefaults): Case[] {
  const status = reading(operand, () => statSync(operand, { throwIfNoEntry: false }));
  if (status === undefined) throw new WavewrightError('IO', 'no such file or directory', { file: operand });
  if (status.isDirectory())
    return filesBelow(operand)
      .filter(isProgram)
      .map((file) => testOf(file, defaults));
  if (reading(operand, () => kindOf(operand)) !== 'text') return [testOf(operand, defaults)];
  const lines = reading(operand, () => readFileSync(operand, 'utf8'))
    .split('\n')
    .map((line) => line.trim());
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => (path.isAbsolute(line) || !status.isFile() ? line : path.join(path.dirname(operand), line)))
    .map((file) => {
      if (!existsSync(file)) throw new WavewrightError('IO', `no such file: ${file}`, { file: operand });
      return testOf(file, defaults);
    });
}

/**
 * A name that is the same on every machine: the path below the directory that the operand is, or that its
 * file is in, after the operand's own name where there are several.
 */
export function portableName(image: string, operand: string, operands: readonly string[]): string {
  const isDirectory = statSync(operand, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const below = path.relative(isDirectory ? operand : path.dirname(operand), image);
  const parts = operands.length > 1 ? [path.basename(path.resolve(operand)), below] : [below];
  return parts.join('/').split(path.sep).join('/');
}

/** In order of their paths; links to files count, those to directories do not. */
function filesBelow(directory: string): string[] {
  const entries = reading(directory, () => readdirSync(directory, { withFileTypes: true }));
  return entries
    .flatMap((entry) => {
      const place = path.join(directory, entry.name);
      if (entry.isDirectory()) return filesBelow(place);
      const isFile = entry.isFile() || (entry.isSymbolicLink() && isFileBehind(place));
      return isFile ? [place] : [];
    })
    .sort();
}

/** Whether a link leads to a file; one that leads in circles, or nowhere, does not. */
function isFileBehind(link: string): boolean {
  try {
    return statSync(link).isFile();
  } catch {
    return false;
  }
}

/** What `read` gives. Throws IO. */
function reading<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    throw new WavewrightError('IO', `cannot be read (${code})`, { file, cause });
  }
}

function kindOf(file: string): 'code-object' | 'cubin' | 'bundle' | 'ptx' | 'text' {
  // A pipe can be read but once.
  if (!statSync(file).isFile()) return 'text';
  const descriptor = openSync(file, 'r');
  const head = Buffer.alloc(HEAD_BYTES);
  try {
    readSync(descriptor, head, 0, HEAD_BYTES, 0);
  } finally {
    closeSync(descriptor);
  }
  if (isPtxText(head)) return 'ptx';
  if (head.toString('latin1', 0, BUNDLE_MAGIC.length) === BUNDLE_MAGIC) return 'bundle';
  const machine = elfMachine(head);
  if (machine === EM_CUDA) return 'cubin';
  return machine === EM_AMDGPU && head.readUInt16LE(16) === ET_DYN ? 'code-object' : 'text';
}

/**
 * Whether a file in a directory is a program: other code objects lie there too. What cannot be read is run,
 * so that the report says why.
 */
function isProgram(file: string): boolean {
  try {
    const kind = reading(file, () => kindOf(file));
    if (kind === 'ptx') return PTX_START.test(readFileSync(file, 'latin1'));
    if (kind === 'cubin')
      return cubinKernels(parseElf(readFileSync(file), file)).some(({ name }) => name === PROGRAM_KERNEL);
    if (kind !== 'code-object') return kind === 'bundle';
    return parseCodeObject(readFileSync(file), file).kernels.some(({ name }) => name === PROGRAM_KERNEL);
  } catch (error) {
    if (error instanceof WavewrightError) return true;
    throw error;
  }
}

function testOf(image: string, { options, timeout, retries }: CaseDefaults): Case {
  const sidecar = image + SIDECAR;
  const test = { name: image, image, options, args: [], env: {}, timeout, retries };
  try {
    const parameters = existsSync(sidecar) ? reading(sidecar, () => readFileSync(sidecar, 'utf8')) : '';
    const own = parseSidecar(parameters, sidecar);
    return { ...test, ...own, options: [...options, ...own.options] };
  } catch (error) {
    if (error instanceof WavewrightError) return { ...test, problem: error.message };
    throw error;
  }
}

/**
 * LLVM 23's sidecar of a test: a line for each argument of the loader, `---`, a line for each
 * argument of the program, `---`, a line NAME=VALUE for each variable.
 */
export function parseSidecar(text: string, file: string): Pick<Case, 'options' | 'args' | 'env'> {
  const parts: string[][] = [[]];
  for (const line of text.split(/\r?\n/)) {
    if (line === '---') parts.push([]);
    else parts.at(-1)!.push(line);
  }
  if (parts.length > 3) throw new WavewrightError('BAD_INPUT', `${parts.length} parts, expected at most 3`, { file });
  const [options = [], args = [], assignments = []] = parts.map((lines) => lines.filter((line) => line !== ''));
  const env: Record<string, string> = {};
  for (const assignment of assignments) {
    const equals = assignment.indexOf('=');
    if (equals < 1) throw new WavewrightError('BAD_INPUT', `'${assignment}' is not NAME=VALUE`, { file });
    env[assignment.slice(0, equals)] = assignment.slice(equals + 1);
  }
  return { options, args, env };
}
