/** A device function of a loaded code object as an executable symbol (spec/hsa.md section 3.5). */
import type { Agent } from './agent.ts';
import type { CallGraph, CodeNeeds } from './call-graph.ts';
import type { FunctionSymbol, SymbolBase } from './executable-symbol.ts';
import type { LoadedCodeObject } from './loaded-code-object.ts';

export class LoadedFunction implements FunctionSymbol {
  readonly kind = 'indirect-function';
  readonly name: string;
  readonly linkage: 'program' | 'module';
  readonly binding: 'strong' | 'weak';
  readonly agent: Agent;
  readonly codeObject: LoadedCodeObject;
  readonly address: bigint;
  readonly sizeBytes: number;
  #graph: CallGraph | undefined;

  constructor(base: SymbolBase) {
    this.name = base.name;
    this.linkage = base.linkage;
    this.binding = base.binding;
    this.agent = base.agent;
    this.codeObject = base.codeObject;
    this.address = base.address;
    this.sizeBytes = base.sizeBytes;
  }

  /** The executable is frozen. */
  link(graph: CallGraph): void {
    this.#graph = graph;
  }

  get functionObject(): bigint {
    return this.#graph === undefined ? 0n : this.address;
  }

  get needs(): CodeNeeds | undefined {
    return this.#graph?.needsOf(this.address);
  }
}
