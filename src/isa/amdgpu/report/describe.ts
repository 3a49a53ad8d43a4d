/** Everything that a row says about an instruction, for `wavewright isa show`. */
import { WavewrightError } from '../../../base/errors.ts';
import { formatProgram } from '../../../ir/program-text.ts';
import { effectsOf } from '../effects/effects.ts';
import { Draft } from '../encoding/encode.ts';
import { type Encoding, encodingsOf } from '../encoding/encodings.ts';
import type { Field, FormatName } from '../encoding/formats.ts';
import { dwordsOf, type OperandSpec, type Row, type RowFlags } from '../encoding/row.ts';
import type { Target } from '../encoding/targets.ts';
import { allRows } from '../rows/index.ts';
import { InstructionBuilder } from '../semantics/instruction-builder.ts';
import { type Exactness, exactnessOf } from './coverage.ts';
import { manualSection } from './manuals.ts';

export interface DescribedEncoding {
  readonly format: FormatName;
  readonly opcode: number;
  readonly sizeBytes: number;
  /** Fixed bits of the first dword that identify the format: mask and value. */
  readonly mask: number;
  readonly value: number;
  readonly opcodeField: Field;
  readonly fields: readonly Field[];
}

export interface DescribedOperand extends OperandSpec {
  /** 0 for addresses, whose size depends on the addressing mode. */
  readonly widthBits: number;
}

export interface DescribedEffects {
  readonly readsState: readonly string[];
  readonly writesState: readonly string[];
  /** Spaces and how they are accessed. */
  readonly memory: readonly string[];
  /** What it raises until it is done. */
  readonly counters: readonly string[];
}

export interface Description {
  /** As the target calls it. */
  readonly name: string;
  /** Of the row: the name on the oldest target. */
  readonly rowName: string;
  readonly processor: string;
  readonly encodings: readonly DescribedEncoding[];
  readonly operands: readonly DescribedOperand[];
  readonly flags: RowFlags;
  readonly exactness: Exactness;
  /** Of the first encoding, besides its operands. */
  readonly effects: DescribedEffects;
  /** What it does, one line for each effect; empty when it is missing. */
  readonly meaning: readonly string[];
  /** Section of AMD's manual. */
  readonly manual: string | undefined;
}

/** Rounding to nearest, denormals kept: the mode in which meanings are shortest. */
const MODE = {
  round32: 0,
  round64: 0,
  flush32: { inputs: false, results: false },
  flush64: { inputs: false, results: false },
  ieee: false,
  dx10Clamp: true,
} as const;

/**
 * The instructions of a target that are called `name` there or on the oldest target; with a suffix of the
 * encoding also.
 */
export function describe(name: string, target: Target): Description[] {
  const bare = name.toLowerCase().replace(/_(e32|e64|sdwa|dpp|dpp8)$/, '');
  const isMeant = (each: string): boolean => each === bare || each === name;
  return allRows().flatMap((row) => {
    if (!isMeant(row.name) && !Object.values(row.opcodes).some((opcode) => isMeant(opcode.name))) return [];
    const encodings = encodingsOf(row, target);
    const own = encodings[0]?.name;
    return own !== undefined && (isMeant(own) || isMeant(row.name)) ? [describeRow(row, own, encodings, target)] : [];
  });
}

function describeRow(row: Row, name: string, encodings: readonly Encoding[], target: Target): Description {
  const waveSize = target.waveSizes[0]!;
  const draft = sample(row, encodings[0]!, target);
  return {
    name,
    rowName: row.name,
    processor: target.processor,
    encodings: encodings.map(({ format, opcode }) => ({
      format: format.name,
      opcode,
      sizeBytes: format.sizeBytes,
      mask: format.mask,
      value: format.value,
      opcodeField: format.opcode,
      fields: format.fields,
    })),
    operands: row.operands.map((spec) => ({
      ...spec,
      widthBits: widthOf(spec, waveSize),
    })),
    flags: row.flags,
    exactness: exactnessOf(row),
    effects: describedEffects(draft),
    meaning: meaningOf(draft),
    manual: manualSection(row.format, target.families),
  };
}

function widthOf({ type }: OperandSpec, waveSize: 32 | 64): number {
  if (type === 'address') return 0;
  if (type === 'label') return 16;
  const digits = /\d+$/.exec(type.replace(/^v2/, ''))?.[0];
  if (type === 'mask' || digits === undefined) return dwordsOf(type, waveSize) * 32;
  return type.startsWith('v2') ? 2 * Number(digits) : Number(digits);
}

/** Different registers for all operands: vector ones where both are possible. */
function sample(row: Row, encoding: Encoding, target: Target): Draft {
  const waveSize = target.waveSizes[0]!;
  const draft = new Draft(encoding, { target, waveSize });
  row.operands.forEach((spec, index) => {
    if (spec.file === 'immediate') return;
    const isScalar = spec.file === 'scalar';
    const number = spec.type === 'mask' ? 106 : spec.field === 'saddr' ? target.scalars.none : 4 * (index + 1);
    const isSource = spec.file === 'any' || (spec.file === 'accumulator' && spec.access === 'read');
    draft.setEncoded(index, !isScalar && isSource ? 256 + number : number);
  });
  for (const [field, value] of [
    ['op_sel_hi', 3],
    ['op_sel_hi_2', 1],
  ] as const)
    if (draft.has(field)) draft.set(field, value);
  return draft;
}

function describedEffects(draft: Draft): DescribedEffects {
  const { readsState, writesState, memory, counters } = effectsOf(draft);
  return {
    readsState: [...readsState],
    writesState: [...writesState],
    memory: memory.map(({ space, access }) => `${space} ${access}`),
    counters: [...counters],
  };
}

function meaningOf(draft: Draft): string[] {
  const { row } = draft;
  if (!row.semantics) return [];
  const fields = row.operands.map(({ field }) => field);
  const nameOf = (index: number): string => {
    const field = fields[index] ?? 'dppLanes';
    return fields.indexOf(field) === index ? field : `${field}.${index}`;
  };
  try {
    return formatProgram(new InstructionBuilder(draft, MODE).build(), {
      name: nameOf,
      dwords: (index) => (index < row.operands.length ? draft.dwords(index) : 1),
    });
  } catch (error) {
    if (error instanceof WavewrightError && error.code === 'UNSUPPORTED') return [];
    throw error;
  }
}
