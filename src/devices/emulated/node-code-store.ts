/** A folder of compiled code, which is there again in the next process. */
import path from 'node:path';
import { fnv1a } from '../../base/hash.ts';
import { writeWholeFile } from '../../base/node-whole-file.ts';
import { type CodeStore, keepCode } from '../../emulator/lowering/code-store.ts';

const { mkdirSync, readdirSync, readFileSync, rmSync, statSync } = process.getBuiltinModule('node:fs');

const HEAD_BYTES = 16;
/** Of a folder; a file has some 60 KB. Where there are more, the older half goes. */
const MAX_FILES = 2048;
/** As `folderOf` and `FileCodeStore` name them. */
const FOLDER_NAME = /^code-[\da-f]{1,16}$/;
const FILE_NAME = /^[\da-f]{1,8}-\d+(?:\.\d+\.\w*)?$/;
/** Folders beside the one in use that are left: those of other versions. */
const MAX_OTHERS = 3;

let current: string | undefined;

/** The folder that this process keeps code in. */
export const codeFolder = (): string | undefined => current;

/** The folder for code that comes from sources of a version; `parent` has those of other versions, too. */
export const folderOf = (parent: string, version: bigint): string => path.join(parent, `code-${version.toString(16)}`);

/** Keeps all code that this process compiles in a folder of `folderOf`. */
export function openCodeFolder(folder: string): void {
  if (folder === current) return;
  current = folder;
  keepCode(new FileCodeStore(folder));
}

/** A file: size of the key, size of the code, checksums of both (16 bytes, little-endian), key, code. */
export class FileCodeStore implements CodeStore {
  readonly #folder: string;
  #isOpen = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  read(key: string): Uint8Array<ArrayBuffer> | undefined {
    const wanted = Buffer.from(key);
    const hash = fnv1a(wanted);
    try {
      const file = readFileSync(this.#file(wanted, hash));
      const [keyBytes, codeBytes, keyHash, codeHash] = [0, 4, 8, 12].map((at) => file.readUInt32LE(at));
      const code = file.subarray(HEAD_BYTES + wanted.length);
      const isWhole = keyBytes === wanted.length && codeBytes === code.length && keyHash === hash;
      // Two keys may have one hash.
      if (!isWhole || !file.subarray(HEAD_BYTES, HEAD_BYTES + wanted.length).equals(wanted)) return undefined;
      return fnv1a(code) === codeHash ? new Uint8Array(code) : undefined;
    } catch {
      return undefined;
    }
  }

  write(key: string, bytes: Uint8Array<ArrayBuffer>): void {
    const wanted = Buffer.from(key);
    const hash = fnv1a(wanted);
    const head = Buffer.alloc(HEAD_BYTES);
    for (const [i, word] of [wanted.length, bytes.length, hash, fnv1a(bytes)].entries())
      head.writeUInt32LE(word, i * 4);
    try {
      this.#open();
      writeWholeFile(this.#file(wanted, hash), Buffer.concat([head, wanted, bytes]), 0o600);
    } catch {
      // Without a place for it, the next process compiles it again.
    }
  }

  #file(key: Uint8Array, hash: number): string {
    return path.join(this.#folder, `${hash.toString(16)}-${key.length}`);
  }

  /** Makes the folder, and room in it. */
  #open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    const isNew = mkdirSync(this.#folder, { recursive: true, mode: 0o700 }) !== undefined;
    if (isNew) removeOldest(path.dirname(this.#folder), FOLDER_NAME, MAX_OTHERS + 1);
    if (readdirSync(this.#folder).length > MAX_FILES) removeOldest(this.#folder, FILE_NAME, MAX_FILES / 2);
  }
}

/** Leaves so many entries of a folder whose names are of a form, those that changed last, and all others. */
function removeOldest(folder: string, form: RegExp, count: number): void {
  const names = readdirSync(folder).filter((name) => form.test(name));
  const entries = names.map((name) => {
    const file = path.join(folder, name);
    return { file, changedMs: statSync(file).mtimeMs };
  });
  entries.sort((a, b) => b.changedMs - a.changedMs);
  for (const { file } of entries.slice(count)) rmSync(file, { recursive: true, force: true });
}
