/** What kernels, variables and device functions of a loaded code object have in common. */
import type { Agent } from '../objects/agent.ts';
import type { CallGraph } from './call-graph.ts';
import type { SymbolBase } from './executable-symbol.ts';
import type { LoadedCodeObject } from './loaded-code-object.ts';

export abstract class LoadedSymbol implements SymbolBase {
  readonly name: string;
  readonly linkage: 'program' | 'module';
  readonly binding: 'strong' | 'weak';
  readonly agent: Agent;
  readonly codeObject: LoadedCodeObject;
  readonly address: bigint;
  readonly sizeBytes: number;
  /** All code of the agent; undefined before the executable is frozen. */
  protected graph: CallGraph | undefined;

  constructor(base: SymbolBase) {
    this.name = base.name;
    this.linkage = base.linkage;
    this.binding = base.binding;
    this.agent = base.agent;
    this.codeObject = base.codeObject;
    this.address = base.address;
    this.sizeBytes = base.sizeBytes;
  }

  /** The executable is frozen; `isLinked` says that there is more than the symbol's own code object. */
  link(graph: CallGraph, _isLinked: boolean): void {
    this.graph = graph;
  }
}
