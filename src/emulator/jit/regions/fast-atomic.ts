/**
 * An atomic of a chunk, in the LDS or in the device's window: one check for all lanes, then one active lane
 * after the other. What is not permitted or not aligned goes to the slow body.
 */
import type { Type } from '../../../ir/types.ts';
import { operation, push } from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import { freshLanes, type Lanes } from '../../lowering/emitter.ts';
import { updateLane } from '../../lowering/lane-atomics.ts';
import { validityOf } from '../../lowering/memory-access.ts';
import { MAY_READ, MAY_WRITE, WAVE_LDS_BASE, WAVE_LDS_SIZE } from '../../machine/layout.ts';
import type { FunctionState } from '../function/function-state.ts';
import { lanesMisalignment } from './alignment.ts';
import type { FastMemoryEnvironment } from './fast-memory.ts';
import { ifActive } from './lane-accesses.ts';
import type { NodeOf } from './node.ts';

type AccessArguments = Pick<FastMemoryEnvironment, 'argument' | 'address'>;

export class FastAtomic {
  readonly node: NodeOf<'atomic'>;
  readonly #state: FunctionState;
  /** Of the LDS: its linear address, and how many addresses are permitted. */
  readonly #ldsBase: Local;
  readonly #ldsCount: Local;

  constructor(state: FunctionState, node: NodeOf<'atomic'>) {
    this.#state = state;
    this.node = node;
    this.#ldsBase = state.f.local('i32');
    this.#ldsCount = state.f.local('v128');
  }

  /** Emits what comes before the loop. */
  prepare(): void {
    if (this.node.leaf.space !== 'lds') return;
    const { f, wave } = this.#state;
    const end = this.node.address!.offset + this.node.leaf.sizeBytes;
    f.get(wave);
    f.load('i32.load', WAVE_LDS_BASE);
    f.set(this.#ldsBase);
    f.get(wave);
    f.load('i32.load', WAVE_LDS_SIZE);
    f.i32(end - 1);
    f.op('i32.sub');
    f.i32(0);
    f.get(wave);
    f.load('i32.load', WAVE_LDS_SIZE);
    f.i32(end);
    f.op('i32.ge_u');
    f.select();
    f.op('i32x4.splat');
    f.set(this.#ldsCount);
  }

  release(): void {
    this.#state.f.free(this.#ldsBase, this.#ldsCount);
  }

  /** The old values, in the lanes of `nibble` if given. It gives up before anything is changed. */
  emit(of: AccessArguments, isRead: boolean, slow: BlockLabel, nibble: Local | undefined): Lanes {
    const { e, f } = this.#state;
    const { leaf, type, args, address } = this.node;
    const isLds = leaf.space === 'lds';
    const low = of.address(address!.low).lanes[0]!;
    if (leaf.predicated) {
      f.get(of.address(args.at(-1)!).lanes[0]!);
      f.op('i32x4.all_true');
      f.op('i32.eqz');
      f.brIfRare(slow);
    }
    const lanes = [0, 1, 2, 3].map((lane) => {
      const local = f.local('i32');
      f.get(low);
      f.lane('i32x4.extract_lane', lane);
      if (isLds) {
        f.get(this.#ldsBase);
        f.op('i32.add');
      }
      if (address!.offset > 0) {
        f.i32(address!.offset);
        f.op('i32.add');
      }
      f.set(local);
      return local;
    });
    if (isLds) {
      const { alignmentBytes } = leaf;
      if (alignmentBytes !== undefined) {
        push(f, operation('v128.any_true', lanesMisalignment(low, address!.offset, alignmentBytes)));
        f.brIfRare(slow);
      }
      f.get(low);
      f.get(this.#ldsCount);
      f.op('i32x4.ge_u');
      f.op('v128.any_true');
      f.brIfRare(slow);
    } else this.#checkWindow(of, low, lanes, slow);
    const operands = args.slice(1, leaf.predicated ? -1 : undefined).map((arg) => of.argument(arg));
    const atomic = { leaf, type: type as Type };
    const old = isRead ? freshLanes(e, atomic.type) : undefined;
    lanes.forEach((base, lane) => {
      ifActive(f, lane, nibble, () => updateLane(e, atomic, operands, { lane, base, stride: 4 }, old));
    });
    f.free(...lanes);
    return old ?? [];
  }

  #checkWindow(of: AccessArguments, low: Local, lanes: readonly Local[], slow: BlockLabel): void {
    const { f, spaces } = this.#state;
    const { high, floor, offset } = this.node.address!;
    const { sizeBytes } = this.node.leaf;
    f.get(of.address(high!).lanes[0]!);
    f.i32(spaces.windowHi);
    f.op('i32x4.splat');
    f.op('v128.xor');
    // An aligned access lies in one granule of the validity map.
    push(f, lanesMisalignment(low, offset, sizeBytes));
    f.op('v128.or');
    if (floor) {
      f.get(low);
      f.get(of.address(floor).lanes[0]!);
      f.op('i32x4.lt_u');
      f.op('v128.or');
    }
    f.op('v128.any_true');
    f.brIfRare(slow);
    lanes.forEach((base, lane) => {
      push(f, validityOf(base));
      if (lane > 0) f.op('i32.and');
    });
    f.i32(MAY_READ | MAY_WRITE);
    f.op('i32.and');
    f.i32(MAY_READ | MAY_WRITE);
    f.op('i32.ne');
    f.brIfRare(slow);
  }
}
