import { WavewrightError } from '../../base/errors.ts';

/** What to print of a file; the names are those of llvm-objdump's options. */
export interface ObjdumpOptions {
  readonly fileHeaders?: boolean;
  readonly sectionHeaders?: boolean;
  readonly symbols?: boolean;
  readonly dynamicSymbols?: boolean;
  /** On their own, or among the instructions with `disassemble`. */
  readonly relocations?: boolean;
  readonly dynamicRelocations?: boolean;
  readonly disassemble?: boolean;
  /** Of data too, as if it were code. */
  readonly disassembleAll?: boolean;
  /** Interleaved with source lines. */
  readonly source?: boolean;
  /** Interleaved with functions and numbers of lines. */
  readonly lineNumbers?: boolean;
  /** Names; empty for all. */
  readonly disassembleSymbols?: readonly string[];
  /** Names; empty for all. */
  readonly sections?: readonly string[];
  /** First address to print, 0 by default. */
  readonly startAddress?: number | undefined;
  /** First address not to print. */
  readonly stopAddress?: number | undefined;
  /** In place of what the file says, e.g. `gfx90a`. */
  readonly processor?: string | undefined;
  /** Of processors that have both; 32 by default, as for llvm-objdump. */
  readonly waveSize?: 32 | 64 | undefined;
  readonly showRawInstructions?: boolean;
  readonly leadingAddresses?: boolean;
  /** Branch targets as labels. */
  readonly symbolizeOperands?: boolean;
}

/**
 * An address as llvm-objdump takes it: decimal, `0x`, `0b` or octal with a leading 0; below 2^53. Throws
 * USAGE.
 */
export function parseAddress(option: string, text: string): number {
  const octal = /^0[0-7]+$/.test(text);
  const value = octal ? Number.parseInt(text, 8) : /^(\d+|0[xX][\da-fA-F]+|0[bB][01]+)$/.test(text) ? Number(text) : -1;
  if (value >= 0 && value <= Number.MAX_SAFE_INTEGER && (octal || !/^0\d/.test(text))) return value;
  throw new WavewrightError('USAGE', `--${option} takes an address, such as 0x1000, not '${text}'`);
}

/** Features as `--mattr` takes them. Only the wave size changes what is printed. Throws USAGE. */
export function waveSizeOf(features: readonly string[]): 32 | 64 | undefined {
  let waveSize: 32 | 64 | undefined;
  for (const feature of features) {
    const match = /^([+-])wavefrontsize(32|64)$/.exec(feature);
    if (!match) {
      throw new WavewrightError('USAGE', `--mattr: unknown feature '${feature}'`, {
        hint: 'known features are +wavefrontsize32 and +wavefrontsize64',
      });
    }
    if (match[1] === '+') waveSize = match[2] === '32' ? 32 : 64;
  }
  return waveSize;
}
