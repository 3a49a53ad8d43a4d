/**
 * FLAT_SCRATCH of kernels that set it up: without it the emulator finds private memory, so that what is wrong
 * with it shows in nothing else.
 */
import assert from 'node:assert/strict';
import { hex } from '../src/base/text.ts';
import { parseCodeObject } from '../src/codeobject/code-object.ts';
import { initialSgprs } from '../src/codeobject/initial-sgprs.ts';
import type { ObservedWave, StepObserver } from '../src/emulator/reference/step-observer.ts';
import { SGPR_FLAT_SCRATCH_LO } from '../src/isa/amdgpu/encoding/registers.ts';
import { targetFor } from '../src/isa/amdgpu/encoding/targets.ts';
import type { Step } from '../src/isa.ts';

/** An instruction that writes half of it, or reads it, by way of an SGPR. */
export function flatScratchText(
  processor: string,
  half: 'lo' | 'hi',
  access: 'read' | 'write',
  register: string,
): string {
  const isWrite = access === 'write';
  if (targetFor(processor).flatScratch === 'sgprs') {
    return isWrite ? `s_mov_b32 flat_scratch_${half}, ${register}` : `s_mov_b32 ${register}, flat_scratch_${half}`;
  }
  const place = `hwreg(HW_REG_FLAT_SCR_${half.toUpperCase()})`;
  return isWrite ? `s_setreg_b32 ${place}, ${register}` : `s_getreg_b32 ${register}, ${place}`;
}

/** Looks whether FLAT_SCRATCH leads to the private memory of the wave at each access there. */
export class FlatScratchWatch implements StepObserver {
  readonly strays: string[] = [];
  /** Of waves, what FLAT_SCRATCH has to be. */
  readonly #wanted = new Map<string, string>();
  readonly #registers: readonly [address: number, offset: number];
  readonly #isSgprs: boolean;
  accessCount = 0;
  /** Of halves. */
  writeCount = 0;

  constructor(processor: string, bytes: Uint8Array) {
    const target = targetFor(processor);
    const [{ descriptor } = assert.fail('no kernel')] = parseCodeObject(bytes, 'k').kernels;
    const { values } = initialSgprs(descriptor, target);
    this.#registers = [values.get('flatScratchInit')!.first, values.get('scratchWaveOffset')!.first];
    this.#isSgprs = target.flatScratch === 'sgprs';
  }

  waveStarts(wave: ObservedWave): void {
    const scalar = (number: number): bigint => BigInt(wave.register('scalar', number)[0]!);
    const [address, offset] = this.#registers;
    const wanted = (scalar(address) | (scalar(address + 1) << 32n)) + scalar(offset);
    this.#wanted.set(`${wave.workgroup} ${wave.index}`, hex(wanted));
  }

  beforeStep(wave: ObservedWave, step: Step): void {
    const text = step.text().trim();
    if (/^s_\w+ (flat_scratch_|hwreg\(HW_REG_FLAT_SCR_(LO|HI)\), )/.test(text)) this.writeCount++;
    if (!text.startsWith('scratch_')) return;
    this.accessCount++;
    const half = (i: 0 | 1): bigint =>
      this.#isSgprs
        ? BigInt(wave.register('scalar', SGPR_FLAT_SCRATCH_LO + i)[0]!)
        : wave.state(i === 0 ? 'flatScratchLow' : 'flatScratchHigh');
    const found = hex(half(0) | (half(1) << 32n));
    const wanted = this.#wanted.get(`${wave.workgroup} ${wave.index}`);
    if (found !== wanted) this.strays.push(`${found} instead of ${wanted}`);
  }
}
