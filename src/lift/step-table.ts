/** Instructions by address, numbered in the order in which they were found. */
import { AddressTable } from '../base/address-table.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';

export class StepTable {
  readonly #steps = new AddressTable<AmdgpuStep>();
  readonly #numbers = new AddressTable<number>();

  /** How many instructions there are. */
  get size(): number {
    return this.#steps.size;
  }

  get(address: number): AmdgpuStep | undefined {
    return this.#steps.get(address);
  }

  /** How many instructions were there before this one. */
  numberOf({ offset }: AmdgpuStep): number {
    return this.#numbers.get(offset)!;
  }

  /** One that takes the place of another one has its number. */
  set(step: AmdgpuStep): void {
    const { offset } = step;
    const { size } = this.#steps;
    this.#steps.set(offset, step);
    if (this.#steps.size > size) this.#numbers.set(offset, size);
  }

  /** Once all are found. */
  remove(address: number): void {
    this.#steps.set(address, undefined);
  }

  /** The addresses of all instructions, from the lowest on. */
  addresses(): Float64Array {
    const addresses = new Float64Array(this.size);
    let count = 0;
    this.#steps.forEach((_, address) => {
      addresses[count++] = address;
    });
    return addresses;
  }
}
