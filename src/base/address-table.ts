/** Values by addresses of code, which are multiples of 4: like a `Map`, but a question is no search. */

const DWORD_BYTES = 4;
/** Dwords of a page: code may lie far apart. */
const PAGE_DWORDS = 1024;

export class AddressTable<T> {
  readonly #pages: (T | undefined)[][] = [];
  #size = 0;

  /** How many addresses have a value. */
  get size(): number {
    return this.#size;
  }

  get(address: number): T | undefined {
    return this.#pages[pageOf(address)]?.[placeOf(address)];
  }

  /** With undefined the address has none any more. */
  set(address: number, value: T | undefined): void {
    const index = pageOf(address);
    let page = this.#pages[index];
    if (!page) {
      page = new Array<T | undefined>(PAGE_DWORDS).fill(undefined);
      this.#pages[index] = page;
    }
    const place = placeOf(address);
    this.#size += Number(value !== undefined) - Number(page[place] !== undefined);
    page[place] = value;
  }

  /** From the lowest address on. */
  forEach(visit: (value: T, address: number) => void): void {
    this.#pages.forEach((page, index) => {
      for (let place = 0; place < PAGE_DWORDS; place++) {
        const value = page[place];
        if (value !== undefined) visit(value, (index * PAGE_DWORDS + place) * DWORD_BYTES);
      }
    });
  }
}

const pageOf = (address: number): number => Math.floor(address / DWORD_BYTES / PAGE_DWORDS);
const placeOf = (address: number): number => (address / DWORD_BYTES) % PAGE_DWORDS;
