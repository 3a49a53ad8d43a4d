/**
 * Loads and stores of a chunk, whose lanes that are off look like others to it: dwords that follow each
 * other, one address of the wave, or any addresses, found out once for all accesses whose addresses differ by
 * constants. What is not permitted or not plain goes to the slow body, which finds the lane to blame.
 */
import { assert } from '../../../base/errors.ts';
import { and, assign, eq, eqz, geU, laneOf, ltU, ne, operation, or, push, sum } from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import type { ChunkPlace } from '../../lowering/chunk-place.ts';
import { type DwordPair, loadPair } from '../../lowering/dword-pairs.ts';
import type { LaneArgument } from '../../lowering/emitter.ts';
import { privateDword } from '../../lowering/private-address.ts';
import { DEVICE_MEMORY, HOLE_BYTES } from '../../machine/layout.ts';
import type { FunctionState } from '../function/function-state.ts';
import { type AccessGroup, isInPair, isLeftOut, type LoadedDword, laneAccessOf, loadedDword } from './access-group.ts';
import { AddressChecks, type LaneAddresses } from './address-checks.ts';
import { lanesMisalignment } from './alignment.ts';
import { type FoundRange, isInRange } from './found-range.ts';
import type { Hoisted } from './hoisted.ts';
import { loadLanes, storeLanes, UNUSED_PLACES_BYTES, unusedPlace } from './lane-accesses.ts';
import type { LinearAccesses } from './linear-accesses.ts';
import type { Node } from './node.ts';
import type { PermittedRanges } from './permitted-ranges.ts';
import { pushPrivate, storePrivate } from './private-rows.ts';
import { isUniform, openUniform } from './uniform-loads.ts';

/** Dwords that are loaded together, at most: each takes a register until it is used. */
const MAX_TOGETHER = 4;

/** The active lanes of a chunk twice; absent where all are. */
export interface ActiveLanes {
  readonly mask?: Local | undefined;
  readonly nibble?: Local | undefined;
}

/** What is known of a group's addresses in the chunk. */
interface Opened {
  /** Whether the lanes are a dword apart; undefined where that is not looked at. */
  readonly follow?: Local;
  /**
   * Linear addresses of the lanes, without the accesses' offsets; of lanes that follow each other the first
   * is enough, but for accesses of other sizes.
   */
  readonly lanes: readonly Local[];
  /** Whether lanes that are off may access theirs: nothing is there. */
  readonly areLanesSafe?: boolean;
  /** Of loads at one address of the wave: the offset that the address stands for. */
  readonly origin?: number | undefined;
}

/** Addresses that are being looked at. */
interface Opening extends LaneAddresses {
  /** High words, while they are not known to be those of device memory. */
  readonly high: LaneArgument | undefined;
}

export interface FastMemoryEnvironment {
  readonly state: FunctionState;
  readonly hoisted: Hoisted;
  readonly groups: ReadonlyMap<Node, AccessGroup>;
  /** Accesses that were looked at before the chunk. */
  readonly linear: LinearAccesses | undefined;
  /** Loads anywhere that were looked at before the chunk, and where they may be. */
  readonly found?: ReadonlyMap<AccessGroup, FoundRange>;
  /** Of accesses that lanes make one by one. */
  readonly ranges?: PermittedRanges | undefined;
  /** Lanes and, for a uniform value, its scalar. */
  argument(node: Node): LaneArgument;
  /** The same of a part of an address or a predicate, with what an active lane has in those that are off. */
  address(node: Node): LaneArgument;
  /** Runs `emit`, in which `address` knows which lanes are on: those of a mask, one at least. */
  spread(active: Local, emit: () => void): void;
}

export class FastMemory {
  readonly environment: FastMemoryEnvironment;
  readonly #checksAccesses: boolean;
  readonly #checks: AddressChecks;
  readonly #opened = new Map<AccessGroup, Opened>();

  constructor(environment: FastMemoryEnvironment) {
    this.environment = environment;
    this.#checksAccesses = environment.state.context.checksAccesses;
    this.#checks = new AddressChecks(environment);
  }

  /** Ends a chunk. */
  close(): void {
    const { f } = this.environment.state;
    for (const { follow, lanes } of this.#opened.values()) f.free(...(follow ? [follow] : []), ...lanes);
    this.#opened.clear();
  }

  /**
   * Of candidates, which stand for dwords that may be loaded by now, those that are better loaded with
   * `dword`: in each chunk it is asked which way, and the engine fetches where memory begins.
   */
  loadedWith(dword: LoadedDword, candidates: Iterable<Node>): readonly LoadedDword[] {
    const { groups, linear } = this.environment;
    const group = groups.get(dword.load)!;
    const others: LoadedDword[] = [];
    if (isInPair(dword) || !linear?.asksEachChunk(group)) return others;
    for (const node of candidates) {
      const other = loadedDword(node);
      if (other.load !== dword.load && groups.get(other.load) === group && !isInPair(other)) others.push(other);
      if (others.length === MAX_TOGETHER - 1) break;
    }
    return others;
  }

  /** Vectors of dwords that `loadedWith` puts together. */
  loadTogether(dwords: readonly LoadedDword[]): Local[] {
    const { groups, linear } = this.environment;
    return linear!.load(groups.get(dwords[0]!.load)!, dwords);
  }

  /** Vectors of a dword of a load that was opened, and of the one that is loaded with it, by their number. */
  load(node: Node, index: number): (readonly [dword: number, Local])[] {
    const { f, spaces } = this.environment.state;
    const { leaf } = node;
    assert(leaf.kind === 'load', 'a load');
    const group = this.environment.groups.get(node)!;
    const isPair = isInPair({ load: node, index });
    const { linear } = this.environment;
    if (isPair && group.space !== 'private') {
      const pair = [f.local('v128'), f.local('v128')] as const;
      const first = index & ~1;
      if (linear?.has(group)) linear.loadPair(node, group, first, pair);
      else this.#loadPair(node, group, first, pair);
      return pair.map((dword, i) => [first + i, dword]);
    }
    if (linear?.has(group)) return [[index, linear.load(group, [{ load: node, index }])[0]!]];
    const opened = this.#opened.get(group)!;
    const { offset } = node.address!;
    const { sizeBytes } = leaf;
    const dword = f.local('v128');
    const at = offset + index * 4 - (opened.origin ?? 0);
    if (group.space === 'private') {
      pushPrivate(f, opened.lanes[0]!, at, sizeBytes, spaces.waveSize);
      f.set(dword);
      return [[index, dword]];
    }
    if (opened.origin === undefined)
      this.#whetherTheyFollow(
        opened,
        sizeBytes,
        () => {
          f.get(opened.lanes[0]!);
          f.load('v128.load', at, DEVICE_MEMORY);
          f.set(dword);
        },
        () => loadLanes(f, dword, opened.lanes, at, sizeBytes),
      );
    else {
      f.get(opened.lanes[0]!);
      if (sizeBytes >= 4) f.load('v128.load32_splat', at, DEVICE_MEMORY);
      else {
        f.load(sizeBytes === 1 ? 'i32.load8_u' : 'i32.load16_u', at, DEVICE_MEMORY);
        f.op('i32x4.splat');
      }
      f.set(dword);
    }
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

  #loadPair(node: Node, group: AccessGroup, index: number, pair: DwordPair): void {
    const { f } = this.environment.state;
    const opened = this.#opened.get(group)!;
    loadPair(f, opened.lanes, node.address!.offset + index * 4 - (opened.origin ?? 0), pair);
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
      this.environment.linear.store(node, group, data, nibble);
      return;
    }
    const opened = this.#opened.get(group)!;
    if (group.space === 'private') {
      storePrivate(f, opened.lanes[0]!, { offset, data, sizeBytes }, spaces.waveSize, mask);
      return;
    }
    this.#whetherTheyFollow(
      opened,
      sizeBytes,
      () => {
        // No lane is off, or another would be at the same place.
        f.get(opened.lanes[0]!);
        f.get(data[0]!);
        f.store('v128.store', offset, DEVICE_MEMORY);
      },
      () => storeLanes(f, opened.lanes, { offset, data, sizeBytes }, opened.areLanesSafe ? undefined : nibble),
    );
  }

  /** Emits an access both ways where only the lanes' addresses tell; only dwords are accessed together. */
  #whetherTheyFollow({ follow }: Opened, sizeBytes: number, together: () => void, apart: () => void): void {
    const { f } = this.environment.state;
    if (!follow || sizeBytes !== 4) apart();
    else {
      f.get(follow);
      f.if(undefined, together, apart);
    }
  }

  /**
   * Checks the access and what its group has in common; comes before `load` or `store`. `active`: the lanes
   * that make it, where these are not all.
   */
  open(node: Node, place: ChunkPlace, slow: BlockLabel, active?: Local): void {
    const { address, found, groups, linear, ranges, state } = this.environment;
    const { f } = state;
    const { predicate } = laneAccessOf(node)!;
    if (predicate) {
      f.get(address(predicate).lanes[0]!);
      if (isLeftOut(node)) f.op('v128.any_true');
      else {
        f.op('i32x4.all_true');
        f.op('i32.eqz');
      }
      f.brIfRare(slow);
    }
    if (isLeftOut(node)) return;
    const group = groups.get(node)!;
    if (linear?.has(group) || this.#opened.has(group)) return;
    const low = (): Local => address(group.parts.low).lanes[0]!;
    const range = found?.get(group);
    const opened: Opened = range
      ? this.#openFound(range, low(), slow)
      : isUniform(group)
        ? openUniform(this.environment, this.#checks, group, slow)
        : group.space === 'private'
          ? this.#openPrivate(group, low(), place, slow)
          : group.space === 'lds'
            ? this.#openLds(group, low(), slow)
            : (active || place.packed) && ranges?.has(group)
              ? this.#openInRange(group, active, slow)
              : this.#openGlobal(group, low(), slow);
    this.#opened.set(group, opened);
  }

  /**
   * Where some lanes are off, or are of several chunks, they are not side by side: there is nothing to find
   * out but whether they are where the last ones were.
   */
  #openInRange(group: AccessGroup, active: Local | undefined, slow: BlockLabel): Opened {
    const { argument, hoisted, ranges, spread, state } = this.environment;
    const { f, spaces } = state;
    const { low, high, floor } = group.parts;
    const lows = argument(low).lanes[0]!;
    const conditions = [ranges!.permitted(group, lows)];
    const highs = argument(high!);
    if (highs.scalar) {
      push(f, ne(highs.scalar, spaces.windowHi));
      f.brIfRare(slow);
    } else conditions.push(operation('i32x4.eq', highs.lanes[0]!, hoisted.window));
    if (floor) conditions.push(operation('i32x4.ge_u', lows, argument(floor).lanes[0]!));
    if (group.alignmentBytes > 1) {
      const misalignment = lanesMisalignment(lows, group.misalignmentBytes, group.alignmentBytes);
      conditions.push(operation('i32x4.eq', misalignment, (f) => f.v128([0, 0, 0, 0])));
    }
    const known = conditions.reduce((all, condition) => operation('v128.and', all, condition));
    push(
      f,
      operation('i32x4.bitmask', active ? operation('v128.andnot', active, known) : operation('v128.not', known)),
    );
    const lookUp = (): void => this.#lookUp(group, slow);
    f.if(undefined, active ? () => spread(active, lookUp) : lookUp);
    const lanes = [0, 1, 2, 3].map(() => f.local('i32'));
    const areLanesSafe = !group.writes || group.max <= UNUSED_PLACES_BYTES;
    if (active) this.#setActiveLanes(lanes, lows, active, group.writes && areLanesSafe);
    else this.#setLanes(lanes, lows);
    return { lanes, areLanesSafe };
  }

  /**
   * Lanes that are off access what no program can reach: of a branch for each lane nobody could foresee which
   * way it goes.
   */
  #setActiveLanes(lanes: readonly Local[], lows: Local, active: Local, isApart: boolean): void {
    const { f } = this.environment.state;
    const safe = f.local('v128');
    assign(f, safe, operation('v128.and', lows, active));
    if (isApart) {
      const unused = operation(
        'v128.andnot',
        operation('i32x4.splat', unusedPlace(this.environment.state.wave)),
        active,
      );
      assign(f, safe, operation('v128.or', safe, unused));
    }
    this.#setLanes(lanes, safe);
    f.free(safe);
  }

  /** Of lanes whose addresses are not in the group's range, which becomes that of the first one. */
  #lookUp(group: AccessGroup, slow: BlockLabel): void {
    const { address, ranges, state } = this.environment;
    const { low: lowPart, high, floor } = group.parts;
    const low = address(lowPart).lanes[0]!;
    const lanes = [0, 1, 2, 3].map(() => state.f.local('i32'));
    if (high?.lane) this.#checks.refuseOutside(address(high), slow);
    this.#checks.refuseMisaligned(group, low, slow);
    this.#setLanes(lanes, low);
    this.#checks.refuseGather({ group, low, lanes, floor: floor && address(floor), slow });
    ranges!.learn(group, lanes[0]!);
    state.f.free(...lanes);
  }

  #openFound(range: FoundRange, low: Local, slow: BlockLabel): Opened {
    const indices = this.environment.argument(range.index).lanes[0]!;
    push(this.environment.state.f, eqz(operation('i32x4.all_true', isInRange(range, indices))));
    this.environment.state.f.brIfRare(slow);
    const lanes = [0, 1, 2, 3].map(() => this.environment.state.f.local('i32'));
    this.#setLanes(lanes, low);
    return { lanes };
  }

  /** All lanes at the same offset: a part of a row. */
  #openPrivate(group: AccessGroup, low: Local, { chunk, offset }: ChunkPlace, slow: BlockLabel): Opened {
    const { f, spaces } = this.environment.state;
    const { hoisted } = this.environment;
    const address = f.local('i32');
    assign(f, address, laneOf(low, 0));
    this.#checks.refuseMisaligned(group, address, slow);
    const differ = operation('v128.any_true', operation('v128.xor', low, operation('i32x4.splat', address)));
    const isUnusual = or(differ, and(address, 3));
    push(
      f,
      this.#checksAccesses ? or(isUnusual, geU(address, hoisted.permittedCount('private', group.max))) : isUnusual,
    );
    f.brIfRare(slow);
    const dword = privateDword(hoisted.base('private'), address, chunk, spaces.waveSize);
    assign(f, address, offset > 0 ? sum(dword, offset * 4) : dword);
    return { lanes: [address] };
  }

  /** Lanes anywhere: what finds out whether they follow each other costs as much as it saves. */
  #openLds(group: AccessGroup, low: Local, slow: BlockLabel): Opened {
    const { state, hoisted } = this.environment;
    const { f } = state;
    if (this.#checksAccesses) {
      const isBeyond = operation('i32x4.ge_u', low, hoisted.permittedCount('lds', group.max));
      push(f, operation('v128.any_true', isBeyond));
      f.brIfRare(slow);
    }
    this.#checks.refuseMisaligned(group, low, slow);
    const lanes = [0, 1, 2, 3].map(() => f.local('i32'));
    this.#setLanes(lanes, low, hoisted.base('lds'));
    return { lanes };
  }

  #openGlobal(group: AccessGroup, low: Local, slow: BlockLabel): Opened {
    assert(group.max - group.min + 12 < HOLE_BYTES, () => `${group.max - group.min} bytes are smaller than a hole`);
    const { address, state } = this.environment;
    const { f } = state;
    // The high half says also in which space a flat address is.
    const { high: highPart, floor: floorPart } = group.parts;
    const high = highPart && (this.#checksAccesses || group.space === 'flat') ? address(highPart) : undefined;
    const floor = floorPart && this.#checksAccesses ? address(floorPart) : undefined;
    assert(!floor || (floor.scalar && high?.scalar), 'what an index is added to is of the wave');
    // The usual case costs one test: lanes that follow each other, in the window.
    const isWindowTestedLater = high !== undefined && !high.scalar && group.anyDword;
    if (high && !isWindowTestedLater) this.#checks.refuseOutside(high, slow);
    // Of lanes that are a dword apart, the first says what all are multiples of.
    if (group.alignmentBytes > 4) this.#checks.refuseMisaligned(group, low, slow);
    const lanes = [0, 1, 2, 3].map(() => f.local('i32'));
    const opening: Opening = { group, low, lanes, slow, floor, high: isWindowTestedLater ? high : undefined };
    if (!group.anyDword) {
      this.#openApart(opening);
      return { lanes };
    }
    const follow = f.local('i32');
    for (const lane of [0, 3]) assign(f, lanes[lane]!, laneOf(low, lane));
    push(f, eq(lanes[3]!, sum(lanes[0]!, 12)));
    f.if(
      'i32',
      () => this.#pushTheyFollow(opening),
      () => f.i32(0),
    );
    f.tee(follow);
    f.if(
      undefined,
      () => this.#openTogether(opening),
      () => this.#openApart(opening),
    );
    return { follow, lanes };
  }

  /** Pushes whether the lanes' addresses follow each other, in the window where that is not known yet. */
  #pushTheyFollow({ low, lanes, high }: Opening): void {
    const { state, hoisted } = this.environment;
    const following = operation('i32x4.add', operation('i32x4.splat', lanes[0]!), hoisted.dwords);
    const others = operation('v128.xor', low, following);
    const outside = high && operation('v128.xor', high.lanes[0]!, hoisted.window);
    push(state.f, eqz(operation('v128.any_true', outside ? operation('v128.or', others, outside) : others)));
  }

  /** Each lane where it likes. */
  #openApart({ group, low, lanes, high, floor, slow }: Opening): void {
    if (high) this.#checks.refuseOutside(high, slow);
    if (group.alignmentBytes <= 4) this.#checks.refuseMisaligned(group, low, slow);
    this.#setLanes(lanes, low);
    if (!this.#checksAccesses) return;
    const { ranges, state } = this.environment;
    const refuse = (): void => this.#checks.refuseGather({ group, low, lanes, floor, slow });
    if (!ranges?.has(group)) {
      refuse();
      return;
    }
    const inRange = ranges.permitted(group, low);
    const known = floor ? operation('v128.and', inRange, operation('i32x4.ge_u', low, floor.lanes[0]!)) : inRange;
    push(state.f, ne(operation('i32x4.bitmask', known), 15));
    state.f.if(undefined, () => {
      refuse();
      ranges.learn(group, lanes[0]!);
    });
  }

  #openTogether({ group, low, lanes, floor, slow }: Opening): void {
    const { f } = this.environment.state;
    const [first] = lanes as [Local];
    if (group.alignmentBytes <= 4) this.#checks.refuseMisaligned(group, first, slow);
    if (!group.allDwords) this.#setLanes(lanes, low);
    if (!this.#checksAccesses) return;
    if (floor) {
      push(f, ltU(first, floor.scalar!));
      f.brIfRare(slow);
    }
    this.#checks.refuseUnlessPermitted(group, first, 12, slow);
  }

  /** `base`: where their segment begins in device memory. */
  #setLanes(lanes: readonly Local[], low: Local, base?: Local): void {
    lanes.forEach((local, lane) => {
      const address = laneOf(low, lane);
      assign(this.environment.state.f, local, base ? sum(address, base) : address);
    });
  }
}
