/**
 * The counters and waits of effects against clang-19, which inserts a wait before each use of what a memory
 * access gives: by our effects its code is safe on every way, and is no longer where a wait is left out.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { STT_FUNC } from '../../src/elf/constants.ts';
import { parseElf } from '../../src/elf/elf.ts';
import { isDefined } from '../../src/elf/symbols.ts';
import { decoderFor } from '../../src/isa/amdgpu/decoder.ts';
import { hasClang } from './device-code.ts';
import { hazardAt } from './hazard-distance.ts';
import { type Place, placesOf, unsafeUse } from './wait-simulation.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-wait-counters-'));
after(() => rmSync(folder, { recursive: true }));

const OPTIONS = [
  ...['--target=amdgcn-amd-amdhsa', '-mcode-object-version=5', '-nogpulib', '-w', '-O2', '-c', '-cl-std=CL2.0'],
  ...['-Xclang', '-finclude-default-header', '-Itest/data/opencl', '-DWAVE=32'],
];
const SOURCES = [
  ...['algorithms', 'control', 'floats', 'groups', 'integers', 'memory', 'patterns', 'vectors'].map(
    (name) => `test/data/opencl/${name}`,
  ),
  ...['bitonic', 'histogram', 'matmul16', 'nbody', 'reduction', 'sha256', 'stencil'].map(
    (name) => `examples/kernels/${name}`,
  ),
];
const PROCESSORS = [
  ['gfx90a', 64],
  ['gfx942', 64],
  ['gfx1030', 32],
  ['gfx1100', 32],
  ['gfx1200', 32],
] as const;
/** Functions that are looked at once for each of their waits. */
const LONGEST = 300;
const NEEDED_SHARE = 0.75;

function functionsOf(source: string, processor: string, waveSize: 32 | 64): Map<string, Place[]> {
  const output = path.join(folder, `${path.basename(source)}-${processor}.o`);
  const result = spawnSync('clang-19', [...OPTIONS, `-mcpu=${processor}`, `${source}.cl`, '-o', output], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  assert.equal(result.status, 0, result.stderr);
  const bytes = readFileSync(output);
  const elf = parseElf(bytes, output);
  const decoder = decoderFor(processor, waveSize);
  return new Map(
    elf.symbols
      .filter((symbol) => symbol.type === STT_FUNC && isDefined(symbol) && symbol.sizeBytes > 0)
      .map((symbol) => {
        const { offset } = elf.sections[symbol.sectionIndex]!;
        const start = bytes.byteOffset + Number(offset) + Number(symbol.value);
        return [symbol.name, placesOf(new DataView(bytes.buffer, start, symbol.sizeBytes), decoder)];
      }),
  );
}

for (const [processor, waveSize] of PROCESSORS) {
  test(`${processor}: clang's code waits for what it uses, and each wait counts`, { skip: !hasClang }, () => {
    let [waits, needed] = [0, 0];
    for (const source of SOURCES) {
      for (const [name, places] of functionsOf(source, processor, waveSize)) {
        assert.equal(unsafeUse(places), undefined, `${source} ${name}`);
        if (places.length > LONGEST) continue;
        for (const [number, { effects }] of places.entries()) {
          if (effects.waits.size === 0) continue;
          waits++;
          if (unsafeUse(places, number) !== undefined) needed++;
        }
      }
    }
    // The others order memory: before barriers, and behind atomics.
    assert.ok(needed / waits > NEEDED_SHARE, `${needed} of ${waits} waits are needed`);
  });
}

for (const processor of ['gfx90a', 'gfx942']) {
  test(`${processor}: clang's code keeps the distances of hazards, with s_nop where nothing else is there`, {
    skip: !hasClang,
  }, () => {
    const found = new Set<string>();
    for (const source of SOURCES) {
      for (const [name, places] of functionsOf(source, processor, 64)) {
        for (const number of places.keys()) {
          assert.equal(hazardAt(places, number), undefined, `${source} ${name}`);
          const shortened = hazardAt(places, number, false);
          if (shortened !== undefined) found.add(shortened.split(' ')[0]!);
        }
      }
    }
    assert.deepEqual([...found], ['valu-vcc-div-fmas']);
  });
}
