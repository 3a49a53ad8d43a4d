/** The functions of loaded code by their addresses. */
import { firstAbove } from '../base/search.ts';
import { hex } from '../base/text.ts';
import type { AddressRange, LoadedCode } from './loaded-code.ts';

export interface CodeFunction {
  readonly name: string;
  readonly address: bigint;
  /** At most up to the next function: no byte belongs to two. */
  readonly sizeBytes: number;
  readonly code: LoadedCode;
  readonly isKernel: boolean;
}

interface OwnedRange extends AddressRange {
  readonly code: LoadedCode;
}

/** One that a symbol names. */
interface NamedFunction extends OwnedRange {
  readonly name: string;
  readonly isKernel: boolean;
}

/**
 * Code without names may be looked into so often, over what it has of bytes: places where it is entered may
 * overlap.
 */
const MAX_PASSES = 4;

export class CodeMap {
  readonly #codeObjects: readonly LoadedCode[];
  #named: { readonly sorted: readonly CodeFunction[]; readonly byAddress: Map<bigint, CodeFunction> } | undefined;
  readonly #unnamed = new Map<bigint, CodeFunction>();
  readonly #addresses = new Map<LoadedCode, ReadonlyMap<string, bigint>>();
  readonly #ranges: readonly OwnedRange[];
  /** Bytes that functions without names may still take. */
  #unnamedBytes: number;

  constructor(codeObjects: readonly LoadedCode[]) {
    this.#codeObjects = codeObjects;
    this.#ranges = codeObjects.flatMap((code) => code.codeRanges.map((range) => ({ ...range, code })));
    this.#unnamedBytes = this.#ranges.reduce((sum, { start, end }) => sum + MAX_PASSES * Number(end - start), 0);
  }

  /** All that symbols name, in the order of their addresses. */
  get functions(): readonly CodeFunction[] {
    return this.#open().sorted;
  }

  /** The function that code itself has under a name. */
  addressOf(code: LoadedCode, name: string): bigint | undefined {
    let addresses = this.#addresses.get(code);
    if (!addresses) {
      const own = this.functions.filter((each) => each.code === code);
      addresses = new Map(own.map((each) => [each.name, each.address]));
      this.#addresses.set(code, addresses);
    }
    return addresses.get(name);
  }

  /** The function that a symbol says starts there. */
  namedAt(address: bigint): CodeFunction | undefined {
    return this.#open().byAddress.get(address);
  }

  /**
   * The function that starts there; code that no symbol names, such as a hidden function of a stripped file,
   * goes by its address. Undefined outside of code.
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
    const found = { name: hex(address), address, sizeBytes, code: range.code, isKernel: false };
    this.#unnamed.set(address, found);
    return found;
  }

  #open() {
    this.#named ??= this.#collect();
    return this.#named;
  }

  #collect() {
    const byAddress = new Map<bigint, NamedFunction>();
    for (const code of this.#codeObjects) {
      const ranges = this.#ranges.filter((each) => each.code === code);
      for (const { name, address: start, sizeBytes, isKernel } of code.functionPlaces) {
        const range = ranges.find((each) => holds(each, start));
        if (!range) continue;
        const end = sizeBytes === 0 ? range.end : start + BigInt(sizeBytes);
        byAddress.set(start, { name, start, end: end < range.end ? end : range.end, code, isKernel });
      }
    }
    const named = [...byAddress.values()].sort((a, b) => (a.start < b.start ? -1 : 1));
    const sorted = named.map(({ name, start, end, code, isKernel }, i): CodeFunction => {
      const next = named[i + 1]?.start;
      const last = next !== undefined && next < end ? next : end;
      return { name, address: start, sizeBytes: Number(last - start), code, isKernel };
    });
    return { sorted, byAddress: new Map(sorted.map((each) => [each.address, each])) };
  }
}

const holds = ({ start, end }: AddressRange, address: bigint): boolean => address >= start && address < end;
