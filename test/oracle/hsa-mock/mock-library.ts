/** The library of our own with the ABI of libhsa-runtime64.so.1, built by the C compiler of the machine. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';

/** Builds libraries for the tests of a file, behind which they are removed. */
export class MockLibraries {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'wavewright-hsa-'));

  constructor() {
    after(() => rmSync(this.#folder, { recursive: true }));
  }

  /** Returns the file. With versions its symbols have those of ROCr. */
  build(name: string, hasVersions: boolean): string {
    const file = path.join(this.#folder, name);
    const flags = ['-shared', '-fPIC', '-O1', '-Wl,-soname,libhsa-runtime64.so.1'];
    if (hasVersions) flags.push(`-Wl,--version-script=${path.join(import.meta.dirname, 'exports.map')}`);
    execFileSync('gcc', [...flags, path.join(import.meta.dirname, 'hsa-mock.c'), '-o', file]);
    return file;
  }
}
