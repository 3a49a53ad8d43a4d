/**
 * Puts instructions into regions: registers become values, as long as running the chunks one after the other
 * gives what running the instructions one after the other gives. What a region may hold:
 * - one EXEC for everything per lane; scalar instructions before that may change it;
 * - no lane value that needs what all lanes computed, but for masks, which stay in the lanes;
 * - loads, or one instruction that stores or updates memory; merged regions loads, and then stores;
 * - a load of the wave only before the lanes' first access, so that the first fault is found first; in full
 *   waves, which have no faults, before the first store;
 * - no read across lanes of a row that the region wrote before;
 * - of a row of which the wave writes single lanes, only such lanes, read and written;
 * - with loads, no write to a row that is read across lanes: after a fault, the chunks that were not reached
 *   run once more, instruction by instruction, to find the first fault of all.
 */
import { assert } from '../../../base/errors.ts';
import type { OpName } from '../../../ir/ops.ts';
import type { Value, ValueOf } from '../../../ir/types.ts';
import { STATE_OFFSETS, TEMPORARY_ROW_COUNT } from '../../machine/layout.ts';
import type { Decoded } from '../function/decoded.ts';
import { constantOf } from './graph.ts';
import { GraphBuilder, type GraphOptions, type NodeMakers } from './graph-builder.ts';
import type { Node } from './node.ts';
import type { LaneWrite, Region } from './region.ts';

/** Many instructions of full waves are for addresses and masks, which are not computed. */
const MAX_INSTRUCTIONS = { plain: 120, merged: 120, full: 240 };
const EXEC = STATE_OFFSETS.exec;

type AccessKind = 'none' | 'load' | 'other';

/** `merged`: for instructions of several regions, see merged-regions.ts; `full`: see full-waves.ts. */
type RegionKind = 'plain' | 'merged' | 'full';

/** What combines masks, as what lanes do with their own bits. */
const OF_BITS: Readonly<Partial<Record<OpName, OpName>>> = {
  'i32.and': 'i1.and',
  'i32.or': 'i1.or',
  'i32.xor': 'i1.xor',
  'i64.and': 'i1.and',
  'i64.or': 'i1.or',
  'i64.xor': 'i1.xor',
};

export class RegionBuilder extends GraphBuilder {
  readonly #kind: RegionKind;
  readonly #gathered = new Map<number, true>();
  /** Of masks, in lanes. */
  readonly #bits = new Map<Node, Node>();
  /** Rows of which one lane was read for the wave. */
  readonly #sampled = new Map<number, true>();
  /** By their row, in order. */
  readonly #laneWrites = new Map<number, readonly LaneWrite[]>();
  #exec: Node | undefined;
  #fences = false;
  /** Accesses of lanes by the instructions before the current one. */
  #accesses: AccessKind = 'none';
  #count = 0;
  #first = -1;
  #last = -1;
  // Of the instruction being added:
  #ownAccesses: AccessKind = 'none';
  /** EXEC when it begins. */
  #entryExec: Node | undefined;

  protected override readonly makers: Required<NodeMakers> = {
    ...this.common,
    pc: () => this.#address('pc'),
    nextPc: () => this.#address('nextPc'),
    clock: ({ leaf }) => this.graph.add(leaf, 'i64', false, []),
    laneTable: ({ leaf }) => this.#laneByte(leaf.operand),
    laneMask: (value) => this.#laneMask(this.arg(value, 0)),
    ballot: (value) => this.#ballot(this.arg(value, 0)),
    gather: (value) => this.#gather(this.rowOffset(value.leaf.at), this.arg(value, 0)),
    readLane: (value) => this.#readLane(this.rowOffset(value.leaf.at), this.arg(value, 0)),
    writeLane: (value) => this.#writeLane(this.rowOffset(value.leaf.at), this.arg(value, 0), this.arg(value, 1)),
    load: (value) => this.#plainAccess(value),
    store: (value) => this.#plainAccess(value),
    atomic: (value) => this.#access(value),
    loaded: (value) => this.graph.add(value.leaf, 'i32', value.lane, [this.arg(value, 0)]),
    fence: () => {
      this.#fences = true;
      return undefined;
    },
  };

  constructor(options: GraphOptions, kind: RegionKind = 'plain') {
    super(options);
    this.#kind = kind;
  }

  get empty(): boolean {
    return this.#count === 0;
  }

  /** Adds an instruction; false, and nothing is changed, when it must begin another region. */
  tryAppend(instruction: Decoded): boolean {
    if (this.#count >= MAX_INSTRUCTIONS[this.#kind]) return false;
    const mark = this.graph.journal.mark;
    const [exec, branch, accesses, fences] = [this.#exec, this.branch, this.#accesses, this.#fences];
    this.fits = true;
    this.begin(instruction);
    this.#ownAccesses = 'none';
    this.#entryExec = undefined;
    for (const value of instruction.shape.live) this.add(value);
    this.refuse(this.#gathered.size > TEMPORARY_ROW_COUNT || this.#losesSources());
    if (!this.fits) {
      assert(!this.empty, () => `instruction ${instruction.shape.key} fits no region`);
      this.graph.journal.rollback(mark);
      [this.#exec, this.branch, this.#accesses, this.#fences] = [exec, branch, accesses, fences];
      return false;
    }
    if (this.#ownAccesses !== 'none') this.#accesses = this.#ownAccesses;
    if (this.#count++ === 0) this.#first = instruction.index;
    this.#last = instruction.index;
    return true;
  }

  finish(): Region {
    return {
      graph: this.graph,
      exec: this.#exec,
      scalars: this.scalars,
      rows: this.rows,
      wholeRows: new Set(),
      laneWrites: [...this.#laneWrites.values()].flat(),
      gathered: new Set(this.#gathered.keys()),
      branch: this.branch,
      fences: this.#fences,
      guards: [],
      first: this.#first,
      last: this.#last,
    };
  }

  #losesSources(): boolean {
    const sources = this.#accesses === 'none' && this.#ownAccesses === 'none' ? [] : this.#gathered.keys();
    return [...sources, ...this.#sampled.keys()].some((offset) => this.rows.has(offset)) && this.#count > 0;
  }

  protected override unfit({ leaf }: Value): Node {
    assert(false, `${leaf.kind} in a region`);
  }

  #address(kind: 'pc' | 'nextPc'): Node {
    const low = this.#literal(kind);
    return this.graph.op('i64.pack', low, this.graph.constant(BigInt(this.options.windowHi), 'i32'));
  }

  #laneByte(operand: number): Node {
    const index = this.options.literals.index({ kind: 'table', instruction: this.instruction.index, operand });
    return this.graph.share({ kind: 'laneByte', index }, 'i32', true);
  }

  #readLane(offset: number, index: Node): Node {
    const written = this.#laneWrites.get(offset) ?? [];
    const lane = this.#laneNumber(index);
    const last = written.findLast((each) => this.#laneNumber(each.lane) === lane);
    if (last && lane !== undefined) return last.value;
    this.refuse(written.some((each) => lane === undefined || this.#laneNumber(each.lane) === undefined));
    this.refuse(this.rows.has(offset) || index.phase !== 'before');
    this.graph.journal.set(this.#sampled, offset, true);
    return this.graph.add({ kind: 'rowLane', offset }, 'i32', false, [index], { phase: 'before' });
  }

  /** It stands behind the chunks, whose lanes must not see it. */
  #writeLane(offset: number, lane: Node, value: Node): undefined {
    this.refuse(this.rows.has(offset));
    const written = this.#laneWrites.get(offset) ?? [];
    this.graph.journal.set(this.#laneWrites, offset, [...written, { offset, lane, value }]);
  }

  #laneNumber(index: Node): number | undefined {
    const constant = constantOf(index);
    return constant === undefined ? undefined : Number(constant) & (this.options.waveSize - 1);
  }

  #literal(kind: 'pc' | 'nextPc'): Node {
    const index = this.options.literals.index({ kind, instruction: this.instruction.index });
    return this.graph.share({ kind: 'literal', index }, 'i32', false);
  }

  protected override op(name: OpName, ...args: Node[]): Node {
    return this.#inLanes(this.graph.op(name, ...args));
  }

  /** A lane value must have no argument that all lanes must have computed before. */
  #inLanes(node: Node): Node {
    this.refuse(node.lane && node.args.some(({ phase }) => phase === 'after'));
    return node;
  }

  protected override row(offset: number): Node {
    this.refuse(this.#laneWrites.has(offset));
    return this.rows.get(offset) ?? this.graph.share({ kind: 'row', offset }, 'i32', true);
  }

  protected override scalar(offset: number): Node {
    const type = offset === STATE_OFFSETS.scc ? 'i1' : 'i32';
    return this.scalars.get(offset) ?? this.graph.share({ kind: 'scalar', offset }, type, false);
  }

  #wide(offset: number): Node {
    if (this.scalars.has(offset) || this.scalars.has(offset + 4))
      return this.graph.op('i64.pack', this.scalar(offset), this.scalar(offset + 4));
    return this.graph.share({ kind: 'scalar', offset }, 'i64', false);
  }

  protected override setScalar(offset: number, node: Node): void {
    this.refuse(node.lane);
    if (offset === EXEC || offset === EXEC + 4) this.#entryExec ??= this.#currentExec();
    this.graph.journal.set(this.scalars, offset, node);
  }

  #currentExec(): Node {
    return this.mask(EXEC);
  }

  protected override mask(offset: number): Node {
    return this.options.waveSize === 64 ? this.#wide(offset) : this.graph.op('i64.zext32', this.scalar(offset));
  }

  /** EXEC of the instruction is, or becomes, that of the region's lanes. */
  protected pinExec(): Node {
    this.#entryExec ??= this.#currentExec();
    const exec = this.#entryExec;
    this.refuse(exec.phase === 'after' || (this.#exec !== undefined && this.#exec !== exec));
    this.#exec = exec;
    return exec;
  }

  /**
   * The bits of a mask in its lanes, if they are active: what combines masks that the region's lanes make,
   * lanes do themselves.
   */
  #laneMask(mask: Node): Node {
    let bits = this.#bits.get(mask);
    if (!bits) {
      bits = this.#bitsOf(mask);
      this.graph.journal.set(this.#bits, mask, bits);
    }
    return bits;
  }

  #bitsOf(mask: Node): Node {
    const { leaf, args, phase } = mask;
    if (leaf.kind === 'ballot' && args[0]!.lane) return args[0]!;
    const all = BigInt.asUintN(this.options.waveSize, -1n);
    const constant = constantOf(mask);
    if (constant === 0n || (constant !== undefined && (constant & all) === all))
      return this.graph.constant(constant === 0n ? 0n : 1n, 'i1');
    if (phase === 'after' && leaf.kind === 'pure') {
      if (this.options.waveSize === 32 && (leaf.op === 'i64.zext32' || leaf.op === 'i64.low'))
        return this.#laneMask(args[0]!);
      const combine = OF_BITS[leaf.op];
      if (combine) return this.op(combine, ...args.map((arg) => this.#laneMask(arg)));
    }
    const wide = mask.type === 'i32' ? this.graph.op('i64.zext32', mask) : mask;
    return this.#inLanes(this.graph.share({ kind: 'laneMask' }, 'i1', true, [wide]));
  }

  #ballot(condition: Node): Node {
    const exec = this.pinExec();
    if (constantOf(exec) === 0n) return exec;
    if (!condition.lane) return this.graph.op('i64.select', condition, exec, this.graph.constant(0n, 'i64'));
    return this.graph.add({ kind: 'ballot' }, 'i64', false, [condition], { phase: 'after' });
  }

  #gather(offset: number, index: Node): Node {
    this.refuse(this.rows.has(offset) || this.#laneWrites.has(offset));
    if (!this.#gathered.has(offset)) this.graph.journal.set(this.#gathered, offset, true);
    return this.#inLanes(this.graph.share({ kind: 'gatherRow', offset }, 'i32', true, [index]));
  }

  #access(value: Value): Node {
    const { leaf, lane } = value;
    const args = this.args(value);
    this.refuse(args.some(({ phase }) => phase === 'after'));
    const kind = leaf.kind === 'load' ? 'load' : 'other';
    if (lane) {
      const isMerged = this.#kind !== 'plain' && leaf.kind === 'store';
      this.refuse(!isMerged && (this.#accesses === 'other' || (kind === 'other' && this.#accesses !== 'none')));
      this.pinExec();
      if (this.#ownAccesses !== 'other') this.#ownAccesses = kind;
    } else {
      const mayLoad = (before: AccessKind): boolean =>
        before === 'none' || (this.#kind === 'full' && before === 'load');
      this.refuse(!mayLoad(this.#accesses) || !mayLoad(this.#ownAccesses));
    }
    return this.access(value, args);
  }

  /** As `#access`; one that is made nearly nowhere, and surely not here, is left out. */
  #plainAccess(value: ValueOf<'load' | 'store'>): Node {
    const isNever = value.leaf.isRare && constantOf(this.arg(value, value.args.length - 1)) === 0n;
    return isNever ? this.graph.constant(0n, 'i32') : this.#access(value);
  }

  protected override setRow(offset: number, node: Node, mask: Node | undefined): void {
    this.pinExec();
    this.refuse(this.#laneWrites.has(offset));
    const written = mask ? this.op('i32.select', mask, node, this.row(offset)) : node;
    this.refuse(written.phase === 'after');
    this.graph.journal.set(this.rows, offset, written);
  }
}
