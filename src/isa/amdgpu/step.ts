/** Instructions in their places: what the executors, the compiler and analyses of code ask about them. */
import { hex } from '../../base/text.ts';
import type { Effects } from '../../ir/effects.ts';
import type { FloatMode } from '../../ir/float-builder.ts';
import type { Control, RegisterOperand, Step, StepOperand } from '../../ir/step.ts';
import type { Program } from '../../ir/types.ts';
import { decoderFor } from './decoder.ts';
import { effectsOf } from './effects/effects.ts';
import { meaningOf } from './effects/meaning.ts';
import type { Decoder } from './encoding/decode.ts';
import { type Instruction, type Operand, wordsOf } from './encoding/instruction.ts';
import { COUNTED_CLASSES, countedClass } from './encoding/instruction-class.ts';
import { apertureBound, isAperture, SCALAR_REGISTER_COUNT, VECTOR_REGISTER_COUNT } from './encoding/registers.ts';
import type { Row } from './encoding/row.ts';
import { modifierKey } from './modifier-key.ts';
import { dppTable } from './semantics/dpp.ts';
import { MODE_GPR_INDEX } from './semantics/gpr-index.ts';
import { InstructionBuilder } from './semantics/instruction-builder.ts';
import { floatMode } from './semantics/mode.ts';
import { relativeIndex } from './semantics/relative-registers.ts';
import { formatInstruction } from './text/disassemble.ts';

const DWORD_BYTES = 4;

/** What steps are read with, and what their programs are specialised on. */
interface StepContext {
  readonly decoder: Decoder;
  readonly waveSize: 32 | 64;
  readonly mode: number;
  readonly floatMode: FloatMode;
  /** Keys of all steps: those that are equal are one string. */
  readonly keys: Map<string, string>;
  /** What instructions of one key do in the MODE that code begins with; undefined where that is not known. */
  readonly meanings: Map<string, Program | undefined>;
}

/** An operand, and what of it distinguishes programs; or what it names that does not exist. */
type Resolved = { readonly operand: StepOperand; readonly tag: string } | { readonly missing: string };

/** Encodings by their first dword, then their next ones. */
type Encodings = Map<number, Encodings | EncodedStep>;

/** Reads the steps of code that runs with one MODE. */
export class AmdgpuStepReader {
  readonly #context: StepContext;
  /** Code has many instructions of few encodings. */
  readonly #encodings: Encodings = new Map();

  constructor(processor: string, waveSize: 32 | 64, mode: number) {
    const decoder = decoderFor(processor, waveSize);
    this.#context = { decoder, waveSize, mode, floatMode: floatMode(mode), keys: new Map(), meanings: new Map() };
  }

  /** The step at a byte of the code; where there is no instruction, why. */
  step(code: DataView, offset: number): AmdgpuStep | string {
    if (offset % DWORD_BYTES !== 0) return 'misaligned address';
    const { decoder } = this.#context;
    const encoded = this.#known(code, offset) ?? this.#decoded(code, offset);
    if (encoded) return new AmdgpuStep(encoded, offset);
    const dword = code.byteLength - offset >= DWORD_BYTES ? hex(code.getUint32(offset, true), 8) : 'the end of code';
    return `${dword} is not a ${decoder.target.processor} instruction`;
  }

  #known(code: DataView, offset: number): EncodedStep | undefined {
    let found: Encodings | EncodedStep | undefined = this.#encodings;
    for (let at = offset; found instanceof Map && at + DWORD_BYTES <= code.byteLength; at += DWORD_BYTES) {
      found = found.get(code.getUint32(at, true));
    }
    return found instanceof Map ? undefined : found;
  }

  #decoded(code: DataView, offset: number): EncodedStep | undefined {
    const instruction = this.#context.decoder.decode(code, offset);
    if (typeof instruction === 'string') return undefined;
    const encoded = new EncodedStep(this.#context, instruction);
    const last = offset + instruction.sizeBytes - DWORD_BYTES;
    let encodings = this.#encodings;
    for (let at = offset; at < last; at += DWORD_BYTES) {
      const word = code.getUint32(at, true);
      let next = encodings.get(word);
      if (!(next instanceof Map)) {
        next = new Map();
        encodings.set(word, next);
      }
      encodings = next;
    }
    encodings.set(code.getUint32(last, true), encoded);
    return encoded;
  }
}

/** In place of a meaning, which may be undefined. */
const NOT_ASKED = Symbol('not asked');

/** What steps of one encoding share, wherever they stand. */
class EncodedStep {
  readonly instruction: Instruction;
  readonly control: Control;
  readonly #context: StepContext;
  #form: Form | undefined;
  #words: readonly number[] | undefined;
  #effects: Effects | undefined;
  #meaning: Program | undefined | typeof NOT_ASKED = NOT_ASKED;

  constructor(context: StepContext, instruction: Instruction) {
    this.#context = context;
    this.instruction = instruction;
    this.control = controlOf(instruction.row);
  }

  get form(): Form {
    this.#form ??= formOf(this.instruction, this.#context);
    return this.#form;
  }

  get words(): readonly number[] {
    this.#words ??= wordsOf(this.instruction);
    return this.#words;
  }

  get effects(): Effects {
    const gprIndexing = (this.#context.mode & MODE_GPR_INDEX) !== 0;
    this.#effects ??= effectsOf(this.instruction, { gprIndexing, program: this.meaning });
    return this.#effects;
  }

  get meaning(): Program | undefined {
    if (this.#meaning === NOT_ASKED) this.#meaning = this.#findMeaning();
    return this.#meaning;
  }

  #findMeaning(): Program | undefined {
    const { key, illegal } = this.form;
    if (illegal !== undefined) return meaningOf(this.instruction);
    const { meanings } = this.#context;
    if (!meanings.has(key)) meanings.set(key, meaningOf(this.instruction));
    return meanings.get(key);
  }

  program(): Program {
    return new InstructionBuilder(this.instruction, this.#context.floatMode).build();
  }
}

export class AmdgpuStep implements Step {
  readonly offset: number;
  readonly instruction: Instruction;
  readonly control: Control;
  readonly #encoded: EncodedStep;

  constructor(encoded: EncodedStep, offset: number) {
    this.#encoded = encoded;
    this.offset = offset;
    this.instruction = encoded.instruction;
    this.control = encoded.control;
  }

  get sizeBytes(): number {
    return this.instruction.sizeBytes;
  }

  /** All dwords, its literal the last of them; steps of one encoding share the array. */
  get words(): readonly number[] {
    return this.#encoded.words;
  }

  get operands(): readonly StepOperand[] {
    return this.#encoded.form.operands;
  }

  get illegal(): string | undefined {
    return this.#encoded.form.illegal;
  }

  get key(): string {
    return this.#encoded.form.key;
  }

  get target(): number | undefined {
    const { control } = this;
    return control === 'next' || control === 'jump' ? undefined : this.instruction.labelTarget(this.offset);
  }

  get classIndex(): number {
    const isAtomic = this.effects.memory.some(({ access }) => access === 'atomic');
    return COUNTED_CLASSES.indexOf(countedClass(this.instruction.row, isAtomic));
  }

  /** Steps of one encoding share their effects. */
  get effects(): Effects {
    return this.#encoded.effects;
  }

  /**
   * What it does in the MODE that compilers' code begins with, shared by steps of one key; undefined where
   * that is not implemented.
   */
  get meaning(): Program | undefined {
    return this.#encoded.meaning;
  }

  program(): Program {
    return this.#encoded.program();
  }

  text(): string {
    return formatInstruction(this.instruction);
  }
}

/** What the operands of a step come to. */
interface Form {
  readonly operands: readonly StepOperand[];
  readonly key: string;
  readonly illegal: string | undefined;
}

function formOf(instruction: Instruction, { waveSize, mode, keys }: StepContext): Form {
  const { row, format, name } = instruction;
  const operands: StepOperand[] = [];
  let tags = '';
  for (let index = 0; index < row.operands.length; index++) {
    const resolved = resolve(instruction, index, mode);
    if ('missing' in resolved) return { operands, key: '', illegal: `${resolved.missing} of '${name}'` };
    operands.push(resolved.operand);
    tags += ` ${resolved.tag}`;
  }
  // The table stands behind the operands of the row (dppTableSlot).
  if (instruction.hasDpp) operands.push({ kind: 'laneTable', bytes: dppTable(instruction) });
  const key = `${row.name} ${format.name}${tags}${modifierKey(instruction)} ${waveSize} ${mode}`;
  const first = keys.get(key);
  if (first === undefined) keys.set(key, key);
  return { operands, key: first ?? key, illegal: undefined };
}

/** A jump that writes a register keeps the address to come back to. */
function controlOf({ flags, operands }: Row): Control {
  const { terminator = 'next' } = flags;
  return terminator === 'jump' && operands.some(({ access }) => access !== 'read') ? 'call' : terminator;
}

const NOTHING: StepOperand = { kind: 'constant', value: 0n };

function resolve(instruction: Instruction, index: number, mode: number): Resolved {
  const spec = instruction.row.operands[index]!;
  const operand = instruction.operand(index);
  if (operand.kind === 'null') return { operand: NOTHING, tag: 'null' };
  // An atomic that returns nothing has any number in the field of its destination.
  if (instruction.access(index) === undefined) return { operand: NOTHING, tag: 'unused' };
  if (spec.access !== 'read' && operand.kind !== (spec.file === 'scalar' ? 'scalar' : 'vector')) {
    return { missing: `destination ${spec.field}` };
  }
  switch (operand.kind) {
    case 'vector':
    case 'scalar':
      return resolveRegister(instruction, index, operand, mode);
    case 'constant':
      return { operand: { kind: 'constant', value: operand.value }, tag: 'c' };
    case 'special':
      if (isAperture(operand.encoding)) {
        return { operand: { kind: 'constant', value: apertureBound(operand.encoding) }, tag: 'c' };
      }
      return { operand: NOTHING, tag: String(operand.encoding) };
    case 'off':
      return { operand: NOTHING, tag: 'off' };
  }
}

function resolveRegister(
  instruction: Instruction,
  index: number,
  operand: Extract<Operand, { kind: 'vector' | 'scalar' }>,
  mode: number,
): Resolved {
  const dwords = instruction.dwords(index);
  const isScalar = operand.kind === 'scalar';
  const { register: first } = operand;
  if (first + dwords > (isScalar ? SCALAR_REGISTER_COUNT : VECTOR_REGISTER_COUNT)) {
    return { missing: `${isScalar ? 's' : 'v'}${first} with ${dwords} dwords` };
  }
  const file = isScalar ? 'scalar' : operand.accumulator ? 'accumulator' : 'vector';
  const isHighHalf = !isScalar && instruction.isHighHalf(index);
  const relative = relativeIndex(instruction, index, mode);
  if (!relative) {
    const tag = `${isScalar ? 's' : isHighHalf ? 'h' : 'v'}${dwords}`;
    return { operand: registerOperand(file, first, dwords, isHighHalf), tag };
  }
  const { role, name, missing } = relative;
  return {
    operand: { kind: 'register', file, first, dwords, isHighHalf, relative },
    tag: `relative ${file} ${role} ${dwords} ${name} ${missing}`,
  };
}

/** Operands that are equal are one object: code has many of few. */
const known = new Map<number, RegisterOperand>();
const FILES = ['scalar', 'vector', 'accumulator'] as const;

function registerOperand(
  file: RegisterOperand['file'],
  first: number,
  dwords: number,
  isHighHalf: boolean,
): RegisterOperand {
  const number =
    ((FILES.indexOf(file) * VECTOR_REGISTER_COUNT + first) * VECTOR_REGISTER_COUNT + dwords) * 2 + Number(isHighHalf);
  let operand = known.get(number);
  if (!operand) {
    operand = { kind: 'register', file, first, dwords, isHighHalf };
    known.set(number, operand);
  }
  return operand;
}
