/**
 * Lowers the meaning of one instruction to a handler: uniform values first, then a loop over chunks of 4 lanes, then what depends on
 * the lanes' result (masks to SGPRs, branches, exits). Registers live in the wave state; which ones is read from the record.
 */
import { assert } from '../../base/errors.ts';
import type { Leaf, Program, Type, Value } from '../../ir/types.ts';
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import {
  EXIT_CODES,
  EXIT_JUMP,
  EXIT_MODE,
  JUMP_CACHE_ENTRIES,
  NIBBLE_MASKS,
  RECORD_NEXT_PC,
  RECORD_OPERANDS,
  RECORD_PC,
  RECORD_SIZE_BYTES,
  RECORD_TARGET,
  STATE_OFFSETS,
  WAVE_CLOCK,
  WAVE_EXIT,
  WAVE_JUMP_CACHE,
  WAVE_JUMP_PC,
  WAVE_RECORD,
  WAVE_TEMPORARY_ROWS,
} from '../layout.ts';
import { captured, type Emitter, emitLanes, emitScalar, type LaneArgument, type Lanes, splat, wasmType } from './emitter.ts';
import { EMISSION } from './emission.ts';
import { emitAtomic, emitLoad, emitStore, type LaneAccess } from './lane-memory.ts';
import { type AddressSpaces, translator } from './memory-access.ts';
import type { ModuleContext } from './module-context.ts';

export type OperandKind = 'vector' | 'scalar' | 'constant';

type Phase = 'before' | 'lanes' | 'after';
type LeafOf<K extends Leaf['kind']> = Extract<Leaf, { kind: K }>;

const EFFECTS = new Set<Leaf['kind']>([
  'load', 'atomic', 'store', 'setOperand', 'writeLane', 'setState', 'branch', 'jump', 'exit',
]);

/** Operand parameters: the first dword of the 8 bytes of operand `i` in the record. */
const operandOffset = (operand: number): number => RECORD_OPERANDS + operand * 8;

export function lowerHandler(
  context: ModuleContext,
  spaces: AddressSpaces,
  program: Program,
  operandKinds: readonly OperandKind[],
  name: string,
): FunctionBuilder {
  return new HandlerLowering(context, spaces, program, operandKinds, name).build();
}

class HandlerLowering {
  readonly #f: FunctionBuilder;
  readonly #e: Emitter;
  readonly #spaces: AddressSpaces;
  readonly #operandKinds: readonly OperandKind[];
  readonly #record: Local;
  readonly #wave: Local;
  readonly #live: readonly Value[];
  readonly #phases = new Map<Value, Phase>();
  readonly #uniform = new Map<Value, Local>();
  readonly #lanes = new Map<Value, Lanes>();
  readonly #splats = new Map<Value, Lanes>();
  readonly #loaded = new Map<Value, readonly Local[]>();
  readonly #uniformLoads = new Map<Value, readonly Local[]>();
  /** Offset of a vector operand's row from the wave's base. */
  readonly #rows = new Map<number, Local>();
  readonly #ballots = new Map<Value, Local>();
  readonly #temporaryRows = new Map<string, number>();
  readonly #rowSizeBytes: number;
  #exec!: Local;
  // Of the chunk being emitted:
  #chunk!: Local;
  #nibble: Local | undefined;
  #rowPointer!: Local;
  #mask: Local | undefined;

  constructor(
    context: ModuleContext,
    spaces: AddressSpaces,
    program: Program,
    operandKinds: readonly OperandKind[],
    name: string,
  ) {
    this.#f = context.module.function(context.handlerType.parameters, context.handlerType.results, name);
    this.#e = { f: this.#f, context };
    this.#spaces = spaces;
    this.#operandKinds = operandKinds;
    this.#record = this.#f.param(0);
    this.#wave = this.#f.param(1);
    this.#rowSizeBytes = spaces.waveSize * 4;
    this.#live = liveValues(program);
    for (const value of this.#live) this.#phases.set(value, this.#phaseOf(value));
  }

  build(): FunctionBuilder {
    const inPhase = (phase: Phase): Value[] => this.#live.filter((value) => this.#phases.get(value) === phase);
    const lanes = inPhase('lanes');
    const after = inPhase('after');
    if (lanes.length > 0 || after.some((value) => value.leaf.kind === 'ballot')) this.#loadExec();
    for (const value of inPhase('before')) this.#emitUniform(value);
    if (lanes.length > 0) this.#emitLanes(lanes);
    for (const value of after) this.#emitUniform(value);
    this.#emitControl(after);
    return this.#f;
  }

  #phaseOf(value: Value): Phase {
    if (value.lane) {
      assert(value.args.every((arg) => this.#phases.get(arg) !== 'after'), 'a lane value depends on a result of all lanes');
      return 'lanes';
    }
    const { kind } = value.leaf;
    const effect = EFFECTS.has(kind) && kind !== 'load';
    return effect || kind === 'ballot' || value.args.some((arg) => this.#phases.get(arg) === 'after') ? 'after' : 'before';
  }

  #loadExec(): void {
    const f = this.#f;
    f.get(this.#wave);
    f.load(this.#spaces.waveSize === 64 ? 'i64.load' : 'i64.load32_u', STATE_OFFSETS.exec);
    this.#exec = f.local('i64');
    f.set(this.#exec);
  }

  // Uniform values

  /** Pops the top of the stack into the local of `value`. */
  #define(value: Value): void {
    const local = this.#f.local(wasmType(value.type as Type));
    this.#f.set(local);
    this.#uniform.set(value, local);
  }

  #scalar(value: Value): Local {
    const local = this.#uniform.get(value);
    assert(local, `value ${value.id} (${value.leaf.kind}) has a local`);
    return local;
  }

  #emitUniform(value: Value): void {
    const f = this.#f;
    const { leaf, args } = value;
    switch (leaf.kind) {
      case 'const':
        if (value.type === 'i64') f.i64(leaf.value);
        else f.i32(Number(leaf.value));
        return this.#define(value);
      case 'pure':
        emitScalar(this.#e, leaf.op, EMISSION[leaf.op], args.map((arg) => this.#scalar(arg)));
        return this.#define(value);
      case 'operand':
        this.#pushScalarOperand(leaf);
        return this.#define(value);
      case 'state':
        f.get(this.#wave);
        f.load(value.type === 'i64' ? 'i64.load' : 'i32.load', STATE_OFFSETS[leaf.slot]);
        return this.#define(value);
      case 'pc':
      case 'nextPc':
        f.get(this.#record);
        f.load('i64.load32_u', leaf.kind === 'pc' ? RECORD_PC : RECORD_NEXT_PC);
        f.i64(BigInt(this.#spaces.windowHi) << 32n);
        f.op('i64.or');
        return this.#define(value);
      case 'clock':
        f.get(this.#wave);
        f.load('i64.load', WAVE_CLOCK);
        return this.#define(value);
      case 'readLane':
        this.#pushLaneAddress(leaf.at.operand, this.#scalar(args[0]!));
        f.load('i32.load', leaf.at.dword * this.#rowSizeBytes);
        return this.#define(value);
      case 'ballot':
        return this.#emitBallotResult(value);
      case 'load':
        this.#uniformLoads.set(value, this.#emitUniformLoad(leaf, args));
        f.get(this.#uniformLoads.get(value)![0]!);
        return this.#define(value);
      case 'loaded':
        f.get(this.#uniformLoads.get(args[0]!)![leaf.index]!);
        return this.#define(value);
      case 'setOperand':
        return this.#storeScalarOperand(leaf, this.#scalar(args[0]!));
      case 'setState':
        f.get(this.#wave);
        f.get(this.#scalar(args[0]!));
        f.store(args[0]!.type === 'i64' ? 'i64.store' : 'i32.store', STATE_OFFSETS[leaf.slot]);
        return;
      case 'writeLane':
        this.#pushLaneAddress(leaf.at.operand, this.#scalar(args[0]!));
        f.get(this.#scalar(args[1]!));
        f.store('i32.store', leaf.at.dword * this.#rowSizeBytes);
        return;
      case 'branch':
      case 'jump':
      case 'exit':
        return; // emitControl: they end the handler
      default:
        assert(false, `uniform ${leaf.kind}`);
    }
  }

  /** One access of the whole wave, e.g. s_load_dwordx4; 0 where its predicate is off. */
  #emitUniformLoad(leaf: LeafOf<'load'>, args: readonly Value[]): Local[] {
    const f = this.#f;
    const translate = translator(this.#e.context, this.#spaces, leaf.space, 'read', leaf.sizeBytes);
    const address = this.#scalar(args[0]!);
    const dwords = Array.from({ length: leaf.dwords }, () => f.local('i32'));
    const load = (): void => {
      const base = f.local('i32');
      f.get(this.#record);
      f.get(this.#wave);
      f.i32(-1);
      f.get(address);
      f.op('i32.wrap_i64');
      f.get(address);
      f.i64(32n);
      f.op('i64.shr_u');
      f.op('i32.wrap_i64');
      f.call(translate);
      f.set(base);
      dwords.forEach((dword, i) => {
        f.get(base);
        f.load(leaf.sizeBytes === 1 ? 'i32.load8_u' : leaf.sizeBytes === 2 ? 'i32.load16_u' : 'i32.load', i * 4);
        f.set(dword);
      });
    };
    if (!leaf.predicated) load();
    else {
      f.get(this.#scalar(args[1]!));
      f.if(undefined, load);
    }
    return dwords;
  }

  #pushScalarOperand(leaf: LeafOf<'operand'>): void {
    const f = this.#f;
    const { operand, dword } = leaf.at;
    f.get(this.#record);
    if (this.#operandKinds[operand] === 'constant') {
      f.load('i32.load', operandOffset(operand) + dword * 4);
      return;
    }
    f.load('i32.load', operandOffset(operand));
    f.get(this.#wave);
    f.op('i32.add');
    f.load('i32.load', dword * 4);
  }

  #storeScalarOperand(leaf: LeafOf<'setOperand'>, value: Local): void {
    const f = this.#f;
    f.get(this.#record);
    f.load('i32.load', operandOffset(leaf.at.operand));
    f.get(this.#wave);
    f.op('i32.add');
    f.get(value);
    f.store('i32.store', leaf.at.dword * 4);
  }

  /** Pushes the address of a vector operand's dword in the lane that `index` holds. */
  #pushLaneAddress(operand: number, index: Local): void {
    const f = this.#f;
    f.get(this.#record);
    f.load('i32.load', operandOffset(operand));
    f.get(this.#wave);
    f.op('i32.add');
    f.get(index);
    f.i32(this.#spaces.waveSize - 1);
    f.op('i32.and');
    f.i32(2);
    f.op('i32.shl');
    f.op('i32.add');
  }

  // Lanes

  #emitLanes(lanes: readonly Value[]): void {
    const f = this.#f;
    this.#prepareLanes(lanes);
    const masked = f.local('i64');
    const loop = (body: () => void): void => {
      f.loop(undefined, (again) => {
        f.get(this.#wave);
        f.get(this.#chunk);
        f.i32(2);
        f.op('i32.shl');
        f.op('i32.add');
        f.set(this.#rowPointer);
        body();
        f.brIf(again);
      });
    };
    this.#chunk = f.local('i32');
    this.#rowPointer = f.local('i32');
    const sparse = (): void => {
      f.get(this.#exec);
      f.set(masked);
      f.get(masked);
      f.i64(0n);
      f.op('i64.ne');
      f.if(undefined, () => {
        const nibble = f.local('i32');
        const mask = f.local('v128');
        f.loop(undefined, (again) => {
          this.#pushNextChunk(masked);
          this.#pushNibble(masked, nibble);
          f.get(nibble);
          f.i32(4);
          f.op('i32.shl');
          f.load('v128.load', NIBBLE_MASKS);
          f.set(mask);
          this.#nibble = nibble;
          this.#mask = mask;
          this.#emitChunk(lanes);
          this.#dropChunk(masked);
          f.get(masked);
          f.i64(0n);
          f.op('i64.ne');
          f.brIf(again);
        });
        f.free(nibble, mask);
        this.#nibble = undefined;
        this.#mask = undefined;
      });
    };
    if (lanes.some(({ leaf }) => leaf.kind === 'load' || leaf.kind === 'store' || leaf.kind === 'atomic')) return sparse();
    f.get(this.#exec);
    f.i64(this.#spaces.waveSize === 64 ? -1n : 0xffffffffn);
    f.op('i64.eq');
    f.if(
      undefined,
      () => {
        f.i32(0);
        f.set(this.#chunk);
        loop(() => {
          this.#emitChunk(lanes);
          f.get(this.#chunk);
          f.i32(4);
          f.op('i32.add');
          f.tee(this.#chunk);
          f.i32(this.#spaces.waveSize);
          f.op('i32.ne');
        });
      },
      sparse,
    );
  }

  /** Chunk number from the lowest set bit; the row pointer follows. */
  #pushNextChunk(masked: Local): void {
    const f = this.#f;
    f.get(masked);
    f.op('i64.ctz');
    f.op('i32.wrap_i64');
    f.i32(-4);
    f.op('i32.and');
    f.tee(this.#chunk);
    f.i32(2);
    f.op('i32.shl');
    f.get(this.#wave);
    f.op('i32.add');
    f.set(this.#rowPointer);
  }

  #pushNibble(mask: Local, nibble: Local): void {
    const f = this.#f;
    f.get(mask);
    f.get(this.#chunk);
    f.op('i64.extend_i32_u');
    f.op('i64.shr_u');
    f.op('i32.wrap_i64');
    f.i32(15);
    f.op('i32.and');
    f.set(nibble);
  }

  /** Clears the chunk's bits. */
  #dropChunk(masked: Local): void {
    const f = this.#f;
    f.get(masked);
    f.i64(15n);
    f.get(this.#chunk);
    f.op('i64.extend_i32_u');
    f.op('i64.shl');
    f.i64(-1n);
    f.op('i64.xor');
    f.op('i64.and');
    f.set(masked);
  }

  /** What does not change from chunk to chunk: row offsets, splats of uniform arguments, copies of rows that other lanes read. */
  #prepareLanes(lanes: readonly Value[]): void {
    const f = this.#f;
    for (const value of lanes) {
      const { leaf } = value;
      if (leaf.kind === 'operand' || leaf.kind === 'setOperand') this.#row(leaf.at.operand);
      if (leaf.kind === 'gather') this.#copyRow(leaf);
      for (const arg of value.args) {
        if (arg.lane || leaf.kind === 'laneMask' || this.#splats.has(arg)) continue;
        this.#splats.set(arg, splat(this.#e, this.#scalar(arg), arg.type as Type));
      }
    }
    for (const value of this.#live) {
      if (value.leaf.kind !== 'ballot' || !value.args[0]!.lane) continue;
      const local = f.local('i64');
      f.i64(0n);
      f.set(local);
      this.#ballots.set(value, local);
    }
  }

  #row(operand: number): Local {
    let row = this.#rows.get(operand);
    if (!row) {
      row = this.#f.local('i32');
      this.#f.get(this.#record);
      this.#f.load('i32.load', operandOffset(operand));
      this.#f.set(row);
      this.#rows.set(operand, row);
    }
    return row;
  }

  /** A row that is read across lanes is copied first: the destination may be the same register. */
  #copyRow({ at }: LeafOf<'gather'>): void {
    const key = `${at.operand} ${at.dword}`;
    if (this.#temporaryRows.has(key)) return;
    const offset = WAVE_TEMPORARY_ROWS + this.#temporaryRows.size * this.#rowSizeBytes;
    this.#temporaryRows.set(key, offset);
    const f = this.#f;
    f.get(this.#wave);
    f.i32(offset);
    f.op('i32.add');
    f.get(this.#wave);
    f.get(this.#row(at.operand));
    f.op('i32.add');
    f.i32(at.dword * this.#rowSizeBytes);
    f.op('i32.add');
    f.i32(this.#rowSizeBytes);
    f.memoryCopy();
  }

  #argument(value: Value): LaneArgument {
    if (value.lane) return { lanes: this.#lanes.get(value)! };
    return { lanes: this.#splats.get(value)!, scalar: this.#scalar(value) };
  }

  /** One chunk of 4 lanes. Locals of a value are given back after its last use. */
  #emitChunk(lanes: readonly Value[]): void {
    const lastUse = new Map<Value, Value>();
    for (const value of lanes) for (const arg of value.args) lastUse.set(arg, value);
    const kept = (value: Value): boolean =>
      value.leaf.kind === 'load' || value.leaf.kind === 'loaded' || [...this.#ballots.keys()].some(({ args }) => args[0] === value);
    for (const value of lanes) {
      this.#emitLane(value);
      for (const arg of new Set(value.args)) if (lastUse.get(arg) === value && !kept(arg)) this.#release(arg);
    }
    for (const [ballot, local] of this.#ballots) this.#accumulate(local, this.#lanes.get(ballot.args[0]!)![0]!);
    for (const value of [...this.#lanes.keys()]) this.#release(value);
    this.#loaded.clear();
  }

  #release(value: Value): void {
    const lanes = this.#lanes.get(value);
    if (!lanes) return;
    this.#f.free(...new Set(lanes));
    this.#lanes.delete(value);
  }

  /** ballot |= (bits of the condition in active lanes) << chunk. */
  #accumulate(ballot: Local, condition: Local): void {
    const f = this.#f;
    f.get(ballot);
    f.get(condition);
    f.op('i32x4.bitmask');
    if (this.#nibble) {
      f.get(this.#nibble);
      f.op('i32.and');
    }
    f.op('i64.extend_i32_u');
    f.get(this.#chunk);
    f.op('i64.extend_i32_u');
    f.op('i64.shl');
    f.op('i64.or');
    f.set(ballot);
  }

  #emitBallotResult(value: Value): void {
    const f = this.#f;
    const accumulated = this.#ballots.get(value);
    if (accumulated) f.get(accumulated);
    else {
      f.get(this.#exec);
      f.i64(0n);
      f.get(this.#scalar(value.args[0]!));
      f.select();
    }
    this.#define(value);
  }

  #emitLane(value: Value): void {
    const f = this.#f;
    const { leaf, args } = value;
    const define = (...lanes: Local[]): void => {
      this.#lanes.set(value, lanes);
    };
    switch (leaf.kind) {
      case 'pure':
        define(...emitLanes(this.#e, leaf.op, EMISSION[leaf.op], args.map((arg) => this.#argument(arg))));
        return;
      case 'operand':
        this.#pushRowAddress(leaf.at.operand);
        f.load('v128.load', leaf.at.dword * this.#rowSizeBytes);
        return define(captured(f));
      case 'laneId':
        f.get(this.#chunk);
        f.op('i32x4.splat');
        f.v128([0, 1, 2, 3]);
        f.op('i32x4.add');
        return define(captured(f));
      case 'laneTable':
        f.get(this.#record);
        f.load('i32.load', operandOffset(leaf.operand));
        f.get(this.#chunk);
        f.op('i32.add');
        f.load('v128.load32_zero', 0);
        f.op('i16x8.extend_low_i8x16_u');
        f.op('i32x4.extend_low_i16x8_u');
        return define(captured(f));
      case 'laneMask': {
        const nibble = f.local('i32');
        this.#pushNibble(this.#scalar(args[0]!), nibble);
        f.get(nibble);
        f.i32(4);
        f.op('i32.shl');
        f.load('v128.load', NIBBLE_MASKS);
        f.free(nibble);
        return define(captured(f));
      }
      case 'gather':
        return define(this.#emitGather(leaf, args[0]!));
      case 'load': {
        const loaded = emitLoad(this.#e, this.#spaces, this.#access(), leaf, args.map((arg) => this.#argument(arg)));
        this.#loaded.set(value, loaded);
        return define(loaded[0]!);
      }
      case 'loaded':
        return define(this.#loaded.get(args[0]!)![leaf.index]!);
      case 'store':
        return emitStore(this.#e, this.#spaces, this.#access(), leaf, args.map((arg) => this.#argument(arg)));
      case 'atomic':
        define(...emitAtomic(this.#e, this.#spaces, this.#access(), leaf, value.type as Type, args.map((arg) => this.#argument(arg))));
        return;
      case 'setOperand':
        return this.#emitSetLanes(leaf, args);
      default:
        assert(false, `per-lane ${leaf.kind}`);
    }
  }

  #access(): LaneAccess {
    return { record: this.#record, wave: this.#wave, chunk: this.#chunk, nibble: this.#nibble! };
  }

  #pushRowAddress(operand: number): void {
    this.#f.get(this.#rowPointer);
    this.#f.get(this.#row(operand));
    this.#f.op('i32.add');
  }

  #emitGather(leaf: LeafOf<'gather'>, index: Value): Local {
    const f = this.#f;
    const offset = this.#temporaryRows.get(`${leaf.at.operand} ${leaf.at.dword}`)!;
    const { lanes } = this.#argument(index);
    const result = f.local('v128');
    for (let lane = 0; lane < 4; lane++) {
      f.get(this.#wave);
      f.get(lanes[0]!);
      f.lane('i32x4.extract_lane', lane);
      f.i32(this.#spaces.waveSize - 1);
      f.op('i32.and');
      f.i32(2);
      f.op('i32.shl');
      f.op('i32.add');
      f.get(result);
      f.loadLane('v128.load32_lane', offset, lane);
      f.set(result);
    }
    return result;
  }

  #emitSetLanes(leaf: LeafOf<'setOperand'>, args: readonly Value[]): void {
    const f = this.#f;
    const { lanes } = this.#argument(args[0]!);
    const offset = leaf.at.dword * this.#rowSizeBytes;
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

  // Control

  /** Ends the handler: the next record, or 0 after an exit code and where to resume are stored. */
  #emitControl(after: readonly Value[]): void {
    const f = this.#f;
    const control = after.find(({ leaf }) => leaf.kind === 'branch' || leaf.kind === 'jump' || leaf.kind === 'exit');
    if (control?.leaf.kind === 'branch') {
      f.get(this.#record);
      f.load('i32.load', RECORD_TARGET);
      this.#pushNextRecord();
      f.get(this.#scalar(control.args[0]!));
      f.select();
    } else if (control?.leaf.kind === 'jump') this.#emitJump(this.#scalar(control.args[0]!));
    else if (control?.leaf.kind === 'exit') this.#emitExit(EXIT_CODES[control.leaf.reason]);
    else if (after.some(({ leaf }) => leaf.kind === 'setState' && leaf.slot === 'mode')) this.#emitExit(EXIT_MODE);
    else this.#pushNextRecord();
  }

  #pushNextRecord(): void {
    this.#f.get(this.#record);
    this.#f.i32(RECORD_SIZE_BYTES);
    this.#f.op('i32.add');
  }

  #emitExit(code: number): void {
    const f = this.#f;
    f.get(this.#wave);
    f.i32(code);
    f.store('i32.store', WAVE_EXIT);
    f.get(this.#wave);
    this.#pushNextRecord();
    f.store('i32.store', WAVE_RECORD);
    f.i32(0);
  }

  #emitJump(target: Local): void {
    const f = this.#f;
    const entry = f.local('i32');
    f.get(target);
    f.op('i32.wrap_i64');
    f.i32(1);
    f.op('i32.shl');
    f.i32((JUMP_CACHE_ENTRIES - 1) * 8);
    f.op('i32.and');
    f.get(this.#wave);
    f.load('i32.load', WAVE_JUMP_CACHE);
    f.op('i32.add');
    f.set(entry);
    f.get(entry);
    f.load('i64.load32_u', 0);
    f.i64(BigInt(this.#spaces.windowHi) << 32n);
    f.op('i64.or');
    f.get(target);
    f.op('i64.eq');
    f.if(undefined, () => {
      f.get(entry);
      f.load('i32.load', 4);
      f.return();
    });
    f.get(this.#wave);
    f.get(target);
    f.store('i64.store', WAVE_JUMP_PC);
    this.#emitExit(EXIT_JUMP);
  }
}

/** What effects need, in order. */
function liveValues(program: Program): Value[] {
  const needed = new Set<Value>();
  for (const value of program.values.toReversed()) {
    if (!EFFECTS.has(value.leaf.kind) && !needed.has(value)) continue;
    needed.add(value);
    for (const arg of value.args) needed.add(arg);
  }
  return program.values.filter((value) => needed.has(value));
}
