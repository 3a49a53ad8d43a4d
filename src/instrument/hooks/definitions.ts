/**
 * Who may have written what an instruction of a hook reads: lane by lane, because a vector register that is
 * written keeps in the lanes that are off what an earlier instruction wrote.
 */
import { SCALAR_REGISTER_COUNT } from '../../isa/amdgpu/encoding/registers.ts';
import type { ExecMasks } from './exec-masks.ts';
import type { CompiledCode, HookNode, UnitRead } from './hook-code.ts';

export interface Reaching {
  readonly nodes: ReadonlySet<HookNode>;
  /** Whether it may be what the register held when the hook began. */
  readonly fromOutside: boolean;
}

/** A lane, in front of an instruction. */
type Lane = 'active' | 'off';

interface Place {
  readonly block: number;
  readonly position: number;
}

export class HookDefinitions {
  readonly #code: CompiledCode;
  readonly #masks: ExecMasks;
  readonly #places = new Map<HookNode, Place>();
  readonly #predecessors: readonly (readonly number[])[];
  readonly #known = new Map<string, Reaching>();

  constructor(code: CompiledCode, masks: ExecMasks) {
    this.#code = code;
    this.#masks = masks;
    const predecessors = code.blocks.map((): number[] => []);
    for (const { index, nodes, next, target } of code.blocks) {
      for (const [position, node] of nodes.entries()) this.#places.set(node, { block: index, position });
      for (const to of [next, target]) if (to !== undefined) predecessors[to]!.push(index);
    }
    this.#predecessors = predecessors;
  }

  /** Of what `node` reads. */
  of(node: HookNode, { unit, isCrossLane }: UnitRead): Reaching {
    const place = this.#places.get(node)!;
    const key = `${place.block} ${place.position} ${unit} ${isCrossLane}`;
    let found = this.#known.get(key);
    if (!found) {
      found = this.#find(place, unit, isCrossLane ? ['active', 'off'] : ['active']);
      this.#known.set(key, found);
    }
    return found;
  }

  #find(from: Place, unit: number, lanes: readonly Lane[]): Reaching {
    const nodes = new Set<HookNode>();
    const seen = new Set<string>();
    const work = lanes.map((lane) => ({ ...from, lane }));
    let fromOutside = false;
    for (let at = work.pop(); at !== undefined; at = work.pop()) {
      for (const lane of this.#throughBlock(at, unit, nodes)) {
        if (at.block === 0 && lane === 'active') fromOutside = true;
        for (const block of this.#predecessors[at.block]!) {
          const key = `${block} ${lane}`;
          if (seen.has(key)) continue;
          seen.add(key);
          work.push({ block, position: this.#code.blocks[block]!.nodes.length, lane });
        }
      }
    }
    return { nodes, fromOutside };
  }

  /** Backwards to the start of the block; the lanes that get there without finding who wrote the register. */
  #throughBlock(from: Place & { readonly lane: Lane }, unit: number, found: Set<HookNode>): ReadonlySet<Lane> {
    const isScalar = unit < 2 * SCALAR_REGISTER_COUNT;
    let lanes: ReadonlySet<Lane> = new Set([from.lane]);
    const { nodes } = this.#code.blocks[from.block]!;
    for (let position = from.position - 1; position >= 0 && lanes.size > 0; position--) {
      const node = nodes[position]!;
      const change = this.#masks.change(node);
      if (!isScalar && change !== 'none') {
        lanes = lanesBefore(lanes, change);
        if (this.#masks.before(node) === 'entry') lanes = without(lanes, 'off');
      }
      for (const write of node.writes) {
        if (write.unit !== unit) continue;
        const reached = isScalar || write.lanes === 'all' ? lanes : new Set(lanes.has('active') ? ['active'] : []);
        if (reached.size === 0) continue;
        found.add(node);
        if (write.isPartial) continue;
        lanes = isScalar || write.lanes === 'all' ? new Set() : without(lanes, 'active');
      }
    }
    return lanes;
  }
}

/** What lanes may have been in front of a change of the mask. */
function lanesBefore(lanes: ReadonlySet<Lane>, change: 'shrinks' | 'any'): ReadonlySet<Lane> {
  if (lanes.size === 0) return lanes;
  return change === 'shrinks' && !lanes.has('off') ? lanes : new Set<Lane>(['active', 'off']);
}

const without = (lanes: ReadonlySet<Lane>, lane: Lane): ReadonlySet<Lane> =>
  new Set([...lanes].filter((each) => each !== lane));
