/** What a loader makes of the symbols of a code object: which count, how much, and which it cannot serve. */
import type { CodeObject } from '../../codeobject/code-object.ts';
import {
  STB_GNU_UNIQUE,
  STB_LOCAL,
  STB_WEAK,
  STT_COMMON,
  STT_GNU_IFUNC,
  STT_TLS,
  STV_DEFAULT,
  STV_PROTECTED,
} from '../../elf/constants.ts';
import { type ElfSymbol, isDefined } from '../../elf/symbols.ts';
import { HsaError } from '../objects/status.ts';

export type Strength = 'weak' | 'common' | 'strong';

/** The number in DT_VERSYM that means no version; greater ones are versions. */
const VERSION_GLOBAL = 1;
/** The bit in DT_VERSYM that says that the version is not the one that plain names mean. */
const VERSYM_HIDDEN = 0x8000;

/** Whether other code objects may mean it. */
export function isExported(symbol: ElfSymbol): boolean {
  const isShared = symbol.visibility === STV_DEFAULT || symbol.visibility === STV_PROTECTED;
  return symbol.binding !== STB_LOCAL && isDefined(symbol) && isShared;
}

export const isOldVersion = (versions: readonly number[] | undefined, { index }: ElfSymbol): boolean =>
  ((versions?.[index] ?? 0) & VERSYM_HIDDEN) !== 0;

/** The first of several unique symbols stays, as for weak ones: they exist for that. */
export const strengthOf = ({ binding, type }: ElfSymbol): Strength =>
  binding === STB_WEAK || binding === STB_GNU_UNIQUE ? 'weak' : type === STT_COMMON ? 'common' : 'strong';

const REFUSED_TYPES = new Map([
  [STT_GNU_IFUNC, 'an indirect function (STT_GNU_IFUNC)'],
  [STT_TLS, 'a variable of each thread (STT_TLS)'],
]);

/** Refuses by name what stands for something else than its address. */
export function checkSymbols({ name: file, elf }: CodeObject, isRelocatable: boolean): void {
  const refuse = (what: string, hint?: string): never => {
    throw new HsaError('INVALID_CODE_OBJECT', what, { file, ...(hint !== undefined && { hint }) }, 'UNSUPPORTED');
  };
  for (const symbol of new Set([...elf.dynamicSymbols, ...elf.symbols])) {
    const type = REFUSED_TYPES.get(symbol.type);
    if (type !== undefined) refuse(`symbol '${symbol.name}' is ${type}, which GPU code cannot have`);
    if (isRelocatable && symbol.name.includes('@'))
      refuse(`symbol '${symbol.name}' has a version`, 'link it with ld.lld');
  }
  const versions = elf.dynamicVersions;
  for (const symbol of elf.dynamicSymbols) {
    const isWanted = !isDefined(symbol) && ((versions?.[symbol.index] ?? 0) & ~VERSYM_HIDDEN) > VERSION_GLOBAL;
    if (isWanted) refuse(`it asks for a certain version of symbol '${symbol.name}'`, 'link it without versions');
  }
}
