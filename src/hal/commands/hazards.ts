/** Commands without a barrier between them that use the same memory, of which one writes it. */
import { type CommandFinding, isSlot, type RecordedRef } from './command-buffer.ts';

interface Use {
  readonly command: number;
  readonly start: number;
  readonly end: number;
  readonly isWrite: boolean;
}

/** Uses of one memory that are remembered between two barriers; more are not compared. */
const MAX_USES = 256;

export class HazardCheck {
  readonly findings: CommandFinding[] = [];
  /** By allocation or slot. Two slots may hold one buffer, which is known when they do. */
  #uses = new Map<object | number, Use[]>();

  barrier(): void {
    this.#uses = new Map();
  }

  add(command: number, read: readonly RecordedRef[], written: readonly RecordedRef[]): void {
    // A command may use one range twice: what it does with it is its business.
    const added = [
      ...read.map((ref) => ({ ref, isWrite: false })),
      ...written.map((ref) => ({ ref, isWrite: true })),
    ].map(({ ref, isWrite }) => ({ key: keyOf(ref), use: useOf(command, ref, isWrite) }));
    for (const { key, use } of added) this.#compare(key, use);
    for (const { key, use } of added) {
      const uses = this.#uses.get(key) ?? [];
      if (uses.length < MAX_USES) uses.push(use);
      this.#uses.set(key, uses);
    }
  }

  #compare(key: object | number, use: Use): void {
    const other = this.#uses
      .get(key)
      ?.find((each) => (each.isWrite || use.isWrite) && each.start < use.end && use.start < each.end);
    if (other === undefined) return;
    const verb = (isWrite: boolean) => (isWrite ? 'writes' : 'reads');
    const message = `${verb(use.isWrite)} what command ${other.command} ${verb(other.isWrite)}, without a barrier`;
    this.findings.push({ severity: 'warning', command: use.command, message });
  }
}

const keyOf = (ref: RecordedRef): object | number => (isSlot(ref) ? ref.slot : ref.buffer.allocation);

function useOf(command: number, ref: RecordedRef, isWrite: boolean): Use {
  const start = (isSlot(ref) ? 0 : ref.buffer.offsetBytes) + ref.offsetBytes;
  return { command, start, end: start + (ref.sizeBytes ?? Number.POSITIVE_INFINITY), isWrite };
}
