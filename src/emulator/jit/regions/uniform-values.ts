/** Values of the wave: what is the same for all lanes, in locals. */
import { assert } from '../../../base/errors.ts';
import type { Type } from '../../../ir/types.ts';
import { eqz, push } from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import { pushLaneOffset } from '../../lowering/chunk-place.ts';
import { EMISSION } from '../../lowering/emission.ts';
import { emitScalar, wasmType } from '../../lowering/emitter.ts';
import { emitUniformLoad } from '../../lowering/uniform-memory.ts';
import { WAVE_CLOCK } from '../../machine/layout.ts';
import type { FunctionState } from '../function/function-state.ts';
import { type BaseLoads, baseLoadsOf, emitPermits } from './base-loads.ts';
import type { Node, NodeOf } from './node.ts';

export class UniformValues {
  readonly #state: FunctionState;
  readonly #outer: UniformValues | undefined;
  /** Registers, by their offset, that are in locals of somebody else. */
  readonly #registers: ReadonlyMap<number, Local>;
  readonly #locals = new Map<Node, Local>();
  /** The dwords of each load. */
  readonly #dwords = new Map<Node, readonly Local[]>();
  /** Loads that are checked together, and what was found of them. */
  #together: ReadonlyMap<Node, BaseLoads> = new Map();
  readonly #permits = new Map<BaseLoads, Local>();
  readonly #held: Local[] = [];

  constructor(state: FunctionState, outer?: UniformValues, registers: ReadonlyMap<number, Local> = new Map()) {
    this.#state = state;
    this.#outer = outer;
    this.#registers = registers;
  }

  local(node: Node): Local {
    const local = this.#locals.get(node) ?? this.#outer?.local(node);
    assert(local, () => `node ${node.id} (${node.leaf.kind}) has a local`);
    return local;
  }

  /** Tells of values that will all be emitted, so that their loads may be checked together. */
  expect(nodes: readonly Node[]): void {
    this.#together = baseLoadsOf(nodes);
  }

  /** Gives a value that was made elsewhere the local that holds it. */
  hold(node: Node, local: Local): void {
    this.#locals.set(node, local);
    this.#held.push(local);
  }

  release(): void {
    this.#state.f.free(...this.#held.splice(0));
  }

  /** Emits a value whose arguments were emitted; `refused`: where it goes that loads what it must not. */
  emit(node: Node, refused?: BlockLabel): void {
    const { leaf } = node;
    if (leaf.kind === 'loaded') this.#locals.set(node, this.#dwords.get(node.args[0]!)![leaf.index]!);
    else if (leaf.kind === 'load') this.#emitLoad(node as NodeOf<'load'>, refused);
    else if (leaf.kind === 'scalar' && this.#registers.has(leaf.offset))
      this.#locals.set(node, this.#registers.get(leaf.offset)!);
    else {
      this.#push(node);
      const { f } = this.#state;
      const local = f.local(wasmType(node.type as Type));
      f.set(local);
      this.hold(node, local);
    }
  }

  #emitLoad(node: NodeOf<'load'>, refused: BlockLabel | undefined): void {
    const { e, spaces, wave } = this.#state;
    const { leaf, args } = node;
    const at = { pushRecord: () => this.#state.pushRecord(node.instruction), wave };
    const predicate = leaf.predicated ? this.local(args[1]!) : undefined;
    const together = this.#together.get(node);
    const permits = together && this.#permitsOf(together, refused);
    const dwords = emitUniformLoad(e, spaces, at, {
      ...{ leaf, address: this.local(args[0]!), predicate, refused, permits },
    });
    this.#locals.set(node, dwords[0]!);
    this.#dwords.set(node, dwords);
    this.#held.push(...dwords);
  }

  /** Whether loads that are checked together are permitted; goes to `refused`, if it is there, where not. */
  #permitsOf(loads: BaseLoads, refused: BlockLabel | undefined): Local | undefined {
    if (!refused && !this.#state.context.checksAccesses) return undefined;
    let permits = this.#permits.get(loads);
    if (!permits) {
      permits = emitPermits(this.#state, this.local(loads.base), loads);
      this.#permits.set(loads, permits);
      this.#held.push(permits);
    }
    if (refused) {
      const { f } = this.#state;
      push(f, eqz(permits));
      f.brIf(refused);
    }
    return permits;
  }

  #push(node: Node): void {
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
      case 'scalar':
        f.get(wave);
        f.load(node.type === 'i64' ? 'i64.load' : 'i32.load', leaf.offset);
        break;
      case 'clock':
        f.get(wave);
        f.load('i64.load', WAVE_CLOCK);
        break;
      case 'literal':
        this.#state.pushLiteral(leaf.index);
        break;
      case 'rowLane':
        f.get(wave);
        f.get(this.local(args[0]!));
        pushLaneOffset(f, spaces.waveSize);
        f.op('i32.add');
        f.load('i32.load', leaf.offset);
        break;
      default:
        assert(false, `uniform ${leaf.kind}`);
    }
  }
}
