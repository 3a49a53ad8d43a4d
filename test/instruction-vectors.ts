/**
 * Small programs with the registers that they must leave: one JSON object a line, as
 * `test/vectors-gfx11.test.ts` describes.
 */

import { readFileSync } from 'node:fs';
import { AmdgpuEmulator } from '../src/devices/emulated/amdgpu/emulator.ts';
import type { ExecutorName } from '../src/emulator/emulator.ts';
import { PLAIN_LAUNCH } from '../src/emulator/emulator-rig.test-support.ts';

export interface InstructionVector {
  readonly test: string;
  /** Machine code, hexadecimal; the entry is its first byte. */
  readonly code: string;
  /** Work-items of the only workgroup, one wave of 32 lanes. */
  readonly n_lanes: number;
  /** Bytes of private memory of each lane. */
  readonly scratch: number;
  readonly rsrc2: number;
  /** The output buffer afterwards, hexadecimal. */
  readonly out: string;
}

export function readInstructionVectors(file: string): InstructionVector[] {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as InstructionVector);
}

/** Rounding to nearest even, f32 denormals flushed, others kept, DX10_CLAMP and IEEE. */
const MODE = 0x3c0;
const LDS_SIZE_BYTES = 65536;

const VGPR_COUNT = 16;
const SGPR_COUNT = 16;
/**
 * Names of the dwords of the output buffer: a row of lanes for each VGPR, SGPRs, VCC_LO, SCC, EXEC_LO, and a
 * rest that is unused.
 */
function nameOf(dword: number, lanes: number): string {
  if (dword < VGPR_COUNT * lanes) return `v${Math.floor(dword / lanes)} lane ${dword % lanes}`;
  const scalar = dword - VGPR_COUNT * lanes;
  return scalar < SGPR_COUNT ? `s${scalar}` : (['vcc_lo', 'scc', 'exec_lo'][scalar - SGPR_COUNT] ?? `dword ${dword}`);
}

const hex = (value: number): string => `0x${value.toString(16).padStart(8, '0')}`;

/** Runs programs one after the other. */
export class InstructionVectorRunner {
  readonly #emulator: AmdgpuEmulator;

  constructor(processor: string, executor: ExecutorName) {
    this.#emulator = new AmdgpuEmulator({ processor, executor, memorySizeBytes: 2 ** 28 });
  }

  /** What differs from the expected registers, in words; empty when nothing does. */
  run(vector: InstructionVector): string[] {
    const { memory } = this.#emulator;
    const code = Buffer.from(vector.code, 'hex');
    const expected = Buffer.from(vector.out, 'hex');
    const output = memory.allocate(expected.length, { label: 'output' });
    const kernarg = memory.allocate(64, { label: 'kernel arguments' });
    const entry = memory.allocate(code.length, { label: 'code' });
    memory.view.setBigUint64(kernarg, memory.address(output), true);
    memory.bytes.set(code, entry);
    const address = memory.address(kernarg);
    const userSgprCount = (vector.rsrc2 >> 1) & 31;
    let next = userSgprCount;
    const id = (bit: number): number | undefined => ((vector.rsrc2 >> bit) & 1 ? next++ : undefined);
    const dispatch = this.#emulator.dispatch({
      ...PLAIN_LAUNCH,
      entry,
      waveSize: 32,
      gridSize: [vector.n_lanes, 1, 1],
      workgroupSize: [vector.n_lanes, 1, 1],
      ldsSizeBytes: LDS_SIZE_BYTES,
      privateSizeBytes: vector.scratch,
      userSgprs: Uint32Array.of(Number(address & 0xffffffffn), Number(address >> 32n)),
      workgroupIdSgprs: [id(7), id(8), id(9)],
      mode: MODE,
      vgprCount: 256,
      agprCount: 0,
    });
    for (let i = 0; i < 100 && this.#emulator.advance(100) !== 'idle'; i++);
    const found = Buffer.from(memory.bytes.slice(output, output + expected.length));
    this.#emulator.withdrawCode(entry);
    for (const region of [output, kernarg, entry]) memory.free(region);
    if (dispatch.state !== 'complete') return [`${dispatch.state}: ${dispatch.fault?.message}`];
    const differences: string[] = [];
    for (let i = 0; i + 4 <= expected.length; i += 4) {
      const [ours, theirs] = [found.readUInt32LE(i), expected.readUInt32LE(i)];
      if (ours !== theirs) differences.push(`${nameOf(i / 4, vector.n_lanes)}: ${hex(ours)}, expected ${hex(theirs)}`);
    }
    return differences;
  }
}
