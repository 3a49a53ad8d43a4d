/**
 * What Node runs of a checkout: its sources without their types, kept in one file. Node's own cache has two
 * files for each of some four hundred modules, which take a sixth of the time of a short program.
 */
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

// Not imported: an import reads each export, and those of node:fs load streams.
const { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } =
  process.getBuiltinModule('node:fs');

/** A module of the file: where it is, what it was made of, and where its bytes are behind the first line. */
type Entry = readonly [name: string, changedMs: number, sizeBytes: number, start: number, end: number];

interface Source {
  readonly changedMs: number;
  readonly sizeBytes: number;
  readonly text: Buffer;
}

export class StrippedSources {
  readonly #root: string;
  readonly #folder: string;
  readonly #file: string;
  readonly #sources: Map<string, Source>;
  #isNew = false;

  /**
   * `root`: URL of the folder of the sources, which ends in a slash; `file`: the file that keeps them. A
   * process that ends by itself writes it again if it loaded what was not there; where it cannot, nothing is
   * kept.
   */
  constructor(root: string, file: string) {
    this.#root = root;
    this.#folder = fileURLToPath(root);
    this.#file = file;
    this.#sources = readSources(file);
    process.on('exit', () => this.#write());
  }

  /**
   * The module at a URL below the root. Throws what Node throws for a file that is not there, or no
   * TypeScript.
   */
  source(url: string): string {
    const name = url.slice(this.#root.length);
    const file = this.#folder + name;
    // When the file, or what leads to it, changed: a copy and an older version that comes back count, too.
    const { ctimeMs: changedMs, size: sizeBytes } = statSync(file);
    const known = this.#sources.get(name);
    if (known?.changedMs === changedMs && known.sizeBytes === sizeBytes) return known.text.toString();
    const text = withoutWarning(() => stripTypeScriptTypes(readFileSync(file, 'utf8')));
    this.#sources.set(name, { changedMs, sizeBytes, text: Buffer.from(text) });
    this.#isNew = true;
    return text;
  }

  /** Beside the file first, so that whoever reads meanwhile has the old one or the new one. */
  #write(): void {
    if (!this.#isNew) return;
    const entries: Entry[] = [];
    const texts: Buffer[] = [];
    let start = 0;
    for (const [name, { changedMs, sizeBytes, text }] of this.#sources) {
      entries.push([name, changedMs, sizeBytes, start, start + text.length]);
      texts.push(text);
      start += text.length;
    }
    const written = `${this.#file}.${process.pid}`;
    try {
      mkdirSync(path.dirname(this.#file), { recursive: true });
      writeFileSync(written, Buffer.concat([Buffer.from(`${JSON.stringify(entries)}\n`), ...texts]));
      renameSync(written, this.#file);
    } catch {
      // The next process tries again.
      if (existsSync(written)) rmSync(written);
    }
  }
}

/** None where there is no file, or none that was written whole. */
function readSources(file: string): Map<string, Source> {
  try {
    const content = readFileSync(file);
    const head = content.indexOf('\n') + 1;
    const entries: Entry[] = JSON.parse(content.toString('utf8', 0, head));
    if (head + entries.at(-1)![4] !== content.length) return new Map();
    return new Map(
      entries.map(([name, changedMs, sizeBytes, start, end]) => [
        name,
        { changedMs, sizeBytes, text: content.subarray(head + start, head + end) },
      ]),
    );
  } catch {
    return new Map();
  }
}

/** Node warns that taking types away may change; the version of Node is ours, and it is nothing for users. */
function withoutWarning<T>(work: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return work();
  } finally {
    process.emitWarning = emitWarning;
  }
}
