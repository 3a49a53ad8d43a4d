/** Uniform values of a handler: one for the wave, in a scalar local. */
import { assert } from '../../base/errors.ts';
import type { LeafOf, Value } from '../../ir/types.ts';
import type { Local } from '../../wasm/function.ts';
import { STATE_OFFSETS, WAVE_CLOCK } from '../machine/layout.ts';
import { EMISSION } from './emission.ts';
import { emitScalar } from './emitter.ts';
import type { HandlerState } from './handler-state.ts';
import type { LaneLowering } from './lane-lowering.ts';
import { emitFence, emitUniformLoad } from './uniform-memory.ts';

export class UniformLowering {
  readonly #state: HandlerState;
  readonly #lanes: LaneLowering;
  readonly #uniformLoads = new Map<Value, readonly Local[]>();

  constructor(state: HandlerState, lanes: LaneLowering) {
    this.#state = state;
    this.#lanes = lanes;
  }

  emit(value: Value): void {
    const f = this.#state.f;
    const { leaf, args } = value;
    switch (leaf.kind) {
      case 'const':
        if (value.type === 'i64') f.i64(leaf.value);
        else f.i32(Number(leaf.value));
        this.#state.define(value);
        return;
      case 'pure':
        emitScalar(
          this.#state.e,
          leaf.op,
          EMISSION[leaf.op],
          args.map((arg) => this.#state.scalar(arg)),
        );
        this.#state.define(value);
        return;
      case 'operand':
        this.#pushScalarOperand(leaf);
        this.#state.define(value);
        return;
      case 'state':
        f.get(this.#state.wave);
        f.load(value.type === 'i64' ? this.#state.maskLoad : 'i32.load', STATE_OFFSETS[leaf.slot]);
        this.#state.define(value);
        return;
      case 'pc':
      case 'nextPc':
        this.#state.place.pushPc(leaf.kind);
        f.op('i64.extend_i32_u');
        f.i64(BigInt(this.#state.spaces.windowHi) << 32n);
        f.op('i64.or');
        this.#state.define(value);
        return;
      case 'clock':
        f.get(this.#state.wave);
        f.load('i64.load', WAVE_CLOCK);
        this.#state.define(value);
        return;
      case 'readLane':
        this.#pushLaneAddress(leaf.at.operand, this.#state.scalar(args[0]!));
        f.load('i32.load', leaf.at.dword * this.#state.rowSizeBytes);
        this.#state.define(value);
        return;
      case 'ballot':
        this.#emitBallotResult(value);
        return;
      case 'load':
        this.#uniformLoads.set(value, this.#emitLoad(leaf, args));
        f.get(this.#uniformLoads.get(value)![0]!);
        this.#state.define(value);
        return;
      case 'loaded':
        f.get(this.#uniformLoads.get(args[0]!)![leaf.index]!);
        this.#state.define(value);
        return;
      case 'fence':
        emitFence(f);
        return;
      case 'setOperand':
        this.#storeScalarOperand(leaf, this.#state.scalar(args[0]!));
        return;
      case 'setState':
        f.get(this.#state.wave);
        f.get(this.#state.scalar(args[0]!));
        f.store(args[0]!.type === 'i64' ? this.#state.maskStore : 'i32.store', STATE_OFFSETS[leaf.slot]);
        return;
      case 'writeLane':
        this.#pushLaneAddress(leaf.at.operand, this.#state.scalar(args[0]!));
        f.get(this.#state.scalar(args[1]!));
        f.store('i32.store', leaf.at.dword * this.#state.rowSizeBytes);
        return;
      case 'branch':
      case 'jump':
      case 'exit':
        return; // emitControl: they end the handler
      default:
        assert(false, `uniform ${leaf.kind}`);
    }
  }

  #emitLoad(leaf: LeafOf<'load'>, args: readonly Value[]): Local[] {
    const { e, spaces, place, wave } = this.#state;
    const at = { pushRecord: () => place.pushRecord(), wave };
    const predicate = leaf.predicated ? this.#state.scalar(args[1]!) : undefined;
    return emitUniformLoad(e, spaces, leaf, at, this.#state.scalar(args[0]!), predicate);
  }

  #pushScalarOperand(leaf: LeafOf<'operand'>): void {
    const f = this.#state.f;
    const { operand, dword } = leaf.at;
    if (this.#state.operands[operand]?.kind === 'constant') {
      this.#state.place.pushParameter(operand, dword);
    } else {
      this.#state.pushRegister(operand);
      f.load('i32.load', dword * 4);
    }
  }

  #storeScalarOperand(leaf: LeafOf<'setOperand'>, value: Local): void {
    const f = this.#state.f;
    this.#state.pushRegister(leaf.at.operand);
    f.get(value);
    f.store('i32.store', leaf.at.dword * 4);
  }

  /** Pushes the address of a vector operand's dword in the lane that `index` holds. */
  #pushLaneAddress(operand: number, index: Local): void {
    const f = this.#state.f;
    this.#state.pushRegister(operand);
    f.get(index);
    f.i32(this.#state.spaces.waveSize - 1);
    f.op('i32.and');
    f.i32(2);
    f.op('i32.shl');
    f.op('i32.add');
  }

  #emitBallotResult(value: Value): void {
    const f = this.#state.f;
    const accumulated = this.#lanes.ballot(value);
    if (accumulated) f.get(accumulated);
    else {
      f.get(this.#state.exec!);
      f.i64(0n);
      f.get(this.#state.scalar(value.args[0]!));
      f.select();
    }
    this.#state.define(value);
  }
}
