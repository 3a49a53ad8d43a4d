/**
 * Payload code written as assembler text. Registers that the allocator chooses, labels and literals stand in
 * placeholders:
 *
 *     b.emit`s_bcnt1_i32_b64 ${count}, ${mask}`;
 *
 * Instructions go by the names that the oldest target has for them, whatever the target calls them.
 */
import { assert } from '../../base/errors.ts';
import { encodingsOf } from '../../isa/amdgpu/encoding/encodings.ts';
import type { CodeContext, Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import { allRows } from '../../isa/amdgpu/rows/index.ts';
import { assembleInstruction } from '../../isa/amdgpu/text/assembler/assemble.ts';
import type { PayloadLabel, PointLiteral, SymbolHalf } from '../layout/payload-code.ts';
import type { MachineItem, Payload, PhysicalRange, Purpose, RegisterUse, VirtualRegister } from './machine-code.ts';

/** Some dwords of a virtual register. */
export interface RegisterPart extends RegisterUse {
  readonly dwords: number;
}

/** Text and numbers stand in the instruction as they are. */
export type Placeholder = VirtualRegister | RegisterPart | PayloadLabel | SymbolHalf | PointLiteral | string | number;

interface Template {
  readonly instruction: Instruction;
  /** Which of the registers in the placeholders an operand is, and from which of its dwords on. */
  readonly operands: readonly (readonly [operand: number, slot: number, firstDword: number])[];
}

/** Stands for a literal that is filled in: no small number, so that it takes a dword. */
const LITERAL = 0x5eadbeef;
const LABEL = 'label';
const GROUP = 4;
const REGISTER_NAMES = /\b[sva](?:(\d+)|\[(\d+):(\d+)\])/g;

export const part = (register: VirtualRegister, firstDword: number, dwords = 1): RegisterPart => ({
  ...{ register, firstDword, dwords },
});
/** Each dword of a register. */
export const partsOf = (register: VirtualRegister): RegisterPart[] =>
  Array.from({ length: register.dwords }, (_, i) => part(register, i));
export const low = (pair: VirtualRegister): RegisterPart => part(pair, 0);
export const high = (pair: VirtualRegister): RegisterPart => part(pair, 1);

const isPart = (placeholder: Placeholder): placeholder is RegisterPart =>
  typeof placeholder === 'object' && 'register' in placeholder;
const isRegister = (placeholder: Placeholder): placeholder is VirtualRegister =>
  typeof placeholder === 'object' && 'alignmentDwords' in placeholder;
const isLabel = (placeholder: Placeholder): placeholder is PayloadLabel =>
  typeof placeholder === 'object' && 'name' in placeholder;
const isLiteral = (placeholder: Placeholder): placeholder is SymbolHalf | PointLiteral =>
  typeof placeholder === 'object' && ('symbol' in placeholder || 'pointLiteral' in placeholder);

export class PayloadBuilder {
  readonly code: CodeContext;
  readonly #items: MachineItem[] = [];
  readonly #changes: PhysicalRange[] = [];
  #nextId: number;
  /** What the instructions that follow are there for. */
  purpose: Purpose = 'body';
  /**
   * Lanes that may be on although they are off where the payload stands: registers made now are for them.
   * `first`: no lane but 0 is on.
   */
  otherLanes: 'none' | 'first' | 'any' = 'none';
  /** Whether scalar registers made now are none that are live. */
  neverBorrows = false;

  /** `others`: registers of items that are appended; those that it makes are none of them. */
  constructor(code: CodeContext, others: readonly VirtualRegister[] = []) {
    this.code = code;
    this.#nextId = Math.max(-1, ...others.map(({ id }) => id)) + 1;
  }

  scalar(dwords = 1): VirtualRegister {
    const alignmentDwords = dwords > 2 ? GROUP : dwords;
    const isNeverBorrowed = this.neverBorrows;
    return { id: this.#nextId++, file: 'scalar', dwords, alignmentDwords, writesOtherLanes: false, isNeverBorrowed };
  }

  vector(dwords = 1): VirtualRegister {
    const alignmentDwords = this.code.target.alignedVgprs && dwords > 1 ? 2 : 1;
    const writesOtherLanes = this.otherLanes !== 'none';
    const isOfFirstLane = this.otherLanes === 'first';
    return { id: this.#nextId++, file: 'vector', dwords, alignmentDwords, writesOtherLanes, isOfFirstLane };
  }

  accumulator(): VirtualRegister {
    const writesOtherLanes = this.otherLanes !== 'none';
    return { id: this.#nextId++, file: 'accumulator', dwords: 1, alignmentDwords: 1, writesOtherLanes };
  }

  /** A register of the application that each point names: `index` is its place among those of a point. */
  pointRegister(file: 'scalar' | 'vector', index: number): VirtualRegister {
    const own = { id: this.#nextId++, file, dwords: 1, alignmentDwords: 1, writesOtherLanes: false };
    return { ...own, pointRegister: index };
  }

  /** Scalar registers that hold a bit for each lane. */
  mask(): VirtualRegister {
    return this.scalar(this.maskDwords);
  }

  get maskDwords(): number {
    return this.code.waveSize / 32;
  }

  /** What the names of instructions that work on masks end with. */
  get maskBits(): string {
    return `b${this.code.waveSize}`;
  }

  get exec(): string {
    return this.#maskName('exec');
  }

  get vcc(): string {
    return this.#maskName('vcc');
  }

  #maskName(name: string): string {
    return this.code.waveSize === 32 ? `${name}_lo` : name;
  }

  /** Says that the payload changes registers of the application on purpose. */
  changes(range: PhysicalRange): void {
    this.#changes.push(range);
  }

  place(label: PayloadLabel): void {
    this.#items.push({ kind: 'label', label });
  }

  /** Throws BAD_INPUT for what is no instruction of the target. */
  emit(strings: TemplateStringsArray, ...placeholders: readonly Placeholder[]): void {
    const registers: VirtualRegister[] = [];
    for (const placeholder of placeholders) {
      const register = isPart(placeholder) ? placeholder.register : isRegister(placeholder) ? placeholder : undefined;
      if (register && !registers.includes(register)) registers.push(register);
    }
    // Numbers may be a part of a register's name.
    const named = String.raw(strings, ...placeholders.map((each) => (typeof each === 'object' ? ' ' : `${each}`)));
    const bases = basesOf(registers, named);
    const text = String.raw(
      strings,
      ...placeholders.map((placeholder) => textOf(placeholder, registers, bases)),
    ).trim();
    const { instruction, operands } = templateOf(text, registers, bases, this.code);
    const literal = placeholders.find(isLiteral);
    const target = placeholders.find(isLabel);
    this.#items.push({
      kind: 'instruction',
      template: instruction,
      registers: new Map(
        operands.map(([index, slot, firstDword]) => [index, { register: registers[slot]!, firstDword }]),
      ),
      ...(literal && { literal }),
      ...(target && { target }),
      ...(this.purpose !== 'body' && { purpose: this.purpose }),
    });
  }

  /** Calls the function at the address in `target`, a register pair's name, where it leaves its own. */
  call(target: string, clobbers: readonly PhysicalRange[]): void {
    this.emit`s_swappc_b64 ${target}, ${target}`;
    const call = this.#items.pop();
    assert(call?.kind === 'instruction', 'the call is the last item');
    this.#items.push({ ...call, clobbers });
  }

  /** Items as they are. */
  append(items: readonly MachineItem[]): void {
    this.#items.push(...items);
  }

  /** Everything so far. */
  get items(): readonly MachineItem[] {
    return this.#items;
  }

  payload(): Payload {
    return { code: this.code, items: [...this.#items], changes: [...this.#changes] };
  }
}

/** The registers that stand for the virtual ones: none that the text names. */
function basesOf(registers: readonly VirtualRegister[], text: string): readonly number[] {
  const named = [...text.matchAll(REGISTER_NAMES)].map(([, one, first, last]) => [
    Number(one ?? first),
    Number(one ?? last),
  ]);
  const next = { scalar: 0, vector: 0, accumulator: 0 };
  return registers.map(({ file, dwords }) => {
    const isNamed = (base: number): boolean => named.some(([from, to]) => from! < base + dwords && base <= to!);
    while (isNamed(next[file])) next[file] += GROUP;
    const base = next[file];
    next[file] += Math.ceil(dwords / GROUP) * GROUP;
    return base;
  });
}

function textOf(placeholder: Placeholder, registers: readonly VirtualRegister[], bases: readonly number[]): string {
  if (isPart(placeholder)) {
    const { register, firstDword, dwords } = placeholder;
    return rangeText(register.file, bases[registers.indexOf(register)]! + firstDword, dwords);
  }
  if (isRegister(placeholder)) {
    return rangeText(placeholder.file, bases[registers.indexOf(placeholder)]!, placeholder.dwords);
  }
  if (isLabel(placeholder)) return LABEL;
  return isLiteral(placeholder) ? String(LITERAL) : String(placeholder);
}

const rangeText = (file: VirtualRegister['file'], first: number, dwords: number): string => {
  const letter = { scalar: 's', vector: 'v', accumulator: 'a' }[file];
  return dwords === 1 ? `${letter}${first}` : `${letter}[${first}:${first + dwords - 1}]`;
};

const templates = new Map<string, Template>();

function templateOf(
  text: string,
  registers: readonly VirtualRegister[],
  bases: readonly number[],
  code: CodeContext,
): Template {
  const shape = registers.map(({ file, dwords }, slot) => `${file} ${bases[slot]} ${dwords}`).join();
  const key = `${code.target.processor} ${code.waveSize} ${text} ${shape}`;
  let template = templates.get(key);
  if (!template) {
    const { instruction } = assembleInstruction(nameOn(text, code), code);
    const operands = instruction.row.operands.flatMap((_, index) => {
      if (instruction.access(index) === undefined) return [];
      const operand = instruction.operand(index);
      if (!('register' in operand)) return [];
      const file = operand.kind === 'scalar' ? 'scalar' : operand.accumulator ? 'accumulator' : 'vector';
      const slot = registers.findIndex(
        (each, i) => each.file === file && operand.register >= bases[i]! && operand.register < bases[i]! + each.dwords,
      );
      return slot < 0 ? [] : [[index, slot, operand.register - bases[slot]!] as const];
    });
    assert(
      registers.every((_, slot) => operands.some(([, found]) => found === slot)),
      () => `all registers of '${text}' are operands`,
    );
    template = { instruction, operands };
    templates.set(key, template);
  }
  return template;
}

const names = new Map<string, ReadonlyMap<string, string>>();

/** The text with the name that the target has for the instruction. */
function nameOn(text: string, { target }: CodeContext): string {
  let known = names.get(target.processor);
  if (!known) {
    known = new Map(allRows().flatMap((row) => encodingsOf(row, target).map(({ name }) => [row.name, name] as const)));
    names.set(target.processor, known);
  }
  const [mnemonic = ''] = text.split(/\s/, 1);
  const base = mnemonic.replace(/_(?:e32|e64|sdwa|dpp)$/, '');
  return (known.get(base) ?? base) + text.slice(base.length);
}
