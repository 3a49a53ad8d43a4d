/**
 * Accesses of a whole wave that are looked at before its first chunk: where addresses grow by one step from
 * lane to lane, and by others from row to row, a row being 16 lanes. That holds for lanes in one dimension,
 * and for those of workgroups whose rows in two dimensions are 16 or 32 lanes. All that is accessed is
 * permitted then, and no lane touches what another one stores: so it does not matter which chunk goes first.
 */
import {
  add64,
  and,
  assign,
  eqz,
  gtU,
  gtU64,
  loadFrom,
  ltU,
  mul,
  ne,
  operation,
  or,
  type Push,
  push,
  shl,
  sub,
  sum,
  type Term,
  xor,
  zext64,
} from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import { MAX_LDS_BYTES, WAVE_SERIES_ROWS } from '../../machine/layout.ts';
import type { AccessGroup } from './access-group.ts';
import { isIndexFar } from './address-checks.ts';
import { withoutOffset } from './address-parts.ts';
import { allocationAt } from './allocation-at.ts';
import { isFollowing } from './following-lanes.ts';
import { Guards } from './guards.ts';
import type { LaneRows, LaneSteps } from './lane-steps.ts';
import type { EmittedValues, LinearEnvironment } from './linear-access.ts';
import type { LinearAccesses } from './linear-accesses.ts';
import { isSummandFar } from './linear-terms.ts';
import type { IndexedAddress, Node } from './node.ts';
import type { LaneGuard } from './region.ts';
import type { Series } from './series.ts';

/** Chunks of a row. */
export const ROW_CHUNKS = 4;
const ROW_LANES = ROW_CHUNKS * 4;
/** Lanes, and rows, that are further apart, in bytes, are not looked at here; such sums do not wrap. */
const MAX_DISTANCE_LOG2 = 24;

/** What a group touches, and where its rows are. */
interface Extent {
  readonly start: Local;
  readonly end: Local;
  /** Where the next row's first lane is. */
  readonly row: Local;
  /** Where the second and the third row are, in bytes from the first one; the fourth is both behind it. */
  readonly pitches: readonly Local[];
  readonly series: SeriesExtent | undefined;
}

/** The same of the first wave of a series. */
interface SeriesExtent {
  /** Bytes from one workgroup to the next, and where the last one ends. */
  readonly growth: Local;
  readonly end: Local;
  /** Where the first row is in the workgroup at hand, and how lanes and rows follow. */
  readonly row: Local;
  readonly stride: Local;
  readonly pitches: readonly Local[];
}

/** What a wave is looked at for besides its accesses. */
interface WholeWaveOptions {
  /** Comparisons, of whose operands `LinearAccesses` knows. */
  readonly guards: readonly LaneGuard[];
  readonly series: Series | undefined;
}

const isLds = ({ space }: AccessGroup): boolean => space === 'lds';

const sizeBytesOf = ({ leaf }: Node): number => (leaf.kind === 'load' ? leaf.sizeBytes : 0);

const anyBit = ([first, ...others]: readonly [Local, ...Local[]]): Term => others.reduce<Term>(or, first);

/** Whether each lane loads from what it stores itself. */
const isOwn = (load: AccessGroup, store: AccessGroup): boolean =>
  load.space === store.space &&
  load.parts.low === store.parts.low &&
  load.parts.high === store.parts.high &&
  load.min >= store.min &&
  load.max <= store.max;

/** Whether something goes wrong if one of two groups goes first. */
const mayMeet = (a: AccessGroup, b: AccessGroup): boolean =>
  (a.writes || b.writes) && isLds(a) === isLds(b) && !(a.writes ? !b.writes && isOwn(b, a) : isOwn(a, b));

export class WholeWaveAccesses {
  readonly #environment: LinearEnvironment;
  readonly #linear: LinearAccesses;
  readonly #rows: LaneRows;
  readonly #guards: readonly LaneGuard[];
  readonly #series: Series | undefined;
  readonly #extents: ReadonlyMap<AccessGroup, Extent>;

  /** `linear`: makes the accesses of a chunk. */
  constructor(
    environment: LinearEnvironment,
    linear: LinearAccesses,
    groups: Iterable<AccessGroup>,
    { guards, series }: WholeWaveOptions,
  ) {
    this.#environment = environment;
    this.#guards = guards;
    this.#series = series;
    this.#linear = linear;
    const { f, spaces } = environment.state;
    const isEntry = guards.length > 0;
    this.#rows = { chunks: ROW_CHUNKS, count: spaces.waveSize / ROW_LANES, isEntry };
    const local = (): Local => f.local('i32');
    const pitches = (): Local[] => (this.#rows.count > 2 ? [local(), local()] : [local()]);
    const extent = (): Extent => ({
      ...{ start: local(), end: local(), row: local(), pitches: pitches() },
      series: series && { growth: local(), end: local(), row: local(), stride: local(), pitches: pitches() },
    });
    this.#extents = new Map([...new Set(groups)].map((group) => [group, extent()]));
  }

  release(): void {
    const locals = [...this.#extents.values()].flatMap(({ start, end, row, pitches, series }) => [
      ...[start, end, row, ...pitches],
      ...(series ? [series.growth, series.end, series.row, series.stride, ...series.pitches] : []),
    ]);
    this.#environment.state.f.free(...locals);
  }

  /**
   * Goes to `no` unless all is as it must be; `at` emits values of a chunk. `idle`: where waves go that have
   * nothing to do.
   */
  emit(at: (chunk: number) => EmittedValues, no: BlockLabel, idle: BlockLabel | undefined): void {
    const { state, scalar } = this.#environment;
    const { f, spaces } = state;
    const steps = this.#linear.terms.look(spaces.waveSize / 4, at, no, this.#rows);
    const series = this.#series;
    new Guards(f, scalar, { steps, lanesOfRow: ROW_LANES, series }, no).emit(this.#guards, idle);
    for (const [group, extent] of this.#extents) this.#open(group, extent, steps, no);
    if (series) this.#refuseFarSummands(series, steps, no);
    steps.release();
    this.#refuseMeeting(no);
    if (series) this.#refuseStoresToLoads(series, no);
  }

  /** Goes to the first lane of the next row. */
  beginRow(groups: Iterable<AccessGroup> = this.#extents.keys()): void {
    const { f } = this.#environment.state;
    for (const group of groups) {
      const { row, pitches } = this.#extents.get(group)!;
      const [pitch, third] = pitches as [Local, Local?];
      assign(f, this.#linear.of(group).address, row);
      assign(f, row, sum(row, pitch));
      if (third !== undefined) assign(f, pitch, sub(third, pitch));
    }
  }

  /** Emits where the rows of some groups are, for `restoreRows`. */
  keepRows(groups: readonly AccessGroup[]): ReadonlyMap<AccessGroup, Local> {
    const { f } = this.#environment.state;
    return new Map(
      groups.map((group) => {
        const kept = f.local('i32');
        assign(f, kept, this.#extents.get(group)!.row);
        return [group, kept];
      }),
    );
  }

  restoreRows(kept: ReadonlyMap<AccessGroup, Local>): void {
    const { f } = this.#environment.state;
    for (const [group, row] of kept) assign(f, this.#extents.get(group)!.row, row);
    f.free(...kept.values());
  }

  /** Behind all rows of a wave, goes to the first one that it has in the next workgroup. */
  goOn(groups: readonly AccessGroup[]): void {
    const { f } = this.#environment.state;
    for (const group of groups) {
      const { row, pitches, series } = this.#extents.get(group)!;
      // There it is two pitches from the first row.
      assign(f, row, sum(row, sub(series!.growth, shl(pitches.at(-1)!, 1))));
    }
  }

  /** What a group touches, in all workgroups of the series. */
  rangeOf(group: AccessGroup): { readonly start: Local; readonly end: Local } {
    const { start, end, series } = this.#extents.get(group)!;
    return { start, end: series?.end ?? end };
  }

  get stores(): readonly { readonly start: Local; readonly end: Local }[] {
    return [...this.#extents.keys()].flatMap((group) => (group.writes ? [this.rangeOf(group)] : []));
  }

  /**
   * Keeps where the rows are of each wave that was looked at. All must be in rows alike: then it is known of
   * the others by that. `begin`: what begins the first wave.
   */
  emitLooked(series: Series, begin: () => void): void {
    const { f, wave } = this.#environment.state;
    const all = [...this.#extents].map(([group, { row, pitches, series }]) => ({
      ...{ row, first: series!.row },
      alike: [
        [this.#linear.of(group).stride!, series!.stride],
        ...pitches.map((pitch, i) => [pitch, series!.pitches[i]!]),
      ],
    }));
    const keep = (): void => {
      for (const [i, { row, first }] of all.entries()) {
        f.get(wave);
        push(f, sub(row, first));
        f.store('i32.store', WAVE_SERIES_ROWS + 4 * i);
      }
    };
    const onFirst = (): void => {
      for (const { row, first, alike } of all) {
        assign(f, first, row);
        for (const [own, known] of alike) assign(f, known!, own!);
      }
      keep();
    };
    const onOther = (): void => {
      const differences = all.flatMap(({ alike }) => alike.map(([own, known]) => xor(own!, known!)));
      push(f, differences.reduce(or));
      f.if(undefined, () => assign(f, series.count, 0));
      keep();
    };
    series.emitLooked(onFirst, onOther, begin);
  }

  /** Goes to the first row of a wave in the workgroup at hand. */
  beginWave(): void {
    const { f, wave } = this.#environment.state;
    for (const [i, { row, series }] of [...this.#extents.values()].entries())
      assign(f, row, sum(series!.row, loadFrom('i32.load', wave, WAVE_SERIES_ROWS + 4 * i)));
  }

  /** Goes to the next workgroup. */
  beginWorkgroup(): void {
    const { f } = this.#environment.state;
    for (const { series } of this.#extents.values()) assign(f, series!.row, sum(series!.row, series!.growth));
  }

  #open(group: AccessGroup, extent: Extent, steps: LaneSteps, no: BlockLabel): void {
    const { start, end, row, pitches, series } = extent;
    const { f } = this.#environment.state;
    const { stride } = this.#linear.of(group);
    const { indexed } = group.parts;
    const { min, max, writes, unitBytes } = group;
    if (series) this.#openSeries(this.#series!, group, series, steps, no);
    if (indexed) this.#openIndexed(group, indexed, { row, stride: stride!, pitches }, steps, no);
    else {
      const { first, step, pitches: own } = steps.of(group.parts.low);
      assign(f, row, first);
      assign(f, stride!, step);
      for (const [i, pitch] of pitches.entries()) assign(f, pitch, own[i]!);
      push(f, this.#areFar([stride!, ...pitches], 0));
      f.brIf(no);
    }
    if (this.#linear.needsFollowing(group)) {
      push(f, eqz(isFollowing(stride!, unitBytes, group)));
      f.brIf(no);
    }
    this.#refuseMisaligned(group, row, anyBit([stride!, ...pitches, ...(series ? [series.growth] : [])]), no);
    const inRow = mul(stride!, ROW_LANES - 1);
    const reach = sum(inRow, ...pitches);
    if (isLds(group)) this.#openLds(group, row, reach, no);
    assign(f, start, sum(row, min));
    assign(f, end, sum(start, reach, max - min));
    if (series) assign(f, series.end, sum(end, mul(series.growth, this.#series!.count)));
    if (!isLds(group)) this.#openGlobal(group, start, series?.end ?? end, no);
    // What is stored is each lane's own.
    if (writes) {
      const [second, third] = pitches as [Local, Local?];
      const row = sum(inRow, max - min);
      const isNear = or(ltU(stride!, max - min), ltU(second, row));
      push(f, third === undefined ? isNear : or(isNear, ltU(third, sum(second, row))));
      f.brIf(no);
    }
    this.#linear.setVector(group);
  }

  /** Emits how far a group's accesses go on from one workgroup to the next. */
  #openSeries(
    { plan, count }: Series,
    group: AccessGroup,
    { growth }: SeriesExtent,
    steps: LaneSteps,
    no: BlockLabel,
  ): void {
    const { state, scalar } = this.#environment;
    const { f } = state;
    const { indexed, low } = group.parts;
    const step = plan.growthOf(indexed?.index ?? low);
    if (!step) {
      assign(f, growth, 0);
      return;
    }
    const shift = indexed?.shift ?? 0;
    const first = indexed && steps.of(indexed.index).first;
    assign(f, growth, shl(scalar(step), shift));
    f.get(count);
    f.if(undefined, () => {
      push(f, gtU(scalar(step), 2 ** (MAX_DISTANCE_LOG2 - shift) - 1));
      f.brIf(no);
      if (!first) return;
      const last = f.local('i32');
      assign(f, last, sum(first, mul(scalar(step), count)));
      push(f, isIndexFar(last, indexed!.isSigned));
      f.brIf(no);
      f.free(last);
    });
  }

  /** Summands must not wrap in the last workgroup either. */
  #refuseFarSummands({ plan, count }: Series, steps: LaneSteps, no: BlockLabel): void {
    const { state, scalar } = this.#environment;
    const { f } = state;
    const summands = [...this.#extents.keys()].flatMap(({ parts }) => parts.indexed?.summands ?? []);
    for (const summand of new Set(summands)) {
      const step = plan.growthOf(summand);
      if (!step) continue;
      push(f, and(ne(count, 0), isSummandFar(steps.of(summand).first, scalar(step), count)));
      f.brIf(no);
    }
  }

  /** What the wave loads once must not be stored to by any of the workgroups. */
  #refuseStoresToLoads({ plan, count }: Series, no: BlockLabel): void {
    const { state, scalar } = this.#environment;
    const { f } = state;
    const places = plan.loads.map((load) => ({ load, ...withoutOffset(load.args[0]!) }));
    f.get(count);
    f.if(undefined, () => {
      const first = f.local('i32');
      for (const [base, loads] of Map.groupBy(places, ({ base }) => base)) {
        const min = Math.min(...loads.map(({ offset }) => offset));
        const end = Math.max(...loads.map(({ load, offset }) => offset + sizeBytesOf(load)));
        assign(f, first, sum(operation('i32.wrap_i64', scalar(base)), min));
        for (const store of this.stores) {
          push(f, and(ltU(first, store.end), ltU(store.start, sum(first, end - min))));
          f.brIf(no);
        }
      }
      f.free(first);
    });
  }

  /** Whether one of some steps, in units of 2^shift bytes, is too far, or goes down. */
  #areFar(steps: readonly [Local, ...Local[]], shift: number): Push {
    return gtU(anyBit(steps), 2 ** (MAX_DISTANCE_LOG2 - shift) - 1);
  }

  #openIndexed(
    group: AccessGroup,
    { index, shift, isSigned, baseLow, baseHigh }: IndexedAddress,
    { row, stride, pitches }: Pick<Extent, 'row' | 'pitches'> & { readonly stride: Local },
    steps: LaneSteps,
    no: BlockLabel,
  ): void {
    const { state, scalar } = this.#environment;
    const { f, spaces } = state;
    const { first, step, pitches: own } = steps.of(index);
    push(f, or(this.#areFar([step, ...own], shift), isIndexFar(first, isSigned)));
    f.brIf(no);
    const inWindow = f.local('i64');
    const high = sub(scalar(baseHigh), spaces.windowHi);
    const base = operation('i64.or', operation('i64.shl', zext64(high), 32n), zext64(scalar(baseLow)));
    const index64 = operation(isSigned ? 'i64.extend_i32_s' : 'i64.extend_i32_u', first);
    assign(f, inWindow, add64(base, operation('i64.shl', index64, BigInt(shift))));
    if (this.#linear.looksAtHigh(group)) {
      push(f, gtU64(inWindow, 0xffffffffn));
      f.brIf(no);
    }
    assign(f, row, operation('i32.wrap_i64', inWindow));
    f.free(inWindow);
    assign(f, stride, shl(step, shift));
    for (const [i, pitch] of pitches.entries()) assign(f, pitch, shl(own[i]!, shift));
  }

  #refuseMisaligned({ alignmentBytes, misalignmentBytes }: AccessGroup, first: Local, steps: Term, no: BlockLabel) {
    if (alignmentBytes === 1) return;
    const { f } = this.#environment.state;
    push(f, and(or(sum(first, misalignmentBytes), steps), alignmentBytes - 1));
    f.brIf(no);
  }

  /** Makes `row` an address of device memory. */
  #openLds({ max }: AccessGroup, row: Local, reach: Term, no: BlockLabel): void {
    const { state, hoisted } = this.#environment;
    const { f } = state;
    if (state.context.checksAccesses) {
      // No sum wraps: steps are below 2^24, and the first one is below the size, or is refused.
      const size = hoisted.sizeBytes('lds');
      push(f, or(gtU(row, MAX_LDS_BYTES), gtU(sum(row, reach, max), size)));
      f.brIf(no);
    }
    assign(f, row, sum(row, hoisted.base('lds')));
  }

  /** Goes to `no` where not all from `start` to `end` is in one allocation, and permitted. */
  #openGlobal(group: AccessGroup, start: Local, end: Local, no: BlockLabel): void {
    const { state, scalar } = this.#environment;
    const { f, spaces } = state;
    const { parts } = group;
    if (!this.#linear.looksAtHigh(group)) return;
    if (!parts.indexed && !parts.high!.lane) {
      push(f, ne(scalar(parts.high!), spaces.windowHi));
      f.brIf(no);
    }
    const allocation = allocationAt(f, start);
    const isBeyond = or(ltU(end, start), gtU(sub(end, allocation.start), allocation.sizeBytes));
    push(f, or(isBeyond, eqz(allocation.permits(group))));
    f.brIf(no);
    allocation.release();
  }

  #refuseMeeting(no: BlockLabel): void {
    const { f } = this.#environment.state;
    const all = [...this.#extents];
    for (const [i, [a, own]] of all.entries()) {
      for (const [b, other] of all.slice(i + 1)) {
        if (!mayMeet(a, b)) continue;
        push(f, and(ltU(own.start, other.end), ltU(other.start, own.end)));
        f.brIf(no);
      }
    }
  }
}
