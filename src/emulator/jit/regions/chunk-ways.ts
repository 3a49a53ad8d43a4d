/**
 * The chunks of a region from one on: full ones go the fast way, others with masks, and what is unusual the
 * slow way.
 */
import { assign, eqz, ltU, ne, push, sum, type Term } from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import type { FunctionState } from '../function/function-state.ts';
import type { ChunkBody } from './chunk-body.ts';
import type { ChunkCursor } from './chunk-cursor.ts';

/** Emits the chunk at hand the slow way; `nibble`: its active lanes. */
export type SlowBody = (nibble: Local) => void;

/** Values up to which there is a fast body for chunks with some lanes off. */
const MAX_MASKED_SIZE = 80;
/** Values of a chunk up to which all chunks are done with masks, without a loop. */
const MASKED_SIZE = 10;

/** How many lanes of chunks with masks are done, or skipped, together. */
const MASKED_LANES = 16;
/** Active lanes up to which chunks are looked for that have one. */
const SPARSE_LANES = 4;

/** Whether chunks with some lanes off have no fast body in place: they go through one that is apart. */
export const isLong = ({ size }: ChunkBody): boolean => size > MAX_MASKED_SIZE;
export const isShort = ({ size, hasAccesses }: ChunkBody): boolean => size <= MASKED_SIZE && !hasAccesses;

export class ChunkWays {
  readonly #state: FunctionState;
  readonly #at: ChunkCursor;
  readonly #exec: () => Local;

  /** `exec`: lanes to be done. */
  constructor(state: FunctionState, at: ChunkCursor, exec: () => Local) {
    this.#state = state;
    this.#at = at;
    this.#exec = exec;
  }

  /**
   * Chunks from the one at hand on, up to the end of the wave, or as far as no lane is on that is before
   * `last`.
   */
  emit(fast: ChunkBody, slow: SlowBody, last: Term = this.#state.spaces.waveSize): void {
    if (isLong(fast)) this.#emitEach(fast, slow, last);
    else this.#emitGroups(fast, slow, last);
  }

  /** Few operations: without masks when all lanes of the wave are active, chunk by chunk when few are. */
  emitShort(fast: ChunkBody, slow: SlowBody): void {
    const { f, spaces } = this.#state;
    f.get(this.#exec());
    f.i64(spaces.waveSize === 64 ? -1n : 0xffffffffn);
    f.op('i64.eq');
    f.if(
      undefined,
      () => this.emit(fast, slow),
      () => {
        f.get(this.#exec());
        f.op('i64.popcnt');
        f.i64(BigInt(SPARSE_LANES));
        f.op('i64.le_u');
        f.if(
          undefined,
          () => this.emitSlowLoop(slow, undefined, fast),
          () => this.#emitMasked(fast, slow),
        );
      },
    );
  }

  /** All chunks with masks, a few at a time; these are skipped where none of their lanes is active. */
  #emitMasked(fast: ChunkBody, slow: SlowBody): void {
    const { f } = this.#state;
    const bits = f.local('i32');
    // Of the chunks at hand, the lanes of those that are done.
    const done = fast.mayGiveUp ? f.local('i32') : undefined;
    const emitLoop = (giveUp?: BlockLabel): void =>
      f.loop(undefined, (again) => {
        this.#at.setNibble(bits, this.#exec(), 2 ** MASKED_LANES - 1);
        f.get(bits);
        f.if(undefined, () => {
          for (let offset = 0; offset < MASKED_LANES; offset += 4) {
            if (done) {
              f.i32(offset);
              f.set(done);
            }
            const mask = this.#at.maskOf(bits, offset);
            fast.emitFast({ chunk: this.#at.chunk, pointer: this.#at.pointer, offset }, giveUp, mask);
            f.free(mask);
          }
        });
        this.#at.advance(MASKED_LANES);
        this.#at.pushIsBeforeEnd();
        f.brIf(again);
      });
    if (!done) emitLoop();
    else
      f.block(undefined, (end) => {
        f.block(undefined, (giveUp) => {
          emitLoop(giveUp);
          f.br(end);
        });
        this.#at.advance(done);
        this.emitSlowLoop(slow);
      });
    f.free(bits, ...(done ? [done] : []));
  }

  /** Groups of chunks that are fully active, others one by one. */
  #emitGroups(fast: ChunkBody, slow: SlowBody, last: Term): void {
    const { f } = this.#state;
    const lanes = fast.unrolled * 4;
    const [bits, end] = [f.local('i32'), f.local('i32')];
    f.loop(undefined, (again) => {
      assign(f, end, sum(this.#at.chunk, lanes));
      f.block(undefined, (done) => {
        f.block(undefined, (giveUp) => {
          this.#at.setNibble(bits, this.#exec(), 2 ** lanes - 1);
          push(f, ne(bits, 2 ** lanes - 1));
          f.brIf(giveUp);
          this.emitChunks(fast, fast.unrolled, end, giveUp);
          f.br(done);
        });
        this.emitSlowLoop(slow, end, isShort(fast) ? undefined : fast);
      });
      push(f, ltU(this.#at.chunk, last));
      f.brIf(again);
    });
    f.free(bits, end);
  }

  /** The fast way where all lanes are on, else the slow one. */
  #emitEach(fast: ChunkBody, slow: SlowBody, last: Term): void {
    const { f } = this.#state;
    const nibble = f.local('i32');
    f.loop(undefined, (again) => {
      f.block(undefined, (done) => {
        f.block(undefined, (giveUp) => {
          this.#at.setNibble(nibble, this.#exec(), 15);
          push(f, eqz(nibble));
          f.brIf(done);
          push(f, ne(nibble, 15));
          f.brIf(giveUp);
          fast.emitFast({ chunk: this.#at.chunk, pointer: this.#at.pointer, offset: 0 }, giveUp);
          f.br(done);
        });
        slow(nibble);
      });
      this.#at.advance();
      push(f, ltU(this.#at.chunk, last));
      f.brIf(again);
    });
    f.free(nibble);
  }

  /** Chunks from #chunk on up to `end`, some of them in each iteration of a loop. */
  emitChunks(body: ChunkBody, chunks: number, end: Local, giveUp: BlockLabel): void {
    const { f } = this.#state;
    const { unrolled } = body;
    const each = (): void => {
      for (let i = 0; i < unrolled; i++) {
        body.emitFast({ chunk: this.#at.chunk, pointer: this.#at.pointer, offset: 0 }, giveUp);
        this.#at.advance();
      }
    };
    if (chunks === unrolled) each();
    else
      f.loop(undefined, (next) => {
        each();
        f.get(this.#at.chunk);
        f.get(end);
        f.op('i32.ne');
        f.brIf(next);
      });
  }

  /**
   * Chunks with active lanes from #chunk on, up to `end` or the last one. With `masked`, a fast body that may
   * have masks, chunks with some lanes off try that first. Afterwards no lane is active between `end` and
   * #chunk, which is the wave's size after the last one.
   */
  emitSlowLoop(slow: SlowBody, end?: Local, masked?: ChunkBody): void {
    const { f } = this.#state;
    const nibble = f.local('i32');
    const place = { chunk: this.#at.chunk, pointer: this.#at.pointer, offset: 0 };
    f.block(undefined, (done) => {
      f.loop(undefined, (again) => {
        this.#at.skipInactive(this.#exec(), done);
        if (end) {
          f.get(this.#at.chunk);
          f.get(end);
          f.op('i32.ge_u');
          f.brIf(done);
        }
        this.#at.setNibble(nibble, this.#exec(), 15);
        f.block(undefined, (next) => {
          if (masked) {
            const mask = this.#at.maskOf(nibble);
            f.block(undefined, (giveUp) => {
              masked.emitFast(place, giveUp, mask, nibble);
              f.br(next);
            });
            f.free(mask);
          }
          slow(nibble);
        });
        this.#at.advance();
        this.#at.pushIsBeforeEnd();
        f.brIf(again);
      });
    });
    f.free(nibble);
  }
}
