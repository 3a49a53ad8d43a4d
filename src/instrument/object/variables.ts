/** Memory of tools in the new code object: a segment that kernels may write, and symbols that hosts find. */
import { alignUp } from '../../base/align.ts';
import { WavewrightError } from '../../base/errors.ts';
import {
  PF_R,
  PF_W,
  SHF_ALLOC,
  SHF_WRITE,
  SHT_PROGBITS,
  STB_GLOBAL,
  STT_OBJECT,
  STV_PROTECTED,
} from '../../elf/constants.ts';
import type { ElfEdit } from '../../elf/edit.ts';
import { type DynamicSymbol, newSymbol } from './dynamic-tables.ts';

export interface VariableToAdd {
  /** Its name: literals of added code have it, and so do hosts. No other symbol is called so. */
  readonly symbol: string;
  readonly sizeBytes: number;
  readonly alignmentBytes: number;
  /** What it begins with, which may depend on its address; what is behind, up to `sizeBytes`, is zero. */
  readonly bytes?: Uint8Array | ((address: bigint) => Uint8Array);
  /** STB_GLOBAL by default. */
  readonly binding?: number;
}

const SECTION = '.data.wavewright';

/**
 * Gives variables their places; the symbols of all of them, by name. Throws USAGE for a name that is taken.
 */
export function addVariables(edit: ElfEdit, variables: readonly VariableToAdd[]): Map<string, DynamicSymbol> {
  const symbols = new Map<string, DynamicSymbol>();
  if (variables.length === 0) return symbols;
  const taken = new Set([...edit.elf.dynamicSymbols, ...edit.elf.symbols].map(({ name }) => name));
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
  const segment = edit.addSegment(PF_R | PF_W, contents, end);
  const alignmentBytes = variables.reduce((most, variable) => Math.max(most, variable.alignmentBytes), 1);
  const section = edit.addLoadedSection(
    { name: SECTION, type: SHT_PROGBITS, flags: SHF_ALLOC | SHF_WRITE, alignmentBytes },
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
