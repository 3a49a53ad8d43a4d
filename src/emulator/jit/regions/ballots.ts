/**
 * Masks that the lanes of a region make. While chunks run they are in the wave state, a byte of each mask for
 * each chunk, which has the bits of its lanes: so a chunk adds its bits by one store, whichever function it
 * runs in, and masks take no registers. The bytes of four masks are beside each other.
 */
import { assert } from '../../../base/errors.ts';
import { and, assign, loadFrom, operation, or, type Push, push, shl, sum } from '../../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import { type ChunkPlace, type PackedLanes, pushLaneBits } from '../../lowering/chunk-place.ts';
import { EVEN_DWORDS, shuffleDwords } from '../../lowering/int-emission.ts';
import { BALLOTS_SIZE_BYTES, WAVE_BALLOTS } from '../../machine/layout.ts';
import type { FunctionState } from '../function/function-state.ts';

/** Masks whose bytes are beside each other: those of a chunk are a dword. */
const TOGETHER = 4;
const DWORD_LANES = 32;

/** Where a mask has its byte of the first chunk, from the wave on; those of the others follow in dwords. */
const offsetOf = ({ spaces }: FunctionState, index: number): number =>
  WAVE_BALLOTS + Math.floor(index / TOGETHER) * spaces.waveSize + (index % TOGETHER);

/** How many vectors the bytes of `count` masks are. */
const vectorsOf = ({ spaces }: FunctionState, count: number): number =>
  Math.ceil(count / TOGETHER) * (spaces.waveSize / 16);

/** No lane has a bit in any of `count` masks. */
export function clearBallots(state: FunctionState, count: number): void {
  const { f, wave } = state;
  assert(vectorsOf(state, count) * 16 <= BALLOTS_SIZE_BYTES, 'masks that lanes make fit where they stand');
  for (let vector = 0; vector < vectorsOf(state, count); vector++) {
    f.get(wave);
    f.v128([0, 0, 0, 0]);
    f.store('v128.store', WAVE_BALLOTS + vector * 16);
  }
}

/**
 * Adds the bits of a chunk's lanes, which are those of `active`; without it all are on, and no others of the
 * chunk have bits.
 */
export function addToBallot(state: FunctionState, place: ChunkPlace, index: number, condition: Local, active?: Local) {
  const { f, wave } = state;
  const bits = bitsOf(condition, active);
  if (place.packed) {
    addPacked(state, place.packed, offsetOf(state, index), bits);
    return;
  }
  const at = f.local('i32');
  assign(f, at, sum(wave, place.chunk));
  const offset = offsetOf(state, index) + place.offset;
  f.get(at);
  push(f, active ? or(bits, loadFrom('i32.load8_u', at, offset)) : bits);
  f.store('i32.store8', offset);
  f.free(at);
}

/** The same of lanes of several chunks. */
function addPacked({ f, wave }: FunctionState, { lanes }: PackedLanes, offset: number, bits: Push): void {
  const [own, at, added] = [f.local('i32'), f.local('i32'), f.local('i32')];
  assign(f, own, bits);
  for (const [i, lane] of lanes.entries()) {
    const bit = and(operation('i32.shr_u', own, i), 1);
    assign(f, at, sum(wave, and(lane, -4)));
    assign(f, added, or(loadFrom('i32.load8_u', at, offset), shl(bit, and(lane, 3))));
    f.get(at);
    f.get(added);
    f.store('i32.store8', offset);
  }
  f.free(own, at, added);
}

/** The same of a mask in a local. */
export function addToMask(f: FunctionBuilder, place: ChunkPlace, mask: Local, condition: Local, active?: Local): void {
  const bits = f.local('i32');
  assign(f, bits, bitsOf(condition, active));
  f.get(mask);
  pushLaneBits(f, place, bits);
  f.op('i64.or');
  f.set(mask);
  f.free(bits);
}

const bitsOf = (condition: Local, active: Local | undefined): Push =>
  operation('i32x4.bitmask', active ? operation('v128.and', condition, active) : condition);

/** Sets locals of 64 bits to the masks, in their order. */
export function readBallots(state: FunctionState, masks: readonly Local[]): void {
  for (let first = 0; first < masks.length; first += TOGETHER)
    readTogether(state, offsetOf(state, first), masks.slice(first, first + TOGETHER));
}

/** Bytes of four masks for four chunks, as dwords of masks. */
const BYTES_OF_MASKS = [0, 1, 2, 3].flatMap((mask) => [0, 4, 8, 12].map((byte) => byte + mask));
const MASK_PAIRS = [shuffleDwords(0, 4, 1, 5), shuffleDwords(2, 6, 3, 7)];

function readTogether({ f, wave, spaces }: FunctionState, offset: number, masks: readonly Local[]): void {
  const first = dwordsOfMasks(f, wave, offset);
  const second = spaces.waveSize === 64 ? dwordsOfMasks(f, wave, offset + DWORD_LANES) : undefined;
  for (const [i, mask] of masks.entries()) {
    f.get(first);
    if (second) {
      f.get(second);
      f.shuffle(MASK_PAIRS[i >> 1]!);
      f.lane('i64x2.extract_lane', i & 1);
    } else {
      f.lane('i32x4.extract_lane', i);
      f.op('i64.extend_i32_u');
    }
    f.set(mask);
  }
  f.free(first, ...(second ? [second] : []));
}

/** Of each of four masks the bits of 32 lanes, whose bytes begin at `offset`. */
function dwordsOfMasks(f: FunctionBuilder, wave: Local, offset: number): Local {
  const bytes = f.local('v128');
  for (const at of [offset, offset + DWORD_LANES / 2]) {
    assign(f, bytes, loadFrom('v128.load', wave, at));
    // The bits of every other chunk, beside those of the chunk before it.
    push(f, operation('v128.or', bytes, operation('i64x2.shr_u', bytes, 28)));
  }
  f.shuffle(EVEN_DWORDS);
  f.tee(bytes);
  f.get(bytes);
  f.shuffle(BYTES_OF_MASKS);
  f.set(bytes);
  return bytes;
}
