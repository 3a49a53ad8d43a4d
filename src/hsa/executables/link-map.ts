/**
 * What the undefined and shared names of code objects mean in an executable: who defines them, and whether
 * that fits.
 */
import { STB_WEAK, STT_FUNC, STT_OBJECT, STV_HIDDEN } from '../../elf/constants.ts';
import { type ElfSymbol, isDefined } from '../../elf/symbols.ts';
import { HsaError } from '../objects/status.ts';
import type { Definition, LoadedCodeObject } from './loaded-code-object.ts';

/**
 * `own`: the code object's own definition; `other`: that of another one; `external`: given by the host or by
 * the loader; `absent`: weak, so 0.
 */
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

/** `lookUp`: what a name means to the user. */
export function linkEntries(user: LoadedCodeObject, lookUp: (name: string) => Definition | undefined): LinkEntry[] {
  const counts = new Map<ElfSymbol, number>();
  for (const { symbol } of user.codeObject.elf.dynamicRelocations) {
    if (symbol !== undefined) counts.set(symbol, (counts.get(symbol) ?? 0) + 1);
  }
  return [...counts].map(([symbol, relocationCount]) => {
    const entry = { user, symbol, relocationCount };
    const isOwn = isDefined(symbol);
    const definition = isOwn && !user.isReplaceable(symbol) ? undefined : lookUp(symbol.name);
    if (isOwn && (definition === undefined || definition.codeObject === user)) {
      return { ...entry, resolution: 'own', definition: undefined, address: user.addressOf(symbol) };
    }
    if (definition === undefined) {
      const resolution = symbol.binding === STB_WEAK ? 'absent' : 'undefined';
      return { ...entry, resolution, definition, address: 0n };
    }
    const resolution = definition.codeObject === undefined ? 'external' : 'other';
    return { ...entry, resolution, definition, address: definition.address };
  });
}

/** Names of undefined symbols that one error lists. */
const MAX_LISTED = 10;

/** What C++ code expects of a run-time library, and how to do without. */
const RUNTIME_HINTS: readonly (readonly [name: RegExp, hint: string])[] = [
  [
    /^__cxa_(?:thread_)?atexit$/,
    'destructors of variables need it: link a C++ run-time library, or compile with -fno-c++-static-destructors',
  ],
  [
    /^__cxa_guard_/,
    'variables that are initialised once need it: link a C++ run-time library, or compile with -fno-threadsafe-statics',
  ],
];

/** VARIABLE_UNDEFINED with the names, which are of one code object, and what may be done about them. */
export function undefinedSymbols(entries: readonly LinkEntry[], codeObjects: readonly LoadedCodeObject[]): HsaError {
  const { user } = entries[0]!;
  const names = [...new Set(entries.map(({ symbol }) => symbol.name))];
  const listed = names.slice(0, MAX_LISTED).map((name) => `'${name}'`);
  if (names.length > listed.length) listed.push(`${names.length - listed.length} more`);
  const isHidden = entries.every(({ symbol }) => symbol.visibility === STV_HIDDEN);
  const what = `undefined ${isHidden ? 'hidden ' : ''}${names.length === 1 ? 'symbol' : 'symbols'} ${listed.join(', ')}`;
  const found = names.flatMap((name) => {
    const hiding = codeObjects.find((each) => each !== user && each.hides(name));
    return hiding ? [`'${name}' is hidden in ${hiding.name}: compile that with -fvisibility=default or protected`] : [];
  });
  const known = RUNTIME_HINTS.filter(([name]) => names.some((each) => name.test(each))).map(([, hint]) => hint);
  const hints = [...found.slice(0, MAX_LISTED), ...known];
  const otherwise = isHidden
    ? 'load the relocatable object that defines it, or compile with -fvisibility=default to find it elsewhere'
    : 'load what defines it into the same executable';
  const hint = hints.length > 0 ? hints.join('; ') : otherwise;
  return new HsaError('VARIABLE_UNDEFINED', what, { file: user.name, hint });
}

/**
 * Names that are declared as one thing and defined as another. Undefined symbols of compilers have no type
 * and fit everything.
 */
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

/** The code object version from which on hidden arguments have other places. */
const PACKED_ARGUMENTS_VERSION = 5;

/**
 * Throws INCOMPATIBLE_ARGUMENTS where code of one code object calls code of another that was built for other
 * waves or arguments. `waveSize`: of code that does not show it.
 */
export function checkCalls(entries: readonly LinkEntry[], waveSize?: 32 | 64): void {
  for (const { user, symbol, definition } of entries) {
    const library = definition?.codeObject;
    if (library === undefined || definition?.type !== STT_FUNC) continue;
    const refuse = (
      what: string,
      ours: string | number,
      theirs: string | number,
      hint = 'build both with the same options',
    ): never => {
      throw new HsaError(
        'INCOMPATIBLE_ARGUMENTS',
        `'${symbol.name}' of ${library.name} has ${what} ${theirs}, its user has ${ours}`,
        { file: user.name, hint },
        'UNSUPPORTED',
      );
    };
    const packed = (codeObject: LoadedCodeObject) => codeObject.codeObject.version >= PACKED_ARGUMENTS_VERSION;
    if (packed(user) !== packed(library)) {
      refuse('code object version', user.codeObject.version, library.codeObject.version);
    }
    const ours = user.waveSize ?? waveSize;
    const theirs = library.waveSize ?? waveSize;
    if (ours !== undefined && theirs !== undefined && ours !== theirs) refuse('waves of lanes:', ours, theirs);
    // Code for waves of 32 lanes may hold something where waves of 64 put the other half of a mask.
    if (ours === 64 && theirs === undefined && library.keepsMasks) {
      const hint = 'its code does not show it: say it with --wave-size, or waveSize where the executable is frozen';
      refuse('waves of lanes:', ours, 'unknown', hint);
    }
  }
}
