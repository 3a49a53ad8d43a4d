/**
 * Kernels in assembler text on a bare emulator: s[0:1] has the address of a zeroed buffer, s2 the workgroup's
 * id, v0 the work-item's.
 */

import { machineCode } from '../assembler/machine-code.test-support.ts';
import { AmdgpuEmulator, type AmdgpuEmulatorOptions } from '../devices/emulated/amdgpu/emulator.ts';
import type { AmdgpuLaunch } from '../devices/emulated/amdgpu/initial-registers.ts';
import type { EmulatorDispatch } from './dispatch.ts';
import { MAY_READ } from './machine/layout.ts';

/** Rounding to nearest even, denormals kept, DX10_CLAMP and IEEE: what clang asks for. */
export const DEFAULT_MODE = 0x3f0;

/**
 * One wave of 64 without LDS and private memory, and no initial register but those that every launch names.
 */
export const PLAIN_LAUNCH: Omit<AmdgpuLaunch, 'entry' | 'userSgprs'> = {
  waveSize: 64,
  gridSize: [64, 1, 1],
  workgroupSize: [64, 1, 1],
  ldsSizeBytes: 0,
  privateSizeBytes: 0,
  scratchDescriptorSgpr: undefined,
  flatScratchSgpr: undefined,
  workgroupIdSgprs: [2, undefined, undefined],
  scratchOffsetSgpr: undefined,
  workItemIdComponents: 0,
  mode: DEFAULT_MODE,
  vgprCount: 64,
  agprCount: 64,
};

export interface RigOptions extends Partial<AmdgpuEmulatorOptions> {
  readonly bufferSizeBytes?: number;
}

export class EmulatorRig implements Disposable {
  readonly emulator: AmdgpuEmulator;
  /** Offset of the buffer. */
  readonly buffer: number;
  readonly #processor: string;
  /** Where the code is that was placed last. */
  entry = 0;

  constructor({ bufferSizeBytes = 2 ** 16, processor = 'gfx90a', ...options }: RigOptions = {}) {
    this.#processor = processor;
    this.emulator = new AmdgpuEmulator({ processor, memorySizeBytes: 2 ** 28, ...options });
    this.buffer = this.emulator.memory.allocate(bufferSizeBytes, { label: 'buffer' });
  }

  /** Puts text or bytes into memory, as the code `kernel`; returns where. */
  place(code: string | Uint8Array): number {
    const { memory } = this.emulator;
    const bytes = typeof code === 'string' ? machineCode(code, this.#processor) : code;
    const entry = memory.allocate(bytes.length, { label: 'code', permissions: MAY_READ });
    memory.bytes.set(bytes, entry);
    this.emulator.publishCode(entry, () => [{ name: 'kernel', offset: entry, sizeBytes: bytes.length }]);
    this.entry = entry;
    return entry;
  }

  /** Begins a launch of what was placed last. */
  launch(options: Partial<AmdgpuLaunch> = {}): EmulatorDispatch {
    const userSgprs = Uint32Array.of(this.buffer, this.emulator.memory.windowHi);
    return this.emulator.dispatch({ ...PLAIN_LAUNCH, entry: this.entry, userSgprs, ...options });
  }

  start(code: string | Uint8Array, options?: Partial<AmdgpuLaunch>): EmulatorDispatch {
    this.place(code);
    return this.launch(options);
  }

  /** Until it ends or has had so many slices of a few milliseconds. */
  run(code: string | Uint8Array, options?: Partial<AmdgpuLaunch>, slices = 4000): EmulatorDispatch {
    const dispatch = this.start(code, options);
    for (let i = 0; i < slices && this.emulator.advance(5) !== 'idle'; i++);
    return dispatch;
  }

  /** Of the buffer. */
  dword(index: number): number {
    return this.emulator.memory.view.getUint32(this.buffer + index * 4, true);
  }

  setDword(index: number, value: number): void {
    this.emulator.memory.view.setUint32(this.buffer + index * 4, value, true);
  }

  [Symbol.dispose](): void {
    this.emulator.close();
  }
}
