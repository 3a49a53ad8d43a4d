/**
 * Instructions with operands at the borders of what an encoding can say: last registers of each file,
 * smallest and largest offsets.
 */
import { decoderFor } from '../../src/isa/amdgpu/decoder.ts';
import { bytesOf } from '../../src/isa/amdgpu/encoding/encode.ts';
import { type Encoding, encodingsOf } from '../../src/isa/amdgpu/encoding/encodings.ts';
import type { Field, Format } from '../../src/isa/amdgpu/encoding/formats.ts';
import type { Instruction } from '../../src/isa/amdgpu/encoding/instruction.ts';
import { type Target, targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../../src/isa/amdgpu/rows/index.ts';
import { formatInstruction } from '../../src/isa/amdgpu/text/disassemble.ts';
import { MEMORY_FORMATS, randomEncoding } from '../lockstep/random-encoding.test-support.ts';
import { Emitter, LITERAL } from './emitter.ts';
import type { Random } from './random.ts';

const ATTEMPTS = 12;
/**
 * Steps between iterations and lanes: small, over granules and pages, huge, and those with which the last
 * lane of 4, 8, 16, 32 or 64 is back at the first one's place.
 */
export const STRIDES = [
  ...[0, 4, 4, 4, 8, 12, 16, 64, 4096, -4, -64, 0x10000],
  ...[0x08000000, 0x0fffffff, 0x10000000, 0x20000000, 0x40000000, 0x7ffffffc, 0x80000000, 0xfffffff0],
  ...[3, 7, 15, 15, 31, 63].map((lanes) => Math.ceil(2 ** 32 / lanes)),
];
/** What waits for others, or ends the wave: there is nothing behind it. */
const ENDS = /^s_(endpgm|barrier|sleep|trap|sendmsg|sendmsghalt|rfe|setkill|sethalt|wakeup|set_vgpr_msb)/;
const LANE_FORMATS = /^VOP[123](_|$)|^VOPC/;
const CROSS_LANE = /lane|permute|DPP|cmpx|movrel|swizzle|addtid|bpermute|atomic|rtn|add|sub|inc|dec|min|max|wrap|cmpst/;
const COUNTER = 101;

export class HostileInstructions {
  readonly target: Target;
  readonly #waveSize: 32 | 64;
  readonly #emitter: Emitter;
  readonly #all: readonly Encoding[];
  readonly #memory: readonly Encoding[];
  readonly #relative: readonly Encoding[];
  readonly #matrix: readonly Encoding[];
  /** What a loop may hold that runs lane by lane: loads and vector instructions that stay in their lanes. */
  readonly #laneLoads: readonly Encoding[];
  readonly #lanes: readonly Encoding[];

  constructor(processor: string, waveSize: 32 | 64) {
    this.target = targetFor(processor);
    this.#waveSize = waveSize;
    const rows = allRows().filter((row) => row.semantics);
    const all = rows.flatMap((row) => encodingsOf(row, this.target));
    this.#emitter = new Emitter(processor);
    this.#all = all.filter(({ row, format }) => {
      if (row.flags.terminator === 'jump' || ENDS.test(row.name)) return false;
      return waveSize === 32 || format.name !== 'VOPD';
    });
    this.#memory = this.#all.filter(({ format }) => MEMORY_FORMATS.has(format.name));
    this.#relative = this.#all.filter(
      ({ row }) => row.operands.some(({ relative }) => relative) || /gpr_idx/.test(row.name),
    );
    this.#matrix = this.#all.filter(({ format, row }) => format.name === 'VOP3P_MAI' || /wmma|accvgpr/.test(row.name));
    this.#laneLoads = this.#memory.filter(
      ({ row }) => /(load|read)(?!.*(lds|addtid))/.test(row.name) && row.format !== 'SMEM',
    );
    this.#lanes = this.#all.filter(
      ({ row, format }) => LANE_FORMATS.test(format.name) && !CROSS_LANE.test(row.name + format.name),
    );
  }

  /** A few instructions, straight or in a loop that moves its addresses. */
  program(random: Random): number[] {
    const isLoop = random.chance(45);
    const isOfLanes = isLoop && random.chance(60);
    const body = random.times(random.between(1, 6), () => this.#instruction(random, isOfLanes)).flat();
    if (this.#hasIndexMode && random.chance(20)) return this.#indexed(random);
    if (random.chance(8)) body.unshift(...this.#execOf(random));
    if (!isLoop) return body;
    const step = random.chance(70) ? this.#step(random) : [];
    const turns = [...body, ...step];
    return [
      ...this.#emitter.emit('s_movk_i32', { sdst: COUNTER, simm16: random.between(1, 5) }),
      ...this.#emitter.loop(COUNTER, turns),
    ];
  }

  get #hasIndexMode(): boolean {
    return this.target.families.includes('gfx9');
  }

  /** Vector instructions whose VGPR numbers M0 completes, the tuples of matrix products among them. */
  #indexed(random: Random): number[] {
    const one = (): number[] =>
      this.#hostile(random.pick(this.#matrix.length > 0 && random.chance(50) ? this.#matrix : this.#all), random);
    return [...this.named('s_set_gpr_idx_on', random)!, ...random.times(random.between(1, 3), one).flat()];
  }

  /** A vector instruction that stays in its lanes. */
  vector(random: Random): number[] {
    return this.#hostile(random.pick(this.#lanes), random);
  }

  /** An instruction by the name of its row; undefined where the target has none. */
  named(name: string, random: Random): number[] | undefined {
    const encoding = this.#all.find(({ row }) => row.name === name);
    return encoding && this.#hostile(encoding, random);
  }

  /** Addresses move on in a loop: some register plus a stride. */
  #step(random: Random): number[] {
    const register = random.below(80);
    return [
      ...this.#emitter.emit('v_add_u32', { vdst: register, src0: LITERAL, src1: register }),
      random.pick(STRIDES) >>> 0,
    ];
  }

  #execOf(random: Random): number[] {
    return this.#emitter.emit(`s_mov_b${this.#waveSize}`, { sdst: 126, ssrc0: random.pick([193, 128, 129, 192, 144]) });
  }

  #instruction(random: Random, isOfLanes: boolean): number[] {
    const from = isOfLanes
      ? random.weighted([
          [6, this.#laneLoads],
          [4, this.#lanes],
        ])
      : random.weighted([
          [10, this.#memory],
          [5, this.#all],
          [this.#relative.length > 0 ? 2 : 0, this.#relative],
          [this.#matrix.length > 0 ? 1 : 0, this.#matrix],
        ]);
    return this.#hostile(random.pick(from), random);
  }

  /** The encoding with some fields at their borders, where the decoder takes them. */
  #hostile(encoding: Encoding, random: Random): number[] {
    const isPlain = random.chance(25);
    for (let attempt = isPlain ? ATTEMPTS : 0; attempt < ATTEMPTS; attempt++) {
      const words = randomEncoding(encoding, () => random.next(), this.target);
      const { format } = encoding;
      for (const field of format.fields) {
        if (!random.chance(35) || !isOperand(field, format)) continue;
        setField(words, field, borderOf(field, random));
      }
      const found = this.decode(words, random);
      if (found && found.row === encoding.row) return this.#complete(words, found, random);
    }
    const words = randomEncoding(encoding, () => random.next(), this.target);
    const found = this.decode(words, random);
    return found ? this.#complete(words, found, random) : words;
  }

  /** The program as text, an instruction a line. */
  textOf(words: readonly number[]): string {
    const view = new DataView(bytesOf([...words, 0, 0, 0, 0]).buffer);
    const decoder = decoderFor(this.target.processor, this.#waveSize);
    const lines: string[] = [];
    for (let at = 0; at < words.length * 4; ) {
      const found = decoder.decode(view, at);
      const isKnown = typeof found !== 'string';
      const size = isKnown ? found.sizeBytes : 4;
      const hex = words.slice(at / 4, at / 4 + size / 4).map((word) => word.toString(16).padStart(8, '0'));
      lines.push(
        `    ${at.toString(16).padStart(3)}: ${isKnown ? formatInstruction(found) : 'not an instruction'}  // ${hex.join(' ')}`,
      );
      at += size;
    }
    return lines.join('\n');
  }

  #complete(words: readonly number[], { sizeBytes }: Instruction, random: Random): number[] {
    const complete = [...words];
    while (complete.length * 4 < sizeBytes) complete.push(random.pick(STRIDES) >>> 0);
    return complete;
  }

  decode(words: readonly number[], random: Random): Instruction | undefined {
    const padded = [...words, random.next(), random.next()];
    const found = decoderFor(this.target.processor, this.#waveSize).decode(new DataView(bytesOf(padded).buffer), 0);
    return typeof found === 'string' ? undefined : found;
  }
}

/** What a program may choose, and no label: a branch to anywhere is another oracle's business. */
const isOperand = ({ name }: Field, format: Format): boolean => !(format.name === 'SOPP' && name === 'simm16');

function borderOf({ width, name }: Field, random: Random): number {
  const limit = 2 ** width;
  const isVectorSource = width === 9;
  return (
    random.weighted<() => number>([
      [4, () => limit - 1 - random.below(Math.min(limit, 34))],
      [2, () => random.below(Math.min(limit, 4))],
      [2, () => limit / 2 + random.between(-2, 1)],
      [isVectorSource ? 3 : 0, () => 256 + random.pick([0, 1, 2, 127, 128, 224, 240, 248, 252, 253, 254, 255])],
      [/sdst|sbase|ssrc|sdata|srsrc|soffset/.test(name) ? 3 : 0, () => random.between(96, 127) % limit],
      [2, () => random.below(limit)],
    ])() &
    (limit - 1)
  );
}

function setField(words: number[], { low, width }: Field, value: number): void {
  for (let bit = 0; bit < width; bit++) {
    const [dword, mask] = [(low + bit) >> 5, 1 << ((low + bit) & 31)];
    words[dword] = ((words[dword]! & ~mask) | (Math.floor(value / 2 ** bit) & 1 ? mask : 0)) >>> 0;
  }
}
