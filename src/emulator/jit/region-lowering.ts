/** A region as WebAssembly: uniform values, the loop over the chunks, uniform values that need the lanes, registers. */
import { assert } from '../../base/errors.ts';
import type { Type } from '../../ir/types.ts';
import type { Local } from '../../wasm/function.ts';
import { WAVE_CLOCK } from '../layout.ts';
import { EMISSION } from '../lowering/emission.ts';
import { emitScalar, wasmType } from '../lowering/emitter.ts';
import { emitUniformLoad } from '../lowering/uniform-memory.ts';
import { isAccess, usedBy } from './access-group.ts';
import { ChunkLoop } from './chunk-loop.ts';
import type { FunctionState } from './function-state.ts';
import { isOp } from './graph.ts';
import type { Node, NodeOf, Region } from './node.ts';

export class RegionLowering {
  readonly #state: FunctionState;
  readonly #region: Region;
  readonly #locals = new Map<Node, Local>();
  readonly #loads = new Map<Node, readonly Local[]>();

  constructor(state: FunctionState, region: Region) {
    this.#state = state;
    this.#region = region;
  }

  /** Emits the region; the condition of its branch, if it ends in one, is in a local that the caller frees. */
  emit(): Local | undefined {
    const region = this.#region;
    const { f } = this.#state;
    const needed = neededNodes(region);
    for (const node of needed) if (node.phase === 'before') this.#emit(node);
    const lanes = needed.filter(({ phase }) => phase === 'lanes');
    const ballots = needed.filter((node): node is NodeOf<'ballot'> => node.leaf.kind === 'ballot');
    if (lanes.length + ballots.length + region.rows.size > 0) {
      assert(region.exec, 'a region with lane values has an EXEC');
      const loop = new ChunkLoop(this.#state, region, lanes, ballots, (node) => this.#local(node));
      loop.emit();
      for (const [node, local] of loop.ballots) this.#locals.set(node, local);
    }
    for (const node of needed) if (node.phase === 'after' && node.leaf.kind !== 'ballot') this.#emit(node);
    this.#storeScalars();
    let condition: Local | undefined;
    if (region.branch) {
      condition = f.local('i32');
      f.get(this.#local(region.branch));
      f.set(condition);
    }
    const held = new Set([...this.#locals.values(), ...[...this.#loads.values()].flat()]);
    f.free(...held);
    return condition;
  }

  #local(node: Node): Local {
    const local = this.#locals.get(node);
    assert(local, () => `node ${node.id} (${node.leaf.kind}) has a local`);
    return local;
  }

  #define(node: Node): void {
    const local = this.#state.f.local(wasmType(node.type as Type));
    this.#state.f.set(local);
    this.#locals.set(node, local);
  }

  #emit(node: Node): void {
    const { f, e, spaces, wave } = this.#state;
    const { leaf, args } = node;
    switch (leaf.kind) {
      case 'const':
        if (node.type === 'i64') f.i64(leaf.value);
        else f.i32(Number(leaf.value));
        break;
      case 'pure': {
        const locals = args.map((arg) => this.#local(arg));
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
        f.get(this.#local(args[0]!));
        f.i32(spaces.waveSize - 1);
        f.op('i32.and');
        f.i32(2);
        f.op('i32.shl');
        f.op('i32.add');
        f.load('i32.load', leaf.offset);
        break;
      case 'load': {
        const at = { pushRecord: () => this.#state.pushRecord(node.instruction), wave };
        const predicate = leaf.predicated ? this.#local(args[1]!) : undefined;
        const dwords = emitUniformLoad(e, spaces, leaf, at, this.#local(args[0]!), predicate);
        this.#loads.set(node, dwords);
        this.#locals.set(node, dwords[0]!);
        return;
      }
      case 'loaded':
        this.#locals.set(node, this.#loads.get(args[0]!)![leaf.index]!);
        return;
      default:
        assert(false, `uniform ${leaf.kind}`);
    }
    this.#define(node);
  }

  #storeScalars(): void {
    const { f, wave } = this.#state;
    const { scalars } = this.#region;
    const written = new Set<number>();
    for (const [offset, node] of scalars) {
      if (written.has(offset) || isUnchanged(offset, node)) continue;
      const high = scalars.get(offset + 4);
      f.get(wave);
      if (isOp(node, 'i64.low') && high && isOp(high, 'i64.high') && high.args[0] === node.args[0]) {
        f.get(this.#local(node.args[0]!));
        f.store('i64.store', offset);
        written.add(offset + 4);
      } else {
        f.get(this.#local(node));
        f.store('i32.store', offset);
      }
    }
  }
}

/** Whether a place gets what it had. */
const isUnchanged = (offset: number, { leaf, type }: Node): boolean =>
  leaf.kind === 'scalar' && leaf.offset === offset && type !== 'i64';

/** Nodes that the region's results and accesses need, in order. */
function neededNodes({ nodes, exec, scalars, rows, branch }: Region): Node[] {
  const needed = new Set<Node>();
  for (const [offset, node] of scalars) if (!isUnchanged(offset, node)) needed.add(node);
  for (const node of rows.values()) needed.add(node);
  if (exec) needed.add(exec);
  if (branch) needed.add(branch);
  // Arguments come before what uses them.
  for (const node of nodes.toReversed()) {
    if (!needed.has(node) && !isAccess(node)) continue;
    needed.add(node);
    for (const arg of [...usedBy(node, true), ...usedBy(node, false)]) needed.add(arg);
  }
  return nodes.filter((node) => needed.has(node));
}
