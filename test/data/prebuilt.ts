/** Files that tools built from sources beside them, and the manifest that says how. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export interface Manifest {
  /** Tool to version, as the tool prints it. */
  readonly tools: Readonly<Record<string, string>>;
  readonly files: readonly ManifestFile[];
}

export interface ManifestFile {
  readonly file: string;
  readonly sources: readonly string[];
  /** Run by sh in the folder. */
  readonly command: string;
  readonly sha256: string;
}

export type Recipe = readonly [file: string, sources: readonly string[], command: string];

const ROOT = join(import.meta.dirname, '../..');

export class Prebuilt {
  readonly #folder: string;
  readonly #recipes: readonly Recipe[];
  readonly #tools: readonly string[];
  readonly #headers: readonly string[];
  readonly #manifest: string;

  /**
   * `headers`: files of the repository that are copied to where the commands run; `manifest`: its name in
   * `folder`.
   */
  constructor(
    folder: string,
    recipes: readonly Recipe[],
    tools: readonly string[],
    headers: readonly string[] = [],
    manifest = 'MANIFEST.json',
  ) {
    this.#folder = folder;
    this.#recipes = recipes;
    this.#tools = tools;
    this.#headers = headers;
    this.#manifest = join(folder, manifest);
  }

  /** Builds everything in a temporary folder; `use` gets it before it is removed. */
  rebuild<T>(use: (built: Manifest, builtFolder: string) => T): T {
    const builtFolder = mkdtempSync(join(tmpdir(), 'wavewright-prebuilt-'));
    try {
      for (const name of readdirSync(this.#folder)) {
        if (/\.(c|cl|hip|s)$/.test(name)) copyFileSync(join(this.#folder, name), join(builtFolder, name));
      }
      for (const name of this.#headers) {
        mkdirSync(dirname(join(builtFolder, name)), { recursive: true });
        copyFileSync(join(ROOT, name), join(builtFolder, name));
      }
      const tools = Object.fromEntries(
        this.#tools.map((tool) => [tool, /\d+\.\d+\.\d+/.exec(execFileSync(tool, ['--version'], { encoding: 'utf8' }))![0]]),
      );
      const files = this.#recipes.map(([file, sources, command]): ManifestFile => {
        execFileSync('sh', ['-e', '-c', command], { cwd: builtFolder, stdio: ['ignore', 'ignore', 'inherit'] });
        const sha256 = createHash('sha256').update(readFileSync(join(builtFolder, file))).digest('hex');
        return { file, sources, command, sha256 };
      });
      return use({ tools, files }, builtFolder);
    } finally {
      rmSync(builtFolder, { recursive: true });
    }
  }

  get manifest(): Manifest {
    return JSON.parse(readFileSync(this.#manifest, 'utf8'));
  }

  /** What a script does: compares with the manifest, or with `--write` replaces it and the files. */
  main(): void {
    this.rebuild((built, builtFolder) => {
      const text = `${JSON.stringify(built, undefined, 2)}\n`;
      if (process.argv.includes('--write')) {
        for (const { file } of built.files) {
          mkdirSync(dirname(join(this.#folder, file)), { recursive: true });
          // Programs that have the old one mapped keep it.
          rmSync(join(this.#folder, file), { force: true });
          copyFileSync(join(builtFolder, file), join(this.#folder, file));
        }
        writeFileSync(this.#manifest, text);
      } else if (text !== readFileSync(this.#manifest, 'utf8')) {
        throw new Error(`the files that the tools build differ from ${this.#manifest}`);
      }
    });
  }
}
