/**
 * The rows of all formats. A table is made when a row of one of its formats is asked for: most code has few
 * of them, and a process that finds its code decoded asks for none.
 */
import type { FormatName } from '../encoding/format.ts';
import type { Row } from '../encoding/row.ts';
import { dsRows } from './memory/ds.ts';
import { expRows } from './memory/exp.ts';
import { flatRows } from './memory/flat.ts';
import { ldsdirRows } from './memory/ldsdir.ts';
import { mimgRows } from './memory/mimg.ts';
import { mtbufRows } from './memory/mtbuf.ts';
import { mubufRows } from './memory/mubuf.ts';
import { scalarFloatRows } from './scalar/scalar-float.ts';
import { smemRows } from './scalar/smem.ts';
import { sop1Rows } from './scalar/sop1.ts';
import { sop2Rows } from './scalar/sop2.ts';
import { sopcRows } from './scalar/sopc.ts';
import { sopkRows } from './scalar/sopk.ts';
import { soppRows } from './scalar/sopp.ts';
import { vinterpRows } from './vector/vinterp.ts';
import { vop1Rows } from './vector/vop1.ts';
import { vop2Rows } from './vector/vop2.ts';
import { vop3FloatRows } from './vector/vop3-float.ts';
import { vop3IntegerRows } from './vector/vop3-integer.ts';
import { vop3pRows } from './vector/vop3p.ts';
import { vopcRows } from './vector/vopc.ts';
import { dualRows } from './vector/vopd.ts';

/** Some rows, and the formats that they are of. */
class Table {
  readonly formats: ReadonlySet<FormatName>;
  readonly #make: () => readonly Row[];
  #rows: readonly Row[] | undefined;

  constructor(make: () => readonly Row[], ...formats: readonly FormatName[]) {
    this.#make = make;
    this.formats = new Set(formats);
  }

  get rows(): readonly Row[] {
    this.#rows ??= this.#make();
    return this.#rows;
  }
}

const VOP1 = new Table(vop1Rows, 'VOP1');
const VOP2 = new Table(vop2Rows, 'VOP2', 'VOP3');

export const TABLES: readonly Table[] = [
  new Table(dsRows, 'DS'),
  new Table(expRows, 'EXP'),
  new Table(flatRows, 'FLAT', 'GLOBAL', 'SCRATCH'),
  new Table(ldsdirRows, 'LDSDIR'),
  new Table(mimgRows, 'MIMG', 'VSAMPLE'),
  new Table(mtbufRows, 'MTBUF'),
  new Table(mubufRows, 'MUBUF'),
  new Table(scalarFloatRows, 'SOP1', 'SOP2', 'SOPC'),
  new Table(smemRows, 'SMEM'),
  new Table(sop1Rows, 'SOP1'),
  new Table(sop2Rows, 'SOP2'),
  new Table(sopcRows, 'SOPC'),
  new Table(sopkRows, 'SOPK'),
  new Table(soppRows, 'SOPP'),
  VOP1,
  VOP2,
  new Table(vop3FloatRows, 'VOP2', 'VOP3'),
  new Table(vop3IntegerRows, 'VOP2', 'VOP3'),
  new Table(vop3pRows, 'VOP3P', 'VOP3P_MAI'),
  new Table(vopcRows, 'VOPC'),
  new Table(vinterpRows, 'VINTERP'),
  new Table(() => dualRows([...VOP1.rows, ...VOP2.rows]), 'VOPD'),
];

export const allRows = (): readonly Row[] => TABLES.flatMap(({ rows }) => rows);

/** The rows of one format. */
export const rowsOf = (format: FormatName): readonly Row[] =>
  TABLES.filter(({ formats }) => formats.has(format)).flatMap(({ rows }) =>
    rows.filter((row) => row.format === format),
  );
