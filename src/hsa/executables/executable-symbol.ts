/** Symbols of an executable: variables, device functions and kernels, and which of them a code object has. */

import { STT_COMMON, STT_FUNC, STT_OBJECT } from '../../elf/constants.ts';
import type { ElfSymbol } from '../../elf/symbols.ts';
import { isDefined } from '../../elf/symbols.ts';
import type { CodeNeeds } from '../../lift/call-graph.ts';
import { KernelSymbol } from './kernel-symbol.ts';
import type { LoadedCodeObject } from './loaded-code-object.ts';
import { LoadedSymbol } from './loaded-symbol.ts';
import { strengthOf } from './symbol-rules.ts';

export class VariableSymbol extends LoadedSymbol {
  readonly kind = 'variable';
}

/** A device function: its address can be passed to kernels and called there. */
export class FunctionSymbol extends LoadedSymbol {
  readonly kind = 'indirect-function';

  /**
   * What a kernel calls: the address of the first instruction; 0 before freezing
   * (HSA_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_OBJECT).
   */
  get functionObject(): bigint {
    return this.graph === undefined ? 0n : this.address;
  }

  /** Registers, stack and callees over all that the function reaches, as for kernels. */
  get needs(): CodeNeeds | undefined {
    return this.graph?.needsOf(this.address);
  }
}

export type ExecutableSymbol = KernelSymbol | VariableSymbol | FunctionSymbol;

/**
 * Exported kernels, variables and device functions of a code object, then its local kernels and device
 * functions.
 */
export function executableSymbols(codeObject: LoadedCodeObject): ExecutableSymbol[] {
  const { elf, kernels } = codeObject.codeObject;
  const kernelOf = new Map(kernels.map((kernel) => [kernel.symbol, kernel]));
  const kernelNames = new Set(kernels.map(({ name }) => name));
  const exportedNames = new Set<string>();
  const found: ExecutableSymbol[] = [];
  const add = (symbol: ElfSymbol, linkage: 'program' | 'module') => {
    const { name, sizeBytes } = symbol;
    const binding = strengthOf(symbol) === 'weak' ? 'weak' : 'strong';
    const origin = { name, linkage, binding, codeObject, address: codeObject.addressOf(symbol), sizeBytes } as const;
    const kernel = kernelOf.get(symbol);
    if (kernel !== undefined) found.push(new KernelSymbol(origin, kernel));
    else if (symbol.type === STT_FUNC) {
      if (!kernelNames.has(name)) found.push(new FunctionSymbol(origin));
    } else if (linkage === 'program' && (symbol.type === STT_OBJECT || symbol.type === STT_COMMON)) {
      found.push(new VariableSymbol(origin));
    }
  };
  for (const symbol of codeObject.exported) {
    exportedNames.add(symbol.name);
    add(symbol, 'program');
  }
  for (const symbol of elf.symbols) {
    const isLocal = isDefined(symbol) && !exportedNames.has(symbol.name);
    if (isLocal && (symbol.type === STT_FUNC || kernelOf.has(symbol))) add(symbol, 'module');
  }
  return found;
}
