/**
 * Loads and stores of a chunk, whose lanes that are off look like others to it: contiguous dwords, one
 * address for all lanes, or any addresses, found out once for all accesses whose addresses differ by
 * constants. What is not permitted or not plain goes to the slow body, which finds the lane to blame.
 */
import { assert } from '../../../base/errors.ts';
import {
  and,
  assign,
  eq,
  eqz,
  geU,
  laneOf,
  ltU,
  ne,
  operation,
  or,
  type Push,
  push,
  sum,
} from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import type { ChunkPlace } from '../../lowering/chunk-place.ts';
import { type DwordPair, loadPair } from '../../lowering/dword-pairs.ts';
import type { LaneArgument } from '../../lowering/emitter.ts';
import { validityOf } from '../../lowering/memory-access.ts';
import { privateDword } from '../../lowering/private-address.ts';
import { DEVICE_MEMORY, HOLE_BYTES, MAY_READ, MAY_WRITE } from '../../machine/layout.ts';
import type { FunctionState } from '../function/function-state.ts';
import {
  type AccessGroup,
  BROADCAST,
  CONTIGUOUS,
  GATHER,
  isInPair,
  isLeftOut,
  type LoadedDword,
  laneAccessOf,
  loadedDword,
  mayBe,
} from './access-group.ts';
import { lanesMisalignment } from './alignment.ts';
import type { Hoisted } from './hoisted.ts';
import { loadLanes, storeLanes } from './lane-accesses.ts';
import type { LinearAccesses } from './linear-accesses.ts';
import type { Node } from './node.ts';
import { pushPrivate, storePrivate } from './private-rows.ts';

/** Dwords that are loaded together, at most: each takes a register until it is used. */
const MAX_TOGETHER = 4;

/** The active lanes of a chunk twice; absent where all are. */
export interface ActiveLanes {
  readonly mask?: Local | undefined;
  readonly nibble?: Local | undefined;
}

/** What is known of a group's addresses in the chunk. */
interface Opened {
  /** GATHER, CONTIGUOUS or BROADCAST; undefined in private memory. */
  readonly pattern: Local | undefined;
  /**
   * Linear addresses of the lanes, without the accesses' offsets; one only where the pattern needs no more.
   */
  readonly lanes: readonly Local[];
}

/** Addresses that are being looked at. */
interface Opening {
  readonly group: AccessGroup;
  /** Low words of the lanes' addresses. */
  readonly low: Local;
  readonly pattern: Local;
  /** For the linear addresses; the first has that of the first lane. */
  readonly lanes: readonly Local[];
  readonly slow: BlockLabel;
  /** Absent, or in all lanes what low words must not be below, or the addition carried. */
  readonly floor: LaneArgument | undefined;
  /** High words, while they are not known to be those of device memory. */
  readonly high: LaneArgument | undefined;
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
    const at = offset + index * 4;
    if (group.space === 'private') {
      pushPrivate(f, opened.lanes[0]!, at, sizeBytes, spaces.waveSize);
      f.set(dword);
      return [[index, dword]];
    }
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

  #loadPair(node: Node, group: AccessGroup, index: number, pair: DwordPair): void {
    const { f } = this.environment.state;
    const opened = this.#opened.get(group)!;
    this.#byPattern(opened, group, 8, (pattern) => {
      const lanes = pattern === BROADCAST ? opened.lanes.slice(0, 1) : opened.lanes;
      loadPair(f, lanes, node.address!.offset + index * 4, pair);
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
      storePrivate(f, opened.lanes[0]!, { offset, data, sizeBytes }, spaces.waveSize, mask);
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
      storeLanes(f, opened.lanes, { offset, data, sizeBytes }, nibble);
    };
    this.#byPattern(opened, group, sizeBytes, each);
  }

  /** Emits an access for each pattern that it may meet. */
  #byPattern({ pattern }: Opened, group: AccessGroup, sizeBytes: number, each: (pattern: number) => void): void {
    const { f } = this.environment.state;
    const others = [CONTIGUOUS, BROADCAST].filter((candidate) => mayBe(candidate, group));
    const last = others.at(-1);
    if (last === undefined) {
      each(GATHER);
      return;
    }
    // Only dwords are contiguous; wider accesses of such a group take their lanes' addresses.
    const emit = (candidate: number): void => each(candidate === CONTIGUOUS && sizeBytes !== 4 ? GATHER : candidate);
    push(f, eqz(pattern!));
    f.if(
      undefined,
      () => each(GATHER),
      () => {
        if (others.length === 1) emit(last);
        else {
          push(f, eq(pattern!, CONTIGUOUS));
          f.if(
            undefined,
            () => emit(CONTIGUOUS),
            () => emit(BROADCAST),
          );
        }
      },
    );
  }

  /** Checks the access and what its group has in common; comes before `load` or `store`. */
  open(node: Node, place: ChunkPlace, slow: BlockLabel): void {
    const { address, groups, linear, state } = this.environment;
    const { f } = state;
    const { predicate } = laneAccessOf(node)!;
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
    const { hoisted } = this.environment;
    const address = f.local('i32');
    assign(f, address, laneOf(low, 0));
    this.#refuseMisaligned(group, address, slow);
    const differ = operation('v128.any_true', operation('v128.xor', low, operation('i32x4.splat', address)));
    const isUnusual = or(differ, and(address, 3));
    push(f, this.#checks ? or(isUnusual, geU(address, hoisted.permittedCount('private', group.max))) : isUnusual);
    f.brIf(slow);
    const dword = privateDword(hoisted.base('private'), address, chunk, spaces.waveSize);
    assign(f, address, offset > 0 ? sum(dword, offset * 4) : dword);
    return { pattern: undefined, lanes: [address] };
  }

  #openLinear(group: AccessGroup, low: Local, slow: BlockLabel): Opened {
    assert(
      group.space === 'lds' || group.max - group.min + 12 < HOLE_BYTES,
      () => `${group.max - group.min} bytes are smaller than a hole`,
    );
    const { address, state, hoisted } = this.environment;
    const { f } = state;
    if (group.space === 'lds' && this.#checks) {
      const isBeyond = operation('i32x4.ge_u', low, hoisted.permittedCount('lds', group.max));
      push(f, operation('v128.any_true', isBeyond));
      f.brIf(slow);
    }
    // The high half says also in which space a flat address is.
    const { high: highPart, floor: floorPart } = group.parts;
    const high = highPart && (this.#checks || group.space === 'flat') ? address(highPart) : undefined;
    const floor = floorPart && this.#checks ? address(floorPart) : undefined;
    assert(!floor || (floor.scalar && high?.scalar), 'what an index is added to is of the wave');
    // The usual case costs one test: contiguous, and in the window.
    const isWindowTestedLater = high !== undefined && !high.scalar && mayBe(CONTIGUOUS, group);
    if (high && !isWindowTestedLater) this.#checkHigh(high, slow);
    // Of lanes that are a dword apart, the first says what all are multiples of.
    if (group.alignmentBytes > 4) this.#refuseMisaligned(group, low, slow);
    const pattern = f.local('i32');
    const lanes = [0, 1, 2, 3].map(() => f.local('i32'));
    const opening: Opening = { group, low, pattern, lanes, slow, floor, high: isWindowTestedLater ? high : undefined };
    for (const lane of [0, 3]) assign(f, lanes[lane]!, laneOf(low, lane));
    if (!mayBe(CONTIGUOUS, group)) this.#openOtherwise(opening);
    else {
      this.#pushIfFar(lanes, 12, () => this.#pushIsContiguous(opening));
      f.if(
        undefined,
        () => this.#openTogether(opening, CONTIGUOUS, 12),
        () => this.#openOtherwise(opening),
      );
    }
    return { pattern, lanes };
  }

  /** Pushes what `whole` does if the last lane's address is so far from the first one's, else 0. */
  #pushIfFar([first, , , last]: readonly Local[], bytes: number, whole: () => void): void {
    const { f } = this.environment.state;
    push(f, eq(last!, bytes === 0 ? first! : sum(first!, bytes)));
    f.if('i32', whole, () => f.i32(0));
  }

  /** Pushes whether the lanes' addresses follow each other, in the window where that is not known yet. */
  #pushIsContiguous({ low, lanes, high }: Opening): void {
    const { state, hoisted } = this.environment;
    const following = operation('i32x4.add', operation('i32x4.splat', lanes[0]!), hoisted.dwords);
    const others = operation('v128.xor', low, following);
    const outside = high && operation('v128.xor', high.lanes[0]!, hoisted.window);
    push(state.f, eqz(operation('v128.any_true', outside ? operation('v128.or', others, outside) : others)));
  }

  /** All lanes at one address, or each where it likes. */
  #openOtherwise(opening: Opening): void {
    const { f } = this.environment.state;
    const { group, low, lanes, high, slow } = opening;
    if (high) this.#checkHigh(high, slow);
    if (!mayBe(BROADCAST, group)) {
      this.#openGather(opening);
      return;
    }
    const others = operation('v128.xor', low, operation('i32x4.splat', lanes[0]!));
    this.#pushIfFar(lanes, 0, () => push(f, eqz(operation('v128.any_true', others))));
    f.if(
      undefined,
      () => this.#openTogether(opening, BROADCAST, 0),
      () => this.#openGather(opening),
    );
  }

  #openGather(opening: Opening): void {
    const { group, low, pattern, lanes, slow } = opening;
    if (group.alignmentBytes <= 4) this.#refuseMisaligned(group, low, slow);
    const isLds = group.space === 'lds';
    assign(this.environment.state.f, pattern, GATHER);
    this.#setLanes(lanes, low, isLds);
    if (!isLds && this.#checks) this.#checkGather(opening);
  }

  /** `spanBytes`: from the first lane's address to the last one's. */
  #openTogether({ group, low, pattern, lanes, floor, slow }: Opening, found: number, spanBytes: number): void {
    const { state, hoisted } = this.environment;
    const { f } = state;
    const isLds = group.space === 'lds';
    const [first] = lanes as [Local];
    // Wider accesses of the group take the address of each lane.
    const needsLanes = found === CONTIGUOUS && !group.allDwords;
    assign(f, pattern, found);
    if (group.alignmentBytes <= 4) this.#refuseMisaligned(group, first, slow);
    if (needsLanes) this.#setLanes(lanes, low, isLds);
    else if (isLds) assign(f, first, sum(first, hoisted.base('lds')));
    if (isLds || !this.#checks) return;
    if (floor) {
      push(f, ltU(first, floor.scalar!));
      f.brIf(slow);
    }
    this.#pushPermissions(first, group.min, group.max - 1 + spanBytes);
    this.#refuseUnlessPermitted(group, slow);
  }

  /** `low`: the address of a lane, which says it for all of them, or of four. */
  #refuseMisaligned({ alignmentBytes, misalignmentBytes }: AccessGroup, low: Local, slow: BlockLabel): void {
    if (alignmentBytes === 1) return;
    const { f } = this.environment.state;
    if (low.type === 'v128')
      push(f, operation('v128.any_true', lanesMisalignment(low, misalignmentBytes, alignmentBytes)));
    else push(f, and(misalignmentBytes === 0 ? low : sum(low, misalignmentBytes), alignmentBytes - 1));
    f.brIf(slow);
  }

  #checkHigh(high: LaneArgument, slow: BlockLabel): void {
    const { f, spaces } = this.environment.state;
    if (high.scalar) push(f, ne(high.scalar, spaces.windowHi));
    else {
      const outside = operation('v128.xor', high.lanes[0]!, this.environment.hoisted.window);
      push(f, operation('v128.any_true', outside));
    }
    f.brIf(slow);
  }

  #setLanes(lanes: readonly Local[], low: Local, isLds: boolean): void {
    const { state, hoisted } = this.environment;
    lanes.forEach((local, lane) => {
      const address = laneOf(low, lane);
      assign(state.f, local, isLds ? sum(address, hoisted.base('lds')) : address);
    });
  }

  /** Permissions of every granule that the lanes touch first or last. */
  #checkGather({ group, low, lanes, floor, slow }: Opening): void {
    const { f } = this.environment.state;
    const isOneDword = group.allDwords && group.max - group.min === 4 && (group.min & 3) === 0;
    const unaligned = operation('v128.and', low, operation('i32x4.splat', 3));
    const below = floor && operation('i32x4.lt_u', low, floor.lanes[0]!);
    if (isOneDword || below) {
      push(
        f,
        operation('v128.any_true', !isOneDword ? below! : below ? operation('v128.or', unaligned, below) : unaligned),
      );
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
    const at = (offset: number): Push => validityOf(offset === 0 ? address : sum(address, offset));
    push(f, last === first ? at(first) : and(at(first), at(last)));
  }

  #refuseUnlessPermitted({ writes }: AccessGroup, slow: BlockLabel): void {
    const { f } = this.environment.state;
    f.i32(writes ? MAY_WRITE : MAY_READ);
    f.op('i32.and');
    f.op('i32.eqz');
    f.brIf(slow);
  }
}
