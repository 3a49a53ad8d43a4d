/** Instructions in their places: what the executors, the compiler and analyses of code ask about them. */
import { assert } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import type { Effects } from '../../ir/effects.ts';
import type { FloatMode } from '../../ir/float-builder.ts';
import type { Control, Step, StepOperand } from '../../ir/step.ts';
import type { Program } from '../../ir/types.ts';
import { decoderFor } from './decoder.ts';
import { effectsOf } from './effects/effects.ts';
import { meaningOf } from './effects/meaning.ts';
import type { Decoder } from './encoding/decode.ts';
import { type Instruction, wordsOf } from './encoding/instruction.ts';
import { COUNTED_CLASSES, countedClass } from './encoding/instruction-class.ts';
import type { Row } from './encoding/row.ts';
import { type DecodedEncoding, decodedEncoding, type KeptEncoding, keptEncoding } from './kept-encodings.ts';
import { MODE_GPR_INDEX } from './semantics/gpr-index.ts';
import { InstructionBuilder } from './semantics/instruction-builder.ts';
import { floatMode } from './semantics/mode.ts';
import { type FormContext, type StepForm, stepFormOf } from './step-form.ts';
import { formatInstruction } from './text/disassemble.ts';

const DWORD_BYTES = 4;

/** What steps are read with, and what their programs are specialised on. */
interface StepContext extends FormContext {
  readonly decoder: Decoder;
  readonly floatMode: FloatMode;
  /** What instructions of one key do in the MODE that code begins with; undefined where that is not known. */
  readonly meanings: Map<string, Program | undefined>;
}

/** Encodings by their first dword, then their next ones. */
type Encodings = Map<number, Encodings | EncodedStep>;

/** Reads the steps of code that runs with one MODE. */
export class AmdgpuStepReader {
  readonly #context: StepContext;
  /** Code has many instructions of few encodings. */
  readonly #encodings: Encodings = new Map();
  /** Those that nobody has taken yet (`takeDecoded`), once somebody wants them. */
  #decoded: EncodedStep[] | undefined;

  constructor(processor: string, waveSize: 32 | 64, mode: number) {
    const decoder = decoderFor(processor, waveSize);
    this.#context = { decoder, waveSize, mode, floatMode: floatMode(mode), keys: new Map(), meanings: new Map() };
  }

  /** The step at a byte of the code; where there is no instruction, why. */
  step(code: DataView, offset: number): AmdgpuStep | string {
    if (offset % DWORD_BYTES !== 0) return 'misaligned address';
    const { decoder } = this.#context;
    const encoded = this.#known(code, offset) ?? this.#decode(code, offset);
    if (encoded) return new AmdgpuStep(encoded, offset);
    const dword = code.byteLength - offset >= DWORD_BYTES ? hex(code.getUint32(offset, true), 8) : 'the end of code';
    return `${dword} is not a ${decoder.target.processor} instruction`;
  }

  /**
   * What was decoded since the last call, and at the first nothing, for `recall` of a reader for the same
   * processor, wave size and MODE. It can be written as JSON.
   */
  takeDecoded(): readonly KeptEncoding[] {
    const decoded = this.#decoded?.map(keptEncoding) ?? [];
    this.#decoded = [];
    return decoded;
  }

  /** Takes over what another reader decoded: it is the same in whatever code it stands. */
  recall(decoded: readonly KeptEncoding[]): void {
    for (const kept of decoded) {
      const encoding = decodedEncoding(kept);
      this.#enter(encoding.words, new EncodedStep(this.#context, encoding.words, encoding));
    }
  }

  #known(code: DataView, offset: number): EncodedStep | undefined {
    let found: Encodings | EncodedStep | undefined = this.#encodings;
    for (let at = offset; found instanceof Map && at + DWORD_BYTES <= code.byteLength; at += DWORD_BYTES) {
      found = found.get(code.getUint32(at, true));
    }
    return found instanceof Map ? undefined : found;
  }

  #decode(code: DataView, offset: number): EncodedStep | undefined {
    const instruction = this.#context.decoder.decode(code, offset);
    if (typeof instruction === 'string') return undefined;
    const encoded = new EncodedStep(this.#context, wordsOf(instruction), { instruction });
    this.#decoded?.push(encoded);
    this.#enter(encoded.words, encoded);
    return encoded;
  }

  #enter(words: readonly number[], encoded: EncodedStep): void {
    const last = words.length - 1;
    let encodings = this.#encodings;
    for (let i = 0; i < last; i++) {
      let next = encodings.get(words[i]!);
      if (!(next instanceof Map)) {
        next = new Map();
        encodings.set(words[i]!, next);
      }
      encodings = next;
    }
    encodings.set(words[last]!, encoded);
  }
}

/** In place of a meaning, which may be undefined. */
const NOT_ASKED = Symbol('not asked');

/** What steps of one encoding share, wherever they stand. */
class EncodedStep implements DecodedEncoding {
  readonly words: readonly number[];
  readonly control: Control;
  readonly distance: number | undefined;
  readonly #context: StepContext;
  #instruction: Instruction | undefined;
  #form: StepForm | undefined;
  #effects: Effects | undefined;
  #meaning: Program | undefined | typeof NOT_ASKED = NOT_ASKED;

  /**
   * From the instruction, or from what was found out about it before: it is decoded then when somebody asks.
   */
  constructor(
    context: StepContext,
    words: readonly number[],
    found: { readonly instruction: Instruction } | Omit<DecodedEncoding, 'words'>,
  ) {
    this.#context = context;
    this.words = words;
    if ('instruction' in found) {
      this.#instruction = found.instruction;
      this.control = controlOf(found.instruction.row);
      this.distance = isDirect(this.control) ? found.instruction.labelTarget(0) : undefined;
    } else {
      this.control = found.control;
      this.distance = found.distance;
      this.#form = found.form;
    }
  }

  get instruction(): Instruction {
    this.#instruction ??= this.#decoded();
    return this.#instruction;
  }

  #decoded(): Instruction {
    const code = new DataView(Uint32Array.from(this.words).buffer);
    const instruction = this.#context.decoder.decode(code, 0);
    assert(typeof instruction !== 'string', 'what was an instruction is one');
    return instruction;
  }

  get form(): StepForm {
    this.#form ??= stepFormOf(this.instruction, this.#context);
    return this.#form;
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
  readonly control: Control;
  readonly #encoded: EncodedStep;

  constructor(encoded: EncodedStep, offset: number) {
    this.#encoded = encoded;
    this.offset = offset;
    this.control = encoded.control;
  }

  get instruction(): Instruction {
    return this.#encoded.instruction;
  }

  get sizeBytes(): number {
    return this.words.length * DWORD_BYTES;
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
    const { distance } = this.#encoded;
    return distance === undefined ? undefined : this.offset + distance;
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

/** Whether control goes to a place that the instruction names, if it names one. */
const isDirect = (control: Control): boolean => control !== 'next' && control !== 'jump';

/** A jump that writes a register keeps the address to come back to. */
function controlOf({ flags, operands }: Row): Control {
  const { terminator = 'next' } = flags;
  return terminator === 'jump' && operands.some(({ access }) => access !== 'read') ? 'call' : terminator;
}
