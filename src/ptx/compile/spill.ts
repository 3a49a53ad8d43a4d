/**
 * Registers that find no row: they are in the frame, and come into a row for an instruction that names them.
 */
import type { Frame } from './frame.ts';
import type { LinearCode } from './linearize.ts';
import { type FunctionRegister, type Lir, type LirOperand, lir, registersOf } from './lir.ts';

/** Registers in the frame, by their numbers, and those that cannot go there. */
export class Spills {
  readonly #frame: Frame;
  readonly #temporary: (dwords: 1 | 2) => FunctionRegister;
  /** Those that only bring others, and those that are read where the frame is another one already. */
  readonly #fixed = new Set<number>();

  constructor(frame: Frame, temporary: (dwords: 1 | 2) => FunctionRegister) {
    this.#frame = frame;
    this.#temporary = temporary;
  }

  mayGo({ id }: FunctionRegister): boolean {
    return !this.#fixed.has(id);
  }

  /** Keeps what calls go to in rows. */
  fix({ blocks }: LinearCode): void {
    for (const { code } of blocks) {
      for (const line of code) {
        if (line.form.row.name === 'wave_jump') for (const { id } of registersOf(line).reads) this.#fixed.add(id);
      }
    }
  }

  /** The code with these registers in the frame. */
  apply({ blocks }: LinearCode, spilled: readonly FunctionRegister[]): LinearCode {
    const places = new Map(
      spilled.map((register) => [register.id, this.#frame.place(register.dwords * 4, register.dwords * 4)]),
    );
    return {
      blocks: blocks.map((block) => ({ ...block, code: block.code.flatMap((line) => this.#around(line, places)) })),
    };
  }

  #around(line: Lir, places: ReadonlyMap<number, number>): readonly Lir[] {
    const { reads, writes } = registersOf(line);
    const rows = new Map<number, FunctionRegister>();
    const inRow = (register: FunctionRegister): FunctionRegister => {
      if (!places.has(register.id)) return register;
      const row = rows.get(register.id) ?? this.#temporary(register.dwords);
      this.#fixed.add(row.id);
      rows.set(register.id, row);
      return row;
    };
    const changed = (each: Lir): Lir => ({
      ...each,
      operands: each.operands.map((operand): LirOperand => (operand.kind === 'virtual' ? inRow(operand) : operand)),
      guard: each.guard && { ...each.guard, register: inRow(each.guard.register) },
      aside: each.aside && { ...each.aside, park: changed(each.aside.park) },
    });
    const own = changed(line);
    if (rows.size === 0) return [line];
    const move = (opcode: 'ld' | 'st', { id, dwords }: FunctionRegister): Lir => {
      const at = this.#frame.at(places.get(id)!);
      const row = rows.get(id)!;
      return lir(`${opcode}.local.b${dwords * 32}`, opcode === 'ld' ? [row, ...at] : [...at, row], line.offset);
    };
    const unique = (registers: readonly FunctionRegister[]): FunctionRegister[] => [
      ...new Map(registers.filter(({ id }) => places.has(id)).map((each) => [each.id, each])).values(),
    ];
    return [...unique(reads).map((each) => move('ld', each)), own, ...unique(writes).map((each) => move('st', each))];
  }
}
