/** The machine of an instruction in flight: what it writes to registers is kept for when it has landed. */
import type { Machine } from '../../ir/evaluate.ts';
import type { Evaluated } from '../../ir/op.ts';
import type { ExitReason, MemorySpace, OperandDword, StateSlot } from '../../ir/types.ts';
import type { WatchedMachine } from '../code/watch.ts';

export class DeferredMachine implements Machine {
  /** By the address of the register's dword. */
  readonly results = new Map<number, number>();
  /** Addresses of the first dwords of these registers. */
  readonly rows = new Set<number>();
  readonly #inner: WatchedMachine;
  readonly #coming: (address: number) => number | undefined;

  /** `coming`: what will have landed in a register before this instruction does. */
  constructor(inner: WatchedMachine, coming: (address: number) => number | undefined) {
    this.#inner = inner;
    this.#coming = coming;
  }

  readOperand(at: OperandDword, lane: number): number {
    const value = this.#inner.readOperand(at, lane);
    const address = this.#inner.registerOf(at, lane);
    return (address === undefined ? undefined : this.#coming(address)) ?? value;
  }

  writeOperand(at: OperandDword, lane: number, value: number): void {
    const address = this.#inner.registerOf(at, lane);
    // What is written to an operand that is absent is lost.
    if (address === undefined) return;
    this.results.set(address, value);
    this.rows.add(this.#inner.registerOf(at, 0)!);
  }

  readState(slot: StateSlot): Evaluated {
    return this.#inner.readState(slot);
  }

  writeState(slot: StateSlot, value: Evaluated): void {
    this.#inner.writeState(slot, value);
  }

  get pc(): bigint {
    return this.#inner.pc;
  }

  get nextPc(): bigint {
    return this.#inner.nextPc;
  }

  clock(): bigint {
    return this.#inner.clock();
  }

  laneTable(operand: number, lane: number): number {
    return this.#inner.laneTable(operand, lane);
  }

  load(space: MemorySpace, sizeBytes: number, address: Evaluated, lane: number): number[] {
    return this.#inner.load(space, sizeBytes, address, lane);
  }

  store(space: MemorySpace, sizeBytes: number, address: Evaluated, data: readonly number[], lane: number): void {
    this.#inner.store(space, sizeBytes, address, data, lane);
  }

  misaligned(access: 'read' | 'write' | 'atomic', space: MemorySpace, address: Evaluated, lane: number): never {
    return this.#inner.misaligned(access, space, address, lane);
  }

  atomic(
    space: MemorySpace,
    sizeBytes: 4 | 8,
    address: Evaluated,
    lane: number,
    update: (old: Evaluated) => Evaluated,
  ): Evaluated {
    return this.#inner.atomic(space, sizeBytes, address, lane, update);
  }

  fence(): void {
    this.#inner.fence();
  }

  branch(): void {
    this.#inner.branch();
  }

  jump(pc: bigint): void {
    this.#inner.jump(pc);
  }

  exit(reason: ExitReason): void {
    this.#inner.exit(reason);
  }
}
