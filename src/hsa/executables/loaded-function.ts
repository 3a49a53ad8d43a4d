/** A device function of a loaded code object as an executable symbol. */
import type { CodeNeeds } from './call-graph.ts';
import type { FunctionSymbol } from './executable-symbol.ts';
import { LoadedSymbol } from './loaded-symbol.ts';

export class LoadedFunction extends LoadedSymbol implements FunctionSymbol {
  readonly kind = 'indirect-function';

  get functionObject(): bigint {
    return this.graph === undefined ? 0n : this.address;
  }

  get needs(): CodeNeeds | undefined {
    return this.graph?.needsOf(this.address);
  }
}
