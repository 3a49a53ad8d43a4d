/**
 * The lane values of a region: a loop over the chunks of 4 lanes. Chunks whose lanes are all active go
 * through a body without masks and without calls. Where that meets something unusual (a NaN, an access that
 * is not plain) it has changed nothing yet that the region reads, and the chunk goes through a second body,
 * which can do everything; so do chunks with some lanes off. Few operations without accesses run for all
 * chunks with masks and without a loop.
 */
import { assign, eq, ne, operation, or, push, sum } from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import type { Lanes } from '../../lowering/emitter.ts';
import type { FunctionState } from '../function/function-state.ts';
import { type AccessGroup, groupAccesses, haveFastAccess, isAheadOfChunk } from './access-group.ts';
import { clearBallots, readBallots } from './ballots.ts';
import type { BodyValues } from './body-values.ts';
import { ChunkBody, type ChunkEnvironment, type FastEnvironment } from './chunk-body.ts';
import { ChunkCursor } from './chunk-cursor.ts';
import { ChunkWays, isLong, isShort, type SlowBody } from './chunk-ways.ts';
import { FoundLoads, indexValues } from './found-loads.ts';
import { newFoundRanges } from './found-range.ts';
import { operandsOf } from './guards.ts';
import { Hoisted } from './hoisted.ts';
import type { ApartLanes } from './lanes-part.ts';
import type { EmittedValues } from './linear-access.ts';
import { LinearAccesses } from './linear-accesses.ts';
import { maskedPart, mayBeMasked } from './masked-part.ts';
import { lanesBehind, type Node, type NodeOf } from './node.ts';
import { type OtherChunks, otherChunks } from './other-chunks.ts';
import { mayBePacked, packedPart } from './packed-part.ts';
import { PermittedRanges } from './permitted-ranges.ts';
import type { Region } from './region.ts';
import type { RegionLanes } from './region-lanes.ts';
import { RowCopies } from './row-copies.ts';
import { isWorthRow, mayBeRows, rowPart, rowsPart } from './row-part.ts';
import type { Series } from './series.ts';
import { slowPart } from './slow-part.ts';
import { splatsOf } from './splats.ts';
import { NO_FACTS } from './usual.ts';
import { ROW_CHUNKS, WholeWaveAccesses } from './whole-wave-accesses.ts';

/** Masks up to which each is in a local while chunks run. */
const FEW_BALLOTS = 4;
/**
 * Chunks whose addresses are looked at together: 16 lanes, a row of the usual workgroups in two dimensions.
 */
const AHEAD_CHUNKS = 4;
const AHEAD_LANES = AHEAD_CHUNKS * 4;
/** What bodies use, and what they are to compute: all there is, and what is usual. */
interface LoopContents {
  readonly environment: ChunkEnvironment;
  readonly all: BodyValues;
  readonly usually: BodyValues;
  readonly groups: ReadonlyMap<Node, AccessGroup>;
  readonly hoisted: Hoisted;
  readonly ranges: PermittedRanges;
  /** A value of the wave in each lane, where bodies use it. */
  splatOf(node: Node): Lanes | undefined;
  /** Emits what all bodies use; `release` frees it. */
  emit(): void;
  release(): void;
}

/** Emits a call for a row with some lanes off, see row-part.ts. */
type RowCall = (chunk: Local, bits: Local) => void;

interface LinearBody {
  readonly accesses: LinearAccesses;
  readonly body: ChunkBody;
}

/** How chunks go that are not in rows of lanes at equal distances. */
interface OtherWays {
  readonly fast: ChunkBody;
  readonly slow: SlowBody;
  /** Of lanes anywhere; without it they go the fast way in place. */
  readonly others: OtherChunks | undefined;
  /** Of rows with some lanes off. */
  readonly row: RowCall | undefined;
}

export class ChunkLoop {
  readonly ballots = new Map<NodeOf<'ballot'>, Local>();
  readonly #state: FunctionState;
  readonly #region: Region;
  readonly #values: RegionLanes;
  readonly #scalar: (node: Node) => Local;
  readonly #copies: RowCopies;
  readonly #at: ChunkCursor;
  readonly #ways: ChunkWays;
  /** Of EXEC, what is to be done yet, where some lanes went first. */
  #left: Local | undefined;

  constructor(state: FunctionState, region: Region, values: RegionLanes, scalar: (node: Node) => Local) {
    this.#state = state;
    this.#region = region;
    this.#values = values;
    this.#scalar = scalar;
    this.#at = new ChunkCursor(state);
    this.#ways = new ChunkWays(state, this.#at, () => this.#exec);
    this.#copies = new RowCopies(state);
    for (const ballot of values.ballots) this.ballots.set(ballot, state.f.local('i64'));
  }

  emit(): void {
    const isFast = haveFastAccess(this.#values.usualLanes);
    const contents = this.#contents(isFast);
    const { environment, usually, groups, hoisted, ranges } = contents;
    if (isFast) ranges.beginRegion(groups.values(), this.#scalar);
    const fastly = { hoisted, groups, ranges, linear: undefined };
    const fast = isFast ? new ChunkBody(environment, usually, fastly) : undefined;
    this.#prepare();
    const main = (): void => this.#emitMain(contents, fast, fastly);
    if (fast && !isShort(fast) && !isLong(fast) && mayBePacked(usually.lanes, groups))
      this.#emitFirst(packedPart(environment, usually, groups), main);
    else if (fast && isLong(fast) && mayBeMasked(usually.lanes)) {
      const others = (): void => this.#emitFirst(maskedPart(environment, usually, groups), main);
      if (mayBeRows(groups)) this.#emitFirst(rowsPart(environment, usually, groups), others);
      else others();
    } else main();
    this.#readBallots();
    this.#at.release();
  }

  #emitMain(contents: LoopContents, fast: ChunkBody | undefined, fastly: FastEnvironment): void {
    const { environment, all, usually, groups, hoisted } = contents;
    contents.emit();
    const isAtomic = all.lanes.some(({ leaf }) => leaf.kind === 'atomic');
    const ahead = new Set([...groups.values()].filter((group) => !isAtomic && isAheadOfChunk(group)));
    this.#at.goToFirst();
    if (fast && !isShort(fast) && ahead.size > 0) {
      const accesses = new LinearAccesses(
        { state: this.#state, hoisted, ranges: fastly.ranges, scalar: this.#scalar },
        ahead,
      );
      const linear = { accesses, body: new ChunkBody(environment, usually, { ...fastly, linear: accesses }) };
      const others = (): OtherChunks => otherChunks(environment, { all, usually }, groups);
      if (isLong(fast)) this.#emitLongRows(linear, others());
      else {
        const slow = this.#slowBody(environment, all, true);
        // In LDS chunks are so short that the call would cost more than it saves.
        const isInLds = [...groups.values()].some(({ space }) => space === 'lds');
        const row = mayBeRows(groups) ? rowPart(environment, usually, groups) : undefined;
        this.#emitRows(linear, { fast, slow, others: isInLds ? undefined : others(), row });
      }
      accesses.release();
    } else {
      fast?.prepare();
      const slow = this.#slowBody(environment, all, fast !== undefined);
      if (!fast) this.#ways.emitSlowLoop(slow);
      else if (isShort(fast)) this.#ways.emitShort(fast, slow);
      else this.#ways.emit(fast, slow);
      fast?.release();
    }
    contents.release();
  }

  /**
   * Of merged regions and full waves, for waves of which all lanes are active. Goes to `otherwise`, with
   * nothing changed, where accesses or guards are not as `WholeWaveAccesses` wants them; to `idle`, if that
   * is there, where the wave has nothing to do. With `series` all that follows is done for each of its
   * workgroups, and `emitAfter` emits what follows a wave.
   */
  emitWhole(
    otherwise: BlockLabel,
    idle: BlockLabel | undefined,
    series: Series | undefined,
    emitAfter = (): void => {},
  ): void {
    const contents = this.#contents(true);
    const { environment, all, usually, groups, hoisted, ranges } = contents;
    this.#prepare();
    contents.emit();
    const accessed = { state: this.#state, hoisted, scalar: this.#scalar };
    const { guards } = this.#region;
    const accesses = new Set(groups.values());
    const ahead = [...accesses].filter(isAheadOfChunk);
    const found = newFoundRanges(this.#state.f, accesses.difference(new Set(ahead)));
    const others = [...guards.flatMap(operandsOf), ...(series?.plan.clamps ?? []).map(({ value }) => value)];
    const linear = new LinearAccesses(accessed, ahead, others);
    const fastly = { hoisted, groups, ranges, linear, found };
    // Where a chunk gives up, it has stored nothing.
    const isStore = ({ leaf }: Node): boolean => leaf.kind === 'store';
    const lanes = [...usually.lanes.filter((node) => !isStore(node)), ...usually.lanes.filter(isStore)];
    const body = new ChunkBody(environment, { ...usually, lanes }, fastly);
    const slow = this.#slowBody(environment, all, true);
    const wave = new WholeWaveAccesses(accessed, linear, ahead, { guards, series });
    this.#at.goToFirst();
    wave.emit(this.#valuesAhead(body, linear), otherwise, idle);
    const finding = new ChunkBody(environment, indexValues(found.keys()), fastly);
    const loads = found.size > 0 ? new FoundLoads(accessed, found, groups, finding, wave) : undefined;
    loads?.emit(this.#at, series, otherwise);
    const emitWave = (): void => {
      this.#clearBallots();
      this.#emitRowsOf(wave, body, slow);
      this.#readBallots();
      emitAfter();
    };
    if (series) this.#emitSeries(series, wave, contents, emitWave);
    else emitWave();
    loads?.release();
    wave.release();
    linear.release();
    contents.release();
    this.#at.release();
  }

  /** What `wave` has looked at. */
  #emitRowsOf(wave: WholeWaveAccesses, body: ChunkBody, slow: SlowBody): void {
    const { f } = this.#state;
    const end = f.local('i32');
    f.loop(undefined, (again) => {
      assign(f, end, sum(this.#at.chunk, ROW_CHUNKS * 4));
      f.block(undefined, (done) => {
        f.block(undefined, (giveUp) => {
          wave.beginRow();
          this.#ways.emitChunks(body, ROW_CHUNKS, end, giveUp);
          f.br(done);
        });
        this.#ways.emitSlowLoop(slow, end);
      });
      this.#at.pushIsBeforeEnd();
      f.brIf(again);
    });
    f.free(end);
  }

  /** All that is in a series. */
  #emitSeries(series: Series, wave: WholeWaveAccesses, { splatOf }: LoopContents, emitWave: () => void): void {
    const { f } = this.#state;
    const { plan } = series;
    const begin = (): void => {
      wave.beginWave();
      this.#at.goToFirst();
    };
    const onward = (): void => {
      for (const node of plan.moving) {
        const local = this.#scalar(node);
        assign(f, local, sum(local, this.#scalar(plan.growthOf(node)!)));
        const splat = splatOf(node);
        if (splat) assign(f, splat[0]!, operation('i32x4.splat', local));
      }
      wave.beginWorkgroup();
    };
    wave.emitLooked(series, begin);
    series.emitEach(emitWave, { next: begin, onward });
  }

  #contents(isFast: boolean): LoopContents {
    const { lanes, usual, usualLanes } = this.#values;
    const all = this.#bodyValues(lanes, (node) => node);
    const usually = { ...this.#bodyValues(usualLanes, (node) => usual.of(node)), ...usual.facts };
    const guarded = lanesBehind(this.#region.guards.flatMap(operandsOf));
    const groups = isFast ? groupAccesses(usualLanes) : new Map<Node, AccessGroup>();
    const hoisted = new Hoisted(this.#state.f);
    const ranges = new PermittedRanges(this.#state);
    let splats: ReadonlyMap<Node, Lanes> = new Map();
    const environment: ChunkEnvironment = {
      state: this.#state,
      region: this.#region,
      scalar: this.#scalar,
      splat: (node) => splats.get(node)!,
      ranges: ranges.places,
      gatheredRow: (offset) => this.#copies.of(offset),
    };
    const emit = (): void => {
      const values = isFast ? { ...usually, lanes: [...usually.lanes, ...guarded] } : all;
      splats = splatsOf(this.#state, values, isFast, this.#scalar);
      hoisted.emit(this.#state, new Set(groups.values()));
    };
    const release = (): void => {
      hoisted.release();
      this.#state.f.free(...new Set([...splats.values()].flat()));
    };
    const splatOf = (node: Node): Lanes | undefined => splats.get(node);
    return { environment, all, usually, groups, hoisted, ranges, splatOf, emit, release };
  }

  /** What `linear` asks of the chunks from the one at hand on. */
  #valuesAhead(body: ChunkBody, linear: LinearAccesses) {
    const place = { chunk: this.#at.chunk, pointer: this.#at.pointer };
    return (i: number): EmittedValues => body.evaluate({ ...place, offset: i * 4 }, linear.terms.nodes);
  }

  #bodyValues(lanes: readonly Node[], of: (node: Node) => Node): BodyValues {
    return {
      lanes,
      rows: new Map([...this.#region.rows].map(([offset, node]) => [offset, of(node)])),
      ballots: new Map(this.#areMany ? [] : [...this.ballots].map(([{ args }, local]) => [local, of(args[0]!)])),
      manyBallots: this.#areMany ? [...this.ballots.keys()].map(({ args }) => of(args[0]!)) : [],
      ...NO_FACTS,
    };
  }

  /** Some of EXEC's lanes go first, apart; `call` leaves those of them that are to go another way. */
  #emitFirst({ lanes, ifWorth, call }: ApartLanes, rest: () => void): void {
    const { f } = this.#state;
    const exec = this.#exec;
    const [left, first] = [f.local('i64'), f.local('i64')];
    assign(f, left, exec);
    assign(f, first, lanes(exec));
    this.#left = left;
    f.block(undefined, (done) => {
      ifWorth(f, first, () => {
        push(f, operation('i64.xor', exec, first));
        call(first);
        f.op('i64.or');
        f.tee(left);
        f.op('i64.eqz');
        f.brIf(done);
      });
      rest();
    });
    this.#left = undefined;
    f.free(left, first);
  }

  /** Lanes to be done. */
  get #exec(): Local {
    return this.#left ?? this.#scalar(this.#region.exec!);
  }

  /** Rows whose lanes' addresses are at equal distances, and what is not so. */
  #emitRows(linear: LinearBody, { fast, slow, others, row }: OtherWays): void {
    const { f, spaces } = this.#state;
    const [bits, end, last] = [f.local('i32'), f.local('i32'), f.local('i32')];
    // Whether lanes of this wave were at no equal distances: those behind them are not looked at then.
    const apart = f.local('i32');
    assign(f, apart, 0);
    f.loop(undefined, (again) => {
      f.block(undefined, (done) => {
        f.block(undefined, (giveUp) => {
          f.block(undefined, (partial) => {
            this.#refuseUnlessFull(bits, partial);
            assign(f, end, sum(this.#at.chunk, AHEAD_LANES));
            f.block(undefined, (no) => {
              if (!others) {
                push(f, apart);
                f.brIf(no);
              }
              this.#emitLinear(linear, end, no, giveUp);
              f.br(done);
            });
            if (others) {
              assign(f, last, spaces.waveSize);
              this.#emitOthers(others, last);
            } else {
              assign(f, apart, 1);
              this.#ways.emitChunks(fast, AHEAD_CHUNKS, end, giveUp);
            }
            f.br(done);
          });
          // The chunks before may have led into the middle of a row.
          assign(f, end, sum(or(this.#at.chunk, AHEAD_LANES - 1), 1));
          if (row) this.#emitRow(row, bits, end, done);
        });
        this.#ways.emitSlowLoop(slow, end, fast);
      });
      this.#at.pushIsBeforeEnd();
      f.brIf(again);
    });
    f.free(bits, end, last, apart);
  }

  /** The same of long code, of which nothing else is in place. */
  #emitLongRows(linear: LinearBody, others: OtherChunks): void {
    const { f } = this.#state;
    const [bits, end] = [f.local('i32'), f.local('i32')];
    f.loop(undefined, (again) => {
      assign(f, end, sum(this.#at.chunk, AHEAD_LANES));
      f.block(undefined, (done) => {
        f.block(undefined, (no) => {
          this.#refuseUnlessFull(bits, no);
          this.#emitLinear(linear, end, no, no);
          f.br(done);
        });
        push(f, bits);
        f.if(
          undefined,
          () => this.#emitOthers(others, end),
          () => this.#at.advance(AHEAD_LANES),
        );
      });
      this.#at.pushIsBeforeEnd();
      f.brIf(again);
    });
    f.free(bits, end);
  }

  #emitLinear({ accesses, body }: LinearBody, end: Local, no: BlockLabel, giveUp: BlockLabel): void {
    accesses.emit(AHEAD_CHUNKS, this.#at.chunk, this.#valuesAhead(body, accesses), no);
    this.#ways.emitChunks(body, AHEAD_CHUNKS, end, giveUp);
  }

  #emitOthers(others: OtherChunks, last: Local): void {
    others({ chunk: this.#at.chunk, last, exec: this.#exec });
    this.#at.goToPushed();
  }

  /** Sets the bits of the row at hand. */
  #refuseUnlessFull(bits: Local, no: BlockLabel): void {
    const { f } = this.#state;
    const all = 2 ** AHEAD_LANES - 1;
    this.#at.setNibble(bits, this.#exec, all);
    push(f, ne(bits, all));
    f.brIf(no);
  }

  /** The lanes of `bits` from #chunk on, if that is worth it; goes to `done` where that is all to `end`. */
  #emitRow(row: RowCall, bits: Local, end: Local, done: BlockLabel): void {
    const { f } = this.#state;
    push(f, isWorthRow(bits));
    f.if(undefined, () => {
      row(this.#at.chunk, bits);
      this.#at.goToPushed();
      push(f, eq(this.#at.chunk, end));
      f.brIf(done);
    });
  }

  /** The one that can do everything: in place where there is no other. */
  #slowBody(environment: ChunkEnvironment, values: BodyValues, isApart: boolean): SlowBody {
    if (!isApart) {
      const body = new ChunkBody(environment, values);
      const place = { chunk: this.#at.chunk, pointer: this.#at.pointer, offset: 0 };
      return (nibble) => {
        const mask = this.#at.maskOf(nibble);
        body.emitSlow(place, nibble, mask);
        this.#state.f.free(mask);
      };
    }
    const call = slowPart(environment, values);
    return (nibble) => call(this.#at.chunk, nibble);
  }

  #prepare(): void {
    const { rows, gathered } = this.#region;
    this.#clearBallots();
    for (const offset of gathered) if (rows.has(offset)) this.#copies.copy(offset);
  }

  #readBallots(): void {
    if (this.#areMany) readBallots(this.#state, [...this.ballots.values()]);
  }

  /** Whether there are more masks than have registers. */
  get #areMany(): boolean {
    return this.ballots.size > FEW_BALLOTS;
  }

  #clearBallots(): void {
    if (this.#areMany) clearBallots(this.#state, this.ballots.size);
    else for (const local of this.ballots.values()) assign(this.#state.f, local, 0n);
  }
}
