/**
 * Conditions that are the same in all lanes of most waves: that an element is inside of an array, or that it
 * is not on its border. Their operands grow by a step from lane to lane, so the first and the last lane tell.
 */
import {
  add64,
  and,
  assign,
  eqz,
  gtS64,
  gtU,
  operation,
  or,
  push,
  select,
  type Term,
  zext64,
} from '../../../wasm/expression.ts';
import type { BlockLabel, FunctionBuilder, Local } from '../../../wasm/function.ts';
import { areAhead } from './access-group.ts';
import { constantOf, isOp } from './graph.ts';
import type { LaneSteps } from './lane-steps.ts';
import type { Node } from './node.ts';
import type { LaneGuard } from './region.ts';
import type { Clamp, Series } from './series.ts';

/** A guard, before it is known what it is for. */
type Comparison = Omit<LaneGuard, 'idles'>;

/** Numbers that few are below, signed, and unsigned as `Graph` has such comparisons. */
const FIRST = new Set<bigint | undefined>([0n, 1n, -0x80000000n, -0x7fffffffn]);

/**
 * What a condition is in most waves. Compilers skip code by a mask of the lanes that need it, so that a
 * comparison with a limit, of whichever kind, holds in most elements. Few are the first ones or below, and
 * few are equal to something.
 */
export function usually(condition: Node): boolean {
  const [a, b] = condition.args as [Node, Node];
  if (isOp(condition, 'i1.not')) return isOp(a, 'i32.ltS') || !usually(a);
  if (isOp(condition, 'i1.and')) return usually(a) && usually(b);
  if (isOp(condition, 'i1.or')) return usually(a) || usually(b);
  if (isOp(condition, 'i32.ltS')) return !FIRST.has(constantOf(b));
  return !isOp(condition, 'i32.eq');
}

/** The comparisons that a guard consists of; undefined where it cannot be looked at. */
export function comparisonsOf({ condition, expected }: Comparison): readonly Comparison[] | undefined {
  if (isOp(condition, 'i1.not')) return comparisonsOf({ condition: condition.args[0]!, expected: !expected });
  if (isOp(condition, expected ? 'i1.and' : 'i1.or')) {
    const parts = condition.args.map((arg) => comparisonsOf({ condition: arg, expected }));
    return parts.every((part) => part !== undefined) ? parts.flat() : undefined;
  }
  if (!condition.lane) return condition.phase === 'before' ? [{ condition, expected }] : undefined;
  if (!isOp(condition, 'i32.ltS') && !isOp(condition, 'i32.eq')) return undefined;
  const own = { condition, expected };
  return areAhead(operandsOf(own)) ? [own] : undefined;
}

/** Lane values that a comparison needs the first and the last lane of. */
export const operandsOf = ({ condition }: Comparison): readonly Node[] =>
  condition.lane ? condition.args.flatMap(extremesOf) : [];

/** The values whose extremes are those of the node. */
function extremesOf(node: Node): readonly Node[] {
  if (!node.lane) return [];
  return isExtreme(node) ? node.args.flatMap(extremesOf) : [node];
}

const isExtreme = (node: Node): boolean => isOp(node, 'i32.maxS') || isOp(node, 'i32.minS');

/** The least and the largest value in any lane, signed; in a series, in any of its workgroups. */
interface Bounds {
  readonly low: Term;
  readonly high: Term;
}

/** Values whose lanes are further apart than this are not looked at here; such sums do not wrap twice. */
const MAX_STEP = 2 ** 24 - 1;

/** What is known of lanes that guards are of. */
interface GuardedLanes {
  readonly steps: LaneSteps;
  readonly lanesOfRow: number;
  /** Is made shorter where not all of it is as expected. */
  readonly series: Series | undefined;
}

export class Guards {
  readonly #f: FunctionBuilder;
  readonly #scalar: (node: Node) => Local;
  readonly #steps: LaneSteps;
  readonly #lanesOfRow: number;
  readonly #no: BlockLabel;
  readonly #series: Series | undefined;
  readonly #bounds = new Map<Node, Bounds>();
  readonly #held: Local[] = [];

  /** `steps`: of rows of so many lanes. `no`: where it goes that something else is in one of the lanes. */
  constructor(
    f: FunctionBuilder,
    scalar: (node: Node) => Local,
    { steps, lanesOfRow, series }: GuardedLanes,
    no: BlockLabel,
  ) {
    this.#f = f;
    this.#scalar = scalar;
    this.#steps = steps;
    this.#lanesOfRow = lanesOfRow;
    this.#series = series;
    this.#no = no;
  }

  /**
   * Goes to `idle` where the wave has nothing to do, if there is such a place, else to `no` unless all guards
   * are as expected in all lanes.
   */
  emit(guards: readonly LaneGuard[], idle: BlockLabel | undefined): void {
    const f = this.#f;
    if (this.#series) {
      for (const guard of guards) this.#shorten(this.#series, guard);
      for (const clamp of this.#series.plan.clamps) this.#keepWithin(this.#series, clamp);
    }
    for (const { condition, expected, idles } of guards) {
      if (!idle || !idles) continue;
      push(f, eqz(this.#mayBeOtherwise({ condition, expected: !expected })));
      f.brIf(idle);
    }
    for (const guard of guards) {
      push(f, this.#mayBeOtherwise(guard));
      f.brIf(this.#no);
    }
    f.free(...this.#held);
  }

  /** Whether a comparison may not be as expected in one of the lanes. */
  #mayBeOtherwise({ condition, expected }: Comparison): Term {
    if (!condition.lane) return operation('i32.ne', this.#scalar(condition), Number(expected));
    const [a, b] = condition.args.map((arg) => this.#boundsOf(arg)) as [Bounds, Bounds];
    if (isOp(condition, 'i32.ltS'))
      return expected ? operation('i32.ge_s', a.high, b.low) : operation('i32.lt_s', a.low, b.high);
    const differ = (x: Term, y: Term): Term => operation('i32.ne', x, y);
    if (expected) return or(or(differ(a.low, a.high), differ(b.low, b.high)), differ(a.low, b.low));
    return and(operation('i32.ge_s', a.high, b.low), operation('i32.ge_s', b.high, a.low));
  }

  #boundsOf(node: Node): Bounds {
    let bounds = this.#bounds.get(node);
    if (!bounds) {
      if (!node.lane) bounds = this.#ofScalar(node);
      else bounds = isExtreme(node) ? this.#extreme(node, isOp(node, 'i32.maxS')) : this.#ofSteps(node);
      this.#bounds.set(node, bounds);
    }
    return bounds;
  }

  #ofScalar(node: Node): Bounds {
    const low = this.#scalar(node);
    const grown = this.#grownBy(node);
    return { low, high: grown ? this.#number(add64(this.#lastOf(node), grown)) : low };
  }

  #extreme({ args }: Node, isMax: boolean): Bounds {
    const [a, b] = args.map((arg) => this.#boundsOf(arg)) as [Bounds, Bounds];
    const chosen = (x: Term, y: Term): Local =>
      this.#made(select(x, y, operation(isMax ? 'i32.gt_s' : 'i32.lt_s', x, y)));
    return { low: chosen(a.low, b.low), high: chosen(a.high, b.high) };
  }

  /**
   * Lets the series end before the first workgroup in which a value that grows comes to its limit. The wave
   * itself is looked at by others.
   */
  #shorten(series: Series, { condition, expected }: LaneGuard): void {
    if (!isOp(condition, 'i32.ltS')) return;
    const [a, b] = condition.args as [Node, Node];
    const [moving, limit] = expected ? [a, b] : [b, a];
    if (limit.lane || series.plan.growthOf(limit)) return;
    const scalar = operation('i64.extend_i32_s', this.#scalar(limit));
    this.#keepUpTo(series, moving, expected ? add64(scalar, -1n) : scalar);
  }

  /** Lets the series end before a value comes to its limit; there is none where the wave is at it. */
  #keepWithin(series: Series, { value, limit, isMost }: Clamp): void {
    const f = this.#f;
    const { low } = this.#boundsOf(value);
    if (isMost) this.#keepUpTo(series, value, operation('i64.extend_i32_s', this.#scalar(limit)));
    else assign(f, series.count, select(series.count, 0, operation('i32.ge_s', low, this.#scalar(limit))));
  }

  /** `most`: what a value may be in any lane, 64 bits. */
  #keepUpTo(series: Series, node: Node, most: Term): void {
    if (isOp(node, 'i32.maxS')) for (const arg of node.args) this.#keepUpTo(series, arg, most);
    const growth = isExtreme(node) ? undefined : series.plan.growthOf(node);
    if (!growth) return;
    const f = this.#f;
    const { count } = series;
    const last = this.#lastOf(node);
    f.get(count);
    f.if(undefined, () => {
      const [room, step] = [f.local('i64'), f.local('i64')];
      assign(f, room, operation('i64.sub', most, last));
      assign(f, step, zext64(this.#scalar(growth)));
      push(f, gtS64(operation('i64.mul', step, zext64(count)), room));
      f.if(undefined, () => {
        const shorter = operation('i32.wrap_i64', operation('i64.div_s', room, step));
        assign(f, count, select(shorter, 0, gtS64(room, 0n)));
      });
      f.free(room, step);
    });
  }

  /** The last lane's value in the workgroup at hand, 64 bits. */
  #lastOf(node: Node): Term {
    if (!node.lane) return operation('i64.extend_i32_s', this.#scalar(node));
    const { first, step, pitches } = this.#steps.of(node);
    const sum64 = (a: Term, b: Term): Term => add64(a, zext64(b));
    const inRow = operation('i32.mul', step, this.#lanesOfRow - 1);
    return pitches.reduce<Term>(sum64, sum64(operation('i64.extend_i32_s', first), inRow));
  }

  /** How much more a value is in the last workgroup of the series, 64 bits. */
  #grownBy(node: Node): Term | undefined {
    const growth = this.#series?.plan.growthOf(node);
    return growth && operation('i64.mul', zext64(this.#scalar(growth)), zext64(this.#series!.count));
  }

  #ofSteps(node: Node): Bounds {
    const f = this.#f;
    const { first, step, pitches } = this.#steps.of(node);
    push(f, gtU(pitches.reduce<Term>(or, step), MAX_STEP));
    f.brIf(this.#no);
    const grown = this.#grownBy(node);
    return { low: first, high: this.#number(grown ? add64(this.#lastOf(node), grown) : this.#lastOf(node)) };
  }

  /** A value of 64 bits, which must be a number of 32 bits. */
  #number(value: Term): Local {
    const f = this.#f;
    const wide = f.local('i64');
    assign(f, wide, value);
    push(f, gtS64(wide, 0x7fffffffn));
    f.brIf(this.#no);
    const number = this.#made(operation('i32.wrap_i64', wide));
    f.free(wide);
    return number;
  }

  #made(value: Term): Local {
    const local = this.#f.local('i32');
    this.#held.push(local);
    assign(this.#f, local, value);
    return local;
  }
}
