/**
 * Which registers anything still reads. Scalar registers as usual. A row of a vector register that is
 * overwritten is dead only in the lanes that are active then, so that lanes that are off are looked at apart;
 * a change of the mask of active lanes that only takes lanes off, or only adds some, says which of them
 * become the others. Where control leaves the blocks, everything is live, unless it ends.
 */
import type { MaskChange } from '../ir/effects.ts';
import { type BasicBlock, blockGraph } from './blocks.ts';
import { solveDataFlow } from './data-flow.ts';

/** Sets of places, scalars and rows, as bits. */
export interface LiveLanes {
  /** Read before they are overwritten: scalars, and rows in a lane that is active here. */
  readonly active: bigint;
  /** Rows that are read, before they are overwritten, in a lane that is off here. */
  readonly inactive: bigint;
}

export interface LaneEffects {
  /** Scalars, and rows in the active lanes. */
  readonly reads: bigint;
  /** Rows that are read in other lanes than the active ones. */
  readonly crossReads: bigint;
  readonly scalarWrites: bigint;
  /** Rows that are written in all active lanes. */
  readonly rowWrites: bigint;
  readonly maskChange: MaskChange;
  /** Whether it reads registers that only running it tells. */
  readonly isOpaque: boolean;
  /** Whether nothing runs behind it. */
  readonly ends: boolean;
}

/** All places, and those of them that are rows. */
export interface PlaceSets {
  readonly everything: bigint;
  readonly rows: bigint;
}

const NOTHING: LiveLanes = { active: 0n, inactive: 0n };

const join = (a: LiveLanes, b: LiveLanes): LiveLanes => ({
  active: a.active | b.active,
  inactive: a.inactive | b.inactive,
});

export class LaneLiveness<I> {
  readonly #places: PlaceSets;
  readonly #before: readonly LiveLanes[];
  readonly #around = new Map<I, { readonly before: LiveLanes; readonly after: LiveLanes }>();

  /** `outsideOf`: what is live where control leaves a block for somewhere else; everything by default. */
  constructor(
    blocks: readonly BasicBlock<I>[],
    effectsOf: (instruction: I) => LaneEffects,
    places: PlaceSets,
    outsideOf?: (block: BasicBlock<I>) => LiveLanes,
  ) {
    this.#places = places;
    const everything = { active: places.everything, inactive: places.rows };
    const behind = (block: BasicBlock<I>, live: LiveLanes): LiveLanes =>
      block.leaves || (!block.next && !block.target) ? join(live, outsideOf?.(block) ?? everything) : live;
    const { incoming, outgoing } = solveDataFlow<LiveLanes>(blockGraph(blocks, blocks.slice(0, 1)), {
      direction: 'backward',
      nothing: NOTHING,
      outside: NOTHING,
      join,
      equals: (a, b) => a.active === b.active && a.inactive === b.inactive,
      transfer: (block, live) =>
        blocks[block]!.instructions.reduceRight(
          (after, each) => this.#through(effectsOf(each), after),
          behind(blocks[block]!, live),
        ),
    });
    this.#before = outgoing;
    for (const block of blocks) {
      let live = behind(block, incoming[block.index]!);
      for (const instruction of block.instructions.toReversed()) {
        const effects = effectsOf(instruction);
        const before = this.#through(effects, live);
        this.#around.set(instruction, { before, after: effects.ends ? NOTHING : live });
        live = before;
      }
    }
  }

  get #everything(): LiveLanes {
    return { active: this.#places.everything, inactive: this.#places.rows };
  }

  before(block: BasicBlock<I>): LiveLanes {
    return this.#before[block.index]!;
  }

  beforeInstruction(instruction: I): LiveLanes {
    return this.#around.get(instruction)!.before;
  }

  after(instruction: I): LiveLanes {
    return this.#around.get(instruction)!.after;
  }

  #through(effects: LaneEffects, after: LiveLanes): LiveLanes {
    if (effects.ends) return NOTHING;
    if (effects.isOpaque) return this.#everything;
    const { reads, crossReads, scalarWrites, rowWrites, maskChange } = effects;
    let { active, inactive } = after;
    if (maskChange === 'shrinks' || maskChange === 'any') active |= after.inactive;
    if (maskChange === 'grows' || maskChange === 'any') inactive |= after.active & this.#places.rows;
    return {
      active: (active & ~(scalarWrites | rowWrites)) | reads | crossReads,
      inactive: inactive | crossReads,
    };
  }
}
