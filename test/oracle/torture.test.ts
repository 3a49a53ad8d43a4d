/**
 * The programs of gcc's torture tests, which check what they compute, compiled by clang for NVPTX at -O0 and
 * -O2: each ends as it does on this machine. `WAVEWRIGHT_TORTURE` names the folder
 * `gcc/testsuite/gcc.c-torture/execute` of gcc's sources (Debian: in the archive of gcc-12-source),
 * `WAVEWRIGHT_SEEDS=FROM:COUNT` chooses programs by their place in the list. What is left out is printed with
 * its reason.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { type Device, WavewrightError } from '../../src/index.ts';
import { differenceOf, STACK_BYTES } from '../fuzz/differential.ts';
import { onFleet, PTX_DEVICES } from '../fuzz/fleets.ts';
import { type Outcome, runImage } from '../fuzz/run-image.ts';
import { Toolchain } from '../fuzz/toolchain.ts';

const FOLDER = process.env['WAVEWRIGHT_TORTURE'];
const [FROM = 0, COUNT = Number.POSITIVE_INFINITY] = (process.env['WAVEWRIGHT_SEEDS'] ?? '')
  .split(':')
  .flatMap((text) => (text === '' ? [] : [Number(text)]));
const LEVELS = ['O0', 'O2'] as const;
/** Programs, after each so many of which it says how far it is. */
const TOLD_EVERY = 50;
const LIMITS = { hostMs: 5000, deviceMs: 60_000 };
const LIBRARY = path.resolve(import.meta.dirname, '../data/torture/library.c');
const HEADERS = path.resolve(import.meta.dirname, '../data/torture');

/** Programs are older than the standards that make errors of these. */
const OLD_C = [
  'implicit-function-declaration',
  'implicit-int',
  'int-conversion',
  'incompatible-function-pointer-types',
  'return-mismatch',
  'return-type',
].map((name) => `-Wno-error=${name}`);

/** What gcc's tests ask for that GPUs do not have, or clang. */
const NEEDS: Readonly<Record<string, string>> = {
  label_values: 'addresses of labels',
  indirect_jumps: 'jumps to computed addresses',
  trampolines: 'functions in functions',
  return_address: 'addresses of callers',
  untyped_assembly: 'calls with other arguments than the function has',
  mmap: 'mmap',
  dfp: 'decimal floating point',
};

/** clang 19 lays variadic arguments out by types of LLVM, which do not know that a structure is aligned. */
const VARIADIC = 'passes structures that are aligned to more than their members as variadic arguments';

/** Programs whose results PTX leaves open, or clang makes wrong. */
const OPEN: Readonly<Record<string, string>> = {
  'pr38151.c': VARIADIC,
  'pr92904.c': VARIADIC,
  'return-addr.c': 'prints addresses of variables',
  'copysign1.c': 'needs the bits of a NaN whose sign was changed (PTX ISA 9.7.3, "neg")',
};

function needOf(text: string): string | undefined {
  const asked = [...text.matchAll(/dg-require-effective-target (\w+)/g)].map(([, name]) => NEEDS[name!]);
  const found = asked.find((need) => need !== undefined);
  if (found !== undefined) return found;
  // Constraints name registers of a machine: `r` has 32 bits on NVPTX.
  if (/\basm\b[^;]*:[^;]*"[=+]?[rg0]/.test(text)) return 'assembly with registers';
  if (/\b(?:__builtin_)?(?:setjmp|longjmp)\b/.test(text)) return 'setjmp';
  return /\bsignal\s*\(/.test(text) ? 'signals' : undefined;
}

/** In a few words, so that reasons can be counted. */
function compilerError(error: unknown): string {
  if (error instanceof Error && 'killed' in error && error.killed === true) return 'does not end';
  const text = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
  const line = /(?:fatal error|error|LLVM ERROR): (.*)/.exec(text)?.[1] ?? text.split('\n')[0]!;
  return line.replaceAll(/(?<!')'[^' ]*'(?! file not found)/g, "'...'").slice(0, 90);
}

type Finding = { readonly kind: 'right' } | { readonly kind: 'left out' | 'refused' | 'wrong'; readonly text: string };
const RIGHT: Finding = { kind: 'right' };

class Torture {
  readonly #toolchain = new Toolchain({
    // The compiler may know what functions of the C library do, as programs expect.
    flags: ['-std=gnu17', '-fhosted', '-I', path.dirname(FOLDER ?? ''), ...OLD_C],
    deviceFlags: ['-isystem', HEADERS],
    library: [LIBRARY],
  });

  async *findings(source: string, device: Device): AsyncGenerator<Finding> {
    const open = OPEN[path.basename(source)];
    if (open !== undefined) return yield { kind: 'left out', text: open };
    const need = needOf(readFileSync(source, 'latin1'));
    if (need !== undefined) return yield { kind: 'left out', text: `needs ${need}` };
    let host: Outcome | undefined;
    try {
      host = await this.#toolchain.onHost(source, { timeoutMs: LIMITS.hostMs });
    } catch (error) {
      return yield { kind: 'left out', text: `clang on this machine: ${compilerError(error)}` };
    }
    if (host === undefined) return yield { kind: 'left out', text: 'takes long on this machine' };
    if (host.status !== 0) return yield { kind: 'left out', text: 'fails on this machine' };
    for (const level of LEVELS) yield await this.#finding(source, level, { host, device });
  }

  async #finding(
    source: string,
    level: (typeof LEVELS)[number],
    { host, device }: { host: Outcome; device: Device },
  ): Promise<Finding> {
    let image: Buffer;
    try {
      image = await this.#toolchain.buildForDevice(source, level, device.properties.processor);
    } catch (error) {
      return { kind: 'left out', text: `clang for NVPTX: ${compilerError(error)}` };
    }
    try {
      const run = { device, timeoutMs: LIMITS.deviceMs, stackSizeBytes: STACK_BYTES };
      const found = await runImage(image, run);
      if (differenceOf(host, found) === undefined) return RIGHT;
      // What a program does may depend on the level.
      const same = await this.#toolchain.onHost(source, { level, timeoutMs: LIMITS.hostMs });
      if (same?.status !== 0) return { kind: 'left out', text: 'fails on this machine' };
      const difference = differenceOf(same, found);
      return difference === undefined ? RIGHT : { kind: 'wrong', text: difference };
    } catch (error) {
      if (!(error instanceof WavewrightError)) throw error;
      const missing = /nothing defines '(\w+)'/.exec(error.message)?.[1];
      if (missing !== undefined) return { kind: 'left out', text: `needs ${missing} of the C library` };
      return {
        kind: error.code === 'UNSUPPORTED' ? 'refused' : 'wrong',
        text: `${error.code}: ${error.message.split('\n')[0]}`,
      };
    }
  }

  close(): void {
    this.#toolchain.close();
  }
}

test("gcc's torture tests end on PTX devices as on the host", {
  skip: FOLDER === undefined && 'WAVEWRIGHT_TORTURE names no folder',
}, async (t) => {
  const sources = globSync('{*,ieee/*}.c', { cwd: FOLDER! })
    .sort()
    .slice(FROM, FROM + COUNT);
  const torture = new Torture();
  const counts = new Map<string, number>();
  const reasons = new Map<string, string[]>();
  const wrong: string[] = [];
  let done = 0;
  const tell = (): void => {
    const all = [...counts].map(([kind, count]) => `${count} ${kind}`).join(', ');
    process.stderr.write(`${done} of ${sources.length} programs: ${all}\n`);
  };
  try {
    await onFleet({ ...PTX_DEVICES, processors: ['sm_70'] }, sources, async (source, deviceOf) => {
      let level = 0;
      for await (const finding of torture.findings(path.join(FOLDER!, source), deviceOf(0))) {
        counts.set(finding.kind, (counts.get(finding.kind) ?? 0) + 1);
        if (finding.kind === 'right') {
          level++;
          continue;
        }
        const name = `${source} -${LEVELS[level++]}`;
        if (finding.kind === 'wrong') {
          wrong.push(`${name}: ${finding.text}`);
          process.stderr.write(`${wrong.at(-1)}\n`);
        } else {
          const reason = `${finding.kind}: ${finding.text}`;
          reasons.set(reason, [...(reasons.get(reason) ?? []), name]);
        }
      }
      done++;
      if (done % TOLD_EVERY === 0) tell();
    });
  } finally {
    torture.close();
  }
  t.diagnostic(`${sources.length} programs: ${[...counts].map(([kind, count]) => `${count} ${kind}`).join(', ')}`);
  for (const [reason, names] of [...reasons].sort(([, a], [, b]) => b.length - a.length)) {
    t.diagnostic(`${names.length} ${reason}: ${names.slice(0, 5).join(', ')}${names.length > 5 ? ', ...' : ''}`);
  }
  assert.deepEqual(wrong, []);
});
