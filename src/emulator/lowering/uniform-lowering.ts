/** Uniform values of a handler: one for the wave, in a scalar local. */
import { assert } from '../../base/errors.ts';
import type { LeafKind } from '../../ir/leaves.ts';
import type { OperandDword, Value, ValueOf } from '../../ir/types.ts';
import type { Local } from '../../wasm/function.ts';
import { STATE_OFFSETS, WAVE_CLOCK } from '../machine/layout.ts';
import { pushLaneOffset } from './chunk-place.ts';
import { EMISSION } from './emission.ts';
import { emitScalar } from './emitter.ts';
import type { HandlerState } from './handler-state.ts';
import type { LaneLowering } from './lane-lowering.ts';
import { emitFence, emitUniformAtomic, emitUniformLoad, emitUniformStore } from './uniform-memory.ts';

/** `never`: of this kind is no value of the wave. */
type UniformEmission<K extends LeafKind> = ((value: ValueOf<K>) => void) | 'never';

export class UniformLowering {
  readonly #state: HandlerState;
  readonly #lanes: LaneLowering;
  readonly #uniformLoads = new Map<Value, readonly Local[]>();

  constructor(state: HandlerState, lanes: LaneLowering) {
    this.#state = state;
    this.#lanes = lanes;
  }

  emit(value: Value): void {
    const emitLeaf = this.#kinds[value.leaf.kind] as UniformEmission<LeafKind>; // reason: a kind's row takes leaves of that kind
    assert(emitLeaf !== 'never', () => `uniform ${value.leaf.kind}`);
    emitLeaf(value);
    if (value.type !== 'void') this.#state.define(value);
  }

  /** What pushes a value, or does an effect. */
  readonly #kinds: { readonly [K in LeafKind]: UniformEmission<K> } = {
    const: ({ leaf, type }) => {
      if (type === 'i64') this.#state.f.i64(leaf.value);
      else this.#state.f.i32(Number(leaf.value));
    },
    pure: ({ leaf, args }) => {
      const locals = args.map((arg) => this.#state.scalar(arg));
      emitScalar(this.#state.e, leaf.op, EMISSION[leaf.op], locals);
    },
    operand: ({ leaf }) => this.#pushScalarOperand(leaf.at),
    state: ({ leaf, type }) => {
      this.#state.f.get(this.#state.wave);
      this.#state.f.load(type === 'i64' ? this.#state.maskLoad : 'i32.load', STATE_OFFSETS[leaf.slot]);
    },
    pc: () => this.#pushPc('pc'),
    nextPc: () => this.#pushPc('nextPc'),
    clock: () => {
      this.#state.f.get(this.#state.wave);
      this.#state.f.load('i64.load', WAVE_CLOCK);
    },
    readLane: ({ leaf, args }) => {
      this.#pushLaneAddress(leaf.at.operand, this.#state.scalar(args[0]!));
      this.#state.f.load('i32.load', leaf.at.dword * this.#state.rowSizeBytes);
    },
    ballot: (value) => this.#pushBallot(value),
    load: (value) => {
      const dwords = this.#emitLoad(value);
      this.#uniformLoads.set(value, dwords);
      this.#state.f.get(dwords[0]!);
    },
    loaded: ({ leaf, args }) => this.#state.f.get(this.#uniformLoads.get(args[0]!)![leaf.index]!),
    store: ({ leaf, args }) => {
      const { e, spaces } = this.#state;
      emitUniformStore(e, spaces, this.#place, { leaf, ...this.#written(leaf.predicated, args) });
    },
    atomic: ({ leaf, args }) => {
      const { e, spaces } = this.#state;
      emitUniformAtomic(e, spaces, this.#place, { leaf, ...this.#written(leaf.predicated, args) });
    },
    fence: () => emitFence(this.#state.f),
    setOperand: ({ leaf, args }) => this.#storeScalarOperand(leaf.at, this.#state.scalar(args[0]!)),
    setState: ({ leaf, args }) => {
      this.#state.f.get(this.#state.wave);
      this.#state.f.get(this.#state.scalar(args[0]!));
      this.#state.f.store(args[0]!.type === 'i64' ? this.#state.maskStore : 'i32.store', STATE_OFFSETS[leaf.slot]);
    },
    writeLane: ({ leaf, args }) => {
      this.#pushLaneAddress(leaf.at.operand, this.#state.scalar(args[0]!));
      this.#state.f.get(this.#state.scalar(args[1]!));
      this.#state.f.store('i32.store', leaf.at.dword * this.#state.rowSizeBytes);
    },
    // They end the instruction: `emitControl`.
    branch: () => {},
    jump: () => {},
    exit: () => {},
    param: 'never',
    laneId: 'never',
    laneTable: 'never',
    laneMask: 'never',
    gather: 'never',
    matrixProduct: 'never',
    matrixResult: 'never',
  };

  #pushPc(kind: 'pc' | 'nextPc'): void {
    const { f, place, spaces } = this.#state;
    place.pushPc(kind);
    f.op('i64.extend_i32_u');
    f.i64(BigInt(spaces.windowHi) << 32n);
    f.op('i64.or');
  }

  get #place() {
    const { place, wave } = this.#state;
    return { pushRecord: () => place.pushRecord(), wave };
  }

  #written(isPredicated: boolean, args: readonly Value[]) {
    const [address, ...rest] = args.map((arg) => this.#state.scalar(arg));
    const predicate = isPredicated ? rest.pop() : undefined;
    return { address: address!, data: rest, predicate };
  }

  #emitLoad({ leaf, args }: ValueOf<'load'>): Local[] {
    const { e, spaces } = this.#state;
    const predicate = leaf.predicated ? this.#state.scalar(args[1]!) : undefined;
    return emitUniformLoad(e, spaces, this.#place, { leaf, address: this.#state.scalar(args[0]!), predicate });
  }

  #pushScalarOperand({ operand, dword }: OperandDword): void {
    const f = this.#state.f;
    if (this.#state.operands[operand]?.kind === 'constant') {
      this.#state.place.pushParameter(operand, dword);
    } else {
      this.#state.pushRegister(operand);
      f.load('i32.load', dword * 4);
    }
  }

  #storeScalarOperand({ operand, dword }: OperandDword, value: Local): void {
    const f = this.#state.f;
    this.#state.pushRegister(operand);
    f.get(value);
    f.store('i32.store', dword * 4);
  }

  /** Pushes the address of a vector operand's dword in the lane that `index` holds. */
  #pushLaneAddress(operand: number, index: Local): void {
    const f = this.#state.f;
    this.#state.pushRegister(operand);
    f.get(index);
    pushLaneOffset(f, this.#state.spaces.waveSize);
    f.op('i32.add');
  }

  #pushBallot(value: Value): void {
    const f = this.#state.f;
    const accumulated = this.#lanes.ballot(value);
    if (accumulated) f.get(accumulated);
    else {
      f.get(this.#state.exec!);
      f.i64(0n);
      f.get(this.#state.scalar(value.args[0]!));
      f.select();
    }
  }
}
