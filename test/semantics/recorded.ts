/**
 * Recorded states: what one instruction makes of given registers and memory. A line of `test/data/semantics/<format>.jsonl` is a
 * `Recording`; its expected values come from what `source` names, never from the row.
 */

/** Registers by name: `v8`, `s4` (dwords), `vcc`, `exec` (two dwords, low first), `scc`, `m0`. One dword, 8 hexadecimal digits, for each column. */
export type Registers = Readonly<Record<string, string>>;

export interface State {
  readonly registers: Registers;
  /** Contents from the start, in hexadecimal digits. */
  readonly lds?: string;
  readonly memory?: string;
}

export interface Recording {
  readonly name: string;
  readonly code: string;
  readonly targets: readonly string[];
  readonly waveSize: 32 | 64;
  /** The MODE register. */
  readonly mode: number;
  /**
   * `lanes`: the columns of a VGPR are the lanes from 0 on, one run; scalar registers have one column. `waves`: every column is
   * a run of its own.
   */
  readonly columns: 'lanes' | 'waves';
  /** Which independent source the expected values come from. */
  readonly source: string;
  /** Distance in units of the last place that a result of this type may have, for functions that AMD documents so. */
  readonly tolerance?: { readonly type: 'f16' | 'f32' | 'f64'; readonly ulp: number };
  /** Pairs of registers that hold the address of the memory plus the recorded offset; the name is that of the low one. */
  readonly pointers?: readonly string[];
  readonly before: State;
  readonly after: State;
}

export const dwordsOfHex = (text: string): number[] =>
  Array.from({ length: text.length / 8 }, (_, i) => Number.parseInt(text.slice(i * 8, i * 8 + 8), 16));

export const hexOfDwords = (dwords: readonly number[]): string =>
  dwords.map((dword) => (dword >>> 0).toString(16).padStart(8, '0')).join('');
