/**
 * Instructions to nodes: what regions and loops have in common. Registers become values, and each kind of
 * leaf has a row in a table that says what node it becomes.
 */
import { assert } from '../../../base/errors.ts';
import type { LeafKind } from '../../../ir/leaves.ts';
import type { OpName } from '../../../ir/ops.ts';
import {
  isMaskSlot,
  type MemorySpace,
  type OperandDword,
  type StateSlot,
  type Value,
  type ValueOf,
} from '../../../ir/types.ts';
import { STATE_OFFSETS } from '../../machine/layout.ts';
import type { AloneKind, Decoded } from '../function/decoded.ts';
import type { Literals } from '../function/literals.ts';
import { addressParts } from './address-parts.ts';
import { Graph } from './graph.ts';
import type { Node } from './node.ts';

export interface GraphOptions {
  readonly waveSize: 32 | 64;
  readonly windowHi: number;
  readonly literals: Literals;
}

/** Kinds that can become nodes; instructions with others are lowered as their handlers are. */
export type NodeKind = Exclude<LeafKind, AloneKind>;

/** What a value of a kind becomes; nothing for an effect that only changes what registers hold. */
export type NodeMaker<K extends LeafKind> = (value: ValueOf<K>) => Node | undefined;

/** Of a kind that is absent no graph can be built. */
export type NodeMakers = { readonly [K in NodeKind]?: NodeMaker<K> };

type CommonKind = 'const' | 'pure' | 'operand' | 'state' | 'laneId' | 'setOperand' | 'setState' | 'branch';

export abstract class GraphBuilder {
  protected readonly graph: Graph;
  protected readonly options: GraphOptions;
  /** Registers that were written, by their offset in the wave state. */
  protected readonly scalars = new Map<number, Node>();
  protected readonly rows = new Map<number, Node>();
  /** What the branch at the end tests. */
  protected branch: Node | undefined;
  /** Whether all that was added can be here. */
  protected fits = true;
  // Of the instruction being added:
  protected instruction!: Decoded;
  #values = new Map<Value, Node>();

  /** What is the same in all graphs. */
  protected readonly common: { readonly [K in CommonKind]: NodeMaker<K> } = {
    const: ({ leaf, type }) => this.graph.constant(leaf.value, type as 'i32'),
    pure: (value) => this.op(value.leaf.op, ...this.args(value)),
    operand: ({ leaf }) => this.#operand(leaf.at),
    state: ({ leaf }) => {
      const offset = STATE_OFFSETS[leaf.slot];
      return isMaskSlot(leaf.slot) ? this.mask(offset) : this.scalar(offset);
    },
    laneId: ({ leaf }) => this.graph.share(leaf, 'i32', true),
    setOperand: (value) => this.#setOperand(value),
    setState: (value) => this.#setState(value.leaf.slot, this.arg(value, 0)),
    branch: (value) => {
      if (this.instruction.shape.control === 'conditional') this.setBranch(this.arg(value, 0));
      return undefined;
    },
  };
  protected abstract readonly makers: NodeMakers;

  constructor(options: GraphOptions) {
    this.options = options;
    this.graph = new Graph(options.waveSize);
  }

  protected abstract op(name: OpName, ...args: Node[]): Node;
  /** What a register holds here: a scalar, the mask that begins at a scalar, a row of a VGPR. */
  protected abstract scalar(offset: number): Node;
  protected abstract mask(offset: number): Node;
  protected abstract row(offset: number): Node;
  protected abstract setScalar(offset: number, node: Node): void;
  /** `mask`: lanes that are written. */
  protected abstract setRow(offset: number, node: Node, mask: Node | undefined): void;
  protected setBranch(condition: Node): void {
    this.branch = condition;
  }

  /** Stands for a value of a kind that has no maker. */
  protected abstract unfit(value: Value): Node;

  protected refuse(condition: boolean): void {
    if (condition) this.fits = false;
  }

  protected begin(instruction: Decoded): void {
    this.instruction = instruction;
    this.#values = new Map();
  }

  protected add(value: Value): void {
    const make = (this.makers as { readonly [kind: string]: NodeMaker<LeafKind> | undefined })[value.leaf.kind];
    const node = make ? make(value) : this.unfit(value);
    if (node) this.#values.set(value, node);
  }

  protected arg(value: Value, index: number): Node {
    const node = this.#values.get(value.args[index]!);
    assert(node, () => `argument ${index} of ${value.leaf.kind} was built`);
    return node;
  }

  protected args(value: Value): Node[] {
    return value.args.map((_, i) => this.arg(value, i));
  }

  /** Offset of a dword of a vector operand in the wave state. */
  protected rowOffset({ operand, dword }: OperandDword): number {
    return this.instruction.parameter(operand, 0) + dword * this.options.waveSize * 4;
  }

  /** An access of lanes, of all that are active or of `active`, or of the wave. */
  protected access({ leaf, lane, type }: Value, args: readonly Node[], active?: Node): Node {
    const { index: instruction } = this.instruction;
    if (!lane) return this.graph.add(leaf as Node['leaf'], type, false, args, { instruction, phase: 'before' });
    const { space } = leaf as { space: MemorySpace };
    const address = addressParts(this.graph, args[0]!, space === 'global' || space === 'flat');
    return this.graph.add(leaf as Node['leaf'], type, true, args, { instruction, address, active });
  }

  #operand(at: OperandDword): Node {
    const { operand, dword } = at;
    const { kind } = this.instruction.shape.operands[operand]!;
    if (kind === 'row') return this.row(this.rowOffset(at));
    if (kind === 'constant') return this.graph.constant(BigInt(this.instruction.parameter(operand, dword)), 'i32');
    return this.scalar(this.#scalarOffset(at));
  }

  #scalarOffset({ operand, dword }: OperandDword): number {
    return this.instruction.parameter(operand, 0) + dword * 4;
  }

  #setOperand(value: ValueOf<'setOperand'>): undefined {
    const { leaf, lane, args } = value;
    const node = this.arg(value, 0);
    if (lane) this.setRow(this.rowOffset(leaf.at), node, args[1] && this.arg(value, 1));
    else this.setScalar(this.#scalarOffset(leaf.at), node);
  }

  #setState(slot: StateSlot, node: Node): undefined {
    const offset = STATE_OFFSETS[slot];
    if (!isMaskSlot(slot)) {
      this.setScalar(offset, node);
      return;
    }
    this.setScalar(offset, this.graph.op('i64.low', node));
    if (this.options.waveSize === 64) this.setScalar(offset + 4, this.graph.op('i64.high', node));
  }
}
