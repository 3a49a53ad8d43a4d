/** A state that is being made, and what becomes of it. */
import type { Encoding } from '../../src/isa/amdgpu/encoding/encodings.ts';
import type { OperandType } from '../../src/isa/amdgpu/encoding/row.ts';
import type { Target } from '../../src/isa/amdgpu/encoding/targets.ts';
import { type Random, random } from '../../test/oracle/encoding-samples.ts';
import { hexOfDwords, type Recording, type Registers } from '../../test/semantics/recorded.ts';
import { encodedWords } from './encoded.ts';
import { COLUMNS, DEFAULT_MODE, textOfWords } from './jobs.ts';
import { Bytes } from './memory.ts';
import { RegisterFile } from './register-file.ts';
import { randomValue, seedOf } from './values.ts';

export type UnsourcedRecording = Omit<Recording, 'source' | 'targets'>;

export interface Generated {
  /** Name of the file without its ending. */
  readonly file: string;
  readonly recording: UnsourcedRecording;
}

/** Registers, memory and LDS before and after; some lanes are off. */
export class StateBuilder {
  readonly encoding: Encoding;
  readonly target: Target;
  readonly waveSize: 32 | 64;
  readonly r: Random;
  readonly before: RegisterFile;
  readonly after: RegisterFile;
  readonly names = new Map<string, number>();
  readonly shown = new Set<string>();
  memory: Bytes | undefined;
  lds: Bytes | undefined;
  #memoryBefore = '';
  #ldsBefore = '';
  pointers: string[] = [];
  readonly lanes: number[];

  constructor(encoding: Encoding, target: Target, waveSize: 32 | 64, seed: string) {
    this.encoding = encoding;
    this.target = target;
    this.waveSize = waveSize;
    const text = `${encoding.row.name} ${seed}`;
    this.r = random(seedOf(text));
    const exec = (2 ** COLUMNS - 1) & ~(1 << this.r(COLUMNS)) & ~(1 << this.r(COLUMNS));
    this.before = new RegisterFile({ exec: hexOfDwords([exec, 0]) });
    this.after = new RegisterFile({ exec: hexOfDwords([exec, 0]) });
    this.lanes = Array.from({ length: COLUMNS }, (_, lane) => lane).filter((lane) => (exec >> lane) & 1);
  }

  /** Sets a register: a value for each lane, or one. */
  put(name: string, values: readonly number[]): void {
    this.names.set(name, values.length);
    for (const [i, value] of values.entries()) {
      this.before.set(name, i, BigInt(value >>> 0));
      this.after.set(name, i, BigInt(value >>> 0));
    }
  }

  putLanes(name: string, make: (lane: number) => number): void {
    this.put(
      name,
      Array.from({ length: COLUMNS }, (_, lane) => make(lane)),
    );
  }

  /** Random values of a type in consecutive registers. */
  fill(first: number, dwords: number, type: OperandType): void {
    const values = Array.from({ length: COLUMNS }, () => randomValue(type, dwords, this.r));
    for (let i = 0; i < dwords; i++)
      this.put(
        `v${first + i}`,
        values.map((value) => value[i]!),
      );
  }

  useMemory(sizeBytes: number, type: OperandType): void {
    this.memory = this.#bytes(sizeBytes, type);
    this.#memoryBefore = this.memory.text;
  }

  useLds(sizeBytes: number, type: OperandType): void {
    this.lds = this.#bytes(sizeBytes, type);
    this.#ldsBefore = this.lds.text;
  }

  #bytes(sizeBytes: number, type: OperandType): Bytes {
    const bytes = new Bytes(new Uint8Array(sizeBytes));
    const dwords = /64$/.test(type) ? 2 : 1;
    for (let at = 0; at < sizeBytes; at += 4 * dwords) {
      for (const [i, value] of randomValue(type, dwords, this.r).entries()) bytes.set(at + 4 * i, 4, BigInt(value));
    }
    return bytes;
  }

  show(names: readonly string[]): void {
    for (const name of names) this.shown.add(name);
  }

  /** Both states have these lanes on. */
  setExec(low: number, high = 0): void {
    for (const file of [this.before, this.after]) file.exec = BigInt(low >>> 0) | (BigInt(high >>> 0) << 32n);
  }

  /** `trailer`: dwords of code behind the instruction; `mode`: MODE before. */
  finish(
    fields: Readonly<Record<string, number>>,
    columns: 'lanes' | 'waves' = 'lanes',
    { trailer = [], mode = DEFAULT_MODE }: { readonly trailer?: readonly number[]; readonly mode?: number } = {},
  ): UnsourcedRecording {
    const { encoding, before, after } = this;
    const words = [...encodedWords(encoding, this.target, fields), ...trailer];
    const columnsBefore = (name: string): number => this.names.get(name) ?? 1;
    const isPerLane = (name: string): boolean => /^[avp]/.test(name);
    const columnsAfter = (name: string): number =>
      isPerLane(name) ? (this.names.get(name) ?? COLUMNS) : columns === 'waves' ? COLUMNS : 1;
    const texts = (file: RegisterFile, names: Iterable<string>, count: (name: string) => number): Registers =>
      Object.fromEntries(
        [...names].filter((name) => name !== 'exec').map((name) => [name, file.text(name, count(name))]),
      );
    const changed = (text: string | undefined, old: string): boolean => text !== undefined && text !== old;
    return {
      ...{ name: encoding.name, code: textOfWords(words), waveSize: this.waveSize, mode, columns },
      ...(this.pointers.length > 0 && { pointers: this.pointers }),
      before: {
        registers: { ...texts(before, this.names.keys(), columnsBefore), exec: before.text('exec', 2) },
        ...(this.lds && { lds: this.#ldsBefore }),
        ...(this.memory && { memory: this.#memoryBefore }),
      },
      after: {
        registers: { ...texts(after, this.shown, columnsAfter), exec: after.text('exec', 2) },
        ...(changed(this.lds?.text, this.#ldsBefore) && { lds: this.lds!.text }),
        ...(changed(this.memory?.text, this.#memoryBefore) && { memory: this.memory!.text }),
      },
    };
  }
}
