/** A variable of a loaded code object as an executable symbol. */
import type { VariableSymbol } from './executable-symbol.ts';
import { LoadedSymbol } from './loaded-symbol.ts';

export class LoadedVariable extends LoadedSymbol implements VariableSymbol {
  readonly kind = 'variable';
}
