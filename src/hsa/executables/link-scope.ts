/**
 * What names mean among the code objects of one agent. Relocatable objects are one code object that a linker
 * would have made of them (System V ABI, "Symbol Table": binding and visibility): they share hidden names,
 * too, and the strictest visibility of a name counts for all. Code objects that a linker made share what they
 * export, and use it themselves where the linker left that open.
 */

import { STV_DEFAULT, STV_PROTECTED } from '../../elf/constants.ts';
import { strictest } from '../../linker/link-inputs.ts';
import { HsaError } from '../objects/status.ts';
import type { ExecutableSymbol } from './executable-symbol.ts';
import type { Definition, LoadedCodeObject } from './loaded-code-object.ts';

const STRENGTHS = ['weak', 'common', 'strong'];

export class LinkScope {
  /** Signatures of the COMDAT groups of relocatable objects. */
  groups: ReadonlySet<string> = new Set();
  readonly #definitions = new Map<string, Definition[]>();
  readonly #symbols = new Map<string, ExecutableSymbol[]>();
  /** STV_* of names among relocatable objects. */
  readonly #visibilities = new Map<string, number>();

  /** Throws VARIABLE_ALREADY_DEFINED where one strong definition would meet another. */
  expectUnique(definition: Definition, file: string): void {
    if (definition.strength !== 'strong') return;
    const known = this.#definitions.get(definition.name);
    if (known?.some((each) => each.strength === 'strong' && this.#meet(each, definition))) {
      throw alreadyDefined(definition.name, file);
    }
  }

  #meet(a: Definition, b: Definition): boolean {
    const areTogether = a.codeObject?.isRelocatable && b.codeObject?.isRelocatable;
    return areTogether || [a, b].every(({ visibility }) => visibility === STV_DEFAULT || visibility === STV_PROTECTED);
  }

  define(definition: Definition): void {
    append(this.#definitions, definition.name, definition);
  }

  add(codeObject: LoadedCodeObject, symbols: readonly ExecutableSymbol[]): void {
    for (const [name, visibility] of codeObject.nameVisibilities()) {
      this.#visibilities.set(name, strictest(this.#visibilities.get(name) ?? STV_DEFAULT, visibility));
    }
    for (const symbol of symbols) if (symbol.linkage === 'program') append(this.#symbols, symbol.name, symbol);
  }

  /**
   * What the name means to `user`, or to the host: a strong definition comes before a common one, the larger
   * before other common ones, these before a weak one; else the first counts.
   */
  lookUp(name: string, user?: LoadedCodeObject): Definition | undefined {
    const visibility = this.#visibilities.get(name) ?? STV_DEFAULT;
    const isInside = user?.isRelocatable === true;
    const isOutside = visibility === STV_DEFAULT || visibility === STV_PROTECTED;
    const seen = this.#definitions
      .get(name)
      ?.filter(({ codeObject }) =>
        codeObject?.isRelocatable ? isInside || isOutside : !isInside || visibility === STV_DEFAULT,
      );
    return seen?.reduce((best, each) => (comesBefore(each, best) ? each : best), seen[0]!);
  }

  /** Whether relocatable objects want to find the name among themselves. */
  isInternal(name: string): boolean {
    return (this.#visibilities.get(name) ?? STV_DEFAULT) !== STV_DEFAULT;
  }

  /** The kernel, variable or function that the host finds by name. */
  symbolNamed(name: string): ExecutableSymbol | undefined {
    const symbols = this.#symbols.get(name);
    const definition = symbols && this.lookUp(name);
    return definition && (symbols.find(({ codeObject }) => codeObject === definition.codeObject) ?? symbols[0]);
  }
}

export function alreadyDefined(name: string, file: string): HsaError {
  return new HsaError('VARIABLE_ALREADY_DEFINED', `symbol '${name}' is already defined in this executable`, { file });
}

function comesBefore(a: Definition, b: Definition): boolean {
  const difference = STRENGTHS.indexOf(a.strength) - STRENGTHS.indexOf(b.strength);
  return difference > 0 || (difference === 0 && a.strength === 'common' && a.sizeBytes > b.sizeBytes);
}

function append<T>(lists: Map<string, T[]>, name: string, value: T): void {
  const list = lists.get(name);
  if (list) list.push(value);
  else lists.set(name, [value]);
}
