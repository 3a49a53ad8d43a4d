/**
 * Products of small matrices whose elements are spread over the lanes of a warp, and how these come from
 * shared memory. PTX ISA 9.7.14 "Warp Level Matrix Multiply-Accumulate Instructions". Fragments have one
 * pattern: a lane is number `lane % 4` of group `lane / 4`; register r of the left matrix has elements of row
 * `group + 8 * (r % 2)`, those of the right matrix are of column `group`, and accumulator i is that of row
 * `group + 8 * (i / 2)` and column `2 * number + i % 2`.
 */
import type { Value } from '../../ir/types.ts';
import { NAN32, type PtxBuilder } from './builder.ts';
import { type PtxRow, ptxRow } from './row.ts';

/** Elements that a register of 32 bits has, as what they are multiplied in. */
const ELEMENTS: Readonly<Record<string, (b: PtxBuilder, bits: Value) => Value[]>> = {
  f16: (b, bits) => [0, 16].map((low) => b.f16.toF32(b.bits(bits, low, 16))),
  bf16: (b, bits) => [0, 16].map((low) => b.bf16.toF32(b.bits(bits, low, 16))),
  // The low bits do not count.
  tf32: (b, bits) => [b.and(bits, b.i32(-1 << 13))],
  s8: (b, bits) => [0, 8, 16, 24].map((low) => b.sext8(b.bits(bits, low, 8))),
  u8: (b, bits) => [0, 8, 16, 24].map((low) => b.bits(bits, low, 8)),
};

/** Numbers of the lanes of a group. */
const GROUP = [0, 1, 2, 3];

/** A register of a vector operand in the lane that each lane names. */
function fromLane(b: PtxBuilder, index: number, element: number, lane: Value): Value {
  return b.isRegister(index, element) ? b.fromLane(index, lane, { element }) : b.read(index, element);
}

/**
 * One accumulator: products are added one after the other, in the order of their numbers, with one rounding
 * each. The order that hardware has is not published. Operands: result, left, right, accumulator.
 */
function multiplyAdd(b: PtxBuilder): void {
  const { steps = 'h2', left = 'f16', right = 'f16', place = 'i0' } = b.modifiers;
  const index = Number(place.slice(1));
  const row = b.and(b.laneId(), b.i32(28));
  const column = b.add(b.shl(b.and(b.laneId(), b.i32(3)), 3), b.i32(4 * (index & 1)));
  const isInteger = left.endsWith('8');
  let sum = b.read(3);
  for (let step = 0; step < Number(steps.slice(1)); step++) {
    for (const number of GROUP) {
      const x = fromLane(b, 1, 2 * step + (index >> 1), b.or(row, b.i32(number)));
      const y = fromLane(b, 2, step, b.or(column, b.i32(number)));
      const ys = ELEMENTS[right]!(b, y);
      for (const [i, each] of ELEMENTS[left]!(b, x).entries()) {
        sum = isInteger ? b.add(sum, b.mul(each, ys[i]!)) : b.op('f32.fma', each, ys[i]!, sum);
      }
    }
  }
  b.write(0, isInteger ? sum : b.select(b.f32.isNan(sum), b.i32(NAN32), sum));
}

const ROWS_OF_MATRIX = 8;

/** Lane i has the address of row `i % 8` of matrix `i / 8`; a lane gets two elements side by side. */
function loadMatrices(b: PtxBuilder): void {
  const isShared = b.has('space');
  const [group, number] = [b.shrU(b.laneId(), 2), b.and(b.laneId(), b.i32(3))];
  const load = (lane: Value, offset: Value, sizeBytes: 2 | 4): Value => {
    const address = b.addressInLane(1, lane);
    const at = isShared
      ? b.add(address.type === 'i64' ? b.low(address) : address, offset)
      : b.add(address.type === 'i64' ? address : b.zext64(address), b.zext64(offset));
    return b.load(isShared ? 'lds' : 'flat', sizeBytes, at)[0]!;
  };
  const matrix = (first: Value): Value => {
    if (!b.has('trans')) return load(b.add(group, first), b.shl(number, 2), 4);
    // Of the same column in two rows.
    const upper = b.add(b.shl(number, 1), first);
    const offset = b.shl(group, 1);
    return b.packHalves(load(upper, offset, 2), load(b.add(upper, b.i32(1)), offset, 2));
  };
  const count = Number(b.modifiers['num']!.slice(1));
  const loaded = Array.from({ length: count }, (_, i) => matrix(b.i32(i * ROWS_OF_MATRIX)));
  // A result may stand where the address was.
  for (const [i, value] of loaded.entries()) b.write(0, value, i);
}

/** Shapes with the registers that a row takes in each lane, by types. */
const SHAPES: readonly (readonly [shape: string, types: string, registers: 1 | 2])[] = [
  ['m16n8k8', '.to=f32.left=f16.right=f16.from=f32', 1],
  ['m16n8k16', '.to=f32.left=f16.right=f16.from=f32', 2],
  ['m16n8k8', '.to=f32.left=bf16.right=bf16.from=f32', 1],
  ['m16n8k16', '.to=f32.left=bf16.right=bf16.from=f32', 2],
  ['m16n8k4', '.to=f32.left=tf32.right=tf32.from=f32', 1],
  ['m16n8k8', '.to=f32.left=tf32.right=tf32.from=f32', 2],
  ['m16n8k16', '.to=s32.left=s8|u8.right=s8|u8.from=s32', 1],
  ['m16n8k32', '.to=s32.left=s8|u8.right=s8|u8.from=s32', 2],
];
const TYPES = 'f16|bf16|tf32|s8|u8';

const ROWS: readonly PtxRow[] = [
  ...SHAPES.map(([shape, types, registers]) =>
    ptxRow(
      'mma',
      `.sync.aligned.shape=${shape}.row.col${types}`,
      `=to*x4 b32*x${2 * registers} b32*x${registers} from*x4`,
      () => {},
      { expansion: 'product', meeting: { members: 'all' } },
    ),
  ),
  ...[1, 2].map((registers) =>
    ptxRow(
      'wave_mma',
      `.steps=h${registers}.left=${TYPES}.right=${TYPES}.place=i0|i1|i2|i3`,
      `=b32 b32*x${2 * registers} b32*x${registers} b32`,
      multiplyAdd,
      { isInternal: true },
    ),
  ),
  ptxRow(
    'ldmatrix',
    '.sync.aligned.m8n8.num=x1|x2|x4.trans?.space=shared|shared::cta?.b16',
    '=b32*num []',
    loadMatrices,
    {
      meeting: { members: 'all' },
    },
  ),
];

export const PRODUCT_ROWS: readonly PtxRow[] = ROWS.map((each) => ({ ...each, className: 'warp' }));
