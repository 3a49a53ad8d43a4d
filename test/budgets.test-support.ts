/** Code in assembler text on a bare emulator: s[0:1] has the address of a buffer, s2 the workgroup's id, v0 the work-item's. */
import { assembleFile } from '../src/assembler/assemble-file.ts';
import { parseElf } from '../src/elf/elf.ts';
import type { Launch } from '../src/emulator/amdgpu/launch.ts';
import { Emulator, type EmulatorOptions } from '../src/emulator/emulator.ts';
import { MAY_READ } from '../src/emulator/machine/layout.ts';
import type { EmulatorDispatch } from '../src/emulator/schedule/dispatch.ts';

const PROCESSOR = 'gfx90a';
const MODE = 0x3f0;
const BUFFER_BYTES = 2 ** 16;

export function assembled(body: string): Uint8Array {
  const elf = parseElf(assembleFile(`.text\n${body}\n`, { processor: PROCESSOR }), 'test.o');
  return elf.sectionBytes(elf.sectionNamed('.text')!);
}

export class Rig implements Disposable {
  readonly emulator: Emulator;
  readonly buffer: number;
  /** Where the code is that was started last. */
  entry = 0;

  constructor(options: Omit<EmulatorOptions, 'processor'> = {}) {
    this.emulator = new Emulator({ processor: PROCESSOR, memorySizeBytes: 2 ** 28, ...options });
    this.buffer = this.emulator.memory.allocate(BUFFER_BYTES, { label: 'buffer' });
  }

  start(code: Uint8Array, workgroups = 1, workgroupSize = 64): EmulatorDispatch {
    const { memory } = this.emulator;
    const entry = memory.allocate(code.length, { label: 'code', permissions: MAY_READ });
    this.entry = entry;
    memory.bytes.set(code, entry);
    this.emulator.publishCode(entry, () => [{ name: 'kernel', offset: entry, sizeBytes: code.length }]);
    const launch: Launch = {
      entry,
      waveSize: 64,
      gridSize: [workgroups * workgroupSize, 1, 1],
      workgroupSize: [workgroupSize, 1, 1],
      ldsSizeBytes: 0,
      privateSizeBytes: 0,
      userSgprs: Uint32Array.of(this.buffer, memory.windowHi),
      scratchDescriptorSgpr: undefined,
      flatScratchSgpr: undefined,
      workgroupIdSgprs: [2, undefined, undefined],
      scratchOffsetSgpr: undefined,
      workItemIdComponents: 0,
      mode: MODE,
      vgprCount: 64,
      agprCount: 64,
    };
    return this.emulator.dispatch(launch);
  }

  /** Until it ends or has had so many slices of a few milliseconds. */
  run(body: string, workgroups = 1, slices = 4000): EmulatorDispatch {
    const dispatch = this.start(assembled(body), workgroups);
    for (let i = 0; i < slices && this.emulator.advance(5) !== 'idle'; i++);
    return dispatch;
  }

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
