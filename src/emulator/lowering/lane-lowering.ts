/**
 * Per-lane values of a handler: a loop over chunks of 4 lanes. With all lanes active the loop has no masks;
 * otherwise chunks without an active lane are skipped and register writes are blended.
 */
import { assert } from '../../base/errors.ts';
import type { LeafKind, VoidKind } from '../../ir/leaves.ts';
import type { LeafOf, Type, Value, ValueOf } from '../../ir/types.ts';
import { and, assign, operation, shl, shrU, sum, tee, zext64 } from '../../wasm/expression.ts';
import type { Local } from '../../wasm/function.ts';
import { TEMPORARY_ROW_COUNT, WAVE_TEMPORARY_ROWS } from '../machine/layout.ts';
import { emitAccessCount } from './access-counts.ts';
import { type ChunkPlace, gatherRow, laneBytesOf, laneIdsOf, pushNibbleMask } from './chunk-place.ts';
import { EMISSION } from './emission.ts';
import { captured, emitLanes, type LaneArgument, type Lanes, splat } from './emitter.ts';
import type { HandlerState } from './handler-state.ts';
import { emitAtomic } from './lane-atomics.ts';
import { emitLoad, emitStore, type LaneAccess } from './lane-memory.ts';
import type { MatrixLowering } from './matrix-lowering.ts';

/** Chunks in a loop body when all lanes are active, for instructions of few operations. */
const UNROLL = 4;
const UNROLL_LIMIT = 24;

/** `never`: no value of this kind is one for each lane. */
type LaneEmission<K extends LeafKind> = ((value: ValueOf<K>) => K extends VoidKind ? void : Lanes) | 'never';

const isAccess = ({ leaf }: Value): boolean => leaf.kind === 'load' || leaf.kind === 'store' || leaf.kind === 'atomic';

export class LaneLowering {
  readonly #state: HandlerState;
  readonly #ballotValues: readonly Value[];
  readonly #lanes = new Map<Value, Lanes>();
  readonly #splats = new Map<Value, Lanes>();
  readonly #loaded = new Map<Value, readonly Local[]>();
  /** Offset of a vector operand's row from the wave's base. */
  readonly #rows = new Map<number, Local>();
  readonly #ballots = new Map<Value, Local>();
  readonly #temporaryRows = new Map<string, number>();
  readonly #matrix: MatrixLowering | undefined;
  // Of the chunk being emitted:
  #chunk!: Local;
  /** Lane of the chunk in an unrolled group: 0, 4, 8, ... after #chunk. */
  #chunkOffset = 0;
  #nibble: Local | undefined;
  #rowPointer!: Local;
  #mask: Local | undefined;

  /**
   * `ballots`: the values that collect a condition of the lanes into a mask; `matrix`: the product of
   * matrices before or after.
   */
  constructor(state: HandlerState, ballots: readonly Value[], matrix?: MatrixLowering) {
    this.#state = state;
    this.#ballotValues = ballots;
    this.#matrix = matrix;
  }

  /** The i64 that holds a ballot after the loop; undefined for a uniform condition. */
  ballot(value: Value): Local | undefined {
    return this.#ballots.get(value);
  }

  /**
   * Emits the loop over the chunks; when the state has no EXEC, for the first `laneCount` lanes, a multiple
   * of 16.
   */
  emit(lanes: readonly Value[], laneCount = this.#state.spaces.waveSize as number): void {
    const { f, exec, spaces } = this.#state;
    this.#prepareLanes(lanes);
    // Slots of locals are taken here, before the ways part.
    const masked = f.local('i64');
    this.#chunk = f.local('i32');
    this.#rowPointer = f.local('i32');
    const sparse = (): void => this.#emitSparse(lanes, masked);
    const full = (): void => this.#emitFull(lanes, laneCount);
    if (lanes.some(isAccess) || (exec && this.#state.e.context.isCompact)) {
      sparse();
      return;
    }
    if (!exec) {
      full();
      return;
    }
    f.get(exec);
    f.i64(spaces.waveSize === 64 ? -1n : 0xffffffffn);
    f.op('i64.eq');
    f.if(undefined, full, sparse);
  }

  /** A loop over the chunks that have an active lane; `masked` becomes what is left of EXEC. */
  #emitSparse(lanes: readonly Value[], masked: Local): void {
    const { f } = this.#state;
    const isLeft = (): void => {
      f.get(masked);
      f.i64(0n);
      f.op('i64.ne');
    };
    f.get(this.#state.exec!);
    f.set(masked);
    isLeft();
    f.if(undefined, () => {
      const nibble = f.local('i32');
      const mask = f.local('v128');
      f.loop(undefined, (again) => {
        this.#pushNextChunk(masked);
        this.#pushNibble(masked, nibble);
        pushNibbleMask(f, nibble);
        f.set(mask);
        this.#nibble = nibble;
        this.#mask = mask;
        this.#emitChunk(lanes);
        this.#dropChunk(masked);
        isLeft();
        f.brIf(again);
      });
      f.free(nibble, mask);
      this.#nibble = undefined;
      this.#mask = undefined;
    });
  }

  /** A loop over all chunks, without masks. */
  #emitFull(lanes: readonly Value[], laneCount: number): void {
    const { f, wave } = this.#state;
    const unroll = lanes.length <= UNROLL_LIMIT ? UNROLL : 1;
    f.i32(0);
    f.set(this.#chunk);
    f.loop(undefined, (again) => {
      assign(f, this.#rowPointer, sum(wave, shl(this.#chunk, 2)));
      for (let i = 0; i < unroll; i++) {
        this.#chunkOffset = i * 4;
        this.#emitChunk(lanes);
      }
      this.#chunkOffset = 0;
      f.get(this.#chunk);
      f.i32(4 * unroll);
      f.op('i32.add');
      f.tee(this.#chunk);
      f.i32(laneCount);
      f.op('i32.ne');
      f.brIf(again);
    });
  }

  /** Chunk number from the lowest set bit; the row pointer follows. */
  #pushNextChunk(masked: Local): void {
    const lowest = operation('i32.wrap_i64', operation('i64.ctz', masked));
    const chunk = tee(this.#chunk, and(lowest, -4));
    assign(this.#state.f, this.#rowPointer, sum(shl(chunk, 2), this.#state.wave));
  }

  #pushNibble(mask: Local, nibble: Local): void {
    const own = operation('i32.wrap_i64', operation('i64.shr_u', mask, zext64(this.#chunk)));
    const bits = this.#chunkOffset > 0 ? shrU(own, this.#chunkOffset) : own;
    assign(this.#state.f, nibble, and(bits, 15));
  }

  /** Clears the chunk's bits. */
  #dropChunk(masked: Local): void {
    const bits = operation('i64.shl', 15n, zext64(this.#chunk));
    assign(this.#state.f, masked, operation('i64.and', masked, operation('i64.xor', bits, -1n)));
  }

  /**
   * What does not change from chunk to chunk: row offsets, splats of uniform arguments, copies of rows that
   * other lanes read.
   */
  #prepareLanes(lanes: readonly Value[]): void {
    const f = this.#state.f;
    for (const value of lanes) {
      const { leaf } = value;
      if (leaf.kind === 'operand' || leaf.kind === 'setOperand') this.#row(leaf.at.operand);
      if (leaf.kind === 'gather') this.#copyRow(leaf);
      for (const arg of value.args) {
        if (arg.lane || leaf.kind === 'laneMask' || this.#splats.has(arg)) continue;
        this.#splats.set(arg, splat(this.#state.e, this.#state.scalar(arg), arg.type as Type));
      }
    }
    for (const value of this.#ballotValues) {
      const local = f.local('i64');
      f.i64(0n);
      f.set(local);
      this.#ballots.set(value, local);
    }
  }

  #row(operand: number): Local {
    let row = this.#rows.get(operand);
    if (!row) {
      row = this.#state.f.local('i32');
      this.#state.pushRegisterOffset(operand);
      this.#state.f.set(row);
      this.#rows.set(operand, row);
    }
    return row;
  }

  /** A row that is read across lanes is copied first: the destination may be the same register. */
  #copyRow({ at }: LeafOf<'gather'>): void {
    const key = `${at.operand} ${at.dword}`;
    if (this.#temporaryRows.has(key)) return;
    assert(this.#temporaryRows.size < TEMPORARY_ROW_COUNT, 'rows that other lanes read have copies');
    const offset = WAVE_TEMPORARY_ROWS + this.#temporaryRows.size * this.#state.rowSizeBytes;
    this.#temporaryRows.set(key, offset);
    const f = this.#state.f;
    f.get(this.#state.wave);
    f.i32(offset);
    f.op('i32.add');
    f.get(this.#state.wave);
    f.get(this.#row(at.operand));
    f.op('i32.add');
    f.i32(at.dword * this.#state.rowSizeBytes);
    f.op('i32.add');
    f.i32(this.#state.rowSizeBytes);
    f.memoryCopy();
  }

  #argument(value: Value): LaneArgument {
    if (value.lane) return { lanes: this.#lanes.get(value)! };
    return { lanes: this.#splats.get(value)!, scalar: this.#state.scalar(value) };
  }

  /** One chunk of 4 lanes. Locals of a value are given back after its last use. */
  #emitChunk(lanes: readonly Value[]): void {
    const lastUse = new Map<Value, Value>();
    for (const value of lanes) for (const arg of value.args) lastUse.set(arg, value);
    const kept = (value: Value): boolean =>
      value.leaf.kind === 'load' ||
      value.leaf.kind === 'loaded' ||
      [...this.#ballots.keys()].some(({ args }) => args[0] === value);
    for (const value of lanes) {
      this.#emitLane(value);
      const defined = this.#lanes.get(value);
      if (defined) this.#matrix?.storeArgument(value, defined, this.#rowPointer, this.#chunk, this.#chunkOffset);
      if (!lastUse.has(value) && !kept(value)) this.#release(value);
      for (const arg of new Set(value.args)) if (lastUse.get(arg) === value && !kept(arg)) this.#release(arg);
    }
    for (const [ballot, local] of this.#ballots) this.#accumulate(local, this.#lanes.get(ballot.args[0]!)![0]!);
    for (const value of [...this.#lanes.keys()]) this.#release(value);
    this.#loaded.clear();
  }

  #release(value: Value): void {
    const lanes = this.#lanes.get(value);
    if (!lanes) return;
    this.#state.f.free(...new Set(lanes));
    this.#lanes.delete(value);
  }

  /** ballot |= (bits of the condition in active lanes) << chunk. */
  #accumulate(ballot: Local, condition: Local): void {
    const set = operation('i32x4.bitmask', condition);
    const active = this.#nibble ? and(set, this.#nibble) : set;
    const bits = zext64(this.#chunkOffset > 0 ? shl(active, this.#chunkOffset) : active);
    const shifted = operation('i64.shl', bits, zext64(this.#chunk));
    assign(this.#state.f, ballot, operation('i64.or', ballot, shifted));
  }

  #emitLane(value: Value): void {
    const emitLeaf = this.#kinds[value.leaf.kind] as LaneEmission<LeafKind>; // reason: a kind's row takes leaves of that kind
    assert(emitLeaf !== 'never', () => `per-lane ${value.leaf.kind}`);
    const lanes = emitLeaf(value);
    if (lanes) this.#lanes.set(value, lanes);
  }

  readonly #kinds: { readonly [K in LeafKind]: LaneEmission<K> } = {
    pure: ({ leaf, args }) => emitLanes(this.#state.e, leaf.op, EMISSION[leaf.op], this.#arguments(args)),
    operand: ({ leaf }) => {
      this.#pushRowAddress(leaf.at.operand);
      this.#state.f.load('v128.load', this.#rowOffset(leaf.at.dword));
      return [captured(this.#state.f)];
    },
    laneId: () => [laneIdsOf(this.#state.f, this.#place)],
    laneTable: ({ leaf }) => {
      this.#state.place.pushParameter(leaf.operand, 0);
      return [laneBytesOf(this.#state.f, this.#place)];
    },
    laneMask: ({ args }) => [this.#maskOf(this.#state.scalar(args[0]!))],
    gather: ({ leaf, args }) => [this.#gather(leaf, args[0]!)],
    matrixProduct: () => this.#matrixResult(0),
    matrixResult: ({ leaf }) => this.#matrixResult(leaf.index),
    load: (value) => {
      const { e, spaces } = this.#state;
      this.#count(value);
      const dwords = emitLoad(e, spaces, this.#access(), value.leaf, this.#arguments(value.args));
      this.#loaded.set(value, dwords);
      return [dwords[0]!];
    },
    loaded: ({ leaf, args }) => [this.#loaded.get(args[0]!)![leaf.index]!],
    store: (value) => {
      const { e, spaces } = this.#state;
      this.#count(value);
      return emitStore(e, spaces, this.#access(), value.leaf, this.#arguments(value.args));
    },
    atomic: (value) => {
      const { e, spaces } = this.#state;
      const { leaf, type, args } = value;
      this.#count(value);
      return emitAtomic(e, spaces, this.#access(), { leaf, type: type as Type }, this.#arguments(args));
    },
    setOperand: ({ leaf, args }) => this.#setLanes(leaf, args),
    const: 'never',
    param: 'never',
    state: 'never',
    pc: 'never',
    nextPc: 'never',
    clock: 'never',
    ballot: 'never',
    readLane: 'never',
    writeLane: 'never',
    fence: 'never',
    setState: 'never',
    branch: 'never',
    jump: 'never',
    exit: 'never',
  };

  get #place(): ChunkPlace {
    return { chunk: this.#chunk, pointer: this.#rowPointer, offset: this.#chunkOffset };
  }

  #arguments(args: readonly Value[]): LaneArgument[] {
    return args.map((arg) => this.#argument(arg));
  }

  #maskOf(bits: Local): Local {
    const { f } = this.#state;
    const nibble = f.local('i32');
    this.#pushNibble(bits, nibble);
    pushNibbleMask(f, nibble);
    f.free(nibble);
    return captured(f);
  }

  #matrixResult(index: number): Lanes {
    return this.#matrix!.loadResult(index, this.#rowPointer, this.#chunk, this.#chunkOffset);
  }

  /** Counts an access by its number among those of the instruction. */
  #count({ id, leaf, args }: ValueOf<'load' | 'store' | 'atomic'>): void {
    const at = { ...this.#access(), chunkOffset: this.#chunkOffset };
    emitAccessCount(this.#state.e, at, id, leaf, this.#arguments(args));
  }

  #access(): LaneAccess {
    return {
      pushRecord: () => this.#state.place.pushRecord(),
      wave: this.#state.wave,
      chunk: this.#chunk,
      nibble: this.#nibble!,
    };
  }

  #pushRowAddress(operand: number): void {
    this.#state.f.get(this.#rowPointer);
    this.#state.f.get(this.#row(operand));
    this.#state.f.op('i32.add');
  }

  /** Distance of a dword of the current chunk from the row address. */
  #rowOffset(dword: number): number {
    return dword * this.#state.rowSizeBytes + this.#chunkOffset * 4;
  }

  #gather({ at }: LeafOf<'gather'>, index: Value): Local {
    const { f, wave, spaces } = this.#state;
    const row = this.#temporaryRows.get(`${at.operand} ${at.dword}`)!;
    return gatherRow(f, { wave, waveSize: spaces.waveSize }, row, this.#argument(index).lanes[0]!);
  }

  #setLanes(leaf: LeafOf<'setOperand'>, args: readonly Value[]): void {
    const f = this.#state.f;
    const { lanes } = this.#argument(args[0]!);
    const offset = this.#rowOffset(leaf.at.dword);
    const extra = args[1] && this.#argument(args[1]).lanes[0]!;
    this.#pushRowAddress(leaf.at.operand);
    f.get(lanes[0]!);
    if (this.#mask || extra) {
      this.#pushRowAddress(leaf.at.operand);
      f.load('v128.load', offset);
      if (this.#mask) f.get(this.#mask);
      if (extra) f.get(extra);
      if (this.#mask && extra) f.op('v128.and');
      f.op('v128.bitselect');
    }
    f.store('v128.store', offset);
  }
}
