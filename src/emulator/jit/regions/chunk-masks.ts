/**
 * Masks of a chunk's lanes from masks of the wave: each lane looks at its own bit. Which bit that is, is
 * found once for all masks of a chunk.
 */
import { assign, loadFrom, operation, type Push, push, shl, shrU, sum, type Term } from '../../../wasm/expression.ts';
import type { Local } from '../../../wasm/function.ts';
import { type ChunkPlace, laneIdsOf, maskOf } from '../../lowering/chunk-place.ts';
import type { FunctionState } from '../function/function-state.ts';
import { constantOf, isOp } from './graph.ts';
import type { Node } from './node.ts';
import type { Region } from './region.ts';

/** Lanes whose bits are in one dword of a mask. */
const DWORD_LANES = 32;

export interface MaskEnvironment {
  readonly state: FunctionState;
  readonly region: Region;
  scalar(node: Node): Local;
}

export class ChunkMasks {
  readonly #state: FunctionState;
  readonly #region: Region;
  readonly #scalar: (node: Node) => Local;
  /** Of each lane, its bit in a dword of a mask. */
  #bits: Local | undefined;
  /** The wave's address, or 4 more for lanes whose bits are in the second dword of masks. */
  #dword: Local | undefined;
  /** Of packed lanes, those whose bits are in the second dword. */
  #isSecond: Local | undefined;

  constructor({ state, region, scalar }: MaskEnvironment) {
    this.#state = state;
    this.#region = region;
    this.#scalar = scalar;
  }

  /** The lanes of `mask`, a value of the wave, as a mask. */
  of(mask: Node, place: ChunkPlace): Local {
    const { f } = this.#state;
    const dword = this.#dwordOf(mask, place);
    if (!dword) return maskOf(f, place, this.#scalar(mask));
    const bits = this.#bitsOf(place);
    const result = f.local('v128');
    assign(f, result, operation('i32x4.eq', operation('v128.and', dword, bits), bits));
    return result;
  }

  /** Ends a chunk. */
  close(): void {
    const held = [this.#bits, this.#dword, this.#isSecond].filter((local) => local !== undefined);
    this.#state.f.free(...held);
    this.#bits = undefined;
    this.#dword = undefined;
    this.#isSecond = undefined;
  }

  /** In each lane the dword of the mask with its bit; undefined where it is faster to take the bits out. */
  #dwordOf(mask: Node, place: ChunkPlace): Push | undefined {
    const { wave, spaces } = this.#state;
    const offset = offsetOf(mask, this.#region);
    const isShort = spaces.waveSize === DWORD_LANES;
    const low = operation('i32.wrap_i64', this.#scalar(mask));
    if (offset === undefined) return isShort ? operation('i32x4.splat', low) : undefined;
    if (isShort) return loaded(wave, offset);
    if (!place.packed) return loaded(this.#dwordPlace(place), offset);
    return operation('v128.bitselect', loaded(wave, offset + 4), loaded(wave, offset), this.#secondOf(place));
  }

  #bitsOf(place: ChunkPlace): Local {
    if (!this.#bits) {
      const { f } = this.#state;
      this.#bits = f.local('v128');
      if (!place.packed) {
        const first: Push = (f) => f.v128([1, 2, 4, 8]);
        assign(f, this.#bits, operation('i32x4.shl', first, sum(place.chunk, place.offset)));
      } else {
        const [lane, ...others] = place.packed.lanes as [Local, ...Local[]];
        assign(f, this.#bits, operation('i32x4.splat', shl(1, lane)));
        for (const [i, other] of others.entries()) {
          f.get(this.#bits);
          push(f, shl(1, other));
          f.lane('i32x4.replace_lane', i + 1);
          f.set(this.#bits);
        }
      }
    }
    return this.#bits;
  }

  #dwordPlace({ chunk, offset }: ChunkPlace): Local {
    if (!this.#dword) {
      const { f, wave } = this.#state;
      this.#dword = f.local('i32');
      const number = shrU(sum(chunk, offset), Math.log2(DWORD_LANES));
      assign(f, this.#dword, sum(wave, shl(number, 2)));
    }
    return this.#dword;
  }

  #secondOf(place: ChunkPlace): Local {
    if (!this.#isSecond) {
      const { f } = this.#state;
      const ids = laneIdsOf(f, place);
      this.#isSecond = f.local('v128');
      assign(f, this.#isSecond, operation('i32x4.gt_s', ids, operation('i32x4.splat', DWORD_LANES - 1)));
      f.free(ids);
    }
    return this.#isSecond;
  }
}

const loaded = (address: Term, offset: number): Push => loadFrom('v128.load32_splat', address, offset);

/** Where a mask is in the wave state while chunks run, if it is what was there when the region began. */
function offsetOf(mask: Node, region: Region): number | undefined {
  const { leaf, args } = mask;
  if (isOp(mask, 'i64.zext32')) return offsetOf(args[0]!, region);
  if (isOp(mask, 'i64.pack')) {
    const [low, high] = args.map((arg) => offsetOf(arg, region));
    return low !== undefined && high === low + 4 ? low : undefined;
  }
  if (leaf.kind === 'scalar') return leaf.offset;
  // Where compilers keep masks for which there are no registers.
  const lane = leaf.kind === 'rowLane' ? constantOf(args[0]!) : undefined;
  return leaf.kind === 'rowLane' && lane !== undefined && !region.rows.has(leaf.offset)
    ? leaf.offset + Number(lane) * 4
    : undefined;
}
