/**
 * Loads and stores of a chunk, whose lanes that are off look like others to it: contiguous dwords, one address for all lanes, or any addresses, found out
 * once for all accesses whose addresses differ by constants. What is not permitted or not plain goes to the slow body, which finds the
 * lane to blame.
 */
import { assert } from '../../../base/errors.ts';
import type { Label, Local } from '../../../wasm/function.ts';
import type { ChunkPlace } from '../../lowering/chunk-place.ts';
import { loadPair } from '../../lowering/dword-pairs.ts';
import type { LaneArgument } from '../../lowering/emitter.ts';
import { pushValidity } from '../../lowering/memory-access.ts';
import { DEVICE_MEMORY, HOLE_BYTES, MAY_READ, MAY_WRITE } from '../../machine/layout.ts';
import type { FunctionState } from '../function-state.ts';
import type { Hoisted } from '../hoisted.ts';
import { type AccessGroup, accessOf, BROADCAST, CONTIGUOUS, GATHER, isLeftOut, mayBe } from './access-group.ts';
import { loadLanes, storeLanes } from './lane-accesses.ts';
import type { LinearAccesses } from './linear-accesses.ts';
import type { Node } from './node.ts';
import { pushPrivate, storePrivate } from './private-rows.ts';

/** The active lanes of a chunk twice; absent where all are. */
export interface ActiveLanes {
  readonly mask?: Local | undefined;
  readonly nibble?: Local | undefined;
}

/** What is known of a group's addresses in the chunk. */
interface Opened {
  /** GATHER, CONTIGUOUS or BROADCAST; undefined in private memory. */
  readonly pattern: Local | undefined;
  /** Linear addresses of the lanes, without the accesses' offsets; one only where the pattern needs no more. */
  readonly lanes: readonly Local[];
}

export interface FastMemoryEnvironment {
  readonly state: FunctionState;
  readonly hoisted: Hoisted;
  readonly groups: ReadonlyMap<Node, AccessGroup>;
  /** Accesses that were looked at before the chunk. */
  readonly linear: LinearAccesses | undefined;
  /** Lanes and, for a uniform value, its scalar. */
  argument(node: Node): LaneArgument;
  /** The same of a part of an address or a predicate, with what an active lane has in those that are off. */
  address(node: Node): LaneArgument;
}

export class FastMemory {
  readonly environment: FastMemoryEnvironment;
  /** Whether accesses are checked. */
  readonly #checks: boolean;
  readonly #opened = new Map<AccessGroup, Opened>();

  constructor(environment: FastMemoryEnvironment) {
    this.environment = environment;
    this.#checks = environment.state.context.checksAccesses;
  }

  /** Ends a chunk. */
  close(): void {
    const { f } = this.environment.state;
    for (const { pattern, lanes } of this.#opened.values()) f.free(...(pattern ? [pattern] : []), ...lanes);
    this.#opened.clear();
  }

  /** Vectors of a dword of a load that was opened, and of the one that is loaded with it, by their number. */
  load(node: Node, index: number): (readonly [dword: number, Local])[] {
    const { f, spaces } = this.environment.state;
    const { leaf } = node;
    assert(leaf.kind === 'load', 'a load');
    const group = this.environment.groups.get(node)!;
    const isPair = (index | 1) < leaf.dwords;
    const { linear } = this.environment;
    if (isPair && group.space !== 'private') {
      const [low, high] = [f.local('v128'), f.local('v128')];
      const first = index & ~1;
      if (linear?.has(group)) linear.loadPair(node, group, first, low, high);
      else this.#loadPair(node, group, first, low, high);
      return [
        [first, low],
        [first + 1, high],
      ];
    }
    if (linear?.has(group)) return [[index, linear.load(node, group, index)]];
    const opened = this.#opened.get(group)!;
    const { offset } = node.address!;
    const { sizeBytes } = leaf;
    const dword = f.local('v128');
    if (group.space === 'private') {
      pushPrivate(f, opened.lanes[0]!, offset, index, sizeBytes, spaces.waveSize);
      f.set(dword);
      return [[index, dword]];
    }
    const at = offset + index * 4;
    this.#byPattern(opened, group, sizeBytes, (pattern) => {
      if (pattern === CONTIGUOUS) {
        f.get(opened.lanes[0]!);
        f.load('v128.load', at, DEVICE_MEMORY);
      } else if (pattern === BROADCAST) {
        f.get(opened.lanes[0]!);
        if (sizeBytes >= 4) f.load('v128.load32_splat', at, DEVICE_MEMORY);
        else {
          f.load(sizeBytes === 1 ? 'i32.load8_u' : 'i32.load16_u', at, DEVICE_MEMORY);
          f.op('i32x4.splat');
        }
      } else {
        loadLanes(f, dword, opened.lanes, at, sizeBytes);
        return;
      }
      f.set(dword);
    });
    return [[index, dword]];
  }

  /** Vectors of all dwords of a load that was opened. */
  loadAll(node: Node): Local[] {
    assert(node.leaf.kind === 'load', 'a load');
    const dwords: Local[] = [];
    while (dwords.length < node.leaf.dwords)
      for (const [dword, local] of this.load(node, dwords.length)) dwords[dword] = local;
    return dwords;
  }

  #loadPair(node: Node, group: AccessGroup, index: number, low: Local, high: Local): void {
    const { f } = this.environment.state;
    const opened = this.#opened.get(group)!;
    this.#byPattern(opened, group, 8, (pattern) => {
      const lanes = pattern === BROADCAST ? opened.lanes.slice(0, 1) : opened.lanes;
      loadPair(f, lanes, node.address!.offset + index * 4, low, high);
    });
  }

  /** In the lanes of `mask` and of the bits of `nibble`; without them in all. */
  store(node: Node, { mask, nibble }: ActiveLanes): void {
    const { f, spaces } = this.environment.state;
    const { leaf, args } = node;
    assert(leaf.kind === 'store', 'a store');
    const group = this.environment.groups.get(node)!;
    const { offset } = node.address!;
    const { sizeBytes } = leaf;
    const data = args.slice(1, 1 + Math.max(1, sizeBytes / 4)).map((arg) => this.environment.argument(arg).lanes[0]!);
    if (this.environment.linear?.has(group)) {
      this.environment.linear.store(node, group, data);
      return;
    }
    const opened = this.#opened.get(group)!;
    if (group.space === 'private') {
      storePrivate(f, opened.lanes[0]!, offset, data, sizeBytes, spaces.waveSize, mask);
      return;
    }
    const each = (pattern: number): void => {
      // No lane is off, or another would be at the same place.
      if (pattern === CONTIGUOUS) {
        f.get(opened.lanes[0]!);
        f.get(data[0]!);
        f.store('v128.store', offset, DEVICE_MEMORY);
        return;
      }
      storeLanes(f, opened.lanes, offset, data, sizeBytes, nibble);
    };
    this.#byPattern(opened, group, sizeBytes, each);
  }

  /** Emits an access for each pattern that it may meet. */
  #byPattern({ pattern }: Opened, group: AccessGroup, sizeBytes: number, each: (pattern: number) => void): void {
    const { f } = this.environment.state;
    const patterns = [CONTIGUOUS, BROADCAST].filter((candidate) => mayBe(candidate, group));
    const emit = (index: number): void => {
      const candidate = patterns[index];
      if (candidate === undefined) {
        each(GATHER);
        return;
      }
      // Only dwords are contiguous; wider accesses of such a group take their lanes' addresses.
      const own = candidate === CONTIGUOUS && sizeBytes !== 4 ? GATHER : candidate;
      f.get(pattern!);
      f.i32(candidate);
      f.op('i32.eq');
      f.if(
        undefined,
        () => each(own),
        () => emit(index + 1),
      );
    };
    emit(0);
  }

  /** Checks the access and what its group has in common; comes before `load` or `store`. */
  open(node: Node, place: ChunkPlace, slow: BlockLabel): void {
    const { address, groups, linear, state } = this.environment;
    const { f } = state;
    const { predicate } = accessOf(node)!;
    if (predicate) {
      f.get(address(predicate).lanes[0]!);
      if (isLeftOut(node)) f.op('v128.any_true');
      else {
        f.op('i32x4.all_true');
        f.op('i32.eqz');
      }
      f.brIf(slow);
    }
    if (isLeftOut(node)) return;
    const group = groups.get(node)!;
    if (linear?.has(group) || this.#opened.has(group)) return;
    const low = address(group.parts.low).lanes[0]!;
    const opened =
      group.space === 'private' ? this.#openPrivate(group, low, place, slow) : this.#openLinear(group, low, slow);
    this.#opened.set(group, opened);
  }

  /** All lanes at the same offset: a part of a row. */
  #openPrivate(group: AccessGroup, low: Local, { chunk, offset }: ChunkPlace, slow: BlockLabel): Opened {
    const { f, spaces } = this.environment.state;
    const address = f.local('i32');
    f.get(low);
    f.lane('i32x4.extract_lane', 0);
    f.set(address);
    f.get(low);
    f.get(address);
    f.op('i32x4.splat');
    f.op('v128.xor');
    f.op('v128.any_true');
    f.get(address);
    f.i32(3);
    f.op('i32.and');
    f.op('i32.or');
    if (this.#checks) {
      f.get(address);
      f.get(this.environment.hoisted.get(`private count ${group.max}`));
      f.op('i32.ge_u');
      f.op('i32.or');
    }
    f.brIf(slow);
    f.get(address);
    f.i32(spaces.waveSize);
    f.op('i32.mul');
    f.get(chunk);
    f.i32(2);
    f.op('i32.shl');
    f.op('i32.add');
    f.get(this.environment.hoisted.get('private base'));
    f.op('i32.add');
    if (offset > 0) {
      f.i32(offset * 4);
      f.op('i32.add');
    }
    f.set(address);
    return { pattern: undefined, lanes: [address] };
  }

  #openLinear(group: AccessGroup, low: Local, slow: BlockLabel): Opened {
    assert(
      group.space === 'lds' || group.max - group.min + 12 < HOLE_BYTES,
      () => `${group.max - group.min} bytes are smaller than a hole`,
    );
    const { address, state } = this.environment;
    const { f } = state;
    const isLds = group.space === 'lds';
    if (isLds && this.#checks) {
      f.get(low);
      f.get(this.environment.hoisted.get(`lds count ${group.max}`));
      f.op('i32x4.ge_u');
      f.op('v128.any_true');
      f.brIf(slow);
    }
    // The high half says also in which space a flat address is.
    const { high: highPart, floor: floorPart } = group.parts;
    const high = highPart && (this.#checks || group.space === 'flat') ? address(highPart) : undefined;
    const floor = floorPart && this.#checks ? address(floorPart).lanes[0]! : undefined;
    // The usual case costs one test: contiguous, and in the window.
    const isWindowTestedLater = high !== undefined && !high.scalar && mayBe(CONTIGUOUS, group);
    if (high && !isWindowTestedLater) this.#checkHigh(high, low, floor, slow);
    const pattern = f.local('i32');
    const lanes = [0, 1, 2, 3].map(() => f.local('i32'));
    const first = lanes[0]!;
    f.get(low);
    f.lane('i32x4.extract_lane', 0);
    f.set(first);
    const translated = (): void => {
      if (!isLds) return;
      f.get(first);
      f.get(this.environment.hoisted.get('lds base'));
      f.op('i32.add');
      f.set(first);
    };
    const same = (withLanes: boolean): void => {
      f.get(low);
      f.get(first);
      f.op('i32x4.splat');
      if (withLanes) {
        f.get(this.environment.hoisted.get('dwords'));
        f.op('i32x4.add');
      }
      f.op('v128.xor');
      if (withLanes && isWindowTestedLater) {
        f.get(high.lanes[0]!);
        f.get(this.environment.hoisted.get('window'));
        f.op('v128.xor');
        f.op('v128.or');
      }
      f.op('v128.any_true');
      f.op('i32.eqz');
    };
    const gather = (): void => {
      f.i32(GATHER);
      f.set(pattern);
      this.#setLanes(lanes, low, isLds);
      if (!isLds && this.#checks) this.#checkGather(group, low, lanes, slow);
    };
    const together = (value: number, spanBytes: number): void => {
      f.i32(value);
      f.set(pattern);
      if (isLds) {
        if (value === CONTIGUOUS && !group.allDwords) this.#setLanes(lanes, low, true);
        else translated();
        return;
      }
      if (value === CONTIGUOUS && !group.allDwords) this.#setLanes(lanes, low, false);
      if (!this.#checks) return;
      this.#pushPermissions(first, group.min, group.max - 1 + spanBytes);
      this.#refuseUnlessPermitted(group, slow);
    };
    const otherwise = (): void => {
      if (isWindowTestedLater) this.#checkHigh(high, low, floor, slow);
      if (!mayBe(BROADCAST, group)) {
        gather();
        return;
      }
      same(false);
      f.if(undefined, () => together(BROADCAST, 0), gather);
    };
    if (mayBe(CONTIGUOUS, group)) {
      same(true);
      f.if(
        undefined,
        () => {
          if (isWindowTestedLater && floor) this.#checkFloor(low, floor, slow);
          together(CONTIGUOUS, 12);
        },
        otherwise,
      );
    } else otherwise();
    return { pattern, lanes };
  }

  #checkHigh(high: LaneArgument, low: Local, floor: Local | undefined, slow: BlockLabel): void {
    const { f, spaces } = this.environment.state;
    if (high.scalar) {
      f.get(high.scalar);
      f.i32(spaces.windowHi);
      f.op('i32.ne');
    } else {
      f.get(high.lanes[0]!);
      f.get(this.environment.hoisted.get('window'));
      f.op('v128.xor');
      f.op('v128.any_true');
    }
    f.brIf(slow);
    if (floor) this.#checkFloor(low, floor, slow);
  }

  /** The addition of the parts did not carry. */
  #checkFloor(low: Local, floor: Local, slow: BlockLabel): void {
    const { f } = this.environment.state;
    f.get(low);
    f.get(floor);
    f.op('i32x4.lt_u');
    f.op('v128.any_true');
    f.brIf(slow);
  }

  #setLanes(lanes: readonly Local[], low: Local, isLds: boolean): void {
    const { f } = this.environment.state;
    lanes.forEach((local, lane) => {
      f.get(low);
      f.lane('i32x4.extract_lane', lane);
      if (isLds) {
        f.get(this.environment.hoisted.get('lds base'));
        f.op('i32.add');
      }
      f.set(local);
    });
  }

  /** Permissions of every granule that the lanes touch first or last. */
  #checkGather(group: AccessGroup, low: Local, lanes: readonly Local[], slow: BlockLabel): void {
    const { f } = this.environment.state;
    const isOneDword = group.allDwords && group.max - group.min === 4 && (group.min & 3) === 0;
    if (isOneDword) {
      f.get(low);
      f.i32(3);
      f.op('i32x4.splat');
      f.op('v128.and');
      f.op('v128.any_true');
      f.brIf(slow);
    }
    lanes.forEach((address, lane) => {
      this.#pushPermissions(address, group.min, isOneDword ? group.min : group.max - 1);
      if (lane > 0) f.op('i32.and');
    });
    this.#refuseUnlessPermitted(group, slow);
  }

  /** Pushes the permissions that the granules of the first and the last byte have in common. */
  #pushPermissions(address: Local, first: number, last: number): void {
    const { f } = this.environment.state;
    const at = (offset: number): void =>
      pushValidity(f, () => {
        f.get(address);
        if (offset === 0) return;
        f.i32(offset);
        f.op('i32.add');
      });
    at(first);
    if (last === first) return;
    at(last);
    f.op('i32.and');
  }

  #refuseUnlessPermitted({ writes }: AccessGroup, slow: BlockLabel): void {
    const { f } = this.environment.state;
    f.i32(writes ? MAY_WRITE : MAY_READ);
    f.op('i32.and');
    f.op('i32.eqz');
    f.brIf(slow);
  }
}
