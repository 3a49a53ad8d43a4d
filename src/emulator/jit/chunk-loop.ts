/**
 * The lane values of a region: a loop over the chunks of 4 lanes. A chunk whose lanes are all active goes through a body without masks
 * and without calls; where that meets something unusual (a NaN, an access that is not plain) it has changed nothing yet, and the chunk
 * goes through the second body, which can do everything.
 */
import type { Local } from '../../wasm/function.ts';
import { NIBBLE_MASKS, WAVE_TEMPORARY_ROWS } from '../layout.ts';
import { type Lanes, splat } from '../lowering/emitter.ts';
import { ChunkBody } from './chunk-body.ts';
import type { FunctionState } from './function-state.ts';
import type { Node, NodeOf, Region } from './node.ts';

/** What both bodies use: values that do not change from chunk to chunk. */
export interface ChunkEnvironment {
  readonly state: FunctionState;
  readonly region: Region;
  readonly lanes: readonly Node[];
  scalar(node: Node): Local;
  splat(node: Node): Lanes;
  /** Masks that the loop collects. */
  readonly ballots: ReadonlyMap<NodeOf<'ballot'>, Local>;
  /** Offset in the wave state of a row that lanes read from each other. */
  gatheredRow(offset: number): number;
}

/** The chunk that code is emitted for. */
export interface ChunkPlace {
  /** Number of the first lane of the chunk, less `offset`. */
  readonly chunk: Local;
  /** The wave's address plus 4 bytes for each lane below `chunk`. */
  readonly pointer: Local;
  readonly offset: number;
}

export class ChunkLoop {
  readonly ballots = new Map<NodeOf<'ballot'>, Local>();
  readonly #state: FunctionState;
  readonly #region: Region;
  readonly #lanes: readonly Node[];
  readonly #scalar: (node: Node) => Local;
  readonly #splats = new Map<Node, Lanes>();
  readonly #copies = new Map<number, number>();

  constructor(
    state: FunctionState,
    region: Region,
    lanes: readonly Node[],
    ballots: readonly NodeOf<'ballot'>[],
    scalar: (node: Node) => Local,
  ) {
    this.#state = state;
    this.#region = region;
    this.#lanes = lanes;
    this.#scalar = scalar;
    for (const ballot of ballots) this.ballots.set(ballot, state.f.local('i64'));
  }

  emit(): void {
    const { f, wave, spaces } = this.#state;
    this.#prepare();
    const body = new ChunkBody({
      state: this.#state,
      region: this.#region,
      lanes: this.#lanes,
      scalar: this.#scalar,
      splat: (node) => this.#splats.get(node)!,
      ballots: this.ballots,
      gatheredRow: (offset) => this.#copies.get(offset) ?? offset,
    });
    const chunk = f.local('i32');
    const pointer = f.local('i32');
    const nibble = f.local('i32');
    const place = { chunk, pointer, offset: 0 };
    f.i32(0);
    f.set(chunk);
    f.get(wave);
    f.set(pointer);
    f.loop(undefined, (again) => {
      f.block(undefined, (done) => {
        this.#setNibble(nibble, chunk);
        if (body.hasFast) {
          f.block(undefined, (slow) => {
            f.get(nibble);
            f.i32(15);
            f.op('i32.ne');
            f.brIf(slow);
            body.emitFast(place, slow);
            f.br(done);
          });
        }
        f.get(nibble);
        f.op('i32.eqz');
        f.brIf(done);
        const mask = f.local('v128');
        f.get(nibble);
        f.i32(4);
        f.op('i32.shl');
        f.load('v128.load', NIBBLE_MASKS);
        f.set(mask);
        body.emitSlow(place, nibble, mask);
        f.free(mask);
      });
      f.get(pointer);
      f.i32(16);
      f.op('i32.add');
      f.set(pointer);
      f.get(chunk);
      f.i32(4);
      f.op('i32.add');
      f.tee(chunk);
      f.i32(spaces.waveSize);
      f.op('i32.ne');
      f.brIf(again);
    });
    f.free(chunk, pointer, nibble, ...new Set([...this.#splats.values()].flat()));
  }

  /** Active lanes of the chunk. */
  #setNibble(nibble: Local, chunk: Local): void {
    const { f } = this.#state;
    f.get(this.#scalar(this.#region.exec!));
    f.get(chunk);
    f.op('i64.extend_i32_u');
    f.op('i64.shr_u');
    f.op('i32.wrap_i64');
    f.i32(15);
    f.op('i32.and');
    f.set(nibble);
  }

  #prepare(): void {
    const { f } = this.#state;
    const { rows, gathered } = this.#region;
    for (const node of this.#lanes) if (node.leaf.kind !== 'laneMask') for (const arg of node.args) this.#splat(arg);
    for (const node of rows.values()) this.#splat(node);
    for (const local of this.ballots.values()) {
      f.i64(0n);
      f.set(local);
    }
    for (const offset of gathered) if (rows.has(offset)) this.#copyRow(offset);
  }

  #splat(node: Node): void {
    if (node.lane || this.#splats.has(node)) return;
    this.#splats.set(node, splat(this.#state.e, this.#scalar(node), node.type as 'i32'));
  }

  /** A row that the region writes while other lanes still read it is read from a copy. */
  #copyRow(offset: number): void {
    const { f, wave, spaces } = this.#state;
    const rowSize = spaces.waveSize * 4;
    const copy = WAVE_TEMPORARY_ROWS + this.#copies.size * rowSize;
    this.#copies.set(offset, copy);
    for (let at = 0; at < rowSize; at += 16) {
      f.get(wave);
      f.get(wave);
      f.load('v128.load', offset + at);
      f.store('v128.store', copy + at);
    }
  }
}
