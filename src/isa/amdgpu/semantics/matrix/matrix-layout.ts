/**
 * Where the lanes hold the elements of matrices. CDNA3 ISA 7.1.4 (dense), 7.4 (sparse); CDNA2 is the same;
 * RDNA3 ISA 7.9.
 */
import type { MatrixProduct, Place } from '../../../../ir/matrix-product.ts';

/** `blocks` products of a left matrix of m x k and a right one of k x n elements. */
export interface MatrixShape {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly blocks: number;
}

/** Block, row and column of an accumulator. */
interface Position {
  readonly block: number;
  readonly i: number;
  readonly j: number;
}

/** Rows of a result that lie in consecutive registers of a lane. */
const GROUP_HEIGHT = 4;

/** CDNA3 ISA 7.1.4.2. */
function resultPosition({ m, n }: MatrixShape, result: number, lane: number): Position {
  const blocksInLanes = Math.ceil(64 / ((n * m) / GROUP_HEIGHT));
  const groupsInLanes = 64 / blocksInLanes / n;
  const groupsInRegisters = m / (GROUP_HEIGHT * groupsInLanes);
  const [lanes, registers] = [Math.floor(lane / n), Math.floor(result / GROUP_HEIGHT)];
  const group = (lanes % groupsInLanes) + groupsInLanes * (registers % groupsInRegisters);
  return {
    block: Math.floor(lanes / groupsInLanes) + blocksInLanes * Math.floor(registers / groupsInRegisters),
    i: (result % GROUP_HEIGHT) + GROUP_HEIGHT * group,
    j: lane % n,
  };
}

/**
 * Results in f64: rows follow each other in lanes, then in registers. Of several blocks the same rows are
 * neighbours, as AMD's matrix instruction calculator has it; the formula of CDNA3 ISA 7.1.4.2 would have the
 * rows of one block together.
 */
function doublePosition({ n, blocks }: MatrixShape, result: number, lane: number): Position {
  const lanes = Math.floor(lane / n);
  const rowsInLanes = 64 / (n * blocks);
  return { block: lanes % blocks, i: Math.floor(lanes / blocks) + rowsInLanes * result, j: lane % n };
}

/**
 * Element `k` of row (or column) `position`, when every lane holds `count` consecutive ones of a row of
 * `size` rows in each block.
 */
const inputPlaces =
  ({ blocks }: MatrixShape, size: number, count: number) =>
  (position: number, block: number, k: number): Place => ({
    element: k % count,
    lane: position + size * (block + blocks * Math.floor(k / count)),
  });

/** v_mfma: D[i, j] = C[i, j] + the sum over k of A[i, k] B[k, j], k ascending, in each block. */
export function denseProduct(type: MatrixProduct['type'], shape: MatrixShape): MatrixProduct {
  const { m, n, k, blocks } = shape;
  const count = (k * m * blocks) / 64;
  const position = type === 'f64' ? doublePosition : resultPosition;
  const at = (result: number, lane: number): Position => position(shape, result, lane);
  const [leftPlace, rightPlace] = [inputPlaces(shape, m, count), inputPlaces(shape, n, count)];
  return {
    type,
    left: count,
    right: count,
    results: (m * n * blocks) / 64,
    steps: k,
    selects: false,
    leftPlace(result, lane, step) {
      const { block, i } = at(result, lane);
      return leftPlace(i, block, step);
    },
    rightPlace(result, lane, step) {
      const { block, j } = at(result, lane);
      return rightPlace(j, block, step);
    },
  };
}

/**
 * v_smfmac: of every 4 elements of a row of A 2 are stored; selectors, one for each, say which of the 4 it
 * is.
 */
export function sparseProduct(type: MatrixProduct['type'], shape: MatrixShape): MatrixProduct {
  const { m, n, k } = shape;
  const stored = (k * m) / 64 / 2;
  const at = (result: number, lane: number): Position => resultPosition(shape, result, lane);
  const [leftPlace, rightPlace] = [inputPlaces(shape, m, stored), inputPlaces(shape, n, stored * 2)];
  return {
    type,
    left: stored,
    right: stored * 2,
    results: (m * n) / 64,
    steps: k / 2,
    selects: true,
    leftPlace: (result, lane, step) => leftPlace(at(result, lane).i, 0, step),
    rightPlace: (result, lane, step) => rightPlace(at(result, lane).j, 0, Math.floor(step / 2) * 4),
  };
}

/**
 * v_wmma of 16 x 16 x 16: a lane holds a row of A and a column of B, the same in lanes that are 16 apart;
 * rows of the result follow each other in groups of 16 lanes, then in registers.
 */
export function waveProduct(type: 'f32' | 'i32', waveSize: 32 | 64): MatrixProduct {
  const groups = waveSize / 16;
  return {
    type,
    left: 16,
    right: 16,
    results: 16 / groups,
    steps: 16,
    selects: false,
    leftPlace: (result, lane, step) => ({ element: step, lane: result * groups + Math.floor(lane / 16) }),
    rightPlace: (_, lane, step) => ({ element: step, lane }),
  };
}
