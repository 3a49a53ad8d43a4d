/** Values of the wave in a loop: those that do not change, and those of an iteration. */
import { assert } from '../../../base/errors.ts';
import type { Type } from '../../../ir/types.ts';
import type { Local } from '../../../wasm/function.ts';
import { EMISSION } from '../../lowering/emission.ts';
import { captured, emitScalar, type LaneArgument, type Lanes, splat, wasmType } from '../../lowering/emitter.ts';
import { emitUniformLoad } from '../../lowering/uniform-memory.ts';
import type { FunctionState } from '../function-state.ts';
import { isOp } from '../graph.ts';
import type { Node } from '../node.ts';

export class UniformValues {
  readonly #state: FunctionState;
  readonly #outer: UniformValues | undefined;
  readonly #locals = new Map<Node, Local>();
  readonly #splats = new Map<Node, Lanes>();
  /** Registers that change from one iteration to the next. */
  readonly #registers: ReadonlyMap<number, Local>;
  readonly #held: Local[] = [];
  /** Of each load. */
  readonly #dwords = new Map<Node, readonly Local[]>();

  constructor(state: FunctionState, outer?: UniformValues, registers: ReadonlyMap<number, Local> = new Map()) {
    this.#state = state;
    this.#outer = outer;
    this.#registers = registers;
  }

  local(node: Node): Local {
    const local = this.#locals.get(node) ?? this.#outer?.local(node);
    assert(local, `node ${node.id} (${node.leaf.kind}) has a local`);
    return local;
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
    this.#held.push(...new Set(lanes));
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

  release(): void {
    this.#state.f.free(...this.#held.splice(0));
  }

  /** Emits a value whose arguments were emitted. */
  emit(node: Node): void {
    const { f, e, spaces, wave } = this.#state;
    const { leaf, args } = node;
    switch (leaf.kind) {
      case 'const':
        if (node.type === 'i64') f.i64(leaf.value);
        else f.i32(Number(leaf.value));
        break;
      case 'pure': {
        const locals = args.map((arg) => this.local(arg));
        f.scoped(() => {
          emitScalar(e, leaf.op, EMISSION[leaf.op], locals);
          return [];
        });
        break;
      }
      case 'scalar': {
        const register = this.#registers.get(leaf.offset);
        if (register) {
          this.#locals.set(node, register);
          return;
        }
        f.get(wave);
        f.load(node.type === 'i64' ? 'i64.load' : 'i32.load', leaf.offset);
        break;
      }
      case 'load': {
        const at = { pushRecord: () => this.#state.pushRecord(node.instruction), wave };
        const predicate = leaf.predicated ? this.local(args[1]!) : undefined;
        const dwords = emitUniformLoad(e, spaces, leaf, at, this.local(args[0]!), predicate);
        this.#held.push(...dwords);
        this.#locals.set(node, dwords[0]!);
        this.#dwords.set(node, dwords);
        return;
      }
      case 'loaded':
        this.#locals.set(node, this.#dwords.get(args[0]!)![leaf.index]!);
        return;
      default:
        assert(false, `uniform ${leaf.kind} in a loop`);
    }
    const local = f.local(wasmType(node.type as Type));
    f.set(local);
    this.#locals.set(node, local);
    this.#held.push(local);
  }
}
