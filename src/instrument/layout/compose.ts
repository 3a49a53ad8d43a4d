/**
 * Original code to items without a place, with what is to run before, behind and in place of its
 * instructions.
 */
import type { BasicBlock } from '../../flow/blocks.ts';
import { fallsThrough } from '../../ir/step.ts';
import { freesVectors } from '../../isa/amdgpu/encoding/messages.ts';
import type { AmdgpuStep } from '../../isa/amdgpu/step.ts';
import { becomesCode, type CodeItem, isPayload, Label, type LiteralFixup, sizeBytesOf } from './code-item.ts';
import type { LayoutCode } from './layout-code.ts';

/** What becomes of one instruction. Items that do not say whose they are belong to it as payload. */
export interface StepEdit {
  /**
   * Of an entry: runs when control comes from outside of the code, by a launch or through a pointer or a
   * call, and not when the code branches to it.
   */
  readonly entry?: readonly CodeItem[] | undefined;
  /** Runs before it, however control comes to it. */
  readonly before?: readonly CodeItem[] | undefined;
  /**
   * Runs behind it, where control goes on with the next instruction: behind a conditional branch that is not
   * taken, behind a call when it comes back. Behind what never goes on there it never runs.
   */
  readonly after?: readonly CodeItem[] | undefined;
  /** Runs on the way to the target of a branch. */
  readonly taken?: readonly CodeItem[] | undefined;
  /** Takes its place; nothing: it is removed. */
  readonly instead?: readonly CodeItem[] | undefined;
  /**
   * All its dwords with another constant; it remains the original instruction. Not for one that depends on
   * its place.
   */
  readonly words?: readonly number[] | undefined;
}

/** Asked once for each original instruction. */
export type EditStep = (step: AmdgpuStep) => StepEdit | undefined;

/** Where code is entered from outside of itself. */
export interface CodeEntry {
  readonly address: number;
  readonly alignmentBytes: number;
  /**
   * Of a kernel whose arguments are preloaded: hardware that can do so enters it 256 bytes further on (LLVM
   * AMDGPU usage, "Preloaded Kernel Arguments").
   */
  readonly hasSecondEntry: boolean;
  /** Runs when control comes from outside, ahead of what is to run there for tools (`StepEdit.entry`). */
  readonly preamble?: readonly CodeItem[];
}

/** What an instruction that depends on its own address becomes. */
export type PcUse =
  /** Reads the address behind itself: what refers to it counts from the label. */
  | { readonly kind: 'base'; readonly label: Label }
  /** Has a literal that counts from such a label; `words` have it, whatever stood in its place. */
  | { readonly kind: 'literal'; readonly words: readonly number[]; readonly fixup: LiteralFixup }
  /** Is replaced, by what gives it the value that it had. */
  | { readonly kind: 'pinned'; readonly items: readonly CodeItem[] };

export interface ComposeInput {
  /** In the order of their addresses. */
  readonly blocks: readonly BasicBlock<AmdgpuStep>[];
  readonly entries: readonly CodeEntry[];
  readonly code: LayoutCode;
  readonly edit: EditStep;
  pcUse(step: AmdgpuStep): PcUse | undefined;
}

export interface ComposedCode {
  readonly items: CodeItem[];
  /** What stands for an entry in the new code, by its original address. */
  readonly entryLabels: ReadonlyMap<number, Label>;
}

/** From the first entry of a kernel to the second. */
const SECOND_ENTRY_BYTES = 256;
/** Instructions of payloads may each get two others in front that keep hazards apart. */
const MOST_GROWTH = 3;
/** S_CLAUSE: instructions of the group less one, in the low bits of its constant (RDNA3 ISA 16.5). */
const CLAUSE_MASK = 0x3f;
const NO_EDIT: StepEdit = {};
const NO_EDITS: readonly StepEdit[] = [];
/** Of a block that is there and was edited. */
const ANY_EDITS: readonly StepEdit[] = [{ instead: [] }];
const isAny = ({ entry, before, after, taken, instead }: StepEdit): boolean =>
  (entry ?? before ?? after ?? taken ?? instead) !== undefined;

export function compose(input: ComposeInput): ComposedCode {
  return new Composer(input).run();
}

class Composer {
  readonly #input: ComposeInput;
  readonly #entries: ReadonlyMap<number, CodeEntry>;
  readonly #entryLabels = new Map<number, Label>();
  readonly #edits = new Map<BasicBlock<AmdgpuStep>, readonly StepEdit[]>();
  #items: CodeItem[] = [];
  /** What runs on the ways of branches that are taken: it stands where control does not come by itself. */
  #detours: CodeItem[] = [];
  /** Of instructions that the code is entered at, which are asked about before their block is. */
  readonly #entryEdits = new Map<AmdgpuStep, StepEdit>();

  constructor(input: ComposeInput) {
    this.#input = input;
    this.#entries = new Map(input.entries.map((entry) => [entry.address, entry]));
  }

  run(): ComposedCode {
    const { blocks } = this.#input;
    for (let index = 0; index < blocks.length; ) {
      const entry = this.#entries.get(startOf(blocks[index]!));
      index = entry?.hasSecondEntry ? this.#twoEntries(entry, index) : this.#next(index, entry);
    }
    this.#flushDetours();
    return { items: this.#items, entryLabels: this.#entryLabels };
  }

  #next(index: number, entry: CodeEntry | undefined): number {
    const outside = entry && !this.#entryLabels.has(entry.address) ? this.#fromOutside(entry, index) : [];
    if (entry && outside.length > 0) this.#apart(entry, outside, index);
    else if (entry) this.#align(entry.alignmentBytes);
    this.#block(index);
    return index + 1;
  }

  /** What runs when control comes to a block from outside. */
  #fromOutside({ preamble = [] }: CodeEntry, index: number): readonly CodeItem[] {
    const first = this.#input.blocks[index]!.instructions[0]!;
    const edit = this.#editOf(first);
    this.#entryEdits.set(first, edit);
    return edit.entry ? [...preamble, ...edit.entry] : preamble;
  }

  #editOf(step: AmdgpuStep): StepEdit {
    const known = this.#entryEdits.size === 0 ? undefined : this.#entryEdits.get(step);
    return known ?? this.#input.edit(step) ?? NO_EDIT;
  }

  /** It stands right before the block; code that runs into the block branches over it. */
  #apart({ address, alignmentBytes }: CodeEntry, items: readonly CodeItem[], index: number): void {
    const { blocks } = this.#input;
    const label = new Label('from outside');
    this.#entryLabels.set(address, label);
    const before = blocks[index - 1];
    const last = before?.instructions.at(-1);
    if (last && before?.next === blocks[index] && comesBack(last)) this.#goTo(address, last.offset);
    this.#align(alignmentBytes);
    this.#items.push({ kind: 'label', label, outsideOf: address });
    this.#payload(items, address);
  }

  #align(sizeBytes: number): void {
    if (sizeBytes > 4) this.#items.push({ kind: 'align', sizeBytes });
  }

  /**
   * The code of the first entry has to end before the second one; where it became too long it moves away, and
   * so it does where something is to run at the entries alone.
   */
  #twoEntries(entry: CodeEntry, first: number): number {
    const { blocks } = this.#input;
    const second = entry.address + SECOND_ENTRY_BYTES;
    let end = first;
    while (end < blocks.length && startOf(blocks[end]!) < second) end++;
    const fromOutside = [this.#fromOutside(entry, first), end < blocks.length ? this.#fromOutside(entry, end) : []];
    const outer = this.#items;
    this.#items = [];
    for (let index = first; index < end; index++) this.#block(index);
    const inner = this.#items;
    this.#items = outer;
    this.#align(entry.alignmentBytes);
    // Payloads may need wait states, too.
    const isLarger = sizeOf(inner) > SECOND_ENTRY_BYTES || inner.some(isPayload);
    if (isLarger || fromOutside.some(({ length }) => length > 0)) {
      this.#stub(entry.address, fromOutside[0]!);
      this.#stub(second, fromOutside[1]!);
    }
    for (const item of inner) this.#items.push(item);
    this.#align(SECOND_ENTRY_BYTES);
    return end;
  }

  /** What control from outside comes to an address by, in the bytes between two entries. */
  #stub(address: number, items: readonly CodeItem[]): void {
    const { branch } = this.#input.code;
    const [stub, far] = [new Label('entry'), new Label('far entry')];
    this.#entryLabels.set(address, stub);
    this.#items.push({ kind: 'label', label: stub, outsideOf: address });
    const isShort = sizeOf(items) * MOST_GROWTH + branch.length * 4 <= SECOND_ENTRY_BYTES;
    this.#payload(isShort ? items : [], address);
    this.#goTo(isShort ? address : far, address);
    this.#align(SECOND_ENTRY_BYTES);
    if (isShort) return;
    this.#detours.push({ kind: 'label', label: far });
    this.#payload(items, address, this.#detours);
    this.#goTo(address, address, this.#detours);
  }

  /** Control goes on at `target`, as it does in the original code behind `point`. */
  #goTo(target: Label | number, point: number, into = this.#items): void {
    const words = this.#input.code.branch;
    into.push({ kind: 'branch', words, target, point, keepsWay: true, endsFlow: true });
  }

  #block(index: number): void {
    const { blocks, code } = this.#input;
    const block = blocks[index]!;
    const steps = block.instructions;
    const start = startOf(block);
    const label = new Label(`block ${start.toString(16)}`);
    this.#items.push({ kind: 'label', label, origin: start });
    if (this.#entries.has(start) && !this.#entryLabels.has(start)) this.#entryLabels.set(start, label);
    const edits = this.#editsOf(block);
    /** Instructions up to this index are a group with the one before. */
    let clauseEnd = -1;
    for (let i = 0; i < steps.length; i++) {
      const step = steps[i]!;
      const { hint } = step.instruction.row.flags;
      const hinted = i + 1 + (hint === 'clause' ? step.instruction.field('simm16') & CLAUSE_MASK : 0);
      const isDropped =
        (hint !== undefined && isEdited(edits, i, hinted)) ||
        // Payloads need VGPRs. Nothing depends on the message: it lets other waves begin earlier.
        (freesVectors(step.instruction) && (isEdited(edits, i, steps.length - 1) || this.#isEditedBehind(block)));
      if (hint === 'clause' && !isDropped) clauseEnd = hinted;
      const edit = edits[i]!;
      this.#step(step, isDropped ? { ...edit, instead: edit.instead ?? [] } : edit, i < clauseEnd);
    }
    // Only whether there are any is asked again.
    this.#edits.set(block, edits.some(isAny) ? ANY_EDITS : NO_EDITS);
    const last = steps.at(-1)!;
    if (!comesBack(last)) {
      this.#flushDetours();
      return;
    }
    if (block.next === undefined)
      this.#items.push({ kind: 'instruction', words: [code.stop], point: last.offset, keepsWay: true, endsFlow: true });
    else if (block.next !== blocks[index + 1]) this.#goTo(startOf(block.next), last.offset);
    else return;
    this.#flushDetours();
  }

  /** Whether code that may follow a block gets any payload; code that is not known may. */
  #isEditedBehind(block: BasicBlock<AmdgpuStep>): boolean {
    const behind = new Set<BasicBlock<AmdgpuStep>>();
    const add = ({ next, target }: BasicBlock<AmdgpuStep>): void => {
      for (const each of [next, target]) if (each) behind.add(each);
    };
    add(block);
    const own = this.#editsOf(block).at(-1)!;
    if (block.leaves || own.after || own.taken) return true;
    for (const each of behind) {
      if (each.leaves || this.#editsOf(each).some(isAny)) return true;
      add(each);
    }
    return false;
  }

  /** Asked for once: points are counted when they are served. */
  #editsOf(block: BasicBlock<AmdgpuStep>): readonly StepEdit[] {
    let edits = this.#edits.get(block);
    if (!edits) {
      edits = block.instructions.map((step) => this.#editOf(step));
      this.#edits.set(block, edits);
    }
    return edits;
  }

  #step(step: AmdgpuStep, { before, after, taken, instead, words }: StepEdit, isGlued: boolean): void {
    const { offset } = step;
    if (before) this.#payload(before, offset);
    if (instead) this.#payload(instead, offset);
    else if (words) this.#items.push({ kind: 'instruction', words, origin: offset, isGlued });
    else this.#original(step, taken, isGlued);
    if (after && comesBack(step)) this.#payload(after, offset);
  }

  #payload(items: readonly CodeItem[], point: number, into = this.#items): void {
    for (let i = 0; i < items.length; i++) {
      const item = items[i]!;
      const isOwned =
        item.kind === 'payload' || !('words' in item) || item.origin !== undefined || item.point !== undefined;
      into.push(isOwned ? item : { ...item, point });
    }
  }

  #original(step: AmdgpuStep, taken: readonly CodeItem[] | undefined, isGlued: boolean): void {
    const { target, offset, words } = step;
    const endsFlow = !comesBack(step);
    const use = target === undefined ? this.#input.pcUse(step) : undefined;
    if (target === undefined && !use && !endsFlow && !isGlued) {
      this.#items.push({ kind: 'instruction', words, origin: offset });
      return;
    }
    const owned = { origin: offset, ...(endsFlow && { endsFlow }), ...(isGlued && { isGlued }) };
    if (target !== undefined) {
      this.#items.push({ kind: 'branch', words, target: this.#wayTo(target, taken, offset), ...owned });
      return;
    }
    if (use?.kind === 'pinned') for (const item of use.items) this.#items.push({ ...item, ...owned });
    else {
      this.#items.push({
        ...{ kind: 'instruction', words, ...owned },
        ...(use?.kind === 'literal' && { words: use.words, fixup: use.fixup }),
      });
    }
    if (use?.kind === 'base') this.#items.push({ kind: 'label', label: use.label });
  }

  #wayTo(target: number, taken: readonly CodeItem[] | undefined, point: number): Label | number {
    if (!taken || taken.length === 0) return target;
    const label = new Label('taken');
    this.#detours.push({ kind: 'label', label });
    this.#payload(taken, point, this.#detours);
    this.#goTo(target, point, this.#detours);
    return label;
  }

  #flushDetours(): void {
    for (const item of this.#detours) this.#items.push(item);
    this.#detours = [];
  }
}

const sizeOf = (items: readonly CodeItem[]): number =>
  items.reduce((sum, item) => sum + (becomesCode(item) ? sizeBytesOf(item) : 0), 0);

/** Whether control may go on behind a step. */
const comesBack = (step: AmdgpuStep): boolean => fallsThrough(step) || step.control === 'call';

const startOf = (block: BasicBlock<AmdgpuStep>): number => block.instructions[0]!.offset;

/** Whether anything comes between the instructions from `first` to `last`, or takes the place of one. */
function isEdited(edits: readonly StepEdit[], first: number, last: number): boolean {
  for (let i = first; i <= last; i++) {
    const edit = edits[i];
    if (!edit) return false;
    if (i > first && (edit.before || edit.instead)) return true;
    if (i < last && edit.after) return true;
  }
  return false;
}
