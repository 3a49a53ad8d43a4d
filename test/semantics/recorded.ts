/**
 * Recorded states: what one instruction makes of given registers and memory. A line of
 * `test/data/semantics/<encoding>.jsonl` is a `Recording`; its expected values come from what `source` names,
 * never from the row.
 */

/**
 * Registers by name: `v8`, `a8`, `s4` (VCC is s106 and s107), `p3` (dword 3 of each lane's private memory),
 * `scc`, `m0`, `mode`, each a dword of 8 hexadecimal digits for each column; `exec`, two dwords, low first.
 */
export type Registers = Readonly<Record<string, string>>;

export interface State {
  readonly registers: Registers;
  /** Contents from the start, in hexadecimal digits; in the state afterwards absent where nothing changed. */
  readonly lds?: string;
  readonly memory?: string;
}

export interface Recording {
  readonly name: string;
  /** Machine code in hexadecimal digits, in the order of the bytes. */
  readonly code: string;
  readonly targets: readonly string[];
  readonly waveSize: 32 | 64;
  /** The MODE register. */
  readonly mode: number;
  /**
   * `lanes`: the columns of a VGPR are the lanes from 0 on, one run; scalar registers have one column.
   * `waves`: every column is a run of its own; a register with fewer columns is the same in the others.
   */
  readonly columns: 'lanes' | 'waves';
  /** Which independent source the expected values come from. */
  readonly source: string;
  /**
   * Distance in units of the last place that a result of this type may have, for functions that AMD documents
   * so.
   */
  readonly tolerance?: { readonly type: 'f16' | 'f32' | 'f64'; readonly ulp: number };
  /** Pairs of registers, by the name of the low one, to which the address of the memory is added. */
  readonly pointers?: readonly string[];
  readonly before: State;
  readonly after: State;
}

export const dwordsOfHex = (text: string): number[] =>
  Array.from({ length: text.length / 8 }, (_, i) => Number.parseInt(text.slice(i * 8, i * 8 + 8), 16));

export const hexOfDwords = (dwords: readonly number[]): string =>
  dwords.map((dword) => (dword >>> 0).toString(16).padStart(8, '0')).join('');
