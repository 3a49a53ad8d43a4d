/**
 * A product of matrices: the lanes' elements are stored in rows of the wave state, a loop over chunks of 4 lanes multiplies and adds them,
 * and the results are read from the rows. All registers have been read before the first one is written.
 */
import { assert } from '../../base/errors.ts';
import { argumentOffsets, type MatrixProduct } from '../../ir/matrix-product.ts';
import type { Value } from '../../ir/types.ts';
import type { Local } from '../../wasm/function.ts';
import type { FunctionRef } from '../../wasm/types.ts';
import { MATRIX_ROW_COUNT, WAVE_MATRIX_ROWS } from '../layout.ts';
import { EMISSION } from './emission.ts';
import { captured, type Lanes } from './emitter.ts';
import type { HandlerState, LeafOf } from './handler-state.ts';

/** Vectors of accumulators that are computed together: enough to hide the latency of an addition, few enough to stay in registers. */
const ACCUMULATORS = 8;

/** Addresses in the wave state of what a chunk multiplies and adds: less the constant offsets of rows, or of registers. */
interface Pointers {
  readonly left: Local;
  readonly right: Local;
  /** The chunk's own lanes in every row. */
  readonly own: Local;
  /** The chunk's own lanes in the register that is the first accumulator. */
  readonly registers: Local;
}

type RegisterValue = Value & { readonly leaf: LeafOf<'operand'> };

const isRegister = (value: Value): value is RegisterValue => value.leaf.kind === 'operand' && value.lane;

export class MatrixLowering {
  readonly #state: HandlerState;
  readonly #product: MatrixProduct;
  readonly #args: readonly Value[];
  readonly #elementSizeBytes: 4 | 8;
  readonly #rowSizeBytes: number;
  readonly #offsets: ReturnType<typeof argumentOffsets>;

  constructor(state: HandlerState, value: Value) {
    this.#state = state;
    this.#product = (value.leaf as LeafOf<'matrixProduct'>).product; // reason: the caller looked for this kind
    this.#args = value.args;
    this.#elementSizeBytes = this.#product.type === 'f64' ? 8 : 4;
    this.#rowSizeBytes = state.spaces.waveSize * this.#elementSizeBytes;
    this.#offsets = argumentOffsets(this.#product);
    assert(value.args.length * this.#rowSizeBytes <= MATRIX_ROW_COUNT * 256, 'rows of a matrix product');
  }

  /** The arguments that have to be stored before the product: not accumulators that are registers, which are read in place. */
  get stored(): readonly Value[] {
    return this.#args.filter((arg, index) => index < this.#offsets.accumulators || !isRegister(arg));
  }

  /** Offset of an argument's row from the wave's base. */
  #row(index: number): number {
    return WAVE_MATRIX_ROWS + index * this.#rowSizeBytes;
  }

  /** Stores a lane value that is an argument into its rows. The row pointer is the wave's base plus 4 bytes for each lane before `chunk`. */
  storeArgument(value: Value, lanes: Lanes, rowPointer: Local, chunk: Local, chunkOffset: number): void {
    const { f } = this.#state;
    this.#args.forEach((arg, index) => {
      if (arg !== value) return;
      for (let half = 0; half < this.#elementSizeBytes / 4; half++) {
        this.#pushElements(rowPointer, chunk);
        f.get(lanes[half]!);
        f.store('v128.store', this.#row(index) + chunkOffset * this.#elementSizeBytes + half * 16);
      }
    });
  }

  /** Loads result `index` for a chunk. */
  loadResult(index: number, rowPointer: Local, chunk: Local, chunkOffset: number): Lanes {
    const { f } = this.#state;
    return Array.from({ length: this.#elementSizeBytes / 4 }, (_, half) => {
      this.#pushElements(rowPointer, chunk);
      const row = this.#row(this.#offsets.accumulators + index);
      f.load('v128.load', row + chunkOffset * this.#elementSizeBytes + half * 16);
      return captured(f);
    });
  }

  #pushElements(rowPointer: Local, chunk: Local): void {
    const { f } = this.#state;
    f.get(rowPointer);
    if (this.#elementSizeBytes === 4) return;
    f.get(chunk);
    f.i32(2);
    f.op('i32.shl');
    f.op('i32.add');
  }

  /** Adds the products to the accumulators' rows. */
  emit(): void {
    const { f, spaces } = this.#state;
    const { results } = this.#product;
    const nan = this.#nan();
    const chunk = f.local('i32');
    const pointers: Pointers = {
      left: f.local('i32'),
      right: f.local('i32'),
      own: f.local('i32'),
      registers: f.local('i32'),
    };
    const register = this.#args.slice(this.#offsets.accumulators).find(isRegister);
    if (register) {
      this.#state.pushRegister(register.leaf.at.operand);
      f.set(pointers.registers);
    }
    f.i32(0);
    f.set(chunk);
    f.loop(undefined, (again) => {
      this.#setPointer(pointers.left, chunk, (lane) => this.#leftOffset(0, lane, 0));
      this.#setPointer(pointers.right, chunk, (lane) => this.#rightOffset(0, lane, 0));
      this.#setPointer(pointers.own, chunk, (lane) => lane * this.#elementSizeBytes);
      const tile = ACCUMULATORS / (this.#elementSizeBytes / 4);
      for (let first = 0; first < results; first += tile) {
        this.#emitTile(first, Math.min(tile, results - first), pointers, nan);
      }
      if (register) {
        f.get(pointers.registers);
        f.i32(16);
        f.op('i32.add');
        f.set(pointers.registers);
      }
      f.get(chunk);
      f.i32(4);
      f.op('i32.add');
      f.tee(chunk);
      f.i32(spaces.waveSize);
      f.op('i32.ne');
      f.brIf(again);
    });
    f.free(chunk, ...Object.values(pointers), ...(nan ? [nan] : []));
  }

  #leftOffset(result: number, lane: number, step: number): number {
    const place = this.#product.leftPlace(result, lane, step);
    return this.#row(place.element) + place.lane * this.#elementSizeBytes;
  }

  #rightOffset(result: number, lane: number, step: number): number {
    const place = this.#product.rightPlace(result, lane, step);
    return this.#row(this.#offsets.right + place.element) + place.lane * this.#elementSizeBytes;
  }

  /** pointer = wave + (what the chunk adds to an offset): neighbouring bits of the chunk's number whose weights double are taken together. */
  #setPointer(pointer: Local, chunk: Local, offset: (lane: number) => number): void {
    const { f, wave, spaces } = this.#state;
    const weights: number[] = [];
    for (let lane = 4; lane < spaces.waveSize; lane *= 2) weights.push(offset(lane) - offset(0));
    f.get(wave);
    for (let bit = 0; bit < weights.length; ) {
      const weight = weights[bit]!;
      let count = 1;
      while (weight > 0 && weights[bit + count] === weight * 2 ** count) count++;
      if (weight > 0) {
        f.get(chunk);
        f.i32(bit + 2);
        f.op('i32.shr_u');
        f.i32(2 ** count - 1);
        f.op('i32.and');
        f.i32(weight);
        f.op('i32.mul');
        f.op('i32.add');
      }
      bit += count;
    }
    f.set(pointer);
  }

  #nan(): Local | undefined {
    const { f } = this.#state;
    const { type } = this.#product;
    if (type === 'i32') return undefined;
    f.v128(type === 'f32' ? [0x7fc00000, 0x7fc00000, 0x7fc00000, 0x7fc00000] : [0, 0x7ff80000, 0, 0x7ff80000]);
    return captured(f);
  }

  #emitTile(first: number, count: number, pointers: Pointers, nan?: Local): void {
    const { f } = this.#state;
    const { steps, selects } = this.#product;
    const halves = Array.from({ length: this.#elementSizeBytes / 4 }, (_, half) => half);
    const accumulators = Array.from({ length: count }, (_, i) =>
      halves.map((half) => this.#loadAccumulator(first + i, pointers, half)),
    );
    for (let step = 0; step < steps; step++) {
      const rights = new Map<number, Local>();
      for (const [i, accumulator] of accumulators.entries()) {
        const leftAt = this.#leftOffset(first + i, 0, step);
        const rightAt = this.#rightOffset(first + i, 0, step);
        f.get(pointers.left);
        f.load(this.#elementSizeBytes === 8 ? 'v128.load64_splat' : 'v128.load32_splat', leftAt);
        const left = captured(f);
        const selected = selects ? this.#selectedPointer(pointers, leftAt) : undefined;
        for (const half of halves) {
          const at = rightAt + half * 16;
          let right = selected ? undefined : rights.get(at);
          if (!right) {
            f.get(selected ?? pointers.right);
            f.load('v128.load', at);
            right = captured(f);
            if (!selected) rights.set(at, right);
          }
          this.#multiplyAdd(left, right, accumulator[half]!);
          if (selected) f.free(right);
        }
        f.free(left, ...(selected ? [selected] : []));
      }
      f.free(...rights.values());
    }
    for (const [i, accumulator] of accumulators.entries()) {
      for (const half of halves) {
        f.get(pointers.own);
        this.#pushResult(accumulator[half]!, nan);
        f.store('v128.store', this.#row(this.#offsets.accumulators + first + i) + half * 16);
      }
      f.free(...accumulator);
    }
  }

  #loadAccumulator(result: number, { own, registers }: Pointers, half: number): Local {
    const { f } = this.#state;
    const index = this.#offsets.accumulators + result;
    const value = this.#args[index]!;
    if (isRegister(value)) {
      f.get(registers);
      f.load('v128.load', value.leaf.at.dword * this.#state.rowSizeBytes);
    } else if (value.lane) {
      f.get(own);
      f.load('v128.load', this.#row(index) + half * 16);
    } else {
      f.get(this.#state.scalar(value));
      f.op(this.#elementSizeBytes === 8 ? 'i64x2.splat' : 'i32x4.splat');
    }
    return captured(f);
  }

  /** The right pointer moved by as many rows as the selector of the left element says. */
  #selectedPointer(pointers: Pointers, leftOffset: number): Local {
    const { f } = this.#state;
    const selected = f.local('i32');
    f.get(pointers.left);
    f.load('i32.load', leftOffset + this.#offsets.selectors * this.#rowSizeBytes);
    f.i32(this.#rowSizeBytes);
    f.op('i32.mul');
    f.get(pointers.right);
    f.op('i32.add');
    f.set(selected);
    return selected;
  }

  /** accumulator += left * right. */
  #multiplyAdd(left: Local, right: Local, accumulator: Local): void {
    const { f, e } = this.#state;
    const { type } = this.#product;
    f.get(left);
    f.get(right);
    if (type === 'i32') {
      f.op('i32x4.mul');
      f.get(accumulator);
      f.op('i32x4.add');
    } else {
      f.get(accumulator);
      if (e.context.traits.fused) f.op(`${type}x${type === 'f32' ? 4 : 2}.relaxed_madd` as 'f32x4.relaxed_madd');
      else f.call(this.#softMultiplyAdd(type));
    }
    f.set(accumulator);
  }

  #softMultiplyAdd(type: 'f32' | 'f64'): FunctionRef {
    const { context } = this.#state.e;
    return context.helper(`multiply-add ${type}`, ['v128', 'v128', 'v128'], ['v128'], (f) => {
      const args = [f.param(0), f.param(1), f.param(2)].map((local) => ({ lanes: [local] }));
      f.get(EMISSION[`${type}.fma`].simd!({ f, context }, args)[0]!);
    });
  }

  /** The NaN of an invalid sum or of an operand has no documented sign and payload: one for all. */
  #pushResult(sum: Local, nan?: Local): void {
    const { f } = this.#state;
    if (!nan) {
      f.get(sum);
      return;
    }
    f.get(nan);
    f.get(sum);
    f.get(sum);
    f.get(sum);
    f.op(this.#elementSizeBytes === 8 ? 'f64x2.ne' : 'f32x4.ne');
    f.op('v128.bitselect');
  }
}
