/**
 * A small language of its own, whose machine code is text: an accumulator for each lane, ten rows, a
 * counter for the wave, and a mask of active lanes that it keeps itself. An instruction is 16 characters, a
 * name and a number.
 */
import type { FrontEnd, StepReader, WaveStart } from '../src/emulator/code/front-end.ts';
import type { Launch } from '../src/emulator/machine/launch.ts';
import { WAVE_VGPRS } from '../src/emulator/machine/layout.ts';
import type { Memories } from '../src/emulator/machine/memory.ts';
import { Builder } from '../src/ir/builder.ts';
import type { Effects } from '../src/ir/effects.ts';
import type { FloatMode } from '../src/ir/float-builder.ts';
import type { Control, Step, StepOperand } from '../src/ir/step.ts';
import type { Program, Value } from '../src/ir/types.ts';

const SIZE_BYTES = 16;
const KEPT = { inputs: false, results: false };
const FLOATS: FloatMode = { round32: 0, round64: 0, flush32: KEPT, flush64: KEPT, ieee: false, dx10Clamp: false };
const CLASSES = ['arithmetic', 'control', 'memory'] as const;

const row = (first: number): StepOperand => ({ kind: 'register', file: 'vector', first, dwords: 1, isHighHalf: false });
const scalar = (first: number, dwords: number): StepOperand => ({
  ...{ kind: 'register', file: 'scalar', first, dwords, isHighHalf: false },
});

/**
 * Row 0 is the accumulator, row 1 the work-item's number in its workgroup, the language's own rows follow.
 * Scalar 0 is the counter, 1 the number of the workgroup, 2 and 3 are the address of the output, 4 and 5 the
 * lanes that have a work-item, 6 is the size of a workgroup.
 */
const ACCUMULATOR = row(0);
const ITEM = row(1);
const FIRST_ROW = 2;
const LAST_ROW = FIRST_ROW + 9;
const GROUP = scalar(1, 1);
const COUNTER = scalar(0, 1);
const OUTPUT = scalar(2, 2);
const LANES = scalar(4, 2);
const GROUP_SIZE = scalar(6, 1);

/** What an instruction does with the values of its operands: the first is set to what comes of it. */
interface Rule {
  readonly className: (typeof CLASSES)[number];
  readonly control?: Control;
  readonly operands: (number: number) => readonly StepOperand[];
  readonly build: (b: ToyBuilder) => void;
}

class ToyBuilder extends Builder {
  /** The work-item's number in the grid; its parts are the operands from `first` on. */
  item(first: number): Value {
    return this.add(this.row(first), this.mul(this.scalar(first + 1), this.scalar(first + 2)));
  }

  row(operand: number): Value {
    return this.operand({ operand, dword: 0 }, true);
  }

  setRow(operand: number, value: Value): void {
    this.setOperand({ operand, dword: 0 }, value, true);
  }

  scalar(operand: number, dword = 0): Value {
    return this.operand({ operand, dword }, false);
  }
}

const constant = (value: number): StepOperand => ({ kind: 'constant', value: BigInt.asUintN(64, BigInt(value)) });

const binary = (build: (b: ToyBuilder, x: Value, y: Value) => Value): Rule => ({
  className: 'arithmetic',
  operands: (number) => [ACCUMULATOR, row(FIRST_ROW + number)],
  build: (b) => b.setRow(0, build(b, b.row(0), b.row(1))),
});

const RULES = new Map<string, Rule>(
  Object.entries({
    item: {
      ...{ className: 'arithmetic', operands: () => [ACCUMULATOR, ITEM, GROUP, GROUP_SIZE] },
      build: (b) => b.setRow(0, b.item(1)),
    },
    const: {
      ...{ className: 'arithmetic', operands: (number) => [ACCUMULATOR, constant(number)] },
      build: (b) => b.setRow(0, b.scalar(1)),
    },
    load: {
      className: 'arithmetic',
      operands: (number) => [ACCUMULATOR, row(FIRST_ROW + number)],
      build: (b) => b.setRow(0, b.row(1)),
    },
    save: {
      className: 'arithmetic',
      operands: (number) => [row(FIRST_ROW + number), ACCUMULATOR],
      build: (b) => b.setRow(0, b.row(1)),
    },
    add: binary((b, x, y) => b.add(x, y)),
    mul: binary((b, x, y) => b.mul(x, y)),
    count: {
      ...{ className: 'control', operands: (number) => [COUNTER, constant(number)] },
      build: (b) => b.setOperand({ operand: 0, dword: 0 }, b.scalar(1), false),
    },
    /** Goes so many instructions on while the counter is not 0. */
    loop: {
      ...{ className: 'control', control: 'conditional', operands: () => [COUNTER] },
      build: (b) => {
        const left = b.sub(b.scalar(0), b.i32(1));
        b.setOperand({ operand: 0, dword: 0 }, left, false);
        b.branch(b.ne(left, b.i32(0)));
      },
    },
    /** Only lanes whose accumulator is odd are active from here on. */
    odd: {
      ...{ className: 'control', operands: () => [ACCUMULATOR] },
      build: (b) => b.setState('exec', b.ballot(b.ne(b.and(b.row(0), b.i32(1)), b.i32(0)))),
    },
    /** All lanes that have a work-item are. */
    all: {
      ...{ className: 'control', operands: () => [LANES] },
      build: (b) => b.setState('exec', b.pack(b.scalar(0, 0), b.scalar(0, 1))),
    },
    /** Stores the accumulator at the work-item's dword of the output, so many bytes on. */
    put: {
      className: 'memory',
      operands: (number) => [ACCUMULATOR, ITEM, GROUP, GROUP_SIZE, OUTPUT, constant(number)],
      build: (b) => {
        const base = b.pack(b.scalar(4, 0), b.scalar(4, 1));
        const offset = b.add(b.mul(b.item(1), b.i32(4)), b.scalar(5));
        b.store('global', 4, b.op('i64.add', base, b.zext64(offset)), [b.row(0)]);
      },
    },
    end: { className: 'control', control: 'end', operands: () => [], build: (b) => b.exit('end') },
  }),
);

class ToyStep implements Step {
  readonly offset: number;
  readonly sizeBytes = SIZE_BYTES;
  readonly illegal: string | undefined;
  readonly operands: readonly StepOperand[];
  readonly key: string;
  readonly control: Control;
  readonly target: number | undefined;
  readonly classIndex: number;
  readonly #text: string;
  readonly #build: () => Program;

  constructor(text: string, offset: number, rule: Rule, waveSize: 32 | 64) {
    const [name, digits = '0'] = text.split(' ');
    const number = Number(digits);
    this.offset = offset;
    this.#text = text;
    this.operands = rule.operands(number);
    const missing = this.operands.find((operand) => operand.kind === 'register' && operand.first > LAST_ROW);
    this.illegal = missing && `row ${number} of '${text}'`;
    this.key = `${name} ${waveSize}`;
    this.control = rule.control ?? 'next';
    this.target = this.control === 'conditional' ? offset + number * SIZE_BYTES : undefined;
    this.classIndex = CLASSES.indexOf(rule.className);
    this.#build = () => {
      const builder = new ToyBuilder(waveSize, FLOATS);
      rule.build(builder);
      return builder.finish();
    };
  }

  get effects(): Effects {
    const named = this.operands.filter((operand) => operand.kind === 'register');
    const reads = named.map((range) => ({ ...range, isCrossLane: false }));
    return {
      ...{ reads, writes: named.map((range) => ({ ...range, lanes: 'active', isPartial: true })) },
      ...{
        readsState: new Set(['exec']),
        writesState: new Set(['exec']),
        maskChange: 'any',
        readsAnyOf: new Set(),
        writesAnyOf: new Set(),
      },
      memory: CLASSES[this.classIndex] === 'memory' ? [{ space: 'global', access: 'store' }] : [],
      ...{ counters: new Set(), waits: new Map(), hazards: [] },
    };
  }

  program(): Program {
    return this.#build();
  }

  text(): string {
    return this.#text;
  }
}

/** Of a launch of this language: where the kernel writes. */
export interface ToyLaunch extends Launch {
  readonly output: bigint;
}

export class ToyFrontEnd implements FrontEnd {
  readonly processor = 'toy';
  readonly classes = CLASSES;
  readonly modeKeyBits = 0;
  readonly modeRefusedBits = -1;
  readonly sharedApertureHi = 1;
  readonly privateApertureHi = 2;
  readonly waitSizeBytes = SIZE_BYTES;

  reader(waveSize: 32 | 64): StepReader {
    return {
      step: (code, offset) => {
        const end = Math.min(offset + SIZE_BYTES, code.byteLength);
        const bytes = Array.from({ length: end - offset }, (_, i) => code.getUint8(offset + i));
        const text = String.fromCharCode(...bytes).trim();
        const rule = RULES.get(text.split(' ')[0]!);
        return rule ? new ToyStep(text, offset, rule, waveSize) : `'${text}' is no instruction`;
      },
    };
  }

  startWave({ state }: Memories, launch: ToyLaunch, { wave, workgroup, firstItem, activeLanes }: WaveStart): void {
    const { view } = state;
    const [group] = launch.workgroupIdSgprs;
    view.setUint32(wave + group! * 4, workgroup[0], true);
    view.setBigUint64(wave + 2 * 4, launch.output, true);
    view.setBigUint64(wave + 4 * 4, (1n << BigInt(activeLanes)) - 1n, true);
    view.setUint32(wave + 6 * 4, launch.workgroupSize[0], true);
    const items = wave + WAVE_VGPRS + launch.waveSize * 4;
    for (let lane = 0; lane < activeLanes; lane++) view.setUint32(items + lane * 4, firstItem + lane, true);
  }
}

/** Machine code of lines of text. */
export const toyCode = (lines: string): Uint8Array =>
  new TextEncoder().encode(
    lines
      .trim()
      .split('\n')
      .map((line) => line.trim().padEnd(SIZE_BYTES))
      .join(''),
  );
