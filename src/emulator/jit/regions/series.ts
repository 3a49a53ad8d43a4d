/**
 * Workgroups that follow each other in the first dimension differ in nothing but their number (FrontEnd).
 * Where all that a full wave computes of that number grows by a step from one workgroup to the next, a wave
 * does what those of its place in the next workgroups would do, too: what it asks of addresses and guards is
 * asked once for all of them. Such a run of workgroups is a series.
 */
import type { Local } from '../../../wasm/function.ts';
import { constantOf, type Graph } from './graph.ts';
import { SIGN } from './lane-steps.ts';
import { type Node, nodesBehind } from './node.ts';

/** A value that takes the place of another one where that is too large, or too small. */
export interface Clamp {
  readonly value: Node;
  /** The same in all lanes and workgroups. */
  readonly limit: Node;
  readonly isMost: boolean;
}

/** What values have more from one workgroup to the next, in each lane, modulo 2^32. */
export class Growths {
  /** As far as is known of values, these are not at their limit. */
  readonly clamps = new Set<Clamp>();
  readonly #graph: Graph;
  readonly #position: number;
  readonly #known = new Map<Node, Node | undefined>();

  /** `position`: offset in the wave state of the workgroup's number. */
  constructor(graph: Graph, position: number) {
    this.#graph = graph;
    this.#position = position;
  }

  /** A value of the wave, itself the same in all workgroups; undefined where there is no such step. */
  of(node: Node): Node | undefined {
    if (!this.#known.has(node)) this.#known.set(node, this.#find(node));
    return this.#known.get(node);
  }

  #find({ leaf, type, args }: Node): Node | undefined {
    if (leaf.kind === 'scalar') {
      const covers = leaf.offset === this.#position || (type === 'i64' && leaf.offset + 4 === this.#position);
      return !covers ? this.#number(0) : type === 'i32' ? this.#number(1) : undefined;
    }
    const steps = args.map((arg) => this.of(arg));
    if (!steps.every((step) => step !== undefined)) return undefined;
    if (steps.every(staysSame)) return this.#number(0);
    return leaf.kind === 'pure' ? this.#ofOperation(leaf.op, args, steps) : undefined;
  }

  #ofOperation(op: string, args: readonly Node[], steps: readonly Node[]): Node | undefined {
    const [a, b] = args as [Node, Node];
    const [first, second] = steps as [Node, Node];
    const isFactor = (node: Node, step: Node): boolean => staysSame(step) && !node.lane && node.phase === 'before';
    switch (op) {
      case 'i32.add':
        return this.#graph.op('i32.add', first, second);
      case 'i32.sub':
        return this.#graph.op('i32.sub', first, second);
      case 'i32.mul':
        if (isFactor(b, second)) return this.#graph.op('i32.mul', first, b);
        return isFactor(a, first) ? this.#graph.op('i32.mul', a, second) : undefined;
      case 'i32.shl':
        return isFactor(b, second) ? this.#graph.op('i32.shl', first, b) : undefined;
      case 'i32.xor':
        return args.some((arg) => constantOf(arg) === SIGN) ? this.#graph.op('i32.xor', first, second) : undefined;
      case 'i32.minS':
      case 'i32.maxS': {
        const [value, limit, step] = isFactor(b, second) ? [a, b, first] : [b, a, second];
        if (!value.lane || !isFactor(limit, staysSame(first) ? first : second)) return undefined;
        this.clamps.add({ value, limit, isMost: op === 'i32.minS' });
        return step;
      }
      default:
        return undefined;
    }
  }

  #number(value: number): Node {
    return this.#graph.constant(BigInt(value), 'i32');
  }
}

export const staysSame = (node: Node): boolean => constantOf(node) === 0n;

export class SeriesPlan {
  /** Offset in the wave state of the scalar that has to be the workgroup's number. */
  readonly position: number;
  /** Values of the wave that are not the same in all workgroups. */
  readonly moving: readonly Node[];
  /** What emitting needs beside the values of the region. */
  readonly steps: ReadonlySet<Node>;
  /** Loads of the wave, which must find the same in all workgroups. */
  readonly loads: readonly Node[];
  /** What must hold for the steps to be right. */
  readonly clamps: readonly Clamp[];
  readonly #growths: Growths;

  constructor(position: number, growths: Growths, needed: readonly Node[], grown: readonly Node[]) {
    this.position = position;
    this.#growths = growths;
    this.moving = needed.filter((node) => node.phase === 'before' && this.growthOf(node) !== undefined);
    this.steps = nodesBehind([...this.moving, ...grown].flatMap((node) => this.growthOf(node) ?? []));
    this.loads = needed.filter(({ leaf, lane }) => leaf.kind === 'load' && !lane);
    this.clamps = [...growths.clamps];
  }

  /** The step of a value; undefined where it stays the same. */
  growthOf(node: Node): Node | undefined {
    const step = this.#growths.of(node)!;
    return staysSame(step) ? undefined : step;
  }
}

/** What is emitted between waves of a series. */
export interface SeriesSteps {
  /** Before another wave of the same workgroup, or the first one of the next. */
  readonly next: () => void;
  /** Before the next workgroup, first. */
  readonly onward: () => void;
}

/** A run of workgroups that are done together, or one wave of a workgroup alone. */
export interface Series {
  readonly plan: SeriesPlan;
  /** How many workgroups go with the one at hand; 0: the wave is alone. */
  readonly count: Local;
  /**
   * Emits what is done where all is known of the wave at hand: of the first one, of others, and before the
   * first one begins.
   */
  emitLooked(onFirst: () => void, onOther: () => void, begin: () => void): void;
  /** Emits `emitWave` for each wave. */
  emitEach(emitWave: () => void, steps: SeriesSteps): void;
  /** Where that is here, emits what follows a wave: `condition` is that of the region's branch. */
  emitBranch?(condition: Local): void;
}
