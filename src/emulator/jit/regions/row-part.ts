/**
 * Rows of 16 lanes of which some are off, but all have addresses at equal distances: such are the borders of
 * arrays and tiles. Their accesses are checked together, as those of full rows are, loads are vectors, and
 * lanes that are on store one by one. That is a function of its own, which other waves never call.
 */
import {
  and,
  assign,
  eq,
  eqz,
  ne,
  ne64,
  operation,
  or,
  push,
  shl,
  shrU,
  sum,
  type Term,
  zext64,
} from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import { type AccessGroup, isAheadOfChunk, uniformBehind } from './access-group.ts';
import type { BodyValues } from './body-values.ts';
import { ChunkBody, type ChunkEnvironment } from './chunk-body.ts';
import { ChunkCursor } from './chunk-cursor.ts';
import { Hoisted } from './hoisted.ts';
import type { ApartLanes } from './lanes-part.ts';
import type { EmittedValues } from './linear-access.ts';
import { LinearAccesses } from './linear-accesses.ts';
import type { Node } from './node.ts';
import { PermittedRanges } from './permitted-ranges.ts';
import { type PartContents, RegionPart } from './region-part.ts';

const ROW_CHUNKS = 4;
const ROW_BITS = 2 ** (ROW_CHUNKS * 4) - 1;
/** Lanes that are on from which looking at all of a row pays. */
const MIN_LANES = 6;

/** Whether so many lanes of a row are on. */
export const isWorthRow = (bits: Local): Term => operation('i32.ge_u', operation('i32.popcnt', bits), MIN_LANES);

/**
 * Whether rows of a region can go through such a part, with no access that is opened chunk by chunk, and some
 * that cost more to open than those in LDS.
 */
export function mayBeRows(groups: ReadonlyMap<Node, AccessGroup>): boolean {
  const all = [...groups.values()];
  return (
    all.every((group) => group.space !== 'private' && isAheadOfChunk(group)) && all.some(({ space }) => space !== 'lds')
  );
}

/**
 * The result emits a call for the row whose first lane is `chunk`, of which those of `bits` are on, and
 * leaves the lane on the stack up to which all is done: what comes then goes another way.
 */
export function rowPart(
  caller: ChunkEnvironment,
  values: BodyValues,
  groups: ReadonlyMap<Node, AccessGroup>,
): (chunk: Local, bits: Local) => void {
  const uniform = [...groups.values()].flatMap(uniformBehind);
  const options = { name: 'row', isFast: true, uniform, parameters: ['i32', 'i32'], results: ['i32'] } as const;
  const part = new RegionPart(caller, values, options, (contents) => {
    const { f } = contents.state;
    const [first, bits] = contents.parameters as [Local, Local];
    const row = new PartialRow(contents, groups);
    row.begin(first);
    f.block(undefined, (giveUp) => row.emit(bits, giveUp));
    f.get(row.chunk);
  });
  return (chunk, bits) => part.call([chunk, bits]);
}

/** Of long regions: rows with some lanes off go through such a part before the others. */
export function rowsPart(
  caller: ChunkEnvironment,
  values: BodyValues,
  groups: ReadonlyMap<Node, AccessGroup>,
): ApartLanes {
  const uniform = [...groups.values()].flatMap(uniformBehind);
  const options = { name: 'rows', isFast: true, uniform, parameters: ['i64'], results: ['i64'] } as const;
  const part = new RegionPart(caller, values, options, (contents) => {
    const { state, parameters } = contents;
    const { f } = state;
    const lanes = parameters[0]!;
    const row = new PartialRow(contents, groups);
    const [first, bits, own, left] = [f.local('i32'), f.local('i32'), f.local('i32'), f.local('i64')];
    assign(f, first, 0);
    assign(f, left, 0n);
    f.loop(undefined, (again) => {
      const shifted = operation('i64.shr_u', lanes, zext64(first));
      assign(f, own, and(operation('i32.wrap_i64', shifted), ROW_BITS));
      row.begin(first);
      f.block(undefined, (done) => {
        f.block(undefined, (giveUp) => {
          push(f, or(eqz(isWorthRow(own)), eq(own, ROW_BITS)));
          f.brIf(giveUp);
          assign(f, bits, own);
          row.emit(bits, giveUp);
          f.br(done);
        });
        const rest = operation('i64.shl', -1n, zext64(row.chunk));
        const lanes = operation('i64.shl', zext64(own), zext64(first));
        assign(f, left, operation('i64.or', left, operation('i64.and', lanes, rest)));
      });
      assign(f, first, sum(first, ROW_CHUNKS * 4));
      push(f, ne(first, state.spaces.waveSize));
      f.brIf(again);
    });
    f.get(left);
  });
  return {
    lanes: (exec) => (f) => f.get(exec),
    ifWorth(f, exec, emit) {
      push(f, ne64(exec, caller.state.spaces.waveSize === 64 ? -1n : 0xffffffffn));
      f.if(undefined, emit);
    },
    call: (lanes) => part.call([lanes]),
  };
}

/** What such a part does of a row. */
class PartialRow {
  readonly #contents: PartContents;
  readonly #linear: LinearAccesses;
  readonly #body: ChunkBody;
  readonly #at: ChunkCursor;
  readonly #nibble: Local;

  constructor(contents: PartContents, groups: ReadonlyMap<Node, AccessGroup>) {
    this.#contents = contents;
    const { state, environment, values } = contents;
    const all = new Set(groups.values());
    const hoisted = new Hoisted(state.f);
    hoisted.emit(state, all);
    const ranges = new PermittedRanges(state, environment.ranges);
    this.#linear = new LinearAccesses({ state, hoisted, ranges, scalar: environment.scalar }, all);
    const fastly = { hoisted, groups, ranges, linear: this.#linear };
    this.#body = new ChunkBody(environment, values, fastly);
    this.#at = new ChunkCursor(state);
    this.#nibble = state.f.local('i32');
  }

  /** The first lane that is not done. */
  get chunk(): Local {
    return this.#at.chunk;
  }

  /** Goes to the row's first lane. */
  begin(first: Local): void {
    const { f, wave } = this.#contents.state;
    assign(f, this.#at.chunk, first);
    assign(f, this.#at.pointer, sum(wave, shl(first, 2)));
  }

  /** Those lanes of the row whose bits are set; goes to `giveUp` at a chunk with an unusual one. */
  emit(bits: Local, giveUp: BlockLabel): void {
    const { f } = this.#contents.state;
    const [at, linear, nibble] = [this.#at, this.#linear, this.#nibble];
    const place = { chunk: at.chunk, pointer: at.pointer, offset: 0 };
    const ahead = (i: number): EmittedValues => this.#body.evaluate({ ...place, offset: i * 4 }, linear.terms.nodes);
    linear.emit(ROW_CHUNKS, at.chunk, ahead, giveUp);
    f.loop(undefined, (again) => {
      assign(f, nibble, and(bits, 15));
      f.block(undefined, (next) => {
        f.block(undefined, (skip) => {
          push(f, eqz(nibble));
          f.brIf(skip);
          const mask = at.maskOf(nibble);
          this.#body.emitFast(place, giveUp, mask, nibble);
          f.free(mask);
          f.br(next);
        });
        linear.advance();
      });
      at.advance();
      assign(f, bits, shrU(bits, 4));
      push(f, and(at.chunk, ROW_CHUNKS * 4 - 1));
      f.brIf(again);
    });
  }
}
