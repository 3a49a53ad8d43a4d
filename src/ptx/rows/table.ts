/** All rows, and the form of an opcode. */
import { APPROXIMATE_ROWS } from './approximate.ts';
import { BIT_ROWS } from './bits.ts';
import { COMPARE_ROWS } from './compare.ts';
import { CONTROL_ROWS } from './control.ts';
import { CONVERT_ROWS } from './convert.ts';
import { FLOAT_ROWS } from './float.ts';
import { INTEGER_ROWS } from './integer.ts';
import { PRODUCT_ROWS } from './matrix.ts';
import { BARRIER_ROWS } from './mbarrier.ts';
import { MEMORY_ROWS } from './memory.ts';
import { NARROW_ROWS } from './narrow.ts';
import { machineOperands, type OperandRule } from './operand-spec.ts';
import type { Modifiers } from './pattern.ts';
import type { Form, PtxRow } from './row.ts';
import { TILE_ROWS } from './tiles.ts';
import { VIDEO_ROWS } from './video.ts';
import { WARP_ROWS } from './warp.ts';

export const PTX_ROWS: readonly PtxRow[] = [
  ...INTEGER_ROWS,
  ...BIT_ROWS,
  ...VIDEO_ROWS,
  ...FLOAT_ROWS,
  ...APPROXIMATE_ROWS,
  ...CONVERT_ROWS,
  ...NARROW_ROWS,
  ...COMPARE_ROWS,
  ...MEMORY_ROWS,
  ...BARRIER_ROWS,
  ...CONTROL_ROWS,
  ...WARP_ROWS,
  ...PRODUCT_ROWS,
  ...TILE_ROWS,
];

const ROWS_BY_NAME = Map.groupBy(PTX_ROWS, ({ name }) => name);

/** Opcodes that were asked for, of which code has few; what hostile code asks for is not kept for ever. */
const forms = new Map<string, Form | undefined>();
const MAX_FORMS = 65_536;

/** Undefined for an opcode with modifiers that no row has. */
export function formOf(opcode: string): Form | undefined {
  if (forms.has(opcode)) return forms.get(opcode);
  const form = findForm(opcode);
  if (forms.size >= MAX_FORMS) forms.clear();
  forms.set(opcode, form);
  return form;
}

const repeated = (spec: OperandRule, modifiers: Modifiers): readonly OperandRule[] =>
  Array.from({ length: machineOperands(spec, modifiers) }, () => spec);

function findForm(opcode: string): Form | undefined {
  const [name = '', ...words] = opcode.split('.');
  for (const row of ROWS_BY_NAME.get(name) ?? []) {
    const modifiers = row.pattern.match(words);
    if (!modifiers) continue;
    const specs = row.operands.flatMap((spec) => repeated(spec, modifiers));
    return { row, modifiers, specs, operands: new Map(), opcode };
  }
  return undefined;
}

/**
 * The form of an opcode that names no state space in one, which stands behind the order and the scope (PTX
 * ISA 9.7.9.8 and 9.7.9.11).
 */
export function formInSpace(opcode: string, space: string): Form | undefined {
  const words = opcode.split('.');
  for (let at = 1; at <= words.length; at++) {
    const found = formOf(words.toSpliced(at, 0, space).join('.'));
    if (found?.modifiers['space'] === space) return found;
  }
  return undefined;
}
