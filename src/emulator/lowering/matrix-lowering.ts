/**
 * A product of matrices: the lanes' elements are stored in rows of the wave state, a loop over chunks of 4
 * lanes multiplies and adds them, and the results are read from the rows. All registers have been read before
 * the first one is written.
 */
import { alignUp } from '../../base/align.ts';
import { assert } from '../../base/errors.ts';
import { argumentOffsets, type MatrixProduct, type Place } from '../../ir/matrix-product.ts';
import type { LeafOf, Value } from '../../ir/types.ts';
import type { Local } from '../../wasm/function.ts';
import type { FunctionRef } from '../../wasm/types.ts';
import { MATRIX_ROW_COUNT, WAVE_MATRIX_ROWS } from '../machine/layout.ts';
import { EMISSION } from './emission.ts';
import { captured, type Lanes } from './emitter.ts';
import type { HandlerState } from './handler-state.ts';
import { ResultNans } from './result-nans.ts';

/**
 * Vectors of accumulators that are computed together: enough to hide the latency of an addition, few enough
 * to stay in registers.
 */
const ACCUMULATORS = 8;

/** Lanes that the loop over the chunks takes at a time, at most. */
const CHUNK_GROUP = 16;

/**
 * Addresses in the wave state of what a chunk multiplies and adds, less the constant offsets of rows or
 * registers.
 */
interface Pointers {
  readonly left: Local;
  readonly right: Local;
  /** The chunk's own lanes in every row. */
  readonly own: Local;
  /** The chunk's own lanes in the registers of the accumulators, where these are only known to the record. */
  readonly registers: Local | undefined;
}

/** Four lanes of a result, of f64 two. */
interface Vector {
  readonly result: number;
  /** First lane of the chunk, from the one that the pointers name. */
  readonly lane: number;
  readonly half: number;
}

type RegisterValue = Value & { readonly leaf: LeafOf<'operand'> };

const isRegister = (value: Value): value is RegisterValue => value.leaf.kind === 'operand' && value.lane;

export class MatrixLowering {
  /** Whether the results go straight to their registers, which nothing reads after that. */
  readonly writesRegisters: boolean;
  readonly #state: HandlerState;
  readonly #product: MatrixProduct;
  readonly #args: readonly Value[];
  readonly #elementSizeBytes: 4 | 8;
  readonly #rowSizeBytes: number;
  readonly #offsets: ReturnType<typeof argumentOffsets>;
  /** Operand whose registers hold all left, all right factors; undefined: they are stored in rows. */
  readonly #leftOperand: number | undefined;
  readonly #rightOperand: number | undefined;
  /** Registers of the results. */
  readonly #destinations: readonly LeafOf<'setOperand'>[];

  /** `lanes`: the lane values of the program. */
  constructor(state: HandlerState, lanes: readonly Value[]) {
    const product = lanes.find(({ leaf }) => leaf.kind === 'matrixProduct')!;
    this.#state = state;
    this.#product = (product.leaf as LeafOf<'matrixProduct'>).product; // reason: found by this kind
    this.#args = product.args;
    this.#elementSizeBytes = this.#product.type === 'f64' ? 8 : 4;
    this.#rowSizeBytes = state.spaces.waveSize * this.#elementSizeBytes;
    this.#offsets = argumentOffsets(this.#product);
    assert(product.args.length * this.#rowSizeBytes <= MATRIX_ROW_COUNT * 256, 'rows of a matrix product');
    assertPlaces(this.#product, product.args, state.spaces.waveSize);
    const { left, right } = this.#product;
    // Selectors are looked for at a distance from the left factors.
    this.#leftOperand = this.#product.selects ? undefined : commonOperand(product.args.slice(0, left));
    this.#rightOperand = commonOperand(product.args.slice(this.#offsets.right, this.#offsets.right + right));
    this.#destinations = destinationsOf(product, lanes, this.#product.results);
    this.writesRegisters = this.#destinations.length > 0 && !this.#overwritesSources();
  }

  /** Whether a register that gets a result may be read after that; unknown counts as yes. */
  #overwritesSources(): boolean {
    const row = this.#state.rowSizeBytes;
    const { operand } = this.#destinations[0]!.at;
    const start = this.#state.registerOffset(operand);
    if (start === undefined) return true;
    const end = start + this.#destinations.length * row;
    const offsetOf = ({ leaf: { at } }: RegisterValue): number | undefined => {
      const first = this.#state.registerOffset(at.operand);
      return first === undefined ? undefined : first + at.dword * row;
    };
    const factors = [this.#leftOperand, this.#rightOperand];
    return this.#args.some((arg, index) => {
      if (!isRegister(arg)) return false;
      const at = offsetOf(arg);
      if (at !== undefined && (at < start || at >= end)) return false;
      const result = index - this.#offsets.accumulators;
      if (result < 0) return factors.includes(arg.leaf.at.operand);
      // An accumulator is read just before its own result is written.
      return at !== start + result * row;
    });
  }

  /**
   * The arguments that have to be stored before the product, and the number of lanes that it reads of them:
   * registers are read in place.
   */
  get stored(): readonly (readonly [args: readonly Value[], lanes: number])[] {
    const { spaces } = this.#state;
    const { right, accumulators } = this.#offsets;
    const left = this.#leftOperand === undefined ? this.#args.slice(0, right) : [];
    const others = this.#args.filter((arg, index) => {
      if (index >= accumulators) return !isRegister(arg);
      return index >= right && this.#rightOperand === undefined;
    });
    return [
      [left, this.#leftLanes()],
      [others, spaces.waveSize],
    ];
  }

  /** Lanes from the first to the last that left factors are taken from. */
  #leftLanes(): number {
    const { steps, results } = this.#product;
    let last = 0;
    for (let lane = 0; lane < this.#state.spaces.waveSize; lane += 4)
      for (let result = 0; result < results; result++)
        for (let step = 0; step < steps; step++)
          last = Math.max(last, this.#product.leftPlace(result, lane, step).lane);
    return alignUp(last + 1, CHUNK_GROUP);
  }

  /** Offset of an argument's row from the wave's base. */
  #row(index: number): number {
    return WAVE_MATRIX_ROWS + index * this.#rowSizeBytes;
  }

  /** Offset of a factor from its pointer. */
  #factor(index: number, operand: number | undefined): number {
    if (operand === undefined) return this.#row(index);
    const { dword } = (this.#args[index] as RegisterValue).leaf.at; // reason: all factors of an operand are registers
    return (this.#state.registerOffset(operand) ?? 0) + dword * this.#state.rowSizeBytes;
  }

  /**
   * Stores a lane value that is an argument into its rows. The row pointer is the wave's base plus 4 bytes
   * for each lane before `chunk`.
   */
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

  /** Chunks that take the same left factors and are multiplied together. */
  get #columns(): number {
    const isShared = this.#product.leftPlace(0, 4, 0).lane === this.#product.leftPlace(0, 0, 0).lane;
    return isShared && this.#elementSizeBytes === 4 ? 2 : 1;
  }

  /** Adds the products to the accumulators, in the registers of the results or in rows. */
  emit(): void {
    const { f, spaces, wave } = this.#state;
    const { results } = this.#product;
    const nans = this.#product.type === 'i32' ? undefined : new ResultNans(f, this.#product.type);
    const chunk = f.local('i32');
    const register = this.#args.slice(this.#offsets.accumulators).find(isRegister);
    const isMoved = register && this.#state.registerOffset(register.leaf.at.operand) === undefined;
    const pointers: Pointers = {
      left: f.local('i32'),
      right: f.local('i32'),
      own: f.local('i32'),
      registers: isMoved ? f.local('i32') : undefined,
    };
    if (isMoved) {
      this.#state.pushRegister(register.leaf.at.operand);
      f.set(pointers.registers!);
    }
    const columns = this.#columns;
    f.i32(0);
    f.set(chunk);
    f.loop(undefined, (again) => {
      this.#setPointer(pointers.left, chunk, this.#leftOperand, (lane) => this.#leftOffset(0, lane, 0));
      this.#setPointer(pointers.right, chunk, this.#rightOperand, (lane) => this.#rightOffset(0, lane, 0));
      this.#setPointer(pointers.own, chunk, undefined, (lane) => lane * this.#elementSizeBytes);
      const tile = Math.max(1, ACCUMULATORS / (this.#elementSizeBytes / 4) / columns);
      for (let first = 0; first < results; first += tile) {
        this.#emitTile(first, Math.min(tile, results - first), pointers, nans);
      }
      if (pointers.registers) {
        f.get(pointers.registers);
        f.i32(16 * columns);
        f.op('i32.add');
        f.set(pointers.registers);
      }
      f.get(chunk);
      f.i32(4 * columns);
      f.op('i32.add');
      f.tee(chunk);
      f.i32(spaces.waveSize);
      f.op('i32.ne');
      f.brIf(again);
    });
    const { registers, ...others } = pointers;
    f.free(chunk, ...Object.values(others), ...(registers ? [registers] : []));
    nans?.repair(
      { from: wave, sizeBytes: spaces.waveSize * this.#elementSizeBytes },
      Array.from({ length: results }, (_, result) => this.#resultOffset({ result, lane: 0, half: 0 })),
    );
  }

  #leftOffset(result: number, lane: number, step: number): number {
    const place = this.#product.leftPlace(result, lane, step);
    return this.#factor(place.element, this.#leftOperand) + place.lane * this.#elementSizeBytes;
  }

  #rightOffset(result: number, lane: number, step: number): number {
    const place = this.#product.rightPlace(result, lane, step);
    return this.#factor(this.#offsets.right + place.element, this.#rightOperand) + place.lane * this.#elementSizeBytes;
  }

  /**
   * pointer = wave + (what the chunk adds to an offset): neighbouring bits of the chunk's number whose
   * weights double are taken together. The registers of `operand` are added where only the record knows them.
   */
  #setPointer(pointer: Local, chunk: Local, operand: number | undefined, offset: (lane: number) => number): void {
    const { f, wave, spaces } = this.#state;
    const first = 4 * this.#columns;
    const weights: number[] = [];
    for (let lane = first; lane < spaces.waveSize; lane *= 2) weights.push(offset(lane) - offset(0));
    f.get(wave);
    if (operand !== undefined && this.#state.registerOffset(operand) === undefined) {
      this.#state.pushRegisterOffset(operand);
      f.op('i32.add');
    }
    for (let bit = 0; bit < weights.length; ) {
      const weight = weights[bit]!;
      let count = 1;
      while (weight > 0 && weights[bit + count] === weight * 2 ** count) count++;
      if (weight > 0) {
        f.get(chunk);
        f.i32(bit + Math.log2(first));
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

  /** `count` results of as many chunks as share their left factors. */
  #emitTile(first: number, count: number, pointers: Pointers, nans?: ResultNans): void {
    const { f } = this.#state;
    const { steps, selects } = this.#product;
    const halves = Array.from({ length: this.#elementSizeBytes / 4 }, (_, half) => half);
    const lanes = Array.from({ length: this.#columns }, (_, column) => column * 4);
    const places = Array.from({ length: count }, (_, i) =>
      lanes.flatMap((lane) => halves.map((half) => ({ result: first + i, lane, half }))),
    );
    const accumulators = places.map((row) => row.map((at) => this.#loadAccumulator(at, pointers)));
    for (let step = 0; step < steps; step++) {
      const rights = new Map<number, Local>();
      for (const [i, row] of places.entries()) {
        const leftAt = this.#leftOffset(first + i, 0, step);
        f.get(pointers.left);
        f.load(this.#elementSizeBytes === 8 ? 'v128.load64_splat' : 'v128.load32_splat', leftAt);
        const left = captured(f);
        const selected = selects ? this.#selectedPointer(pointers, leftAt) : undefined;
        for (const [column, { result, lane, half }] of row.entries()) {
          const at = this.#rightOffset(result, lane, step) + half * 16;
          let right = selected ? undefined : rights.get(at);
          if (!right) {
            f.get(selected ?? pointers.right);
            f.load('v128.load', at);
            right = captured(f);
            if (!selected) rights.set(at, right);
          }
          this.#multiplyAdd(left, right, accumulators[i]![column]!);
          if (selected) f.free(right);
        }
        f.free(left, ...(selected ? [selected] : []));
      }
      f.free(...rights.values());
    }
    nans?.add(accumulators.flat());
    for (const [i, row] of places.entries()) {
      for (const [column, at] of row.entries()) {
        const accumulator = accumulators[i]![column]!;
        f.get(pointers.own);
        f.get(accumulator);
        f.store('v128.store', this.#resultOffset(at));
        f.free(accumulator);
      }
    }
  }

  /** From the chunk's own lanes. */
  #resultOffset({ result, lane, half }: Vector): number {
    if (!this.writesRegisters) {
      return this.#row(this.#offsets.accumulators + result) + lane * this.#elementSizeBytes + half * 16;
    }
    const { operand, dword } = this.#destinations[result]!.at;
    return this.#state.registerOffset(operand)! + dword * this.#state.rowSizeBytes + lane * 4;
  }

  #loadAccumulator({ result, lane, half }: Vector, { own, registers }: Pointers): Local {
    const { f, rowSizeBytes } = this.#state;
    const index = this.#offsets.accumulators + result;
    const value = this.#args[index]!;
    if (isRegister(value)) {
      const { operand, dword } = value.leaf.at;
      f.get(registers ?? own);
      f.load('v128.load', (this.#state.registerOffset(operand) ?? 0) + dword * rowSizeBytes + lane * 4);
    } else if (value.lane) {
      f.get(own);
      f.load('v128.load', this.#row(index) + lane * this.#elementSizeBytes + half * 16);
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
}

/** Products whose places were looked at, with the highest selector. */
const checkedProducts = new WeakMap<MatrixProduct, number>();

/**
 * Factors are elements that there are, of lanes that there are, whatever the selectors hold: nothing checks
 * this when the product runs.
 */
function assertPlaces(product: MatrixProduct, args: readonly Value[], waveSize: 32 | 64): void {
  const { left, right, steps, results, selects } = product;
  const { selectors, right: firstRight } = argumentOffsets(product);
  const most = selects ? Math.max(...args.slice(selectors, firstRight).map(mostOf)) : 0;
  if ((checkedProducts.get(product) ?? -1) >= most) return;
  const exists = ({ element, lane }: Place, count: number, lanes: number): boolean =>
    element >= 0 && element < count && lane >= 0 && lane + lanes <= waveSize;
  for (let lane = 0; lane < waveSize; lane += 4) {
    for (let result = 0; result < results; result++) {
      for (let step = 0; step < steps; step++) {
        const isLeft = exists(product.leftPlace(result, lane, step), left, 1);
        assert(isLeft && exists(product.rightPlace(result, lane, step), right - most, 4), 'places of a matrix product');
      }
    }
  }
  checkedProducts.set(product, most);
}

/** The highest value of some bits of a register, as unsigned. */
function mostOf({ leaf, args }: Value): number {
  const constant = args[1]?.leaf.kind === 'const' ? Number(args[1].leaf.value) : undefined;
  if (leaf.kind !== 'pure' || constant === undefined) return 0xffffffff;
  return leaf.op === 'i32.and' ? constant >>> 0 : leaf.op === 'i32.shrU' ? 0xffffffff >>> constant : 0xffffffff;
}

/** The operand whose registers all the values are. */
function commonOperand(values: readonly Value[]): number | undefined {
  if (!values.every(isRegister)) return undefined;
  const [first] = values;
  return values.every(({ leaf }) => leaf.at.operand === first!.leaf.at.operand) ? first!.leaf.at.operand : undefined;
}

/**
 * Where each result goes when registers get the results as they are, and nothing else is made of them; else
 * none.
 */
function destinationsOf(product: Value, lanes: readonly Value[], count: number): LeafOf<'setOperand'>[] {
  const destinations: LeafOf<'setOperand'>[] = [];
  for (const { leaf, args } of lanes) {
    const source = args[0];
    const index = source === product ? 0 : source?.leaf.kind === 'matrixResult' ? source.leaf.index : undefined;
    if (leaf.kind === 'matrixResult') continue;
    if (leaf.kind === 'setOperand' && args.length === 1 && index !== undefined) destinations[index] = leaf;
    else if (leaf.kind === 'setOperand' || args.some((arg) => arg === product || arg.leaf.kind === 'matrixResult'))
      return [];
  }
  const isComplete = destinations.length === count && !destinations.includes(undefined!);
  return isComplete && destinations.every(({ at }, i) => at.dword === i) ? destinations : [];
}
