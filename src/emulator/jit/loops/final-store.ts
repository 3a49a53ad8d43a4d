/**
 * The store of a loop in which each lane stores at one place, the same in all iterations, as sums do that
 * compilers may not keep in a register: only the last of them counts, and it is made behind the loop. Before
 * the loop it is found out where the lanes store: all in one allocation, in which nothing of the loop loads.
 * Where that is not so, or a group of chunks meets anything unusual, nothing of the loop has happened.
 */
import {
  add64,
  assign,
  eqz,
  gtU64,
  laneOf,
  loadFrom,
  ltU,
  operation,
  or,
  type Push,
  push,
  zext64,
} from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import { STATE_OFFSETS, WAVE_MATRIX_ROWS } from '../../machine/layout.ts';
import { lanesMisalignment } from '../regions/alignment.ts';
import { allocationAt } from '../regions/allocation-at.ts';
import { ChunkCursor } from '../regions/chunk-cursor.ts';
import { storeLanes } from '../regions/lane-accesses.ts';
import { lanesBehind, type Node } from '../regions/node.ts';
import type { LoopEnvironment } from './chunk-state.ts';
import { extremeLane } from './extreme-lane.ts';
import type { LoopStore } from './loop-plan.ts';
import { LoopValues } from './loop-values.ts';
import type { Evaluate } from './side-by-side-accesses.ts';

export class FinalStore {
  readonly #environment: LoopEnvironment;
  readonly #store: LoopStore;
  readonly #evaluate: Evaluate;

  /** The environment says where the allocation starts in which lanes store, once `prepare` was emitted. */
  constructor(environment: LoopEnvironment, store: LoopStore, evaluate: Evaluate) {
    this.#environment = environment;
    this.#store = store;
    this.#evaluate = evaluate;
  }

  /** Comes before the iterations; goes to `otherwise` where lanes may not store, or not so. */
  prepare(otherwise: BlockLabel): void {
    const { state, storedAllocation } = this.#environment;
    const { f, spaces } = state;
    const { low, high, floor, offset } = this.#store.node.address!;
    const { alignmentBytes = 1, sizeBytes } = this.#store.node.leaf;
    const [least, most, bad] = [f.local('v128'), f.local('v128'), f.local('v128')];
    assign(f, least, operation('i32x4.splat', -1));
    for (const local of [most, bad]) assign(f, local, operation('i32x4.splat', 0));
    this.#forEachChunk([low, high!, ...(floor ? [floor] : [])], (at, argument, nibble) => {
      const mask = at.maskOf(nibble);
      const lows = argument(low);
      const note = (lanes: Push): void => assign(f, bad, operation('v128.or', bad, operation('v128.and', lanes, mask)));
      note(operation('v128.xor', argument(high!), operation('i32x4.splat', spaces.windowHi)));
      // A sum that carried is below what the index was added to; the high word does not know of it.
      if (floor) note(operation('i32x4.lt_u', lows, argument(floor)));
      if (alignmentBytes > 1) note(lanesMisalignment(lows, offset & (alignmentBytes - 1), alignmentBytes));
      const orAll = operation('v128.or', lows, operation('v128.not', mask));
      assign(f, least, operation('i32x4.min_u', least, orAll));
      assign(f, most, operation('i32x4.max_u', most, operation('v128.and', lows, mask)));
      f.free(mask);
    });
    push(f, operation('v128.any_true', bad));
    f.brIf(otherwise);
    const [first, last] = [extremeLane(f, least, ltU), extremeLane(f, most, (a, b) => ltU(b, a))];
    const [begin, end, address] = [f.local('i64'), f.local('i64'), f.local('i32')];
    assign(f, begin, add64(zext64(first), BigInt(offset)));
    assign(f, end, add64(zext64(last), BigInt(offset + sizeBytes)));
    push(f, gtU64(begin, 0xffffffffn));
    f.brIf(otherwise);
    assign(f, address, operation('i32.wrap_i64', begin));
    const found = allocationAt(f, address);
    assign(f, storedAllocation!, found.start);
    const isOutside = gtU64(operation('i64.sub', end, zext64(storedAllocation!)), zext64(found.sizeBytes));
    push(f, or(or(ltU(address, storedAllocation!), isOutside), eqz(found.permits({ writes: true }))));
    f.brIf(otherwise);
    found.release();
    f.free(least, most, bad, first, last, begin, end, address);
    this.#copyRows('keep');
  }

  /** Gives rows back what they held before the iterations. */
  undo(): void {
    this.#copyRows('restore');
  }

  /** Comes behind the iterations of all chunks, whose rows are in the wave. */
  emit(): void {
    const { f } = this.#environment.state;
    const { node, rows } = this.#store;
    const { low, offset } = node.address!;
    const data = rows.map(() => f.local('v128'));
    const lanes = [0, 1, 2, 3].map(() => f.local('i32'));
    this.#forEachChunk([low], (at, argument, nibble) => {
      for (const [i, local] of lanes.entries()) assign(f, local, laneOf(argument(low), i));
      for (const [i, row] of rows.entries()) assign(f, data[i]!, loadFrom('v128.load', at.pointer, row));
      storeLanes(f, lanes, { offset, data, sizeBytes: node.leaf.sizeBytes }, nibble);
    });
    f.free(...data, ...lanes);
  }

  /** A loop over the chunks with an active lane; `nibble`: which are. */
  #forEachChunk(
    roots: readonly Node[],
    body: (at: ChunkCursor, argument: (node: Node) => Local, nibble: Local) => void,
  ): void {
    const { state, invariants } = this.#environment;
    const { f, wave, spaces } = state;
    const at = new ChunkCursor(state);
    const [exec, nibble] = [f.local('i64'), f.local('i32')];
    assign(f, exec, loadFrom(spaces.waveSize === 64 ? 'i64.load' : 'i64.load32_u', wave, STATE_OFFSETS.exec));
    const values = new LoopValues(state, invariants);
    const ofWave = [...lanesBehind(roots).flatMap(({ args }) => args), ...roots].filter(({ lane }) => !lane);
    for (const node of ofWave) values.splat(node);
    at.goToFirst();
    f.block(undefined, (done) =>
      f.loop(undefined, (again) => {
        at.skipInactive(exec, done);
        at.setNibble(nibble, exec, 15);
        const { argument, release } = this.#evaluate({ ...at, offset: 0 }, roots, values);
        body(at, (node) => argument(node).lanes[0]!, nibble);
        release();
        at.advance();
        at.pushIsBeforeEnd();
        f.brIf(again);
      }),
    );
    values.release();
    at.release();
    f.free(exec, nibble);
  }

  #copyRows(what: 'keep' | 'restore'): void {
    const { state, plan } = this.#environment;
    const { f, wave, spaces } = state;
    const rowSize = spaces.waveSize * 4;
    const [pointer, end] = [f.local('i32'), f.local('i32')];
    assign(f, pointer, wave);
    assign(f, end, operation('i32.add', wave, rowSize));
    f.loop(undefined, (again) => {
      for (const [i, row] of [...plan.rows.keys()].entries()) {
        const kept = WAVE_MATRIX_ROWS + i * rowSize;
        const [from, to] = what === 'keep' ? [row, kept] : [kept, row];
        f.get(pointer);
        push(f, loadFrom('v128.load', pointer, from));
        f.store('v128.store', to);
      }
      assign(f, pointer, operation('i32.add', pointer, 16));
      push(f, ltU(pointer, end));
      f.brIf(again);
    });
    f.free(pointer, end);
  }
}
