import { RECORD_PC, RECORD_TARGET } from '../machine/layout.ts';
import type { SharedState } from '../machine/state-memory.ts';

/**
 * Code offset of a record. A leader has none of its own, its pc is 0, where there is never code; it has the
 * one of the record that it stands for.
 */
export function pcOf({ view }: SharedState, record: number): number {
  return (
    view.getUint32(record + RECORD_PC, true) ||
    view.getUint32(view.getUint32(record + RECORD_TARGET, true) + RECORD_PC, true)
  );
}
