/** A payload with physical registers: what code is made of, point by point. */
import { assert } from '../../base/errors.ts';
import type { WaitCounter } from '../../ir/effects.ts';
import { reencode } from '../../isa/amdgpu/encoding/encode.ts';
import type { Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import { constraintError } from '../../isa/amdgpu/text/assembler/constraints.ts';
import { Label, type LiteralFixup } from '../layout/code-item.ts';
import type {
  MachineInstruction,
  MachineItem,
  PayloadLabel,
  PointLiteral,
  Purpose,
  SymbolHalf,
  VirtualRegister,
} from './machine-code.ts';
import type { PayloadForm } from './payload-form.ts';
import { waitItems } from './payload-waits.ts';

/** Instructions by what they are there for. */
export type PurposeCounts = Readonly<Record<Purpose, number>>;

/** The items of code that payloads come to. */
export type PayloadItem =
  | {
      readonly kind: 'instruction';
      readonly words: readonly number[];
      readonly fixup?: Extract<LiteralFixup, { readonly kind: 'absolute' | 'number' }>;
      readonly point?: number;
    }
  | { readonly kind: 'label'; readonly label: Label }
  | {
      readonly kind: 'branch';
      readonly words: readonly number[];
      readonly target: Label;
      readonly endsFlow: boolean;
      readonly point?: number;
    };

/** What differs from point to point. */
export interface PointNeeds {
  readonly literals: readonly number[];
  readonly point: number | undefined;
  /** Accesses of the application to wait for first. */
  readonly waits: ReadonlyMap<WaitCounter, number>;
}

interface Encoded {
  readonly words: readonly number[];
  readonly literal: SymbolHalf | PointLiteral | undefined;
  readonly target: PayloadLabel | undefined;
  /** Control never goes on behind it. */
  readonly endsFlow: boolean;
}

const madeOf = new WeakMap<PayloadForm, Map<string, PlacedForm | string>>();

export class PlacedForm {
  readonly counts: PurposeCounts;
  readonly #form: PayloadForm;
  readonly #encoded: readonly (Encoded | PayloadLabel)[];

  private constructor(form: PayloadForm, encoded: readonly (Encoded | PayloadLabel)[]) {
    this.#form = form;
    this.#encoded = encoded;
    this.counts = countsOf(form.payload.items);
  }

  /**
   * The numbers are those of the form's registers; it is made once of them. A text says why an instruction
   * cannot have its own.
   */
  static of(form: PayloadForm, numbers: readonly number[]): PlacedForm | string {
    const known = madeOf.get(form) ?? new Map<string, PlacedForm | string>();
    madeOf.set(form, known);
    const key = String.fromCharCode(...numbers);
    const placed = known.get(key) ?? PlacedForm.#make(form, numbers);
    known.set(key, placed);
    return placed;
  }

  static #make(form: PayloadForm, numbers: readonly number[]): PlacedForm | string {
    const byRegister = new Map(form.registers.map((register, index) => [register, numbers[index]!]));
    const encoded: (Encoded | PayloadLabel)[] = [];
    for (const item of form.payload.items) {
      const result = item.kind === 'label' ? item.label : encode(item, byRegister);
      if (typeof result === 'string') return result;
      encoded.push(result);
    }
    return new PlacedForm(form, encoded);
  }

  /** How many items it has without waits for the application. */
  get size(): number {
    return this.#encoded.length;
  }

  at({ literals, point, waits }: PointNeeds): PayloadItem[] {
    const labels = new Map<PayloadLabel, Label>();
    /** Labels are told apart by identity: each point has its own. */
    const own = (label: PayloadLabel): Label => {
      const copy = labels.get(label) ?? new Label(label.name);
      labels.set(label, copy);
      return copy;
    };
    const owner = point === undefined ? {} : { point };
    const items: PayloadItem[] = [];
    for (const { words } of this.#waits(waits)) items.push({ kind: 'instruction', words, ...owner });
    for (const each of this.#encoded) {
      if ('name' in each) items.push({ kind: 'label', label: own(each) });
      else if (each.target) {
        const { words, endsFlow } = each;
        items.push({ kind: 'branch', words, target: own(each.target), endsFlow, ...owner });
      } else if (each.literal) items.push(withLiteral(each.words, each.literal, literals, point));
      else if (point === undefined) items.push({ kind: 'instruction', words: each.words });
      else items.push({ kind: 'instruction', words: each.words, point });
    }
    return items;
  }

  #waits(waits: ReadonlyMap<WaitCounter, number>): readonly Encoded[] {
    if (waits.size === 0) return [];
    return waitItems(waits, this.#form.payload.code).flatMap((item) => {
      const encoded = item.kind === 'label' ? '' : encode(item, new Map());
      return typeof encoded === 'string' ? [] : [encoded];
    });
  }
}

function withLiteral(
  words: readonly number[],
  literal: SymbolHalf | PointLiteral,
  literals: readonly number[],
  point: number | undefined,
): PayloadItem {
  const owner = point === undefined ? {} : { point };
  const numberOf = (value: number | PointLiteral): number => {
    const known = typeof value === 'number' ? value : literals[value.pointLiteral];
    assert(known !== undefined, () => 'the point has all literals of the payload');
    return known;
  };
  if ('pointLiteral' in literal) {
    return { kind: 'instruction', words, fixup: { kind: 'number', value: numberOf(literal) }, ...owner };
  }
  const { half, symbol, addend } = literal;
  return { kind: 'instruction', words, fixup: { kind: 'absolute', half, symbol, addend: numberOf(addend) }, ...owner };
}

function encode(item: MachineInstruction, numbers: ReadonlyMap<VirtualRegister, number>): Encoded | string {
  const { template, registers, literal, target } = item;
  const operands = new Map<number, number>();
  for (const [index, { register, firstDword }] of registers) operands.set(index, numbers.get(register)! + firstDword);
  const last = typeof literal === 'number' ? literal >>> 0 : template.literal;
  const words = wordsOf(template, operands, last);
  if (typeof words === 'string') return words;
  return {
    words,
    literal: typeof literal === 'object' ? literal : undefined,
    target,
    endsFlow: template.row.flags.terminator === 'branch',
  };
}

/** By template: payloads of many kernels are made of the same instructions. */
const encodings = new WeakMap<Instruction, Map<string, readonly number[] | string>>();

/** All dwords of a template with other operands; a text says why there are none. */
function wordsOf(
  template: Instruction,
  operands: ReadonlyMap<number, number>,
  literal: number | undefined,
): readonly number[] | string {
  const known = encodings.get(template) ?? new Map<string, readonly number[] | string>();
  encodings.set(template, known);
  let key = `${literal}`;
  for (const [index, number] of operands) key += ` ${index} ${number}`;
  let words = known.get(key);
  if (words === undefined) {
    const instruction = reencode(template, operands);
    const error = instruction ? constraintError(instruction) : 'the encoding has no place for them';
    if (!instruction || error !== undefined) words = `registers of '${template.name}': ${error}`;
    else words = literal === undefined ? instruction.code : [...instruction.code, literal];
    known.set(key, words);
  }
  return words;
}

function countsOf(items: readonly MachineItem[]): PurposeCounts {
  const counts = { body: 0, save: 0, wait: 0 };
  for (const item of items) if (item.kind === 'instruction') counts[item.purpose ?? 'body']++;
  return counts;
}
