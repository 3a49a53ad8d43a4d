/**
 * The blocks of all functions as one graph: where calls go and returns come back to, as far as that is known.
 * What is called from elsewhere begins with an entry of its own, and behind calls of what is not known stands
 * the calling convention.
 */
import type { BasicBlock } from '../flow/blocks.ts';
import { type FlowGraph, graphOf } from '../flow/graph.ts';
import { fallsThrough, followingOffset } from '../ir/step.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';
import type { LiftedCode } from './lifted-code.ts';
import type { LiftedBlock, LiftedFunction } from './lifted-function.ts';

/**
 * A node: code; `elsewhere`, from where functions are called that others know of; `convention`, a callee that
 * is not known and keeps to what compilers agree on.
 */
export type FlowNode =
  | { readonly kind: 'code'; readonly function: LiftedFunction; readonly block: LiftedBlock }
  | { readonly kind: 'elsewhere' | 'convention' };
type CodeNode = Extract<FlowNode, { readonly kind: 'code' }>;

export interface CodeFlow {
  readonly nodes: readonly FlowNode[];
  /** Of nodes, numbered as these are; nodes without code have none. */
  readonly blocks: readonly BasicBlock<AmdgpuStep>[];
  /** Nodes by position; entries are the entries of kernels, and what nothing is known to lead to. */
  readonly graph: FlowGraph;
}

const NO_BLOCK = { instructions: [], next: undefined, target: undefined, leaves: false } as const;

export const codeFlow = (code: LiftedCode): CodeFlow => new FlowBuilder(code).build();

class FlowBuilder {
  readonly #functions: readonly LiftedFunction[];
  readonly #code: LiftedCode;
  readonly #nodes: FlowNode[] = [];
  readonly #ofBlock = new Map<LiftedBlock, CodeNode>();
  readonly #ways = new Map<FlowNode, Set<FlowNode>>();
  readonly #sites: ReadonlyMap<AmdgpuStep, LiftedCode['sites'][number]>;
  readonly #elsewhere: FlowNode = { kind: 'elsewhere' };

  constructor(code: LiftedCode) {
    this.#code = code;
    this.#functions = code.functions;
    this.#sites = new Map(code.sites.map((site) => [site.step, site]));
    this.#add(this.#elsewhere);
    for (const lifted of code.functions) {
      for (const block of lifted.blocks) {
        const node: CodeNode = { kind: 'code', function: lifted, block };
        this.#ofBlock.set(block, node);
        this.#add(node);
      }
    }
  }

  build(): CodeFlow {
    for (const node of this.#ofBlock.values()) this.#follow(node);
    const kernels: FlowNode[] = [];
    for (const { entryBlock, kernels: own, isOpen } of this.#functions) {
      const entry = entryBlock && this.#ofBlock.get(entryBlock);
      if (!entry) continue;
      if (own.length > 0) kernels.push(entry);
      else if (isOpen) this.#lead(this.#elsewhere, entry);
    }
    const graph = graphOf(this.#nodes, [this.#elsewhere, ...kernels], (node) => this.#ways.get(node)!);
    const blocks = this.#nodes.map((node, index) =>
      node.kind === 'code' ? { ...node.block, index } : { ...NO_BLOCK, index },
    );
    return { nodes: this.#nodes, blocks, graph };
  }

  #add(node: FlowNode): void {
    this.#nodes.push(node);
    this.#ways.set(node, new Set());
  }

  #lead(from: FlowNode, to: FlowNode | undefined): void {
    if (to) this.#ways.get(from)!.add(to);
  }

  #follow(node: CodeNode): void {
    const { next, target, instructions } = node.block;
    const last = instructions.at(-1)!;
    this.#lead(node, target && this.#ofBlock.get(target));
    if (last.control === 'call') {
      this.#call(node, last);
      return;
    }
    this.#lead(node, next && this.#ofBlock.get(next));
    if (!next && fallsThrough(last)) this.#lead(node, this.#entryAt(followingOffset(last)));
    for (const callee of this.#sites.get(last)?.callees ?? []) this.#lead(node, this.#entryOf(callee));
  }

  #call(node: CodeNode, step: AmdgpuStep): void {
    const { next } = node.block;
    const behind = next ? this.#ofBlock.get(next) : this.#entryAt(followingOffset(step));
    const site = this.#sites.get(step);
    const callees = site?.callees ?? [];
    for (const callee of callees) {
      this.#lead(node, this.#entryOf(callee));
      for (const end of this.#returnsOf(callee)) this.#lead(end, behind);
    }
    if (site?.isComplete && callees.length === site.targets.length) return;
    const convention: FlowNode = { kind: 'convention' };
    this.#add(convention);
    this.#lead(node, convention);
    this.#lead(convention, behind);
  }

  #entryOf({ entryBlock }: LiftedFunction): FlowNode | undefined {
    return entryBlock && this.#ofBlock.get(entryBlock);
  }

  #entryAt(address: number): FlowNode | undefined {
    const lifted = this.#code.functionAt(address);
    return lifted && this.#entryOf(lifted);
  }

  /** The blocks that return to the caller of a function, also in functions that it goes on with. */
  #returnsOf(callee: LiftedFunction): readonly CodeNode[] {
    const found: CodeNode[] = [];
    const met = new Set([callee]);
    for (const lifted of met) {
      for (const block of lifted.blocks) {
        const last = block.instructions.at(-1)!;
        if (this.#isReturn(last)) found.push(this.#ofBlock.get(block)!);
        if (last.control === 'call') continue;
        for (const each of this.#sites.get(last)?.callees ?? []) met.add(each);
        const behind = !block.next && fallsThrough(last) && this.#code.functionAt(followingOffset(last));
        if (behind) met.add(behind);
      }
    }
    return found;
  }

  /** Jumps through a register that are no sites go to where the function was called. */
  #isReturn(step: AmdgpuStep): boolean {
    return (step.control === 'jump' || step.control === 'return') && !this.#sites.has(step);
  }
}
