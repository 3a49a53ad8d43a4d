/** Memory of tools on the device: each variable is a symbol of the instrumented code object. */

import type { InsertedVariable } from '../../codeobject/inserted-tools.ts';

export interface ToolVariable {
  /** What the tool calls it. */
  readonly name: string;
  /** The symbol's name. */
  readonly symbol: string;
  readonly sizeBytes: number;
  readonly alignmentBytes: number;
  readonly kind: InsertedVariable['kind'];
  /** Variables of a compiled hook that are in it. */
  readonly parts?: InsertedVariable['parts'];
  /** What it holds when the code is loaded; zeros where it is missing. */
  readonly bytes?: Uint8Array;
  /** Places in it that hold the loaded address of a place in it, both in bytes from its beginning. */
  readonly pointers?: readonly { readonly offset: number; readonly target: number }[];
  /** Whether there is code in it. */
  readonly isExecutable?: boolean;
}

/** Counters of 64 bits, by index. */
export interface Counters extends ToolVariable {
  readonly length: number;
}

export const COUNTER_BYTES = 8;

/** Variables as they are on the device while code is loaded. */
export interface VariableMemory {
  read(symbol: string, sizeBytes: number): Uint8Array;
  write(symbol: string, bytes: Uint8Array): void;
}

/** What counters hold, by index. */
export function readCounters(memory: VariableMemory, { symbol, length }: Counters): readonly bigint[] {
  const bytes = memory.read(symbol, length * COUNTER_BYTES);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length }, (_, i) => view.getBigUint64(i * COUNTER_BYTES, true));
}
