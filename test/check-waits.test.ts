/** The check of waits on code that a compiler made: none is missing, and each that is taken away is found. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { KERNELS } from '../src/bench/kernels.ts';
import { parseElf } from '../src/elf/elf.ts';
import type { MissedWait } from '../src/emulator/reference/wait-check.ts';
import { decoderFor, effectsOf } from '../src/isa.ts';

const NOP = 0xbf800000;

/** Runs a kernel of examples/kernels, from these bytes; what is reported. */
function check(name: string, processor: string, bytes: Uint8Array): MissedWait[] {
  const found: MissedWait[] = [];
  const benchmark = KERNELS.find((each) => each.name === name)!;
  using runner = new KernelRunner({ processor, checkWaits: {}, onMissedWait: (each) => found.push(each) });
  const image = { name: `${name}.${processor}.co`, bytes };
  runner.prepare(image, benchmark.kernel ?? name, benchmark.launch('small'))();
  return found;
}

/** Where the waits of a file are. */
function waitsIn(bytes: Uint8Array, processor: string): number[] {
  const text = parseElf(bytes).sections.find((section) => section.name === '.text')!;
  const decoder = decoderFor(processor, processor.startsWith('gfx9') ? 64 : 32);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const waits: number[] = [];
  for (let at = text.offset; at < text.offset + text.sizeBytes; ) {
    const instruction = decoder.decode(view, at);
    const isWait = typeof instruction === 'object' && effectsOf(instruction).waits.size > 0;
    if (isWait) waits.push(at);
    at += typeof instruction === 'object' ? instruction.sizeBytes : 4;
  }
  return waits;
}

for (const processor of ['gfx90a', 'gfx942', 'gfx1100']) {
  // Of bitonic not all are needed, see below; of matmul16 too many are to try each.
  for (const name of ['bitonic', 'gather', 'histogram', 'matmul16', 'saxpy']) {
    test(`${processor}: ${name}`, () => {
      const bytes = Uint8Array.from(readFileSync(`examples/kernels/${name}.${processor}.co`));
      assert.deepEqual(check(name, processor, bytes), []);
      if (name === 'bitonic' || name === 'matmul16') return;
      for (const at of waitsIn(bytes, processor)) {
        const without = Uint8Array.from(bytes);
        new DataView(without.buffer).setUint32(at, NOP, true);
        assert.notDeepEqual(check(name, processor, without), [], `the wait at byte ${at} is missed`);
      }
    });
  }
}

/**
 * How many exchanges of bitonic have data from their own wave alone, the exchange before as well: a wave does
 * its accesses to LDS in order, so that nothing needs the waits in front of the barriers between these.
 */
function exchangesInsideWaves(items: number, waveSize: number): number {
  const isInside = (distance: number): boolean => distance <= waveSize;
  const distances: number[] = [];
  for (let size = 2; size <= 2 * items; size *= 2)
    for (let distance = size / 2; distance >= 1; distance /= 2) distances.push(distance);
  return distances.filter((distance, i) => i > 0 && isInside(distance) && isInside(distances[i - 1]!)).length;
}

const BARRIER = 0xbf8a0000;

test('of the waits in front of the barriers of bitonic those are missed that another wave needs', () => {
  const bytes = Uint8Array.from(readFileSync('examples/kernels/bitonic.gfx90a.co'));
  const view = new DataView(bytes.buffer);
  const waits = waitsIn(bytes, 'gfx90a').filter((at) => view.getUint32(at + 4, true) === BARRIER);
  const spare = waits.filter((at) => {
    const without = Uint8Array.from(bytes);
    new DataView(without.buffer).setUint32(at, NOP, true);
    return check('bitonic', 'gfx90a', without).length === 0;
  });
  assert.equal(spare.length, exchangesInsideWaves(256, 64));
  assert.ok(waits.length > spare.length);
  // Without all of them nothing is missing either.
  const without = Uint8Array.from(bytes);
  for (const at of spare) new DataView(without.buffer).setUint32(at, NOP, true);
  assert.deepEqual(check('bitonic', 'gfx90a', without), []);
});
