/**
 * A file system that opens nothing but regular files below directories that the user allowed. Linux only,
 * because Node has no openat: a directory is opened first, where it really is gets asked of the kernel
 * (/proc/self/fd), and what happens in it goes through that descriptor. Nobody can exchange a directory or a
 * symbolic link between the check and the use.
 */
import path from 'node:path';
import { WavewrightError } from '../../base/errors.ts';
import type { FileSystem, OpenFile, OpenMode } from './file-system.ts';
import { attempt, NEW_FILE_MODE, NodeFile, openFlags, removePath, succeeds } from './node-file-system.ts';

const {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  renameSync,
  statSync,
} = process.getBuiltinModule('node:fs');

export interface SandboxOptions {
  /** Where relative paths start. Default: the working directory. */
  readonly directory?: string;
  /** Files below these may be read. */
  readonly allowRead?: readonly string[];
  /** Files below these may be written, made, removed and renamed. */
  readonly allowWrite?: readonly string[];
  /** Told of everything that the sandbox refused, in words. */
  readonly onRefusal?: (what: string) => void;
}

type Access = 'read' | 'write';
type Roots = Readonly<Record<Access, readonly string[]>>;

/** A directory that is held open, and a name in it. */
interface Place {
  /** Where the directory really is. */
  readonly directory: string;
  /** The name in the directory by way of the descriptor. */
  readonly name: string;
}

/** As in Linux. */
const MAX_LINKS = 40;
/** Files there are not what they seem; an allowed directory opens them only when it is one of them itself. */
const SYSTEM_DIRECTORIES = ['/proc', '/sys', '/dev'];

/** Throws USAGE when an allowed directory is none, UNSUPPORTED where directories cannot be guarded. */
export function createSandbox(options: SandboxOptions = {}): FileSystem {
  const { allowRead = [], allowWrite = [], onRefusal = () => undefined } = options;
  if (allowRead.length + allowWrite.length > 0 && process.platform !== 'linux') {
    const hint = 'without allowed directories the sandbox works here too';
    throw new WavewrightError('UNSUPPORTED', 'allowed directories are guarded on Linux only', { hint });
  }
  const roots = { read: allowRead.map(realDirectory), write: allowWrite.map(realDirectory) };
  return new Sandbox(options.directory ?? process.cwd(), roots, onRefusal);
}

function realDirectory(name: string): string {
  const real = attempt(() => realpathSync.native(name));
  if (real !== undefined && statSync(real).isDirectory()) return real;
  throw new WavewrightError('USAGE', `'${name}' is no directory`);
}

function isBelow(name: string, directory: string): boolean {
  return name === directory || name.startsWith(directory === '/' ? '/' : `${directory}/`);
}

class Sandbox implements FileSystem {
  readonly #start: string;
  readonly #roots: Roots;
  readonly #refused: (what: string) => void;

  constructor(start: string, roots: Roots, refused: (what: string) => void) {
    this.#start = start;
    this.#roots = roots;
    this.#refused = refused;
  }

  open(name: string, mode: OpenMode): OpenFile | undefined {
    const wanted: Access[] = [...(mode.read ? ['read' as const] : []), ...(mode.write ? ['write' as const] : [])];
    const refuse = (why: string) => {
      this.#refused(`${wanted.join(' and ')} '${name}': ${why}`);
      return undefined;
    };
    // Emptied below, once it is known what was opened. A pipe must not hold the program up.
    const flags = (openFlags(mode) & ~constants.O_TRUNC) | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    let at = name;
    let from = this.#start;
    for (let links = 0; links < MAX_LINKS; links++) {
      using held = new DisposableStack();
      const place = this.#hold(at, from, held);
      if (place === undefined)
        return this.#outside(at, from, wanted) ? refuse('outside of what is allowed') : undefined;
      if (!wanted.every((access) => this.#allows(place.directory, access))) return refuse('outside of what is allowed');
      const descriptor = attempt(() => openSync(place.name, flags, NEW_FILE_MODE));
      if (descriptor !== undefined) return this.#checked(descriptor, mode, refuse);
      const link = attempt(() => readlinkSync(place.name));
      if (link === undefined || mode.exclusive) return undefined;
      at = link;
      from = place.directory;
    }
    return refuse('too many symbolic links');
  }

  #checked(descriptor: number, mode: OpenMode, refuse: (why: string) => undefined): OpenFile | undefined {
    using held = new DisposableStack();
    held.defer(() => closeSync(descriptor));
    const status = fstatSync(descriptor);
    if (!status.isFile()) return refuse('is no regular file');
    if (mode.write && status.nlink > 1) return refuse('has another name that may lie outside');
    if (mode.truncate && !succeeds(() => ftruncateSync(descriptor))) return undefined;
    held.move();
    return new NodeFile(descriptor, mode.append);
  }

  remove(name: string): boolean {
    using held = new DisposableStack();
    const place = this.#hold(name, this.#start, held);
    if (place !== undefined && this.#allows(place.directory, 'write')) return removePath(place.name);
    this.#refused(`remove '${name}': outside of what is allowed`);
    return false;
  }

  rename(from: string, to: string): boolean {
    using held = new DisposableStack();
    const [source, target] = [from, to].map((name) => this.#hold(name, this.#start, held));
    const allowed =
      source !== undefined &&
      target !== undefined &&
      this.#allows(source.directory, 'write') &&
      this.#allows(target.directory, 'write') &&
      // What may not be read does not become readable by moving.
      (!this.#allows(target.directory, 'read') || this.#allows(source.directory, 'read')) &&
      this.#isPlain(source.name);
    if (allowed) return succeeds(() => renameSync(source.name, target.name));
    this.#refused(`rename '${from}' to '${to}': not allowed`);
    return false;
  }

  /** No directory is moved: what lies in it would change its permissions unseen. */
  #isPlain(name: string): boolean {
    return attempt(() => lstatSync(name))?.isDirectory() !== true;
  }

  /**
   * Opens the directory that a path lies in; `undefined` when there is none or the path does not end in a
   * name.
   */
  #hold(name: string, from: string, held: DisposableStack): Place | undefined {
    if (name.includes('\0')) return undefined;
    const absolute = path.isAbsolute(name) ? name : `${from}/${name}`;
    const base = path.basename(absolute);
    if (name === '' || name.endsWith('/') || base === '.' || base === '..') return undefined;
    const directoryName = absolute.slice(0, absolute.lastIndexOf('/')) || '/';
    const descriptor = attempt(() => openSync(directoryName, constants.O_RDONLY | constants.O_DIRECTORY));
    if (descriptor === undefined) return undefined;
    held.defer(() => closeSync(descriptor));
    const own = `/proc/self/fd/${descriptor}`;
    const directory = attempt(() => readlinkSync(own));
    return directory === undefined ? undefined : { directory, name: `${own}/${base}` };
  }

  /** Whether a path that leads nowhere would be refused if it led somewhere; only for the report. */
  #outside(name: string, from: string, wanted: readonly Access[]): boolean {
    const lexical = path.resolve(from, name.replaceAll('\0', ''));
    return !wanted.every((access) => this.#allows(lexical, access));
  }

  #allows(directory: string, access: Access): boolean {
    return this.#roots[access].some((root) => {
      const system = SYSTEM_DIRECTORIES.find((one) => isBelow(directory, one));
      return isBelow(directory, root) && (system === undefined || isBelow(root, system));
    });
  }
}
