/** The symbols of a code object by section, as disassembly looks them up. */
import { firstAbove } from '../../base/search.ts';
import type { ElfFile } from '../../elf/elf.ts';
import type { ElfSection } from '../../elf/header.ts';
import type { ElfSymbol } from '../../elf/symbols.ts';
import { dynamicSymbolsOf, isRelocatable, isShown, sectionOf, sectionsOf, symbolsOf } from './object-view.ts';

/** A name for an address. */
export interface CodeLabel {
  readonly address: number;
  readonly name: string;
  /** STT_*. */
  readonly type: number;
}

/** By address, then name, then type. */
export const compareLabels = (a: CodeLabel, b: CodeLabel): number =>
  a.address - b.address || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.type - b.type);

/** Lists are sorted, and mutable: disassembly adds labels of its own. */
export class SymbolMap {
  readonly #bySection = new Map<number, CodeLabel[]>();
  readonly #absolute: CodeLabel[] = [];
  readonly #isRelocatable: boolean;
  /** By address; sections that share one in ascending size. */
  readonly #sections: readonly ElfSection[];

  constructor(elf: ElfFile) {
    this.#isRelocatable = isRelocatable(elf);
    const add = (symbol: ElfSymbol): void => {
      const section = sectionOf(elf, symbol);
      const base = section && this.#isRelocatable ? section.address : 0n;
      const label = { address: Number(symbol.value + base), name: symbol.name, type: symbol.type };
      (section ? this.of(section) : this.#absolute).push(label);
    };
    for (const symbol of symbolsOf(elf)) if (isShown(symbol)) add(symbol);
    if (this.#bySection.size === 0) {
      for (const symbol of dynamicSymbolsOf(elf)) if (isShown(symbol) && sectionOf(elf, symbol)) add(symbol);
    }
    for (const labels of [...this.#bySection.values(), this.#absolute]) labels.sort(compareLabels);
    this.#sections = [...sectionsOf(elf)].sort(
      (a, b) => Number(a.address - b.address) || a.sizeBytes - b.sizeBytes || a.index - b.index,
    );
  }

  /** The labels of a section. */
  of({ index }: ElfSection): CodeLabel[] {
    let labels = this.#bySection.get(index);
    if (!labels) {
      labels = [];
      this.#bySection.set(index, labels);
    }
    return labels;
  }

  /**
   * The last label at or before `address`: of the section that starts closest before it, otherwise of a
   * section at the same start, otherwise one that is in no section. In relocatable objects, whose sections
   * all start at 0, of section `from` first.
   */
  before(address: number, from: ElfSection): CodeLabel | undefined {
    for (const labels of this.#candidates(address, from)) {
      const found = labels[firstAbove(labels, address) - 1];
      if (found) return found;
    }
    return undefined;
  }

  *#candidates(address: number, from: ElfSection): Generator<readonly CodeLabel[]> {
    if (this.#isRelocatable) yield this.of(from);
    else {
      let [low, high] = [0, this.#sections.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.#sections[middle]!.address <= address) low = middle + 1;
        else high = middle;
      }
      const start = this.#sections[low - 1]?.address;
      for (let at = low - 1; at >= 0 && this.#sections[at]!.address === start; at--) yield this.of(this.#sections[at]!);
    }
    yield this.#absolute;
  }
}
