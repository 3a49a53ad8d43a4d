/** Which values of a lane that runs alone are numbers, and which vectors. */
import { EMISSION } from '../../lowering/emission.ts';
import type { Node } from '../regions/node.ts';

/** A number where the operation has a scalar form, otherwise a vector of which lane 0 counts. */
export type LaneForm = 'scalar' | 'vector';

/** Operations for which a value stays in the form that it has. */
const TAKES_EITHER = /^i(32|64)\.(select|and|or|xor)$/;

export class LaneForms {
  readonly #vectorRows = new Set<number>();
  readonly #readAsNumbers = new Set<Node>();
  readonly #forms = new Map<Node, LaneForm>();

  constructor(lanes: readonly Node[], rows: ReadonlyMap<number, Node>) {
    for (let size = -1; size !== this.#vectorRows.size; ) {
      size = this.#vectorRows.size;
      this.#forms.clear();
      this.#readAsNumbers.clear();
      for (const node of lanes) {
        for (const [i, arg] of node.args.entries()) if (!this.#takesVector(node, i)) this.#readAsNumbers.add(arg);
      }
      for (const [offset, node] of rows) if (this.of(node) === 'vector') this.#vectorRows.add(offset);
    }
  }

  #takesVector(node: Node, argument: number): boolean {
    if (node.leaf.kind !== 'pure') return false;
    if (node.leaf.op.endsWith('.select') && argument === 0) return false;
    return !EMISSION[node.leaf.op].scalar || (TAKES_EITHER.test(node.leaf.op) && this.of(node) === 'vector');
  }

  /** The form in which a value comes about. */
  of(node: Node): LaneForm {
    let form = this.#forms.get(node);
    if (!form) {
      form = this.#findForm(node);
      this.#forms.set(node, form);
    }
    return form;
  }

  #findForm(node: Node): LaneForm {
    const { leaf, args } = node;
    if (!node.lane) return 'scalar';
    if (leaf.kind === 'row') return this.#vectorRows.has(leaf.offset) ? 'vector' : 'scalar';
    if (leaf.kind !== 'pure') return 'scalar';
    if (!EMISSION[leaf.op].scalar) return 'vector';
    const values = leaf.op.endsWith('.select') ? args.slice(1) : args;
    return TAKES_EITHER.test(leaf.op) && values.some((arg) => this.of(arg) === 'vector') ? 'vector' : 'scalar';
  }

  /** The form in which a row is carried on. */
  ofRow(offset: number): LaneForm {
    return this.#vectorRows.has(offset) ? 'vector' : 'scalar';
  }

  /** Whether something reads a dword of a load as a number. */
  isNumber(dword: Node): boolean {
    return this.#readAsNumbers.has(dword);
  }
}
