/**
 * The registers of a hook as values: what is written and read together is one web, webs that stand side by
 * side in a group of registers are one virtual register, and all others may go to different registers.
 */
import { registerNumber } from '../../flow/steps.ts';
import type { Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import type { RegisterUse, VirtualRegister } from '../machine/machine-code.ts';
import type { HookDefinitions, Reaching } from './definitions.ts';
import type { ExecMasks } from './exec-masks.ts';
import type { CompiledCode, HookNode } from './hook-code.ts';
import type { WideValues } from './wide-lanes.ts';

type File = VirtualRegister['file'];

/** A register that an operand of a node names. */
interface OperandRange {
  /** Index of the row's operand, or of the marker's register. */
  readonly index: number;
  readonly file: File;
  readonly first: number;
  readonly dwords: number;
  readonly isRead: boolean;
  readonly isWritten: boolean;
}

/** A set of webs, each with the number of the register that it had. */
interface Web {
  parent: Web | undefined;
  readonly unit: number;
}

function root(web: Web): Web {
  let top = web;
  while (top.parent) top = top.parent;
  // Shorter ways for those who ask again.
  for (let at = web; at.parent; ) {
    const next: Web = at.parent;
    at.parent = top;
    at = next;
  }
  return top;
}

interface Group {
  readonly file: File;
  first: number;
  end: number;
  alignmentDwords: number;
  writesOtherLanes: boolean;
}

/** The operands of a node that are registers which get other numbers. */
function operandRanges(node: HookNode, scalarCount: number): OperandRange[] {
  const { step, marker } = node;
  const ranges: OperandRange[] = marker
    ? marker.registers.map(({ file, first, dwords, role }, index) => ({
        ...{ index, file: file === 'scalar' ? 'scalar' : 'vector', first, dwords },
        ...{ isRead: role !== 'write', isWritten: role !== 'read' },
      }))
    : step.instruction.row.operands.flatMap((_, index) => operandRange(step.instruction, index) ?? []);
  return ranges.filter(({ file, first }) => file === 'vector' || first < scalarCount);
}

function operandRange(instruction: Instruction, index: number): OperandRange | undefined {
  const access = instruction.access(index);
  const operand = instruction.operand(index);
  if (access === undefined || (operand.kind !== 'vector' && operand.kind !== 'scalar')) return undefined;
  const dwords = instruction.dwords(index);
  if (dwords === 0) return undefined;
  return {
    ...{ index, file: operand.kind, first: operand.register, dwords },
    ...{ isRead: access !== 'write', isWritten: access !== 'read' },
  };
}

export interface WebParts {
  readonly code: CompiledCode;
  readonly nodes: Iterable<HookNode>;
  readonly addresses: ReadonlyMap<HookNode, unknown>;
  readonly definitions: HookDefinitions;
  readonly masks: ExecMasks;
  readonly wide: WideValues;
}

/** The virtual registers of a hook's operands. */
export class Webs {
  readonly #definitions: HookDefinitions;
  readonly #masks: ExecMasks;
  readonly #wide: WideValues;
  readonly #addresses: ReadonlyMap<HookNode, unknown>;
  readonly #alignedVgprs: boolean;
  readonly #scalarCount: number;
  /** Webs by who writes them and the unit; `undefined`: what the hook begins with. */
  readonly #written = new Map<HookNode | undefined, Map<number, Web>>();
  readonly #groups = new Map<Web, Group>();
  readonly #registers = new Map<Group, VirtualRegister>();

  /** Of nodes in `addresses` only what they write counts: they become literals. */
  constructor({ code, nodes, addresses, definitions, masks, wide }: WebParts) {
    const target = targetFor(code.processor);
    this.#definitions = definitions;
    this.#masks = masks;
    this.#wide = wide;
    this.#addresses = addresses;
    this.#alignedVgprs = target.alignedVgprs;
    this.#scalarCount = target.scalars.sgprCount;
    for (const node of nodes) this.#joinReaders(node);
    for (const node of nodes) this.#joinGroups(node);
    for (const node of nodes) this.#measure(node);
  }

  /** The virtual registers of a node's operands, by their indices. */
  usesOf(node: HookNode): Map<number, RegisterUse> {
    return new Map(this.#ranges(node).map((range) => [range.index, this.#use(this.#webOf(node, range), range)]));
  }

  /** What the hook finds in a register when it begins; undefined where nothing reads that. */
  initial(file: File, first: number): RegisterUse | undefined {
    const web = this.#written.get(undefined)?.get(registerNumber(file, first));
    return web && this.#use(web, { file, first });
  }

  /** What a node writes into a register; undefined where nothing needs it. */
  written(node: HookNode, file: File, first: number): RegisterUse | undefined {
    const web = this.#written.get(node)?.get(registerNumber(file, first));
    return web && this.#use(web, { file, first });
  }

  #ranges(node: HookNode): OperandRange[] {
    const ranges = operandRanges(node, this.#scalarCount);
    if (!this.#addresses.has(node)) return ranges;
    return ranges.filter(({ isWritten }) => isWritten).map((range) => ({ ...range, isRead: false }));
  }

  #use(web: Web, { first }: { readonly file: File; readonly first: number }): RegisterUse {
    const group = this.#groups.get(root(web))!;
    let register = this.#registers.get(group);
    if (!register) {
      const { file, end, alignmentDwords, writesOtherLanes } = group;
      const dwords = end - group.first;
      register = { id: this.#registers.size, file, dwords, alignmentDwords, writesOtherLanes };
      this.#registers.set(group, register);
    }
    return { register, firstDword: first - group.first };
  }

  get count(): number {
    return this.#registers.size;
  }

  #web(node: HookNode | undefined, unit: number): Web {
    let webs = this.#written.get(node);
    if (!webs) {
      webs = new Map();
      this.#written.set(node, webs);
    }
    let web = webs.get(unit);
    if (!web) {
      web = { parent: undefined, unit };
      webs.set(unit, web);
    }
    return web;
  }

  /** All that may have written what a node reads is one web. */
  #read(node: HookNode, unit: number, isCrossLane: boolean): Web {
    const reaching: Reaching = this.#definitions.of(node, { unit, isCrossLane });
    const webs = [...reaching.nodes].map((each) => this.#web(each, unit));
    if (reaching.fromOutside || webs.length === 0) webs.push(this.#web(undefined, unit));
    const [first, ...others] = webs;
    for (const web of others) join(first!, web);
    return first!;
  }

  #joinReaders(node: HookNode): void {
    const crossLane = new Set(node.reads.filter(({ isCrossLane }) => isCrossLane).map(({ unit }) => unit));
    for (const { file, first, dwords, isRead, isWritten } of this.#ranges(node)) {
      for (let unit = registerNumber(file, first); unit < registerNumber(file, first + dwords); unit++) {
        const read = isRead ? this.#read(node, unit, crossLane.has(unit)) : undefined;
        if (!isWritten) continue;
        const written = this.#web(node, unit);
        const isKept = node.writes.some((each) => each.unit === unit && each.isPartial);
        if (read) join(read, written);
        else if (isKept) join(this.#read(node, unit, true), written);
      }
    }
  }

  #joinGroups(node: HookNode): void {
    for (const range of this.#ranges(node)) {
      const unit = registerNumber(range.file, range.first);
      const webs = Array.from({ length: range.dwords }, (_, i) => this.#unitWeb(node, range, unit + i));
      for (const web of webs.slice(1)) join(webs[0]!, web);
    }
  }

  #unitWeb(node: HookNode, { isWritten }: OperandRange, unit: number): Web {
    return isWritten ? this.#web(node, unit) : this.#read(node, unit, false);
  }

  #webOf(node: HookNode, range: OperandRange): Web {
    return this.#unitWeb(node, range, registerNumber(range.file, range.first));
  }

  /** How large the groups are, and where they may stand. */
  #measure(node: HookNode): void {
    for (const range of this.#ranges(node)) {
      const { file, first, dwords, isWritten } = range;
      const top = root(this.#webOf(node, range));
      const alignmentDwords = this.#alignment(range);
      let group = this.#groups.get(top);
      if (!group) {
        group = { file, first, end: first + dwords, alignmentDwords, writesOtherLanes: false };
        this.#groups.set(top, group);
      }
      group.alignmentDwords = Math.max(group.alignmentDwords, alignmentDwords);
      group.first = Math.min(group.first, first);
      group.first -= group.first % group.alignmentDwords;
      group.end = Math.max(group.end, first + dwords);
      const unit = registerNumber(file, first);
      const isWide =
        this.#wide.nodes.has(node) || node.writes.some((write) => write.unit === unit && write.lanes === 'all');
      const isArgument = this.#wide.hasArguments && this.#written.get(undefined)?.has(unit) === true;
      if (file === 'vector') {
        group.writesOtherLanes ||= isArgument || (isWritten && (isWide || this.#masks.before(node) === 'any'));
      }
    }
  }

  #alignment({ file, dwords }: OperandRange): number {
    if (dwords === 1) return 1;
    if (file === 'vector') return this.#alignedVgprs ? 2 : 1;
    return dwords === 2 ? 2 : 4;
  }
}

function join(a: Web, b: Web): void {
  const [x, y] = [root(a), root(b)];
  if (x !== y) y.parent = x;
}
