/**
 * Puts instructions into regions: registers become values, as long as running the chunks one after the other gives what running the
 * instructions one after the other gives. What a region may hold:
 * - one EXEC for everything per lane; scalar instructions before that may change it;
 * - no lane value that needs what all lanes computed, but for masks, which stay in the lanes;
 * - loads, or one instruction that stores or updates memory;
 * - a load of the wave only before the lanes' first access, so that the first fault is found first;
 * - no read across lanes of a row that the region wrote before;
 * - with loads, no write to a row that is read across lanes: after a fault, the chunks that were not reached run once more, instruction by
 *   instruction, to find the first fault of all.
 */
import { assert } from '../../../base/errors.ts';
import { isMaskSlot, type MemorySpace, type StateSlot, type Value } from '../../../ir/types.ts';
import { STATE_OFFSETS, TEMPORARY_ROW_COUNT } from '../../machine/layout.ts';
import type { Decoded } from '../decoded.ts';
import type { Literals } from '../literals.ts';
import { addressParts } from './address-parts.ts';
import { constantOf, Graph } from './graph.ts';
import type { Node, Region } from './node.ts';

const MAX_INSTRUCTIONS = 120;
const EXEC = STATE_OFFSETS.exec;

type AccessKind = 'none' | 'load' | 'other';

export class RegionBuilder {
  readonly #graph: Graph;
  readonly #literals: Literals;
  readonly #waveSize: 32 | 64;
  readonly #windowHi: number;
  readonly #scalars = new Map<number, Node>();
  readonly #rows = new Map<number, Node>();
  readonly #gathered = new Map<number, true>();
  /** Rows of which one lane was read for the wave. */
  readonly #sampled = new Map<number, true>();
  #exec: Node | undefined;
  #branch: Node | undefined;
  #fences = false;
  /** Accesses of lanes by the instructions before the current one. */
  #accesses: AccessKind = 'none';
  #count = 0;
  #first = -1;
  #last = -1;
  // Of the instruction being added:
  #fits = true;
  #values = new Map<Value, Node>();
  #instruction!: Decoded;
  #ownAccesses: AccessKind = 'none';
  /** EXEC when it begins. */
  #entryExec: Node | undefined;

  constructor(waveSize: 32 | 64, windowHi: number, literals: Literals) {
    this.#graph = new Graph(waveSize);
    this.#literals = literals;
    this.#waveSize = waveSize;
    this.#windowHi = windowHi;
  }

  get empty(): boolean {
    return this.#count === 0;
  }

  /** Adds an instruction; false, and nothing is changed, when it must begin another region. */
  tryAppend(instruction: Decoded): boolean {
    if (this.#count >= MAX_INSTRUCTIONS) return false;
    const mark = this.#graph.journal.mark;
    const [exec, branch, accesses, fences] = [this.#exec, this.#branch, this.#accesses, this.#fences];
    this.#fits = true;
    this.#values = new Map();
    this.#instruction = instruction;
    this.#ownAccesses = 'none';
    this.#entryExec = undefined;
    for (const value of instruction.shape.live) this.#add(value);
    this.#refuse(this.#gathered.size > TEMPORARY_ROW_COUNT || this.#losesSources());
    if (!this.#fits) {
      assert(!this.empty, () => `instruction ${instruction.shape.key} fits no region`);
      this.#graph.journal.rollback(mark);
      [this.#exec, this.#branch, this.#accesses, this.#fences] = [exec, branch, accesses, fences];
      return false;
    }
    if (this.#ownAccesses !== 'none') this.#accesses = this.#ownAccesses;
    if (this.#count++ === 0) this.#first = instruction.index;
    this.#last = instruction.index;
    return true;
  }

  finish(): Region {
    return {
      nodes: this.#graph.nodes,
      exec: this.#exec,
      scalars: this.#scalars,
      rows: this.#rows,
      wholeRows: new Set(),
      gathered: new Set(this.#gathered.keys()),
      branch: this.#branch,
      fences: this.#fences,
      first: this.#first,
      last: this.#last,
    };
  }

  #losesSources(): boolean {
    const sources = this.#accesses === 'none' && this.#ownAccesses === 'none' ? [] : this.#gathered.keys();
    return [...sources, ...this.#sampled.keys()].some((offset) => this.#rows.has(offset)) && this.#count > 0;
  }

  #refuse(condition: boolean): void {
    if (condition) this.#fits = false;
  }

  #arg(value: Value, index: number): Node {
    const node = this.#values.get(value.args[index]!);
    assert(node, () => `argument ${index} of ${value.leaf.kind} was built`);
    return node;
  }

  #add(value: Value): void {
    const { leaf, args, type } = value;
    const graph = this.#graph;
    const define = (node: Node): void => {
      this.#values.set(value, node);
    };
    switch (leaf.kind) {
      case 'const':
        define(graph.constant(leaf.value, type as 'i32'));
        return;
      case 'pure':
        define(this.#pure(graph.op(leaf.op, ...args.map((_, i) => this.#arg(value, i)))));
        return;
      case 'operand':
        define(this.#operand(leaf.at.operand, leaf.at.dword));
        return;
      case 'state':
        define(this.#state(leaf.slot));
        return;
      case 'pc':
      case 'nextPc': {
        const low = this.#literal(leaf.kind);
        define(graph.op('i64.pack', low, graph.constant(BigInt(this.#windowHi), 'i32')));
        return;
      }
      case 'clock':
        define(graph.add(leaf, 'i64', false, []));
        return;
      case 'laneId':
        define(graph.share(leaf, 'i32', true));
        return;
      case 'laneTable': {
        const index = this.#literals.index({
          kind: 'table',
          instruction: this.#instruction.index,
          operand: leaf.operand,
        });
        define(graph.share({ kind: 'laneByte', index }, 'i32', true));
        return;
      }
      case 'laneMask':
        define(this.#laneMask(this.#arg(value, 0)));
        return;
      case 'ballot':
        define(this.#ballot(this.#arg(value, 0)));
        return;
      case 'gather':
        define(this.#gather(this.#rowOffset(leaf.at.operand, leaf.at.dword), this.#arg(value, 0)));
        return;
      case 'readLane': {
        const offset = this.#rowOffset(leaf.at.operand, leaf.at.dword);
        this.#refuse(this.#rows.has(offset) || this.#arg(value, 0).phase !== 'before');
        this.#graph.journal.set(this.#sampled, offset, true);
        define(graph.add({ kind: 'rowLane', offset }, 'i32', false, [this.#arg(value, 0)], { phase: 'before' }));
        return;
      }
      case 'load':
      case 'store':
        if (leaf.isRare && constantOf(this.#arg(value, args.length - 1)) === 0n) define(graph.constant(0n, 'i32'));
        else define(this.#access(value));
        return;
      case 'atomic':
        define(this.#access(value));
        return;
      case 'loaded':
        define(graph.add(leaf, 'i32', value.lane, [this.#arg(value, 0)]));
        return;
      case 'fence':
        this.#fences = true;
        return;
      case 'setOperand':
        this.#setOperand(value);
        return;
      case 'setState':
        this.#setState(leaf.slot, this.#arg(value, 0));
        return;
      case 'branch':
        if (this.#instruction.shape.control === 'conditional') this.#branch = this.#arg(value, 0);
        return;
      default:
        assert(false, `${leaf.kind} in a region`);
    }
  }

  #literal(kind: 'pc' | 'nextPc'): Node {
    const index = this.#literals.index({ kind, instruction: this.#instruction.index });
    return this.#graph.share({ kind: 'literal', index }, 'i32', false);
  }

  /** A lane value with an argument that all lanes must have computed before. */
  #pure(node: Node): Node {
    this.#refuse(node.lane && node.args.some(({ phase }) => phase === 'after'));
    return node;
  }

  #rowOffset(operand: number, dword: number): number {
    return this.#instruction.parameter(operand, 0) + dword * this.#waveSize * 4;
  }

  #operand(operand: number, dword: number): Node {
    const { kind } = this.#instruction.shape.operands[operand]!;
    if (kind === 'row') return this.#row(this.#rowOffset(operand, dword));
    if (kind === 'constant') return this.#graph.constant(BigInt(this.#instruction.parameter(operand, dword)), 'i32');
    return this.#scalar(this.#instruction.parameter(operand, 0) + dword * 4);
  }

  #row(offset: number): Node {
    return this.#rows.get(offset) ?? this.#graph.share({ kind: 'row', offset }, 'i32', true);
  }

  #scalar(offset: number): Node {
    const type = offset === STATE_OFFSETS.scc ? 'i1' : 'i32';
    return this.#scalars.get(offset) ?? this.#graph.share({ kind: 'scalar', offset }, type, false);
  }

  #state(slot: StateSlot): Node {
    const offset = STATE_OFFSETS[slot];
    return isMaskSlot(slot) ? this.#mask(offset) : this.#scalar(offset);
  }

  #wide(offset: number): Node {
    if (this.#scalars.has(offset) || this.#scalars.has(offset + 4))
      return this.#graph.op('i64.pack', this.#scalar(offset), this.#scalar(offset + 4));
    return this.#graph.share({ kind: 'scalar', offset }, 'i64', false);
  }

  #setScalar(offset: number, node: Node): void {
    this.#refuse(node.lane);
    if (offset === EXEC || offset === EXEC + 4) this.#entryExec ??= this.#currentExec();
    this.#graph.journal.set(this.#scalars, offset, node);
  }

  #setState(slot: StateSlot, node: Node): void {
    const offset = STATE_OFFSETS[slot];
    if (!isMaskSlot(slot)) {
      this.#setScalar(offset, node);
      return;
    }
    this.#setScalar(offset, this.#graph.op('i64.low', node));
    if (this.#waveSize === 64) this.#setScalar(offset + 4, this.#graph.op('i64.high', node));
  }

  #currentExec(): Node {
    return this.#mask(EXEC);
  }

  #mask(offset: number): Node {
    return this.#waveSize === 64 ? this.#wide(offset) : this.#graph.op('i64.zext32', this.#scalar(offset));
  }

  /** EXEC of the instruction is, or becomes, that of the region's lanes. */
  #pinExec(): Node {
    this.#entryExec ??= this.#currentExec();
    const exec = this.#entryExec;
    this.#refuse(exec.phase === 'after' || (this.#exec !== undefined && this.#exec !== exec));
    this.#exec = exec;
    return exec;
  }

  #laneMask(mask: Node): Node {
    if (mask.leaf.kind === 'ballot' && mask.args[0]!.lane) return mask.args[0]!;
    return this.#pure(this.#graph.share({ kind: 'laneMask' }, 'i1', true, [mask]));
  }

  #ballot(condition: Node): Node {
    const exec = this.#pinExec();
    if (!condition.lane) return this.#graph.op('i64.select', condition, exec, this.#graph.constant(0n, 'i64'));
    return this.#graph.add({ kind: 'ballot' }, 'i64', false, [condition], { phase: 'after' });
  }

  #gather(offset: number, index: Node): Node {
    this.#refuse(this.#rows.has(offset));
    if (!this.#gathered.has(offset)) this.#graph.journal.set(this.#gathered, offset, true);
    return this.#pure(this.#graph.share({ kind: 'gatherRow', offset }, 'i32', true, [index]));
  }

  #access(value: Value): Node {
    const { leaf, lane, type } = value;
    const args = value.args.map((_, i) => this.#arg(value, i));
    this.#refuse(args.some(({ phase }) => phase === 'after'));
    const kind = leaf.kind === 'load' ? 'load' : 'other';
    if (lane) {
      this.#refuse(this.#accesses === 'other' || (kind === 'other' && this.#accesses !== 'none'));
      this.#pinExec();
      if (this.#ownAccesses !== 'other') this.#ownAccesses = kind;
    } else this.#refuse(this.#accesses !== 'none' || this.#ownAccesses !== 'none');
    const { index: instruction } = this.#instruction;
    if (!lane) return this.#graph.add(leaf as Node['leaf'], type, false, args, { instruction, phase: 'before' });
    const { space } = leaf as { space: MemorySpace };
    const address = addressParts(this.#graph, args[0]!, space === 'global' || space === 'flat');
    return this.#graph.add(leaf as Node['leaf'], type, true, args, { instruction, address });
  }

  #setOperand(value: Value): void {
    const { at } = value.leaf as { at: { operand: number; dword: number } };
    const node = this.#arg(value, 0);
    if (!value.lane) {
      this.#setScalar(this.#instruction.parameter(at.operand, 0) + at.dword * 4, node);
      return;
    }
    this.#pinExec();
    const offset = this.#rowOffset(at.operand, at.dword);
    const mask = value.args[1] && this.#arg(value, 1);
    const written = mask ? this.#pure(this.#graph.op('i32.select', mask, node, this.#row(offset))) : node;
    this.#refuse(written.phase === 'after');
    this.#graph.journal.set(this.#rows, offset, written);
  }
}
