/** The functions of loaded code objects by their addresses. */
import { firstAbove } from '../../base/search.ts';
import { hex } from '../../base/text.ts';
import { PF_X, PT_LOAD, STT_FUNC } from '../../elf/constants.ts';
import { isDefined } from '../../elf/symbols.ts';
import type { LoadedCodeObject } from './loaded-code-object.ts';

export interface CodeFunction {
  readonly name: string;
  readonly address: bigint;
  /** At most up to the next function: no byte belongs to two. */
  readonly sizeBytes: number;
  readonly codeObject: LoadedCodeObject;
  readonly isKernel: boolean;
}

interface CodeRange {
  readonly start: bigint;
  readonly end: bigint;
  readonly codeObject: LoadedCodeObject;
}

/** One that a symbol names. */
interface NamedFunction extends CodeRange {
  readonly name: string;
  readonly isKernel: boolean;
}

/** Code without names may be looked into so often, over what it has of bytes: places where it is entered may overlap. */
const MAX_PASSES = 4;

export class CodeMap {
  readonly #codeObjects: readonly LoadedCodeObject[];
  #named: { readonly sorted: readonly CodeFunction[]; readonly byAddress: Map<bigint, CodeFunction> } | undefined;
  readonly #unnamed = new Map<bigint, CodeFunction>();
  readonly #addresses = new Map<LoadedCodeObject, ReadonlyMap<string, bigint>>();
  readonly #ranges: readonly CodeRange[];
  /** Bytes that functions without names may still take. */
  #unnamedBytes: number;

  constructor(codeObjects: readonly LoadedCodeObject[]) {
    this.#codeObjects = codeObjects;
    this.#ranges = codeObjects.flatMap((codeObject) =>
      codeObject.codeObject.elf.segments
        .filter(({ type, flags }) => type === PT_LOAD && (flags & PF_X) !== 0)
        .map(({ virtualAddress, memorySizeBytes }) => {
          const start = virtualAddress + codeObject.loadDelta;
          return { start, end: start + BigInt(memorySizeBytes), codeObject };
        }),
    );
    this.#unnamedBytes = this.#ranges.reduce((sum, { start, end }) => sum + MAX_PASSES * Number(end - start), 0);
  }

  /** All that symbols name, in the order of their addresses. */
  get functions(): readonly CodeFunction[] {
    return this.#open().sorted;
  }

  /** The function that a code object itself has under a name. */
  addressOf(codeObject: LoadedCodeObject, name: string): bigint | undefined {
    let addresses = this.#addresses.get(codeObject);
    if (!addresses) {
      const own = this.functions.filter((each) => each.codeObject === codeObject);
      addresses = new Map(own.map((each) => [each.name, each.address]));
      this.#addresses.set(codeObject, addresses);
    }
    return addresses.get(name);
  }

  /** The function that a symbol says starts there. */
  namedAt(address: bigint): CodeFunction | undefined {
    return this.#open().byAddress.get(address);
  }

  /**
   * The function that starts there; code that no symbol names, such as a hidden function of a stripped file, goes by its address.
   * Undefined outside of code.
   */
  functionAt(address: bigint): CodeFunction | undefined {
    const { sorted, byAddress } = this.#open();
    const known = byAddress.get(address) ?? this.#unnamed.get(address);
    if (known) return known;
    const range = this.#ranges.find((each) => holds(each, address));
    if (!range || address % 4n !== 0n) return undefined;
    const next = sorted[firstAbove(sorted, address)];
    const end = next && next.address < range.end ? next.address : range.end;
    const sizeBytes = Number(end - address);
    this.#unnamedBytes -= sizeBytes;
    if (this.#unnamedBytes < 0) return undefined;
    const found = { name: hex(address), address, sizeBytes, codeObject: range.codeObject, isKernel: false };
    this.#unnamed.set(address, found);
    return found;
  }

  #open() {
    this.#named ??= this.#collect();
    return this.#named;
  }

  #collect() {
    const byAddress = new Map<bigint, NamedFunction>();
    for (const codeObject of this.#codeObjects) {
      const { elf, kernels } = codeObject.codeObject;
      const ranges = this.#ranges.filter((each) => each.codeObject === codeObject);
      const kernelNames = new Set(kernels.map(({ name }) => name));
      for (const symbol of [...elf.symbols, ...elf.dynamicSymbols]) {
        if (symbol.type !== STT_FUNC || !isDefined(symbol)) continue;
        const { name, sizeBytes } = symbol;
        const start = codeObject.addressOf(symbol);
        const range = ranges.find((each) => holds(each, start));
        if (!range) continue;
        const end = sizeBytes === 0 ? range.end : start + BigInt(sizeBytes);
        const isKernel = kernelNames.has(name);
        byAddress.set(start, { name, start, end: end < range.end ? end : range.end, codeObject, isKernel });
      }
    }
    const named = [...byAddress.values()].sort((a, b) => (a.start < b.start ? -1 : 1));
    const sorted = named.map(({ name, start, end, codeObject, isKernel }, i): CodeFunction => {
      const next = named[i + 1]?.start;
      const last = next !== undefined && next < end ? next : end;
      return { name, address: start, sizeBytes: Number(last - start), codeObject, isKernel };
    });
    return { sorted, byAddress: new Map(sorted.map((each) => [each.address, each])) };
  }
}

const holds = ({ start, end }: CodeRange, address: bigint): boolean => address >= start && address < end;
