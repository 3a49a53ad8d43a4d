/**
 * Values of the wave in a loop: those that do not change, and those of an iteration. Lanes see them splat.
 */
import type { Type } from '../../../ir/types.ts';
import type { Local } from '../../../wasm/function.ts';
import { captured, type LaneArgument, type Lanes, splat } from '../../lowering/emitter.ts';
import type { FunctionState } from '../function/function-state.ts';
import { isOp } from '../regions/graph.ts';
import type { Node } from '../regions/node.ts';
import { UniformValues } from '../regions/uniform-values.ts';

export class LoopValues extends UniformValues {
  readonly #state: FunctionState;
  readonly #outer: LoopValues | undefined;
  readonly #registers: ReadonlyMap<number, Local> | undefined;
  readonly #splats = new Map<Node, Lanes>();

  /** `registers`: those that change from one iteration to the next. */
  constructor(state: FunctionState, outer?: LoopValues, registers?: ReadonlyMap<number, Local>) {
    super(state, outer, registers);
    this.#state = state;
    this.#outer = outer;
    this.#registers = registers;
  }

  /** Emits further values for a use of them. */
  within(nodes: Iterable<Node>, use: (values: LoopValues) => void): void {
    const own = new LoopValues(this.#state, this, this.#registers);
    for (const node of nodes) own.emit(node);
    use(own);
    own.release();
  }

  /** With `lanes`, or those that it was splat to. */
  argument(node: Node, lanes = this.#lanes(node)): LaneArgument {
    return { lanes, scalar: this.local(node) };
  }

  /** None, when it was not splat. */
  #lanes(node: Node): Lanes {
    return this.#splats.get(node) ?? (this.#outer ? this.#outer.#lanes(node) : []);
  }

  splat(node: Node): void {
    if (this.#splats.has(node)) return;
    const lanes = isOp(node, 'i1.not')
      ? this.#splatOpposite(node.args[0]!)
      : splat(this.#state.e, this.local(node), node.type as Type);
    this.#splats.set(node, lanes);
  }

  /** All ones where a condition is 0. */
  #splatOpposite(condition: Node): Lanes {
    const { f } = this.#state;
    f.get(this.local(condition));
    f.i32(1);
    f.op('i32.sub');
    f.op('i32x4.splat');
    return [captured(f)];
  }

  override release(): void {
    this.#state.f.free(...new Set([...this.#splats.values()].flat()));
    this.#splats.clear();
    super.release();
  }
}
