/** A payload with physical registers: what code is made of, point by point. */
import type { WaitCounter } from '../../ir/effects.ts';
import { reencode } from '../../isa/amdgpu/encoding/encode.ts';
import { wordsOf as allWords, type Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import { constraintError } from '../../isa/amdgpu/text/assembler/constraints.ts';
import { PayloadCode, type PayloadItem } from '../layout/payload-code.ts';
import type { MachineInstruction, MachineItem, Purpose, VirtualRegister } from './machine-code.ts';
import type { PayloadForm } from './payload-form.ts';
import { waitItems } from './payload-waits.ts';

/** Instructions by what they are there for. */
export type PurposeCounts = Readonly<Record<Purpose, number>>;

const madeOf = new WeakMap<PayloadForm, Map<string, PlacedForm | string>>();

export class PlacedForm {
  readonly counts: PurposeCounts;
  readonly #form: PayloadForm;
  readonly #items: readonly PayloadItem[];
  /** By what is waited for first. */
  readonly #codes = new Map<string, PayloadCode>();

  private constructor(form: PayloadForm, items: readonly PayloadItem[]) {
    this.#form = form;
    this.#items = items;
    this.counts = countsOf(form.payload.items);
  }

  /**
   * The numbers are those of the form's registers, then of those that the point names; it is made once of
   * them. A text says why an instruction cannot have its own.
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
    const byRegister = new Map(form.registers.concat(form.named).map((register, index) => [register, numbers[index]!]));
    const items: PayloadItem[] = [];
    for (const item of form.payload.items) {
      const result = item.kind === 'label' ? item : encode(item, byRegister);
      if (typeof result === 'string') return result;
      items.push(result);
    }
    return new PlacedForm(form, items);
  }

  /** How many instructions are there to wait for accesses of the application. */
  waitCount(waits: ReadonlyMap<WaitCounter, number>): number {
    return this.code(waits).items.length - this.#items.length;
  }

  /** `waits`: accesses of the application to wait for first. */
  code(waits: ReadonlyMap<WaitCounter, number>): PayloadCode {
    const key = waits.size === 0 ? '' : [...waits].join();
    let code = this.#codes.get(key);
    if (!code) {
      code = new PayloadCode([...this.#waits(waits), ...this.#items]);
      this.#codes.set(key, code);
    }
    return code;
  }

  #waits(waits: ReadonlyMap<WaitCounter, number>): readonly PayloadItem[] {
    if (waits.size === 0) return [];
    return waitItems(waits, this.#form.payload.code).flatMap((item) => {
      const encoded = item.kind === 'label' ? '' : encode(item, new Map());
      return typeof encoded === 'string' ? [] : [encoded];
    });
  }
}

function encode(item: MachineInstruction, numbers: ReadonlyMap<VirtualRegister, number>): PayloadItem | string {
  const { template, registers, literal, target } = item;
  const operands = new Map<number, number>();
  for (const [index, { register, firstDword }] of registers) operands.set(index, numbers.get(register)! + firstDword);
  const last = typeof literal === 'number' ? literal >>> 0 : template.literal;
  const words = wordsOf(template, operands, last);
  if (typeof words === 'string') return words;
  if (target) return { kind: 'branch', words, target, endsFlow: template.row.flags.terminator === 'branch' };
  return { kind: 'instruction', words, ...(typeof literal === 'object' && { literal }) };
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
    else words = allWords({ code: instruction.code, literal });
    known.set(key, words);
  }
  return words;
}

function countsOf(items: readonly MachineItem[]): PurposeCounts {
  const counts = { body: 0, save: 0, wait: 0 };
  for (const item of items) if (item.kind === 'instruction') counts[item.purpose ?? 'body']++;
  return counts;
}
