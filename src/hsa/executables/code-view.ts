/** A loaded code object as the analyses of its code see it, once it is linked. */
import { PF_X, PT_LOAD, STT_FUNC } from '../../elf/constants.ts';
import { isDefined } from '../../elf/symbols.ts';
import type { AddressRange, FunctionPlace, LoadedCode } from '../../lift/loaded-code.ts';
import type { LoadedCodeObject } from './loaded-code-object.ts';

export class LinkedCodeView implements LoadedCode {
  readonly #codeObject: LoadedCodeObject;
  readonly sharedAddress: (name: string) => bigint | undefined;

  constructor(codeObject: LoadedCodeObject, sharedAddress: (name: string) => bigint | undefined) {
    this.#codeObject = codeObject;
    this.sharedAddress = sharedAddress;
  }

  get processor(): string {
    return this.#codeObject.codeObject.target.processor;
  }

  get waveSize(): 32 | 64 | undefined {
    return this.#codeObject.waveSize;
  }

  get codeRanges(): readonly AddressRange[] {
    const { codeObject, loadDelta } = this.#codeObject;
    return codeObject.elf.segments
      .filter(({ type, flags }) => type === PT_LOAD && (flags & PF_X) !== 0)
      .map(({ virtualAddress, memorySizeBytes }) => {
        const start = virtualAddress + loadDelta;
        return { start, end: start + BigInt(memorySizeBytes) };
      });
  }

  get functionPlaces(): readonly FunctionPlace[] {
    const { elf, kernels } = this.#codeObject.codeObject;
    const kernelNames = new Set(kernels.map(({ name }) => name));
    return [...elf.symbols, ...elf.dynamicSymbols]
      .filter((symbol) => symbol.type === STT_FUNC && isDefined(symbol))
      .map((symbol) => {
        const { name, sizeBytes } = symbol;
        const address = this.#codeObject.addressOf(symbol);
        return { name, address, sizeBytes, isKernel: kernelNames.has(name) };
      });
  }

  get functionInfo(): LoadedCode['functionInfo'] {
    return this.#codeObject.functionInfo;
  }

  get localNames(): ReadonlySet<string> {
    return this.#codeObject.localNames;
  }

  loadedBytes(address: bigint, sizeBytes: number): Uint8Array {
    return this.#codeObject.loadedBytes(address, sizeBytes);
  }

  constantDword(address: bigint): number | undefined {
    return this.#codeObject.constantDword(address);
  }
}
