/** Memory of tools in the new code object: a segment that kernels may write, and symbols that hosts find. */
import { alignUp } from '../../base/align.ts';
import { WavewrightError } from '../../base/errors.ts';
import { R_AMDGPU } from '../../codeobject/relocation-types.ts';
import {
  PF_R,
  PF_W,
  PF_X,
  SHF_ALLOC,
  SHF_EXECINSTR,
  SHF_WRITE,
  SHT_PROGBITS,
  STB_GLOBAL,
  STT_OBJECT,
  STV_PROTECTED,
} from '../../elf/constants.ts';
import type { ElfEdit } from '../../elf/edit.ts';
import { type DynamicSymbol, newSymbol, type RelocationToApply } from './dynamic-tables.ts';

export interface VariableToAdd {
  /** Its name: literals of added code have it, and so do hosts. No other symbol is called so. */
  readonly symbol: string;
  readonly sizeBytes: number;
  readonly alignmentBytes: number;
  /** What it begins with, which may depend on its address; what is behind, up to `sizeBytes`, is zero. */
  readonly bytes?: Uint8Array | ((address: bigint) => Uint8Array);
  /** STB_GLOBAL by default. */
  readonly binding?: number;
  /** Places in it that hold the loaded address of a place in it, both in bytes from its beginning. */
  readonly pointers?: readonly { readonly offset: number; readonly target: number }[];
  /** Whether there is code in it. */
  readonly isExecutable?: boolean;
}

/** Variables with code have a segment of their own. */
const SECTIONS = { data: '.data.wavewright', code: '.hooks.wavewright' } as const;

/**
 * Gives variables their places; the symbols of all of them, by name. Throws USAGE for a name that is taken.
 */
export function addVariables(edit: ElfEdit, variables: readonly VariableToAdd[]): Map<string, DynamicSymbol> {
  const taken = new Set([...edit.elf.dynamicSymbols, ...edit.elf.symbols].map(({ name }) => name));
  const code = variables.filter(({ isExecutable }) => isExecutable);
  const data = variables.filter(({ isExecutable }) => !isExecutable);
  return new Map([...addSegment(edit, data, taken), ...addSegment(edit, code, taken)]);
}

/** Relocations for what variables point to. */
export const pointerRelocations = (
  variables: readonly VariableToAdd[],
  symbols: ReadonlyMap<string, DynamicSymbol>,
): RelocationToApply[] =>
  variables.flatMap(({ symbol: name, pointers = [] }) => {
    const { value } = symbols.get(name)!;
    return pointers.map(({ offset, target }) => ({
      ...{ offset: value + BigInt(offset), type: R_AMDGPU.RELATIVE64, symbol: undefined },
      addend: value + BigInt(target),
    }));
  });

function addSegment(
  edit: ElfEdit,
  variables: readonly VariableToAdd[],
  taken: Set<string>,
): ReadonlyMap<string, DynamicSymbol> {
  const symbols = new Map<string, DynamicSymbol>();
  const [first] = variables;
  if (!first) return symbols;
  const isExecutable = first.isExecutable === true;
  const start = edit.nextAddress;
  let [end, fileEnd] = [0, 0];
  const places = variables.map(({ symbol: name, sizeBytes, alignmentBytes, bytes: given }) => {
    if (taken.has(name)) throw new WavewrightError('USAGE', `the code object has a symbol '${name}' already`);
    taken.add(name);
    const at = alignUp(end, alignmentBytes);
    end = at + sizeBytes;
    const bytes = typeof given === 'function' ? given(BigInt(start + at)) : given;
    if (bytes) fileEnd = at + bytes.length;
    return { at, bytes };
  });
  const contents = new Uint8Array(fileEnd);
  for (const { at, bytes } of places) if (bytes) contents.set(bytes, at);
  const segment = edit.addSegment(PF_R | PF_W | (isExecutable ? PF_X : 0), contents, end);
  const alignmentBytes = variables.reduce((most, variable) => Math.max(most, variable.alignmentBytes), 1);
  const section = edit.addLoadedSection(
    {
      ...{ name: isExecutable ? SECTIONS.code : SECTIONS.data, type: SHT_PROGBITS, alignmentBytes },
      flags: SHF_ALLOC | SHF_WRITE | (isExecutable ? SHF_EXECINSTR : 0n),
    },
    ...[segment, 0, fileEnd],
  );
  for (const [i, { symbol: name, sizeBytes, binding = STB_GLOBAL }] of variables.entries()) {
    const symbol = newSymbol({
      ...{ name, binding, type: STT_OBJECT, visibility: STV_PROTECTED, section },
      ...{ value: segment.virtualAddress + BigInt(places[i]!.at), sizeBytes: BigInt(sizeBytes) },
    });
    symbols.set(name, symbol);
  }
  return symbols;
}
