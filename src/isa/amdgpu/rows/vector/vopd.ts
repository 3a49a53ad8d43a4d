/**
 * VOPD: two operations of VOP1 and VOP2 in one instruction, X and Y. Both read their sources before either
 * writes. RDNA3 ISA 7.6, 15.3.7 and 16.11. Which registers the two may share is left to whoever writes the
 * code.
 */
import type { OperandSpec, Row } from '../../encoding/row.ts';
import { type Semantics, semanticsOf } from '../../semantics/instruction-builder.ts';

type Half = 'x' | 'y';

/** Opcodes from here on stand in the Y half only. */
const FIRST_Y_ONLY = 16;

/**
 * Fields of the two halves by those of VOP1 and VOP2; what they lack is shared (the literal) or implied
 * (VCC).
 */
const FIELDS: Readonly<Record<Half, Readonly<Record<string, string>>>> = {
  x: { vdst: 'vdstx', src0: 'srcx0', src1: 'vsrcx1' },
  y: { vdst: 'vdsty', src0: 'srcy0', src1: 'vsrcy1' },
};

function halfOperands(row: Row, half: Half): OperandSpec[] {
  return row.operands.map((spec) => ({
    ...spec,
    field: FIELDS[half][spec.field] ?? spec.field,
    file: spec.field === 'src1' ? 'vector' : spec.file,
  }));
}

const sourceCount = (row: Row): number => row.operands.filter(({ access }) => access !== 'write').length;

/** The results of both, none written before all sources are read. */
function both(x: Row, y: Row): Semantics {
  return (b, ...sources) => {
    const split = sourceCount(x);
    const results = [semanticsOf(x)!(b, ...sources.slice(0, split)), semanticsOf(y)!(b, ...sources.slice(split))];
    return results.flat().filter((value) => value !== undefined);
  };
}

/** Families that call instructions otherwise than their ancestors, own first. */
const ANCESTRY = { gfx11: ['gfx11', 'gfx10'], gfx12: ['gfx12', 'gfx11', 'gfx10'] } as const;

/** What a family calls the operation in a pair; undefined when it lacks it. */
function dualName({ opcodes }: Row, family: keyof typeof ANCESTRY): string | undefined {
  const { name, opcode } = opcodes[ANCESTRY[family].find((each) => opcodes[each] !== undefined)!]!;
  return opcode < 0 ? undefined : name.replace(/^v_/, 'v_dual_');
}

/** One of the two operations of a pair. */
interface Dual {
  readonly row: Row;
  readonly names: Readonly<Record<keyof typeof ANCESTRY, string | undefined>>;
  readonly operands: Readonly<Record<Half, readonly OperandSpec[]>>;
}

const dualOf = (row: Row): Dual => ({
  row,
  names: { gfx11: dualName(row, 'gfx11'), gfx12: dualName(row, 'gfx12') },
  operands: { x: halfOperands(row, 'x'), y: halfOperands(row, 'y') },
});

function pair(x: Dual, y: Dual): Row {
  const name = `${x.names.gfx11} :: ${y.names.gfx11}`;
  const opcode = (x.row.flags.vopd! << 5) | y.row.flags.vopd!;
  const gfx12 =
    x.names.gfx12 && y.names.gfx12 ? { name: `${x.names.gfx12} :: ${y.names.gfx12}`, opcode } : { name, opcode: -1 };
  return {
    name,
    format: 'VOPD',
    opcodes: { gfx11: { name, opcode }, gfx12 },
    operands: [...x.operands.x, ...y.operands.y],
    flags: {},
    halves: [x.row, y.row],
    semantics: both(x.row, y.row),
  };
}

/** One row for each pair of `rows` whose flags give them an opcode here. */
export function dualRows(rows: readonly Row[]): Row[] {
  const candidates = rows.filter(({ flags }) => flags.vopd !== undefined).map(dualOf);
  const first = candidates.filter(({ row }) => row.flags.vopd! < FIRST_Y_ONLY);
  return first.flatMap((x) => candidates.map((y) => pair(x, y)));
}
