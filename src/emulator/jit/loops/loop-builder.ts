/**
 * Instructions of a loop to a LoopGraph. Masks of lanes, which live in scalar registers, become one value per
 * lane wherever they are only combined bit by bit: `ballot` nodes stand for them, and what is left of these
 * decides what the loop needs. Blocks that are skipped when a mask is empty are taken to run always.
 */

import type { OpName } from '../../../ir/ops.ts';
import type { Value, ValueOf } from '../../../ir/types.ts';
import { STATE_OFFSETS } from '../../machine/layout.ts';
import type { Block } from '../function/control-flow.ts';
import type { Decoded } from '../function/decoded.ts';
import { constantOf, isOp } from '../regions/graph.ts';
import { GraphBuilder, type GraphOptions, type NodeMakers } from '../regions/graph-builder.ts';
import type { Node, NodeOf } from '../regions/node.ts';
import { type Again, type CountedSpan, isBallot, type LoopGraph, type Skip } from './loop-graph.ts';
import { MaskAlgebra } from './mask-algebra.ts';
import type { NaturalLoop } from './natural-loop.ts';

const EXEC = STATE_OFFSETS.exec;
const SCALAR_REGISTERS_BYTES = 512;

export interface LoopBuilderOptions extends GraphOptions {
  readonly writesExec: boolean;
  /** Whether lanes are counted: see `LoopGraph.spans`. */
  readonly countsPcs: boolean;
  /** Masks that are taken to be disjoint from EXEC: see `LoopGraph.disjoint`. */
  readonly disjoint: ReadonlySet<number>;
}

/** Where a skip leads, and the registers there when the wave takes it. */
interface Join {
  readonly block: Block;
  readonly skip: Skip;
  readonly scalars: ReadonlyMap<number, Node>;
  readonly rows: ReadonlyMap<number, Node>;
  readonly ambiguous: ReadonlyMap<number, readonly Node[]>;
}

export class LoopBuilder extends GraphBuilder {
  /**
   * Registers that held a mask when an iteration ended, though they were read as numbers: to be built again
   * with these as masks.
   */
  readonly newMasks = new Set<number>();
  readonly #loop: NaturalLoop;
  readonly #writesExec: boolean;
  readonly masks: MaskAlgebra;
  readonly #maskRegisters: ReadonlySet<number>;
  readonly #entryMasks = new Map<number, Node>();
  #ambiguous = new Map<number, readonly Node[]>();
  readonly #joins: Join[] = [];
  readonly #skips: Skip[] = [];
  readonly #instructions: Decoded[] = [];
  readonly #countsPcs: boolean;
  readonly #counted: Node[] = [];
  readonly #spans: CountedSpan[] = [];
  #readsInactive = false;
  #stored: NodeOf<'store'> | undefined;
  // Of the instruction being added:
  #exec: Node | undefined;

  /** `maskRegisters`: offsets of the registers that hold masks when an iteration begins. */
  constructor(loop: NaturalLoop, maskRegisters: ReadonlySet<number>, options: LoopBuilderOptions) {
    super(options);
    this.#loop = loop;
    this.#maskRegisters = maskRegisters;
    this.#writesExec = options.writesExec;
    this.#countsPcs = options.countsPcs;
    this.masks = new MaskAlgebra(this.graph, options.waveSize);
    for (const base of options.disjoint) this.masks.logic.assumeDisjoint(this.#entryMask(EXEC), this.#entryMask(base));
  }

  /** Of what is absent there is no loop of lanes. */
  protected override readonly makers: NodeMakers = {
    ...this.common,
    laneMask: (value) => this.#laneMask(value),
    ballot: (value) => this.masks.ballot(this.masks.and(this.arg(value, 0), this.#execLanes())),
    load: (value) => this.#load(value),
    loaded: (value) => this.graph.share(value.leaf, 'i32', value.lane, [this.arg(value, 0)]),
    store: (value) => this.#store(value),
  };

  /** Undefined when the loop has something that cannot run chunk by chunk. */
  build(): LoopGraph | undefined {
    const { blocks } = this.#loop;
    const exec = this.#execLanes();
    let again: Again | undefined;
    for (const [i, block] of blocks.entries()) {
      this.#join(block);
      this.#addInstructions(block.instructions);
      for (const instruction of block.instructions) {
        this.begin(instruction);
        this.#exec = undefined;
        if (this.#countsPcs) this.#count(instruction);
        if (instruction.shape.standsAlone) return undefined;
        for (const value of instruction.shape.live) {
          this.add(value);
          if (!this.fits) return undefined;
        }
      }
      if (block === this.#loop.latch) again = this.#again();
      else this.#leaveBlock(block, blocks[i + 1]!);
      if (!this.fits) return undefined;
    }
    if (!again) return undefined;
    const [masks, scalars] = this.#results();
    if (!this.fits) return undefined;
    return {
      values: this.graph,
      rows: this.rows,
      scalars,
      masks,
      entryMasks: this.#entryMasks,
      disjoint: this.#disjoint(masks),
      ambiguous: this.#ambiguous,
      again,
      stored: this.#stored,
      exec,
      writesExec: this.#writesExec,
      readsInactive: this.#readsInactive,
      skips: this.#skips,
      instructions: this.#instructions,
      counted: this.#counted,
      spans: this.#spans,
    };
  }

  // Blocks

  #addInstructions(instructions: readonly Decoded[]): void {
    const skip = this.#joins.at(-1)?.skip;
    (skip?.instructions ?? this.#instructions).push(...instructions);
  }

  /** With which lanes an instruction runs that comes next. */
  #count(instruction: Decoded): void {
    const node = this.#execLanes();
    if (!this.#counted.includes(node)) this.#counted.push(node);
    const exec = this.#counted.indexOf(node);
    const skip = this.#joins.at(-1)?.skip;
    const last = this.#spans.at(-1);
    if (last?.exec === exec && last.skip === skip) last.instructions.push(instruction);
    else this.#spans.push({ exec, skip, instructions: [instruction] });
  }

  /** What the branch at the end of a block tests. */
  #test(): Test | undefined {
    let condition = this.branch;
    this.branch = undefined;
    let when = true;
    while (condition && isOp(condition, 'i1.not')) {
      when = !when;
      condition = condition.args[0]!;
    }
    if (!condition) return undefined;
    const mask = condition.args[0];
    if (!mask || !isBallot(mask) || !isOp(condition, 'i64.eq') || constantOf(condition.args[1]!) !== 0n)
      return { kind: 'wave', condition, when };
    const lanes = this.#withoutExec(mask.args[0]!);
    return lanes.lane
      ? { kind: 'lanes', mask: lanes, whenEmpty: when }
      : { kind: 'wave', condition: lanes, when: !when };
  }

  /**
   * A condition of the wave, when that is what a mask is in all active lanes and some lane is always active.
   */
  #withoutExec(mask: Node): Node {
    if (this.#writesExec || !isOp(mask, 'i1.and')) return mask;
    const other = mask.args.find((arg) => arg !== this.#execLanes());
    return other && !other.lane ? other : mask;
  }

  #again(): Again | undefined {
    const test = this.#test();
    const branchLeaves = this.#loop.exit === 'target';
    if (test?.kind === 'wave') return { ...test, when: test.when !== branchLeaves };
    return test?.whenEmpty === branchLeaves ? { kind: 'lanes', mask: test.mask } : undefined;
  }

  /** Ends a block that is not the latch: `following` comes next in the code. */
  #leaveBlock(block: Block, following: Block): void {
    const branch = block.instructions.at(-1)!;
    const { control } = branch.shape;
    if (control !== 'conditional') {
      this.refuse((control === 'branch' ? block.target : block.next) !== following);
      return;
    }
    const test = this.#test();
    if (test?.kind !== 'lanes') {
      this.refuse(true);
      return;
    }
    const [skipped, entered] = test.whenEmpty ? [block.target, block.next] : [block.next, block.target];
    const outer = this.#joins.at(-1)?.skip;
    this.refuse(entered !== following || (outer !== undefined && !this.masks.implies(test.mask, outer.mask)));
    const skip = { mask: test.mask, branch, isTaken: test.whenEmpty, outer, instructions: [] };
    this.#skips.push(skip);
    this.#joins.push({
      block: skipped!,
      skip,
      scalars: new Map(this.scalars),
      rows: new Map(this.rows),
      ambiguous: new Map(this.#ambiguous),
    });
  }

  /**
   * Where skips lead to `block`: what the skipped code did with nothing active must be nothing, or it becomes
   * ambiguous.
   */
  #join(block: Block): void {
    for (let join = this.#joins.at(-1); join?.block === block; join = this.#joins.at(-1)) {
      this.#joins.pop();
      const { skip, scalars, rows, ambiguous } = join;
      const empty = this.masks.logic.not(this.masks.logic.table(skip.mask));
      for (const [offset, node] of this.rows) {
        const before = rows.get(offset) ?? this.#entryRow(offset);
        this.refuse(this.masks.simplified(node, empty) !== this.masks.simplified(before, empty));
      }
      for (const [offset, node] of this.scalars) {
        const before = scalars.get(offset) ?? this.#entryScalar(offset);
        if (node === before) continue;
        const [a, b] = [this.#maskOfHalf(offset, node), this.#maskOfHalf(offset, before)];
        if (a && b && this.masks.logic.equal(this.masks.logic.table(a), this.masks.logic.table(b), empty)) continue;
        this.#ambiguous.set(offset, [...(this.#ambiguous.get(offset) ?? []), skip.mask]);
      }
      for (const [offset, masks] of ambiguous)
        this.#ambiguous.set(offset, [...(this.#ambiguous.get(offset) ?? []), ...masks]);
    }
    this.refuse(this.#joins.some((join) => join.block === block));
  }

  /** Numbers, and masks by the first of their registers. */
  #results(): [masks: Map<number, Node>, scalars: Map<number, Node>] {
    const masks = new Map<number, Node>();
    const scalars = new Map<number, Node>();
    const ambiguous = this.#ambiguous;
    this.#ambiguous = new Map();
    for (const [offset, node] of this.scalars) {
      const base = this.#maskBase(offset);
      const mask = this.#maskRegisters.has(base) ? this.masks.lift(this.mask(base)) : this.#maskOfHalf(offset, node);
      if (mask) masks.set(base, mask);
      else scalars.set(offset, node);
      if (mask && !this.#maskRegisters.has(base)) this.newMasks.add(base);
    }
    this.#ambiguous = ambiguous;
    return [masks, scalars];
  }

  /** Masks whose lanes do not go on: neither those of them before an iteration nor those behind it. */
  #disjoint(masks: ReadonlyMap<number, Node>): Set<number> {
    const { logic } = this.masks;
    const exec = masks.get(EXEC);
    const goesOn = exec && logic.table(exec);
    const isOff = (mask: Node | undefined): boolean =>
      mask !== undefined && logic.implies(goesOn, logic.not(logic.table(mask)));
    const isDisjoint = ([base, mask]: readonly [number, Node]): boolean =>
      base !== EXEC && !this.#ambiguous.has(base) && isOff(mask) && isOff(this.#before(base));
    return new Set([...masks].filter(isDisjoint).map(([base]) => base));
  }

  /** A mask when an iteration begins. */
  #before(base: number): Node | undefined {
    return this.masks.lift(this.#maskOf((offset) => this.#entryScalar(offset), base));
  }

  // Values

  protected override op(name: OpName, ...args: Node[]): Node {
    return this.masks.op(name, ...args);
  }

  #laneMask(value: Value): Node {
    const lanes = this.masks.lift(this.arg(value, 0)) ?? this.unfit(value);
    return this.masks.given(lanes, this.#execLanes());
  }

  /** Stands for a value that the loop cannot have. */
  protected override unfit({ type, lane }: Pick<Value, 'type' | 'lane'>): Node {
    this.fits = false;
    return this.graph.add({ kind: 'laneId' }, type === 'void' ? 'i32' : type, lane, []);
  }

  #load(value: Value): Node {
    if (!value.lane || !this.#writesExec) return this.access(value, this.args(value));
    const active = this.#execLanes();
    // What a fault cut off is looked for among lanes that were active before the loop.
    this.refuse(!active.lane || !this.masks.implies(active, this.#entryExec()));
    return this.access(value, this.args(value), active);
  }

  /** One of all active lanes. */
  #store(value: ValueOf<'store'>): undefined {
    const { space, predicated, isRare } = value.leaf;
    this.refuse(!value.lane || (space !== 'global' && space !== 'flat') || !!predicated || !!isRare);
    this.refuse(this.#stored !== undefined || this.#writesExec || this.#joins.length > 0);
    this.#stored = this.access(value, this.args(value)) as NodeOf<'store'>; // reason: its leaf is the value's
  }

  #execLanes(): Node {
    this.#exec ??= this.masks.lift(this.mask(EXEC)) ?? this.unfit({ type: 'i1', lane: true });
    return this.#exec;
  }

  // Registers

  #maskBase(offset: number): number {
    return this.options.waveSize === 64 && offset < SCALAR_REGISTERS_BYTES ? offset & ~7 : offset;
  }

  /** The mask of which a register holds its part. */
  #maskOfHalf(offset: number, node: Node): Node | undefined {
    const half = this.#maskBase(offset) === offset ? 'i64.low' : 'i64.high';
    return isOp(node, half) && isBallot(node.args[0]!) ? node.args[0]!.args[0]! : undefined;
  }

  #entryRow(offset: number): Node {
    return this.graph.share({ kind: 'row', offset }, 'i32', true);
  }

  /** As the active lanes see it. */
  protected override row(offset: number): Node {
    const node = this.rows.get(offset) ?? this.#entryRow(offset);
    if (!this.#writesExec) return node;
    const exec = this.masks.logic.table(this.#execLanes());
    this.#readsInactive ||= !this.masks.logic.implies(exec, this.masks.logic.table(this.#entryExec()));
    return this.masks.simplified(node, exec);
  }

  #entryScalar(offset: number): Node {
    const graph = this.graph;
    const base = this.#maskBase(offset);
    if (!this.#maskRegisters.has(base)) {
      const type = offset === STATE_OFFSETS.scc ? 'i1' : 'i32';
      return graph.share({ kind: 'scalar', offset }, type, false);
    }
    return graph.op(offset === base ? 'i64.low' : 'i64.high', this.masks.ballot(this.#entryMask(base)));
  }

  #entryMask(base: number): Node {
    let mask = this.#entryMasks.get(base);
    if (!mask) {
      const type = this.options.waveSize === 64 ? 'i64' : 'i32';
      const scalar = this.graph.share({ kind: 'scalar', offset: base }, type, false);
      const bits = type === 'i64' ? scalar : this.graph.op('i64.zext32', scalar);
      mask = this.graph.share({ kind: 'laneMask' }, 'i1', true, [bits]);
      this.#entryMasks.set(base, mask);
    }
    return mask;
  }

  #entryExec(): Node {
    return this.#maskRegisters.has(EXEC) ? this.#entryMask(EXEC) : this.#execLanes();
  }

  protected override scalar(offset: number): Node {
    this.refuse(this.#ambiguous.has(offset));
    return this.scalars.get(offset) ?? this.#entryScalar(offset);
  }

  /** A mask from its registers. */
  protected override mask(offset: number): Node {
    return this.#maskOf((each) => this.scalar(each), offset);
  }

  #maskOf(scalar: (offset: number) => Node, offset: number): Node {
    const low = scalar(offset);
    return this.options.waveSize === 64
      ? this.graph.op('i64.pack', low, scalar(offset + 4))
      : this.graph.op('i64.zext32', low);
  }

  protected override setScalar(offset: number, node: Node): void {
    this.refuse(node.lane);
    // What the instruction does to lanes is under EXEC as it was before.
    if (this.#maskBase(offset) === EXEC && !this.#ambiguous.has(EXEC)) this.#execLanes();
    this.#ambiguous.delete(offset);
    this.scalars.set(offset, node);
  }

  protected override setRow(offset: number, node: Node, mask: Node | undefined): void {
    const written = mask ? this.masks.op('i32.select', mask, node, this.row(offset)) : node;
    if (this.#writesExec) {
      const exec = this.#execLanes();
      const off = this.masks.logic.not(this.masks.logic.table(exec));
      const old = this.masks.simplified(this.rows.get(offset) ?? this.#entryRow(offset), off);
      this.rows.set(offset, this.masks.op('i32.select', exec, written, old));
    } else this.rows.set(offset, written);
  }
}

/** What a branch tests; lanes: `whenEmpty` says whether it branches when no lane is set. */
type Test =
  | { readonly kind: 'lanes'; readonly mask: Node; readonly whenEmpty: boolean }
  | { readonly kind: 'wave'; readonly condition: Node; readonly when: boolean };
