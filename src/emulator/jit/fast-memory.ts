/**
 * Loads and stores of a chunk whose four lanes are all active: contiguous dwords, one address for all lanes, or any addresses, found out
 * once for all accesses whose addresses differ by constants. What is not permitted or not plain goes to the slow body, which finds the
 * lane to blame. spec/jit.md sections 1 and 2.
 */
import { assert } from '../../base/errors.ts';
import type { Label, Local } from '../../wasm/function.ts';
import { MAY_READ, MAY_WRITE, WAVE_LDS_BASE, WAVE_LDS_SIZE, WAVE_PRIVATE_BASE, WAVE_PRIVATE_SIZE } from '../layout.ts';
import { loadPair, pairsOf, storePair } from '../lowering/dword-pairs.ts';
import { captured, type Lanes } from '../lowering/emitter.ts';
import { pushValidity } from '../lowering/memory-access.ts';
import {
  type AccessGroup,
  accessOf,
  BROADCAST,
  CONTIGUOUS,
  GATHER,
  groupAccesses,
  isLeftOut,
  mayBe,
} from './access-group.ts';
import type { ChunkPlace } from './chunk-loop.ts';
import type { FunctionState } from './function-state.ts';
import type { Node } from './node.ts';

/** What is known of a group's addresses in the chunk. */
interface Opened {
  /** GATHER, CONTIGUOUS or BROADCAST; undefined in private memory. */
  readonly pattern: Local | undefined;
  /** Linear addresses of the lanes, without the accesses' offsets; one only where the pattern needs no more. */
  readonly lanes: readonly Local[];
}

export interface FastMemoryEnvironment {
  readonly state: FunctionState;
  /** Lanes and, for a uniform value, its scalar. */
  argument(node: Node): { readonly lanes: Lanes; readonly scalar?: Local };
}

export class FastMemory {
  readonly #environment: FastMemoryEnvironment;
  readonly #groups: ReadonlyMap<Node, AccessGroup>;
  /** Whether accesses are checked. */
  readonly #checks: boolean;
  readonly #opened = new Map<AccessGroup, Opened>();
  /** Values that do not change from chunk to chunk. */
  readonly #hoisted = new Map<string, Local>();

  constructor(environment: FastMemoryEnvironment, nodes: readonly Node[]) {
    this.#environment = environment;
    this.#checks = environment.state.context.checksAccesses;
    this.#groups = groupAccesses(nodes);
  }

  /** Emits what comes before the loop. */
  prepare(): void {
    const { f, wave, spaces } = this.#environment.state;
    for (const group of new Set(this.#groups.values())) {
      const { space, max } = group;
      if (space === 'lds' || space === 'private') {
        const [base, size] = space === 'lds' ? [WAVE_LDS_BASE, WAVE_LDS_SIZE] : [WAVE_PRIVATE_BASE, WAVE_PRIVATE_SIZE];
        this.#hoist(`${space} base`, 'i32', () => {
          f.get(wave);
          f.load('i32.load', base);
        });
        // How many addresses are permitted for the whole group.
        this.#hoist(`${space} count ${max}`, space === 'lds' ? 'v128' : 'i32', () => {
          f.get(wave);
          f.load('i32.load', size);
          f.i32(max - 1);
          f.op('i32.sub');
          f.i32(0);
          f.get(wave);
          f.load('i32.load', size);
          f.i32(max);
          f.op('i32.ge_u');
          f.select();
          if (space === 'lds') f.op('i32x4.splat');
        });
      } else {
        this.#hoist('window', 'v128', () => {
          f.i32(spaces.windowHi);
          f.op('i32x4.splat');
        });
      }
      if (space !== 'private') this.#hoist('lanes', 'v128', () => f.v128([0, 4, 8, 12]));
    }
  }

  release(): void {
    this.#environment.state.f.free(...this.#hoisted.values());
  }

  #hoist(name: string, type: 'i32' | 'v128', push: () => void): void {
    if (this.#hoisted.has(name)) return;
    const { f } = this.#environment.state;
    const local = f.local(type);
    push();
    f.set(local);
    this.#hoisted.set(name, local);
  }

  #constant(name: string): Local {
    const local = this.#hoisted.get(name);
    assert(local, () => `${name} is hoisted`);
    return local;
  }

  /** Ends a chunk. */
  close(): void {
    const { f } = this.#environment.state;
    for (const { pattern, lanes } of this.#opened.values()) f.free(...(pattern ? [pattern] : []), ...lanes);
    this.#opened.clear();
  }

  /** One vector for each dword. */
  load(node: Node): Local[] {
    const { f, spaces } = this.#environment.state;
    const { leaf } = node;
    assert(leaf.kind === 'load', 'a load');
    const group = this.#groups.get(node)!;
    const opened = this.#opened.get(group)!;
    const { offset } = node.address!;
    const { sizeBytes } = leaf;
    const dwords = Array.from({ length: leaf.dwords }, () => f.local('v128'));
    if (group.space === 'private') {
      dwords.forEach((dword, i) => {
        f.get(opened.lanes[0]!);
        f.load('v128.load', ((offset >> 2) + i) * spaces.waveSize * 4);
        if (sizeBytes < 4) {
          f.i32((offset & 3) * 8);
          f.op('i32x4.shr_u');
          f.i32(sizeBytes === 1 ? 0xff : 0xffff);
          f.op('i32x4.splat');
          f.op('v128.and');
        }
        f.set(dword);
      });
      return dwords;
    }
    const each = (pattern: number): void =>
      dwords.forEach((dword, i) => {
        const at = offset + i * 4;
        if (i % 2 === 1) return;
        const high = dwords[i + 1];
        if (high) {
          loadPair(f, pattern === BROADCAST ? opened.lanes.slice(0, 1) : opened.lanes, at, dword, high);
          return;
        }
        if (pattern === CONTIGUOUS) {
          f.get(opened.lanes[0]!);
          f.load('v128.load', at);
        } else if (pattern === BROADCAST) {
          f.get(opened.lanes[0]!);
          if (sizeBytes >= 4) f.load('v128.load32_splat', at);
          else {
            f.load(sizeBytes === 1 ? 'i32.load8_u' : 'i32.load16_u', at);
            f.op('i32x4.splat');
          }
        } else this.#gather(opened.lanes, at, sizeBytes);
        f.set(dword);
      });
    this.#byPattern(opened, group, sizeBytes, each);
    return dwords;
  }

  #gather(lanes: readonly Local[], at: number, sizeBytes: number): void {
    const { f } = this.#environment.state;
    if (sizeBytes >= 4) {
      f.get(lanes[0]!);
      f.load('v128.load32_zero', at);
    } else f.v128([0, 0, 0, 0]);
    const vector = captured(f);
    for (let lane = sizeBytes >= 4 ? 1 : 0; lane < 4; lane++) {
      f.get(lanes[lane]!);
      f.get(vector);
      if (sizeBytes === 1) f.loadLane('v128.load8_lane', at, lane * 4);
      else if (sizeBytes === 2) f.loadLane('v128.load16_lane', at, lane * 2);
      else f.loadLane('v128.load32_lane', at, lane);
      f.set(vector);
    }
    f.get(vector);
    f.free(vector);
  }

  store(node: Node): void {
    const { f, spaces } = this.#environment.state;
    const { leaf, args } = node;
    assert(leaf.kind === 'store', 'a store');
    const group = this.#groups.get(node)!;
    const opened = this.#opened.get(group)!;
    const { offset } = node.address!;
    const { sizeBytes } = leaf;
    const data = args.slice(1, 1 + Math.max(1, sizeBytes / 4)).map((arg) => this.#environment.argument(arg).lanes[0]!);
    if (group.space === 'private') {
      data.forEach((dword, i) => {
        const at = ((offset >> 2) + i) * spaces.waveSize * 4;
        f.get(opened.lanes[0]!);
        f.get(dword);
        if (sizeBytes < 4) {
          const shift = (offset & 3) * 8;
          f.i32(shift);
          f.op('i32x4.shl');
          f.get(opened.lanes[0]!);
          f.load('v128.load', at);
          f.i32((sizeBytes === 1 ? 0xff : 0xffff) << shift);
          f.op('i32x4.splat');
          f.op('v128.bitselect');
        }
        f.store('v128.store', at);
      });
      return;
    }
    const each = (pattern: number): void => {
      if (pattern === CONTIGUOUS) {
        f.get(opened.lanes[0]!);
        f.get(data[0]!);
        f.store('v128.store', offset);
        return;
      }
      // One lane after the other: of lanes that write the same place the last one counts.
      const pairs = data.flatMap((dword, i) => (i % 2 === 1 ? [pairsOf(f, data[i - 1]!, dword)] : []));
      for (const [lane, address] of opened.lanes.entries()) {
        for (const [i, pair] of pairs.entries()) storePair(f, pair, lane, address, offset + i * 8);
        for (const [i, dword] of data.entries()) {
          if (i < pairs.length * 2) continue;
          const at = offset + i * 4;
          f.get(address);
          f.get(dword);
          if (sizeBytes === 1) f.loadLane('v128.store8_lane', at, lane * 4);
          else if (sizeBytes === 2) f.loadLane('v128.store16_lane', at, lane * 2);
          else f.loadLane('v128.store32_lane', at, lane);
        }
      }
      for (const pair of pairs) f.free(...pair);
    };
    this.#byPattern(opened, group, sizeBytes, each);
  }

  /** Emits an access for each pattern that it may meet. */
  #byPattern({ pattern }: Opened, group: AccessGroup, sizeBytes: number, each: (pattern: number) => void): void {
    const { f } = this.#environment.state;
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
  open(node: Node, place: ChunkPlace, slow: Label): void {
    const { f } = this.#environment.state;
    const { predicate } = accessOf(node)!;
    if (predicate) {
      f.get(this.#environment.argument(predicate).lanes[0]!);
      if (isLeftOut(node)) f.op('v128.any_true');
      else {
        f.op('i32x4.all_true');
        f.op('i32.eqz');
      }
      f.brIf(slow);
    }
    if (isLeftOut(node)) return;
    const group = this.#groups.get(node)!;
    if (this.#opened.has(group)) return;
    const low = this.#environment.argument(group.parts.low).lanes[0]!;
    const opened =
      group.space === 'private' ? this.#openPrivate(group, low, place, slow) : this.#openLinear(group, low, slow);
    this.#opened.set(group, opened);
  }

  /** All lanes at the same offset: a part of a row. */
  #openPrivate(group: AccessGroup, low: Local, { chunk, offset }: ChunkPlace, slow: Label): Opened {
    const { f, spaces } = this.#environment.state;
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
      f.get(this.#constant(`private count ${group.max}`));
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
    f.get(this.#constant('private base'));
    f.op('i32.add');
    if (offset > 0) {
      f.i32(offset * 4);
      f.op('i32.add');
    }
    f.set(address);
    return { pattern: undefined, lanes: [address] };
  }

  #openLinear(group: AccessGroup, low: Local, slow: Label): Opened {
    const { f } = this.#environment.state;
    const isLds = group.space === 'lds';
    if (isLds && this.#checks) {
      f.get(low);
      f.get(this.#constant(`lds count ${group.max}`));
      f.op('i32x4.ge_u');
      f.op('v128.any_true');
      f.brIf(slow);
    }
    // The high half says also in which space a flat address is.
    const high =
      group.parts.high && (this.#checks || group.space === 'flat')
        ? this.#environment.argument(group.parts.high)
        : undefined;
    // The usual case costs one test: contiguous, and in the window.
    const isWindowTestedLater = high !== undefined && !high.scalar && mayBe(CONTIGUOUS, group);
    if (high && !isWindowTestedLater) this.#checkHigh(group, low, slow);
    const pattern = f.local('i32');
    const lanes = [0, 1, 2, 3].map(() => f.local('i32'));
    const first = lanes[0]!;
    f.get(low);
    f.lane('i32x4.extract_lane', 0);
    f.set(first);
    const translated = (): void => {
      if (!isLds) return;
      f.get(first);
      f.get(this.#constant('lds base'));
      f.op('i32.add');
      f.set(first);
    };
    const same = (withLanes: boolean): void => {
      f.get(low);
      f.get(first);
      f.op('i32x4.splat');
      if (withLanes) {
        f.get(this.#constant('lanes'));
        f.op('i32x4.add');
      }
      f.op('v128.xor');
      if (withLanes && isWindowTestedLater) {
        f.get(high.lanes[0]!);
        f.get(this.#constant('window'));
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
      if (isWindowTestedLater) this.#checkHigh(group, low, slow);
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
          if (isWindowTestedLater && group.parts.floor) this.#checkFloor(group, low, slow);
          together(CONTIGUOUS, 12);
        },
        otherwise,
      );
    } else otherwise();
    return { pattern, lanes };
  }

  #checkHigh({ parts }: AccessGroup, low: Local, slow: Label): void {
    const { f, spaces } = this.#environment.state;
    const high = this.#environment.argument(parts.high!);
    if (high.scalar) {
      f.get(high.scalar);
      f.i32(spaces.windowHi);
      f.op('i32.ne');
    } else {
      f.get(high.lanes[0]!);
      f.get(this.#constant('window'));
      f.op('v128.xor');
      f.op('v128.any_true');
    }
    f.brIf(slow);
    if (parts.floor) this.#checkFloor({ parts }, low, slow);
  }

  /** The addition of the parts did not carry. */
  #checkFloor({ parts }: Pick<AccessGroup, 'parts'>, low: Local, slow: Label): void {
    const { f } = this.#environment.state;
    f.get(low);
    f.get(this.#environment.argument(parts.floor!).lanes[0]!);
    f.op('i32x4.lt_u');
    f.op('v128.any_true');
    f.brIf(slow);
  }

  #setLanes(lanes: readonly Local[], low: Local, isLds: boolean): void {
    const { f } = this.#environment.state;
    lanes.forEach((local, lane) => {
      f.get(low);
      f.lane('i32x4.extract_lane', lane);
      if (isLds) {
        f.get(this.#constant('lds base'));
        f.op('i32.add');
      }
      f.set(local);
    });
  }

  /** Permissions of every granule that the lanes touch first or last. */
  #checkGather(group: AccessGroup, low: Local, lanes: readonly Local[], slow: Label): void {
    const { f } = this.#environment.state;
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
    const { f } = this.#environment.state;
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

  #refuseUnlessPermitted({ writes }: AccessGroup, slow: Label): void {
    const { f } = this.#environment.state;
    f.i32(writes ? MAY_WRITE : MAY_READ);
    f.op('i32.and');
    f.op('i32.eqz');
    f.brIf(slow);
  }
}
