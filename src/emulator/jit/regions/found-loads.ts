/**
 * Loads of a full wave whose addresses are found in memory, as of `values[index[i]]`: a base and an index
 * that lanes load. What all lanes will load is looked at before the first of them stores anything: each index
 * must lead into the allocation that the first one leads into. Where they are made, indices are asked once
 * more: another thread may have stored there meanwhile.
 */
import {
  add64,
  and,
  assign,
  eqz,
  gtS64,
  laneOf,
  leU64,
  ltU,
  operation,
  push,
  select,
  sub,
  sum,
  type Term,
  zext64,
} from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import { type AccessGroup, isAccess, isAheadOfChunk } from './access-group.ts';
import { allocationAt } from './allocation-at.ts';
import type { BodyValues } from './body-values.ts';
import type { ChunkBody } from './chunk-body.ts';
import type { ChunkCursor } from './chunk-cursor.ts';
import { type FoundRange, isInRange } from './found-range.ts';
import type { LinearEnvironment } from './linear-access.ts';
import type { Node } from './node.ts';
import type { Series } from './series.ts';
import { NO_FACTS } from './usual.ts';
import { ROW_CHUNKS, type WholeWaveAccesses } from './whole-wave-accesses.ts';

/** Indices of more values than this are not computed twice. */
const MAX_VALUES = 24;

/** What an index is computed from by lanes, up to what they load. */
export function valuesOfIndex(index: Node): readonly Node[] {
  const found = new Set<Node>();
  const add = (node: Node): void => {
    if (!node.lane || found.has(node)) return;
    found.add(node);
    if (!isAccess(node)) node.args.forEach(add);
  };
  add(index);
  return [...found].sort((a, b) => a.id - b.id);
}

/** `groups`: of all accesses of the wave. */
export function isFoundLoad(group: AccessGroup, groups: ReadonlyMap<Node, AccessGroup>): boolean {
  const { indexed } = group.parts;
  if (group.writes || group.space !== 'global' || !indexed || indexed.summands.length > 0) return false;
  if (group.alignmentBytes > 1 || isAheadOfChunk(group)) return false;
  const values = valuesOfIndex(indexed.index);
  const isFit = (node: Node): boolean =>
    isAccess(node)
      ? groups.has(node) && isAheadOfChunk(groups.get(node)!)
      : node.leaf.kind === 'row' ||
        node.leaf.kind === 'loaded' ||
        (node.leaf.kind === 'pure' && node.leaf.op.startsWith('i'));
  return values.length <= MAX_VALUES && values.every(isFit);
}

/** What computes the indices of groups, and nothing else. */
export function indexValues(found: Iterable<AccessGroup>): BodyValues {
  const kept = [...found].map(({ parts }) => parts.indexed!.index);
  const lanes = [...new Set(kept.flatMap(valuesOfIndex))].sort((a, b) => a.id - b.id);
  return { lanes, rows: new Map(), ballots: new Map(), manyBallots: [], ...NO_FACTS, kept };
}

export class FoundLoads {
  readonly #environment: LinearEnvironment;
  readonly #body: ChunkBody;
  readonly #wave: WholeWaveAccesses;
  readonly #found: ReadonlyMap<AccessGroup, FoundRange>;
  /** Groups of the loads that indices come from. */
  readonly #sources: readonly AccessGroup[];

  /** `body`: computes the indices. */
  constructor(
    environment: LinearEnvironment,
    found: ReadonlyMap<AccessGroup, FoundRange>,
    groups: ReadonlyMap<Node, AccessGroup>,
    body: ChunkBody,
    wave: WholeWaveAccesses,
  ) {
    this.#environment = environment;
    this.#body = body;
    this.#wave = wave;
    this.#found = found;
    const loads = [...found.values()].flatMap(({ index }) => valuesOfIndex(index)).filter(isAccess);
    this.#sources = [...new Set(loads.map((load) => groups.get(load)!))];
  }

  /** Goes to `no` where a lane would load elsewhere; a series ends before a workgroup with such a lane. */
  emit(at: ChunkCursor, series: Series | undefined, no: BlockLabel): void {
    const { f } = this.#environment.state;
    const [known, workgroup, end] = [f.local('i32'), f.local('i32'), f.local('i32')];
    const inside = f.local('v128');
    const kept = this.#wave.keepRows(this.#sources);
    assign(f, known, 0);
    assign(f, workgroup, 0);
    assign(f, inside, (f) => f.v128([-1, -1, -1, -1]));
    f.block(undefined, (done) => {
      f.loop(undefined, (next) => {
        at.goToFirst();
        f.loop(undefined, (rows) => {
          assign(f, end, sum(at.chunk, ROW_CHUNKS * 4));
          this.#wave.beginRow(this.#sources);
          f.loop(undefined, (chunks) => {
            const place = { chunk: at.chunk, pointer: at.pointer, offset: 0 };
            this.#body.emitFast(place, no, undefined, undefined, (argument) => {
              f.get(known);
              f.op('i32.eqz');
              f.if(undefined, () => {
                assign(f, known, 1);
                for (const [group, range] of this.#found)
                  this.#learn(group, range, argument(range.index).lanes[0]!, no);
              });
              for (const range of this.#found.values()) {
                const isInside = isInRange(range, argument(range.index).lanes[0]!);
                assign(f, inside, operation('v128.and', inside, isInside));
              }
            });
            at.advance();
            push(f, operation('i32.ne', at.chunk, end));
            f.brIf(chunks);
          });
          at.pushIsBeforeEnd();
          f.brIf(rows);
        });
        push(f, eqz(operation('i32x4.all_true', inside)));
        f.if(undefined, () => {
          push(f, eqz(workgroup));
          f.brIf(no);
          if (series) assign(f, series.count, sub(workgroup, 1));
          f.br(done);
        });
        if (!series) return;
        push(f, operation('i32.eq', workgroup, series.count));
        f.brIf(done);
        assign(f, workgroup, sum(workgroup, 1));
        this.#wave.goOn(this.#sources);
        f.br(next);
      });
    });
    this.#wave.restoreRows(kept);
    at.goToFirst();
    this.#refuseStores(no);
    f.free(known, workgroup, end, inside);
  }

  release(): void {
    const { f } = this.#environment.state;
    for (const { first, behind, start, end } of this.#found.values()) f.free(first, behind, start, end);
  }

  /** Emits which indices lead into the allocation that the first lane's leads into. */
  #learn(group: AccessGroup, found: FoundRange, indices: Local, no: BlockLabel): void {
    const { state, scalar } = this.#environment;
    const { f, spaces } = state;
    const { shift, isSigned, baseLow, baseHigh } = group.parts.indexed!;
    const [base, first, last] = [f.local('i64'), f.local('i64'), f.local('i64')];
    const address = f.local('i32');
    const wide = (value: Term) => operation(isSigned ? 'i64.extend_i32_s' : 'i64.extend_i32_u', value);
    const inWindow = operation('i64.shl', zext64(sub(scalar(baseHigh), spaces.windowHi)), 32n);
    assign(f, base, add64(inWindow, zext64(scalar(baseLow))));
    const own = operation('i64.shl', wide(laneOf(indices, 0)), BigInt(shift));
    assign(f, first, add64(add64(base, own), BigInt(group.min)));
    push(f, eqz(leU64(first, 0xffffffffn)));
    f.brIf(no);
    assign(f, address, operation('i32.wrap_i64', first));
    const allocation = allocationAt(f, address);
    push(f, eqz(allocation.permits(group)));
    f.brIf(no);
    assign(f, found.start, allocation.start);
    assign(f, found.end, sum(found.start, allocation.sizeBytes));
    allocation.release();
    const toIndex = (bytes: Term) => operation('i64.shr_s', bytes, BigInt(shift));
    const from = (end: Local, bytes: number): Term => operation('i64.sub', add64(zext64(end), BigInt(bytes)), base);
    assign(f, first, toIndex(from(found.start, 2 ** shift - 1 - group.min)));
    assign(f, last, toIndex(from(found.end, -group.max)));
    const [least, most] = isSigned ? [-0x80000000n, 0x7fffffffn] : [0n, 0xffffffffn];
    assign(f, first, select(first, least, gtS64(first, least)));
    assign(f, last, select(most, last, gtS64(last, most)));
    push(f, gtS64(first, last));
    f.brIf(no);
    const splat = (value: Term) => operation('i32x4.splat', operation('i32.wrap_i64', value));
    assign(f, found.first, splat(first));
    assign(f, found.behind, splat(operation('i64.sub', last, first)));
    f.free(base, first, last, address);
  }

  /** Nothing may be stored to where indices and values are loaded from. */
  #refuseStores(no: BlockLabel): void {
    const { f } = this.#environment.state;
    const loads = [...this.#found.values(), ...this.#sources.map((group) => this.#wave.rangeOf(group))];
    for (const store of this.#wave.stores)
      for (const load of loads) {
        push(f, and(ltU(load.start, store.end), ltU(store.start, load.end)));
        f.brIf(no);
      }
  }
}
