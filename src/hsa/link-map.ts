/** What the undefined and shared names of code objects mean in an executable: who defines them, and whether that fits. */
import { STB_WEAK, STT_FUNC, STT_OBJECT } from '../elf/constants.ts';
import { type ElfSymbol, isDefined } from '../elf/symbols.ts';
import type { Definition, LoadedCodeObject } from './loaded-code-object.ts';
import { HsaError } from './status.ts';

/** `own`: the code object's own definition; `other`: that of another one; `external`: given by the host; `absent`: weak, so 0. */
export type LinkResolution = 'own' | 'other' | 'external' | 'absent' | 'undefined';

/** A symbol that relocations of a code object name. */
export interface LinkEntry {
  readonly user: LoadedCodeObject;
  readonly symbol: ElfSymbol;
  readonly relocationCount: number;
  readonly resolution: LinkResolution;
  readonly definition: Definition | undefined;
  /** What the symbol stands for; 0 when it is absent or undefined. */
  readonly address: bigint;
}

/** `lookUp`: what other code objects and the host say of a name. */
export function linkEntries(user: LoadedCodeObject, lookUp: (name: string) => Definition | undefined): LinkEntry[] {
  const counts = new Map<ElfSymbol, number>();
  for (const { symbol } of user.codeObject.elf.dynamicRelocations) {
    if (symbol !== undefined) counts.set(symbol, (counts.get(symbol) ?? 0) + 1);
  }
  return [...counts].map(([symbol, relocationCount]) => {
    const entry = { user, symbol, relocationCount };
    if (isDefined(symbol)) {
      return { ...entry, resolution: 'own', definition: undefined, address: user.addressOf(symbol) };
    }
    const definition = lookUp(symbol.name);
    if (definition === undefined) {
      const resolution = symbol.binding === STB_WEAK ? 'absent' : 'undefined';
      return { ...entry, resolution, definition, address: 0n };
    }
    const resolution = definition.codeObject === undefined ? 'external' : 'other';
    return { ...entry, resolution, definition, address: definition.address };
  });
}

/** Names that are declared as one thing and defined as another. Undefined symbols of compilers have no type and fit everything. */
export function mismatches(entries: readonly LinkEntry[]): string[] {
  const kinds = new Map([
    [STT_FUNC, 'a function'],
    [STT_OBJECT, 'a variable'],
  ]);
  return entries.flatMap(({ user, symbol, definition }) => {
    const [declared, defined] = [kinds.get(symbol.type), definition && kinds.get(definition.type)];
    if (declared === undefined || defined === undefined || declared === defined) return [];
    const where = definition?.codeObject?.name ?? 'an external definition';
    return [`${user.name}: '${symbol.name}' is declared as ${declared}, ${where} defines it as ${defined}`];
  });
}

/** From this version on hidden arguments have other places (spec/hsa.md section 2.5). */
const PACKED_ARGUMENTS_VERSION = 5;

/** Throws INCOMPATIBLE_ARGUMENTS where code of one code object calls code of another that was built for other waves or arguments. */
export function checkCalls(entries: readonly LinkEntry[]): void {
  for (const { user, symbol, definition } of entries) {
    const library = definition?.codeObject;
    if (library === undefined || definition?.type !== STT_FUNC) continue;
    const refuse = (what: string, ours: string | number, theirs: string | number): never => {
      throw new HsaError(
        'INCOMPATIBLE_ARGUMENTS',
        `'${symbol.name}' of ${library.name} has ${what} ${theirs}, its user has ${ours}`,
        { file: user.name, hint: 'build both with the same options' },
        'UNSUPPORTED',
      );
    };
    const packed = (codeObject: LoadedCodeObject) => codeObject.codeObject.version >= PACKED_ARGUMENTS_VERSION;
    if (packed(user) !== packed(library)) {
      refuse('code object version', user.codeObject.version, library.codeObject.version);
    }
    const [ours, theirs] = [user.waveSize, library.waveSize];
    if (ours !== undefined && theirs !== undefined && ours !== theirs) refuse('waves of lanes:', ours, theirs);
  }
}
