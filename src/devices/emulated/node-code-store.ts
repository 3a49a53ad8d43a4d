/** A folder of compiled code, which is there again in the next process. */
import path from 'node:path';
import { fnv1a } from '../../base/hash.ts';
import { type CodeStore, keepCode } from '../../base/kept-code.ts';
import { writeWholeFile } from '../../base/node-whole-file.ts';

const { mkdirSync, readdirSync, readFileSync, rmSync, statSync } = process.getBuiltinModule('node:fs');

const HEAD_BYTES = 16;
/** Of a folder; a program has some twenty files. Where there is more, the older half goes. */
const MAX_FILES = 16_384;
const MAX_BYTES = 2 ** 29;
/** Of what is written before the folder is looked at again. */
const ROOM_BYTES = MAX_BYTES / 8;
/** Files whose key and code have more bytes are packed: of texts an eighth is left, of modules a third. */
const PLAIN_BYTES = 2 ** 16;
/** As `folderOf` and `FileCodeStore` name them. */
const FOLDER_NAME = /^code-[\da-f]{1,16}$/;
const FILE_NAME = /^[\da-f]{1,8}-\d+(?:\.\d+\.\w*)?$/;
/** Folders beside the one in use that are left: those of other versions. */
const MAX_OTHERS = 3;

type Head = [keyBytes: number, codeBytes: number, keyHash: number, codeHash: number];

const isPacked = (sizeBytes: number): boolean => sizeBytes > PLAIN_BYTES;
/** Most processes need none. */
const zlib = () => process.getBuiltinModule('node:zlib');

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

/** A file: sizes and checksums of key and code (four numbers of 32 bits), then these, packed where long. */
export class FileCodeStore implements CodeStore {
  readonly #folder: string;
  /** Bytes that may be written before the folder is looked at again. */
  #roomBytes = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  read(key: string): Uint8Array<ArrayBuffer> | undefined {
    const wanted = Buffer.from(key);
    const hash = fnv1a(wanted);
    try {
      const file = readFileSync(this.#file(wanted, hash));
      const [keyBytes, codeBytes, keyHash, codeHash] = [0, 4, 8, 12].map((at) => file.readUInt32LE(at)) as Head;
      // Two keys may have one hash.
      if (keyBytes !== wanted.length || keyHash !== hash) return undefined;
      const sizeBytes = keyBytes + codeBytes;
      const packed = file.subarray(HEAD_BYTES);
      const whole = isPacked(sizeBytes) ? zlib().inflateRawSync(packed, { maxOutputLength: sizeBytes }) : packed;
      if (whole.length !== sizeBytes || !whole.subarray(0, keyBytes).equals(wanted)) return undefined;
      const code = whole.subarray(keyBytes);
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
      const whole = Buffer.concat([wanted, bytes]);
      const file = Buffer.concat([head, isPacked(whole.length) ? zlib().deflateRawSync(whole, { level: 1 }) : whole]);
      if (file.length > this.#roomBytes) this.#makeRoom();
      this.#roomBytes -= file.length;
      writeWholeFile(this.#file(wanted, hash), file, 0o600);
    } catch {
      // Without a place for it, the next process compiles it again.
    }
  }

  #file(key: Uint8Array, hash: number): string {
    return path.join(this.#folder, `${hash.toString(16)}-${key.length}`);
  }

  /** Makes the folder, and room in it. */
  #makeRoom(): void {
    this.#roomBytes = ROOM_BYTES;
    if (mkdirSync(this.#folder, { recursive: true, mode: 0o700 }) !== undefined) {
      const folders = entriesOf(path.dirname(this.#folder), FOLDER_NAME);
      for (const { file } of folders.slice(MAX_OTHERS + 1)) remove(file);
    }
    const files = entriesOf(this.#folder, FILE_NAME);
    if (files.length <= MAX_FILES && bytesOf(files) <= MAX_BYTES) return;
    let bytes = 0;
    for (const [place, { file, sizeBytes }] of files.entries()) {
      bytes += sizeBytes;
      if (place >= MAX_FILES / 2 || bytes > MAX_BYTES / 2) remove(file);
    }
  }
}

interface Entry {
  readonly file: string;
  readonly sizeBytes: number;
  readonly changedMs: number;
}

const bytesOf = (entries: readonly Entry[]): number => entries.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
const remove = (file: string): void => rmSync(file, { recursive: true, force: true });

/** The entries of a folder whose names are of a form; those come first that changed last. */
function entriesOf(folder: string, form: RegExp): Entry[] {
  const names = readdirSync(folder).filter((name) => form.test(name));
  const entries = names.map((name) => {
    const file = path.join(folder, name);
    const { size: sizeBytes, mtimeMs: changedMs } = statSync(file);
    return { file, sizeBytes, changedMs };
  });
  return entries.sort((a, b) => b.changedMs - a.changedMs);
}
