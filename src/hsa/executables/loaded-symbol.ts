/**
 * What kernels, variables and device functions of a loaded code object have in common
 * (hsa_executable_symbol_t).
 */

import type { CallGraph } from '../../lift/call-graph.ts';
import type { Agent } from '../objects/agent.ts';
import type { LoadedCodeObject } from './loaded-code-object.ts';

/** What a symbol is made of. */
export interface SymbolOrigin {
  readonly name: string;
  readonly linkage: 'program' | 'module';
  readonly binding: 'strong' | 'weak';
  readonly codeObject: LoadedCodeObject;
  readonly address: bigint;
  readonly sizeBytes: number;
}

export abstract class LoadedSymbol implements SymbolOrigin {
  /** A kernel's ends in `.kd`. */
  readonly name: string;
  /**
   * `program`: found by name; `module`: local to its code object, found by iteration only, names may repeat.
   */
  readonly linkage: 'program' | 'module';
  readonly binding: 'strong' | 'weak';
  readonly agent: Agent;
  readonly codeObject: LoadedCodeObject;
  /** Where the code object was loaded; what stands there is complete once the executable is frozen. */
  readonly address: bigint;
  readonly sizeBytes: number;
  /** All code of the agent; undefined before the executable is frozen. */
  protected graph: CallGraph | undefined;

  constructor(origin: SymbolOrigin) {
    this.name = origin.name;
    this.linkage = origin.linkage;
    this.binding = origin.binding;
    this.agent = origin.codeObject.agent;
    this.codeObject = origin.codeObject;
    this.address = origin.address;
    this.sizeBytes = origin.sizeBytes;
  }

  /** The executable is frozen; `isLinked` says that there is more than the symbol's own code object. */
  link(graph: CallGraph, _isLinked: boolean): void {
    this.graph = graph;
  }
}
