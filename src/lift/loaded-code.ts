/** Code in the memory of an agent, as analyses see it: who loaded it does not matter to them. */
import type { FunctionInfo } from '../codeobject/function-info.ts';

export interface AddressRange {
  readonly start: bigint;
  readonly end: bigint;
}

export interface FunctionPlace {
  readonly name: string;
  readonly address: bigint;
  /** 0 where it is not told. */
  readonly sizeBytes: number;
  readonly isKernel: boolean;
}

/** One code object, relocated. */
export interface LoadedCode {
  readonly processor: string;
  /** What the code was compiled for, as far as that can be told. */
  readonly waveSize: 32 | 64 | undefined;
  /** Where instructions are. */
  readonly codeRanges: readonly AddressRange[];
  /** Of several at one address the last one counts. */
  readonly functionPlaces: readonly FunctionPlace[];
  /** What the compiler says of functions, by name. */
  readonly functionInfo: ReadonlyMap<string, FunctionInfo>;
  /** Names that it shares with no other code object. */
  readonly localNames: ReadonlySet<string>;
  /** What a name that it shares with others means to it. */
  sharedAddress(name: string): bigint | undefined;
  loadedBytes(address: bigint, sizeBytes: number): Uint8Array;
  /** A dword that is never written once the code runs; undefined for all other memory. */
  constantDword(address: bigint): number | undefined;
}
