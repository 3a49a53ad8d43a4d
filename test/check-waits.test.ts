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
  // Of bitonic, waits between exchanges inside a wave are not needed; of matmul16 too many are to try each.
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
