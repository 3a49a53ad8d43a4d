/** Libraries of our own that stand in for those of drivers, built by the C compiler of the machine. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';

/** Builds libraries for the tests of a file, behind which they are removed. */
export class MockLibraries {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'wavewright-mock-'));

  constructor() {
    after(() => rmSync(this.folder, { recursive: true }));
  }

  /** Returns the file. Sources are paths in this folder. */
  build(name: string, sources: readonly string[], flags: readonly string[] = []): string {
    const file = path.join(this.folder, name);
    const all = sources.map((source) => path.resolve(import.meta.dirname, source));
    execFileSync('gcc', ['-std=gnu17', '-shared', '-fPIC', '-O1', ...flags, ...all, '-o', file]);
    return file;
  }
}

/** Gives the symbols what a version script of this folder says. */
export const versionScript = (file: string): string => `-Wl,--version-script=${path.join(import.meta.dirname, file)}`;
