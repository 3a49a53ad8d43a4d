/**
 * Most waves have all of their lanes on from their first instruction to their last: each of their elements is
 * inside of the array. What such a wave runs, through branches that skip what no lane does, is compiled once
 * more as if it were one region: no masks are computed, and of the addresses only what tells that they grow
 * from lane to lane. All that is expected of the wave is looked at before anything changes; any other wave
 * takes the blocks one after the other.
 */
import type { OpName } from '../../../ir/ops.ts';
import type { Value } from '../../../ir/types.ts';
import { STATE_OFFSETS } from '../../machine/layout.ts';
import type { Block, Successor } from '../function/control-flow.ts';
import type { Decoded, Shape } from '../function/decoded.ts';
import { isAccess } from './access-group.ts';
import { constantOf, isOp } from './graph.ts';
import type { GraphOptions } from './graph-builder.ts';
import { comparisonsOf, usually } from './guards.ts';
import type { Node } from './node.ts';
import type { LaneGuard, Region } from './region.ts';
import { RegionBuilder } from './region-builder.ts';

const EXEC = STATE_OFFSETS.exec;
/** Dwords of masks, and masks of dwords. */
const WHOLE = new Set<OpName>(['i64.low', 'i64.high', 'i64.pack', 'i64.zext32']);
const NARROWING = new Set<OpName>(['i32.and', 'i64.and', ...WHOLE]);

export interface FullWave {
  readonly region: Region;
  /** In the order in which they run. */
  readonly instructions: readonly Decoded[];
  /** The block that ends it. */
  readonly last: Block;
  /** Where it goes on; `branch`: as the region's branch says, `leave`: with the block's last instruction. */
  readonly way: 'next' | 'target' | 'branch' | 'leave';
  /** What waves run that have nothing to do; undefined where that is not known. */
  readonly idle: IdleWave | undefined;
}

/** Instructions that change nothing that is read any more, and the one that ends the program. */
export interface IdleWave {
  readonly instructions: readonly Decoded[];
  readonly end: Decoded;
}

/** Of waves that enter at a block; undefined where that is no more than the block's regions are. */
export function fullWaveFrom(entry: Block, options: GraphOptions): FullWave | undefined {
  const { blocks } = follow(entry, options, Number.POSITIVE_INFINITY);
  if (blocks.length === 0) return undefined;
  const { builder, way } = follow(entry, options, blocks.length);
  const region = builder.finish();
  if (region.guards.length === 0 || !region.graph.nodes.some(isLaneAccess)) return undefined;
  const instructions = blocks.flatMap(({ instructions }) => instructions);
  if (way === 'leave') instructions.pop();
  const narrowing = entry.instructions.filter((instruction) => builder.narrows(instruction));
  const isOnly = narrowing.length === 1 && narrowing[0] === builder.idling;
  const idle = isOnly ? idleWave(entry, options) : undefined;
  return { region, instructions, last: blocks.at(-1)!, way, idle };
}

/** Of waves that have no lane on at the end of the block, if all that the program does then is to end. */
function idleWave({ instructions, target }: Block, options: GraphOptions): IdleWave | undefined {
  const ending = target && endingOf(target);
  if (!ending) return undefined;
  const branch = new FullWaveBuilder(options, 'none');
  if (!branch.tryAppend(instructions.at(-1)!) || branch.way !== 'target') return undefined;
  return { instructions: [...instructions, ...ending.instructions], end: ending.end };
}

/** Of a block that does nothing but to end the program. */
export function endingOf({ instructions }: Block): IdleWave | undefined {
  const end = instructions.at(-1)!;
  const others = instructions.slice(0, -1);
  return isEnd(end) && others.every(({ shape }) => shape.live.length === 0) ? { instructions: others, end } : undefined;
}

/** Whether an instruction ends the program. */
export const isEnd = ({ shape: { live } }: Decoded): boolean =>
  live.some(({ leaf }) => leaf.kind === 'exit' && leaf.reason === 'end');

const isLaneAccess = (node: Node): boolean => node.lane && isAccess(node);

interface Followed {
  readonly builder: FullWaveBuilder;
  /** All of whose instructions it holds. */
  readonly blocks: readonly Block[];
  readonly way: FullWave['way'];
}

/** Appends blocks as far as they fit, but at most so many. */
function follow(entry: Block, options: GraphOptions, maxBlocks: number): Followed {
  const builder = new FullWaveBuilder(options);
  const blocks: Block[] = [];
  let way: FullWave['way'] = 'next';
  for (let block: Successor = entry; block && blocks.length < maxBlocks && !blocks.includes(block); ) {
    const { instructions }: Block = block;
    const { control }: Shape = instructions.at(-1)!.shape;
    const own = control === 'leave' ? instructions.slice(0, -1) : instructions;
    if (!own.every((instruction) => !instruction.shape.standsAlone && builder.tryAppend(instruction))) break;
    blocks.push(block);
    way =
      control === 'leave'
        ? 'leave'
        : control === 'conditional'
          ? builder.way
          : control === 'branch'
            ? 'target'
            : 'next';
    block = way === 'next' || way === 'target' ? block[way] : undefined;
  }
  return { builder, blocks, way };
}

class FullWaveBuilder extends RegionBuilder {
  /** What was expected of conditions, and the comparisons that tell. */
  readonly #guards = new Map<Node, { readonly expected: boolean; readonly guards: readonly LaneGuard[] }>();
  readonly #all: Node;
  /** What writes EXEC, in order. */
  readonly #narrowing: Decoded[] = [];
  /** What leaves a wave without lanes where a guard that `idles` holds in none. */
  idling: Decoded | undefined;
  /** Whether the instruction that is added does nothing in any lane. */
  #isOff = false;
  /** What EXEC is in the beginning. */
  readonly #exec: Node;

  /** `lanes`: which are on. */
  constructor(options: GraphOptions, lanes: 'all' | 'none' = 'all') {
    super(options, 'full');
    this.#all = this.graph.constant(options.waveSize === 64 ? 0xffffffffffffffffn : 0xffffffffn, 'i64');
    this.#exec = lanes === 'all' ? this.#all : this.graph.constant(0n, 'i64');
  }

  /** Where the conditional branch that was appended last leads. */
  get way(): 'next' | 'target' | 'branch' {
    const condition = this.branch && constantOf(this.branch);
    this.branch = condition === undefined ? this.branch : undefined;
    return condition === undefined ? 'branch' : condition === 0n ? 'next' : 'target';
  }

  /** Whether an instruction writes EXEC. */
  narrows(instruction: Decoded): boolean {
    return this.#narrowing.includes(instruction);
  }

  override finish(): Region {
    const region = super.finish();
    const scalars = new Map(region.scalars);
    const isSame = (offset: number): boolean => !scalars.has(offset) || constantOf(scalars.get(offset)!) === -1n;
    if (isSame(EXEC) && (this.options.waveSize === 32 || isSame(EXEC + 4)))
      for (const offset of [EXEC, EXEC + 4]) scalars.delete(offset);
    return { ...region, scalars, guards: [...this.#guards.values()].flatMap(({ guards }) => guards) };
  }

  protected override begin(instruction: Decoded): void {
    super.begin(instruction);
    this.#isOff = constantOf(this.mask(EXEC)) === 0n;
  }

  protected override pinExec(): Node {
    if (this.#isOff) return this.graph.constant(0n, 'i64');
    const exec = super.pinExec();
    this.refuse(exec !== this.#all);
    return exec;
  }

  protected override setRow(offset: number, node: Node, mask: Node | undefined): void {
    if (!this.#isOff) super.setRow(offset, node, mask);
  }

  protected override access(value: Value, args: readonly Node[], active?: Node): Node {
    this.refuse(this.#isOff && value.lane);
    return super.access(value, args, active);
  }

  protected override scalar(offset: number): Node {
    const isExec = offset === EXEC || (offset === EXEC + 4 && this.options.waveSize === 64);
    return isExec && !this.scalars.has(offset) ? this.graph.op('i64.low', this.#exec) : super.scalar(offset);
  }

  protected override mask(offset: number): Node {
    return offset === EXEC && !this.scalars.has(EXEC) && !this.scalars.has(EXEC + 4) ? this.#exec : super.mask(offset);
  }

  protected override setScalar(offset: number, node: Node): void {
    if (offset !== EXEC && offset !== EXEC + 4) super.setScalar(offset, node);
    else {
      const { instruction } = this;
      this.#narrowing.push(instruction);
      this.graph.journal.note(() => this.#narrowing.pop());
      const idles = this.#guards.size === 0 && isNarrowed(node) && !this.graph.nodes.some(isLaneAccess);
      // Where only what lanes load tells, the region ends with that.
      super.setScalar(offset, this.#expectedOf(node, idles) ?? node);
    }
  }

  protected override setBranch(condition: Node): void {
    super.setBranch(this.#expectedOf(condition) ?? condition);
  }

  /**
   * What a mask or a condition of the wave is if all lanes are as usual; undefined: that depends on more.
   * `idles`: whether a wave has nothing to do where a part of it is 0. `isOneOf`: whether lanes with another
   * mask do the same, as those do that have nothing to do for one of several reasons.
   */
  #expectedOf(node: Node, idles = false, isOneOf = false): Node | undefined {
    if (constantOf(node) !== undefined) return node;
    if (node.leaf.kind === 'ballot') return this.#guarded(node.args[0]!, idles, isOneOf);
    if (node.leaf.kind !== 'pure') return undefined;
    const { op } = node.leaf;
    if (op === 'i64.select' || op === 'i32.select') return this.#chosen(node, idles, isOneOf);
    const args = node.args.map((arg) =>
      this.#expectedOf(arg, idles, op === 'i64.or' || op === 'i32.or' || (isOneOf && WHOLE.has(op))),
    );
    return args.every((arg) => arg !== undefined) ? this.graph.op(op, ...args) : undefined;
  }

  /** Of a mask of all lanes where a condition of the wave holds. */
  #chosen({ args }: Node, idles: boolean, isOneOf: boolean): Node | undefined {
    const [condition, yes, no] = args as [Node, Node, Node];
    if (constantOf(yes) === undefined || constantOf(no) !== 0n) return undefined;
    const all = this.#guarded(condition, idles, isOneOf);
    return all && (constantOf(all) === 0n ? no : yes);
  }

  /** The mask of a condition. */
  #guarded(condition: Node, idles: boolean, isOneOf: boolean): Node | undefined {
    const known = this.#guards.get(condition);
    const expected = known ? known.expected : !isOneOf && (!condition.lane || usually(condition));
    if (!known) {
      const comparisons = comparisonsOf({ condition, expected });
      if (!comparisons) return undefined;
      if (idles && expected) this.idling = this.instruction;
      const guards = comparisons.map((comparison) => ({ ...comparison, idles: idles && expected }));
      this.graph.journal.set(this.#guards, condition, { expected, guards });
    }
    return expected ? this.#all : this.graph.constant(0n, 'i64');
  }
}

/** Whether a mask, or a dword of one, has the lanes that all of some conditions have. */
const isNarrowed = (node: Node): boolean =>
  node.leaf.kind === 'ballot' ||
  isOp(node, 'i64.select') ||
  isOp(node, 'i32.select') ||
  constantOf(node) !== undefined ||
  (node.leaf.kind === 'pure' && NARROWING.has(node.leaf.op) && node.args.every(isNarrowed));
