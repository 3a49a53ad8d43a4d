/**
 * Recorded kernel dispatches: machine code, kernel arguments, memory before and after. One folder per kernel
 * holds `dispatches.jsonl`, one object a line, and the buffers' contents as files.
 */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { AmdgpuEmulator } from '../../src/devices/emulated/amdgpu/emulator.ts';
import type { AmdgpuLaunch } from '../../src/devices/emulated/amdgpu/initial-registers.ts';
import type { ExecutorName } from '../../src/emulator/emulator.ts';
import { DEFAULT_MODE, PLAIN_LAUNCH } from '../../src/emulator/emulator-rig.test-support.ts';
import type { Triple } from '../../src/emulator/machine/launch.ts';
import { decoderFor } from '../../src/isa/amdgpu/decoder.ts';

interface RecordedBuffer {
  /** Device address when it was recorded. */
  readonly Addr: number;
  readonly Size: number;
  /** File with the contents before. */
  readonly Pre: string;
  /** File with the contents after; empty where they did not change. */
  readonly Post: string;
}

interface Dispatch {
  readonly Kernel: string;
  /** Work-items. */
  readonly Grid: Triple;
  readonly WG: Triple;
  readonly LDS: number;
  readonly Kernarg: string;
  readonly Rsrc1: number;
  readonly Rsrc2: number;
  readonly Code: string;
  /** Byte offset of the first instruction in the code. */
  readonly Entry: number;
  readonly Bufs: readonly RecordedBuffer[];
}

export interface KernelVector extends Dispatch {
  /** Folder and line. */
  readonly name: string;
  readonly folder: string;
}

export function readKernelVectors(root: string): KernelVector[] {
  return readdirSync(root)
    .sort()
    .flatMap((name) => {
      const folder = path.join(root, name);
      const lines = readFileSync(path.join(folder, 'dispatches.jsonl'), 'utf8').trim().split('\n');
      return lines.map((line, i) => ({ ...(JSON.parse(line) as Dispatch), name: `${name} ${i + 1}`, folder }));
    });
}

/** Hidden arguments that are not recorded are zero. */
const KERNARG_SIZE_BYTES = 4096;
const PRIVATE_SIZE_BYTES = 16384;
const FLOAT_MODE_BITS = 0xff;

/**
 * compute_pgm_rsrc1 from bit 12 on as MODE; records without these bits are from before the kernel's
 * descriptor set them.
 */
export function modeOf(rsrc1: number): number {
  const floatMode = (rsrc1 >> 12) & FLOAT_MODE_BITS;
  if (floatMode === 0) return DEFAULT_MODE;
  return floatMode | ((rsrc1 >> 21) & 1 ? 0x100 : 0) | ((rsrc1 >> 23) & 1 ? 0x200 : 0);
}

/**
 * compute_pgm_rsrc2: bits 1 to 5 count the user SGPRs, bits 7 to 9 enable the workgroup ids, bits 11 and 12
 * the work-item ids.
 */
function registersOf(rsrc2: number): Pick<AmdgpuLaunch, 'workgroupIdSgprs' | 'workItemIdComponents'> {
  let next = (rsrc2 >> 1) & 31;
  const id = (bit: number): number | undefined => ((rsrc2 >> bit) & 1 ? next++ : undefined);
  return {
    workgroupIdSgprs: [id(7), id(8), id(9)],
    workItemIdComponents: Math.min((rsrc2 >> 11) & 3, 2) as 0 | 1 | 2,
  };
}

/** Multiply-adds that round once: their kernels may differ from a recording that rounds twice. */
const FUSED = /^v_(pk_)?fma(c|mk|ak|_mix)?_f32/;

export function fuses(code: Uint8Array, processor: string): boolean {
  const decoder = decoderFor(processor, 64);
  const view = new DataView(code.buffer, code.byteOffset, code.byteLength);
  for (let offset = 0; offset < code.byteLength; ) {
    const instruction = decoder.decode(view, offset);
    if (typeof instruction === 'object' && FUSED.test(instruction.row.name)) return true;
    offset += typeof instruction === 'object' ? instruction.sizeBytes : 4;
  }
  return false;
}

/** f32 bit patterns to integers in the order of the numbers. */
const ordered = (bits: number): number => (bits & 0x80000000 ? -(bits & 0x7fffffff) : bits);
const SMALLEST_NORMAL = 0x00800000;
const INFINITY = 0x7f800000;

export function within(found: number, expected: number, ulps: number): boolean {
  if (found === expected) return true;
  const magnitude = expected & 0x7fffffff;
  if (magnitude < SMALLEST_NORMAL || magnitude >= INFINITY) return false;
  return Math.abs(ordered(found) - ordered(expected)) <= ulps;
}

export const TOLERANCE_ULPS = 3;

/**
 * Runs a dispatch and returns what differs, in words; undefined when every buffer holds what was recorded.
 *
 * The buffers are not where they were recorded: every 8-byte value of the kernel arguments that lies in a
 * recorded buffer is moved with it.
 */
export function runKernelVector(vector: KernelVector, processor: string, executor: ExecutorName): string | undefined {
  const emulator = new AmdgpuEmulator({ processor, executor, compileThreshold: 1, memorySizeBytes: 2 ** 28 });
  const { memory } = emulator;
  const file = (name: string): Buffer => readFileSync(path.join(vector.folder, name));
  const buffers = vector.Bufs.map((buffer) => {
    const offset = memory.allocate(buffer.Size, { label: `0x${buffer.Addr.toString(16)}` });
    if (buffer.Pre !== '') memory.bytes.set(file(buffer.Pre), offset);
    return { ...buffer, offset };
  });

  const kernarg = memory.allocate(KERNARG_SIZE_BYTES, { label: 'kernel arguments' });
  const kernargBytes = Buffer.from(vector.Kernarg, 'hex');
  memory.bytes.set(kernargBytes, kernarg);
  for (let i = 0; i + 8 <= kernargBytes.length; i += 8) {
    const address = memory.view.getBigUint64(kernarg + i, true);
    const target = buffers.find(({ Addr, Size }) => address >= BigInt(Addr) && address < BigInt(Addr + Size));
    if (target) {
      const moved = memory.address(target.offset) + address - BigInt(target.Addr);
      memory.view.setBigUint64(kernarg + i, moved, true);
    }
  }

  const code = Uint8Array.from(Buffer.from(vector.Code, 'hex'));
  const codeOffset = memory.allocate(code.length, { label: 'code' });
  memory.bytes.set(code, codeOffset);
  emulator.publishCode(codeOffset, () => [{ name: vector.Kernel, offset: codeOffset, sizeBytes: code.length }]);
  const kernargAddress = memory.address(kernarg);
  const dispatch = emulator.dispatch({
    ...PLAIN_LAUNCH,
    entry: codeOffset + vector.Entry,
    gridSize: vector.Grid,
    workgroupSize: vector.WG,
    ldsSizeBytes: vector.LDS,
    // The record says whether a kernel has private memory, not how much.
    privateSizeBytes: vector.Rsrc2 & 1 ? PRIVATE_SIZE_BYTES : 0,
    userSgprs: Uint32Array.of(Number(kernargAddress & 0xffffffffn), Number(kernargAddress >> 32n)),
    ...registersOf(vector.Rsrc2),
    mode: modeOf(vector.Rsrc1),
    vgprCount: 256,
    agprCount: 256,
  });
  for (let i = 0; i < 600 && emulator.advance(100) !== 'idle'; i++);
  if (dispatch.state !== 'complete') return `${dispatch.state}: ${dispatch.fault?.message}`;

  const ulps = fuses(code, processor) ? TOLERANCE_ULPS : 0;
  for (const { Addr, Size, Pre, Post, offset } of buffers) {
    if (Post === '' && Pre === '') continue;
    const expected = file(Post === '' ? Pre : Post);
    for (let i = 0; i + 4 <= Size; i += 4) {
      const [ours, theirs] = [memory.view.getUint32(offset + i, true), expected.readUInt32LE(i)];
      if (within(ours, theirs, ulps)) continue;
      return `0x${(Addr + i).toString(16)}: 0x${ours.toString(16)}, expected 0x${theirs.toString(16)}`;
    }
  }
  return undefined;
}
