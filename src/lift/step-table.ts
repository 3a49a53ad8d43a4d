/** Instructions by address. */
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';

const DWORD_BYTES = 4;
/** Dwords of a page: code may lie far apart. */
const PAGE_DWORDS = 1024;

/** The instructions that begin in so much memory. */
interface Page {
  readonly steps: (AmdgpuStep | undefined)[];
  readonly numbers: Uint32Array;
}

/** Like a `Map` by address, but a question is no search. Instructions begin at multiples of 4. */
export class StepTable {
  readonly #pages: (Page | undefined)[] = [];
  #size = 0;

  /** How many instructions there are. */
  get size(): number {
    return this.#size;
  }

  get(address: number): AmdgpuStep | undefined {
    return this.#pages[Math.floor(address / DWORD_BYTES / PAGE_DWORDS)]?.steps[placeOf(address)];
  }

  /** How many instructions were there before this one. */
  numberOf({ offset }: AmdgpuStep): number {
    return this.#pages[Math.floor(offset / DWORD_BYTES / PAGE_DWORDS)]!.numbers[placeOf(offset)]!;
  }

  /** One that takes the place of another one has its number. */
  set(step: AmdgpuStep): void {
    const { offset } = step;
    const index = Math.floor(offset / DWORD_BYTES / PAGE_DWORDS);
    let page = this.#pages[index];
    if (!page) {
      const steps = new Array<AmdgpuStep | undefined>(PAGE_DWORDS).fill(undefined);
      page = { steps, numbers: new Uint32Array(PAGE_DWORDS) };
      this.#pages[index] = page;
    }
    const place = placeOf(offset);
    if (!page.steps[place]) page.numbers[place] = this.#size++;
    page.steps[place] = step;
  }

  /** The addresses of all instructions, from the lowest on. */
  addresses(): Float64Array {
    const addresses = new Float64Array(this.#size);
    let count = 0;
    this.#pages.forEach((page) => {
      for (let i = 0; i < PAGE_DWORDS; i++) {
        const step = page?.steps[i];
        if (step) addresses[count++] = step.offset;
      }
    });
    return addresses;
  }
}

const placeOf = (address: number): number => (address / DWORD_BYTES) % PAGE_DWORDS;
