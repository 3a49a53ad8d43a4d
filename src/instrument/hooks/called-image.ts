/**
 * A file of hooks whose functions are called: its code and data as they are, in one piece, so that all
 * distances stay. In the place of each marker the code branches to an instruction or two behind the piece,
 * which get the intrinsic's value from registers that nothing else in the file uses: who calls a hook puts
 * the values there.
 */
import { alignUp } from '../../base/align.ts';
import { parseCodeObject } from '../../codeobject/code-object.ts';
import { bytesOf } from '../../isa/amdgpu/encoding/encode.ts';
import { scalarText } from '../../isa/amdgpu/encoding/registers.ts';
import { type Target, targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import { assembleInstruction } from '../../isa/amdgpu/text/assembler/assemble.ts';
import { type LiftedCode, liftCodeObject } from '../../lift/lifted-code.ts';
import { type CalledCode, calledCode } from './called-code.ts';
import { isRejected, type Rejected } from './hook-code.ts';
import type { HookFile } from './hook-file.ts';
import type { Marker } from './intrinsics.ts';

/** VGPRs that hold what an intrinsic gives, or what it is to write, dword by dword. */
export interface Slot {
  readonly name: Marker['name'];
  readonly numbers: readonly number[];
  readonly first: number;
  readonly dwords: number;
  /** Whether the code sets it. */
  readonly isWritten: boolean;
  /** Whether all lanes have one value. */
  readonly isUniform: boolean;
}

/** A function that can be called. */
export interface CalledHook extends CalledCode {
  readonly name: string;
  /** From the beginning of the image. */
  readonly offset: number;
  readonly slots: readonly Slot[];
}

const VGPRS = 256;
/** In numbers of the application's registers. */
const FIRST_VECTOR = 256;
/** What s_branch counts in, and how far it reaches (16 bits). */
const [DWORD_BYTES, MOST_DWORDS] = [4, 0x7fff];
/** Between what a lane access leaves in a scalar register and memory accesses with it (CDNA2 ISA 4.5). */
const WAIT_STATES = 's_nop 4';
const ALIGNMENT_BYTES = 4096;

export class CalledImage {
  readonly alignmentBytes = ALIGNMENT_BYTES;
  readonly bytes: Uint8Array;
  /** Of the first byte, in the address space of the hooks' file. */
  readonly address: number;
  /** Places that hold the address of a place, both from the beginning of the image. */
  readonly pointers: readonly { readonly offset: number; readonly target: number }[];
  readonly #file: HookFile;
  readonly #code: LiftedCode;
  readonly #target: Target;
  readonly #waveSize: 32 | 64;
  readonly #slots = new Map<string, Slot>();
  readonly #rejected: string | undefined;
  /** Markers that mean nothing in called code, with the reason, by their addresses. */
  readonly #unserved = new Map<number, string>();

  constructor(file: HookFile, waveSize: 32 | 64) {
    this.#file = file;
    this.#waveSize = waveSize;
    this.#target = targetFor(file.processor);
    this.#code = liftCodeObject(parseCodeObject(file.linked, file.name));
    const parts = [...file.blocks, { ...file.code, sizeBytes: file.code.bytes.length, pointers: [] }];
    const start = Math.min(...parts.map(({ address }) => address));
    this.address = start - (start % ALIGNMENT_BYTES);
    const end = alignUp(Math.max(...parts.map(({ address, sizeBytes }) => address + sizeBytes)), DWORD_BYTES);
    const stubs: number[] = [];
    const image = new Uint8Array(end - this.address);
    for (const { address, bytes } of parts) if (bytes) image.set(bytes, address - this.address);
    const view = new DataView(image.buffer);
    let rejected = this.#findSlots();
    for (const marker of file.markers.values()) {
      const place = marker.address - this.address;
      const stub = image.length + stubs.length * DWORD_BYTES;
      const words = rejected === undefined ? this.#stub(marker) : '';
      if (typeof words === 'string') {
        this.#unserved.set(marker.address, words);
        continue;
      }
      const back = stub + words.length * DWORD_BYTES;
      const [there, home] = [branchDwords(place, stub), branchDwords(back, place + DWORD_BYTES)];
      if (Math.abs(there) > MOST_DWORDS || Math.abs(home) > MOST_DWORDS) rejected ??= 'is in a file that is too large';
      view.setUint32(place, this.#words(`s_branch ${there & 0xffff}`)[0]!, true);
      stubs.push(...words, ...this.#words(`s_branch ${home & 0xffff}`));
    }
    this.#rejected = rejected;
    this.bytes = new Uint8Array(image.length + stubs.length * DWORD_BYTES);
    this.bytes.set(image);
    this.bytes.set(bytesOf(stubs), image.length);
    this.pointers = file.blocks.flatMap(({ address, pointers }) =>
      pointers.map(({ offset, target }) => ({
        ...{ offset: address + offset - this.address, target: target - this.address },
      })),
    );
  }

  /** A function of the file, or why it is never called. */
  hook(name: string): CalledHook | Rejected {
    const found = this.#file.functions.get(name);
    if (!found) return { rejected: `is not in ${this.#file.name}: no function '${name}'` };
    if (this.#rejected !== undefined) return { rejected: this.#rejected };
    const called = calledCode(this.#code, found.address, this.#file.markers);
    if (isRejected(called)) return called;
    const { markers } = called;
    const why = markers.map(({ address }) => this.#unserved.get(address)).find((each) => each !== undefined);
    if (why !== undefined) return { rejected: why };
    const slots = [...new Set(markers.flatMap((marker) => this.#slots.get(keyOf(marker)) ?? []))];
    return { ...called, name, offset: found.address - this.address, slots };
  }

  /** Gives markers registers behind all that the code of the file uses. */
  #findSlots(): string | undefined {
    let next = 0;
    for (const { blocks } of this.#code.functions) {
      for (const { effects } of blocks.flatMap(({ instructions }) => instructions)) {
        for (const { file, first, dwords } of [...effects.reads, ...effects.writes]) {
          if (file === 'vector') next = Math.max(next, first + dwords);
        }
      }
    }
    for (const marker of this.#file.markers.values()) {
      const { name, numbers, registers } = marker;
      if (name === 'write_exec' || name === 'scalar_atomic_add' || this.#slots.has(keyOf(marker))) continue;
      const [{ file, dwords } = { file: 'scalar', dwords: 0 }] = registers;
      const isWritten = name === 'write_reg';
      const isUniform = file === 'scalar';
      this.#slots.set(keyOf(marker), { name, numbers, first: next, dwords, isWritten, isUniform });
      next += dwords;
    }
    return next > VGPRS ? 'is in a file that needs all vector registers' : undefined;
  }

  /** What stands for a marker. */
  #stub(marker: Marker): readonly number[] | string {
    const [{ file, first, dwords } = { file: 'scalar', first: 0, dwords: 0 }] = marker.registers;
    const { scalars } = this.#target;
    const scalar = (register: number, count: number): string => scalarText(register, count, scalars) ?? '';
    // What compiled code has in lanes that were off is not what these lanes would have.
    if (marker.name === 'write_exec') return 'switches lanes on, in code that is called';
    if (marker.name === 'scalar_atomic_add') return 'adds in scalar memory, in code that is called';
    if (marker.name === 'write_reg' && marker.numbers[0]! < FIRST_VECTOR)
      return 'changes a scalar register, in code that is called';
    const slot = this.#slots.get(keyOf(marker))!;
    const words: number[] = [];
    for (let i = 0; i < dwords; i++) {
      const from = `v${slot.first + i}`;
      if (slot.isWritten) words.push(...this.#words(`v_mov_b32_e32 ${from}, v${first + i}`));
      else if (file === 'vector') words.push(...this.#words(`v_mov_b32_e32 v${first + i}, ${from}`));
      else words.push(...this.#words(`v_readlane_b32 ${scalar(first + i, 1)}, ${from}, 0`));
    }
    if (!slot.isWritten && file === 'scalar') words.push(...this.#words(WAIT_STATES));
    return words;
  }

  #words(text: string): readonly number[] {
    return assembleInstruction(text, { target: this.#target, waveSize: this.#waveSize }).words;
  }
}

/** From behind a branch to its target. */
const branchDwords = (from: number, to: number): number => (to - from - DWORD_BYTES) / DWORD_BYTES;

const keyOf = ({ name, numbers, registers }: Marker): string =>
  `${name} ${numbers} ${registers[0]?.file} ${registers[0]?.dwords}`;
