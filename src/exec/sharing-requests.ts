/** Requests for virtual memory and for memory of other applications. */
import type { DeviceMemory } from '../device/memory.ts';
import { Agent, HsaError, type Runtime } from '../hsa/index.ts';
import { AttachedMemories, type SharedAllocation } from './attached-memory.ts';
import type { Handles } from './known-records.ts';
import type { LinuxCalls } from './libc.ts';
import { asNumber, NO_REPLY, type RequestHandlers } from './messages.ts';
import type { SharedArena } from './shared-arena.ts';
import { VirtualMemory } from './virtual-memory.ts';

/** What these requests have of their application. */
export interface SharingOwner {
  readonly linux: LinuxCalls;
  readonly processId: number;
  readonly memory: DeviceMemory;
  readonly arena: SharedArena;
  readonly runtime: Runtime;
  readonly handles: Handles;
  /** What any application shares by this handle. */
  findShared(handle: Uint8Array): SharedAllocation | undefined;
}

export class SharingRequests implements Disposable {
  readonly #owner: SharingOwner;
  readonly #virtual: VirtualMemory;
  readonly #attached: AttachedMemories;

  constructor(owner: SharingOwner) {
    this.#owner = owner;
    const gpuPool = owner.runtime.gpuAgents[0]!.pool('coarse-grained');
    this.#virtual = new VirtualMemory({ ...owner, gpuPool });
    this.#attached = new AttachedMemories(owner.memory, owner.arena);
  }

  readonly handlers = {
    reserve: ({ sizeBytes, alignmentBytes }) => ({
      words: [this.#virtual.reserve(asNumber(sizeBytes), asNumber(alignmentBytes))],
    }),
    unreserve: ({ address, sizeBytes }) => {
      this.#virtual.unreserve(address, asNumber(sizeBytes));
      return NO_REPLY;
    },
    freeAddresses: ({ address }) => {
      this.#virtual.freeAddresses(address);
      return NO_REPLY;
    },
    createMemory: ({ pool, sizeBytes, type }) => ({
      words: [this.#virtual.create(this.#owner.handles.pool(pool), asNumber(sizeBytes), asNumber(type))],
    }),
    releaseMemory: ({ memory }) => {
      this.#virtual.release(memory);
      return NO_REPLY;
    },
    mapMemory: ({ address, sizeBytes, offset, memory }) => ({
      words: [],
      file: this.#virtual.map(address, asNumber(sizeBytes), asNumber(offset), memory),
    }),
    unmapMemory: ({ address, sizeBytes }) => {
      this.#virtual.unmap(address, asNumber(sizeBytes));
      return NO_REPLY;
    },
    setAccess: ({ address, sizeBytes }, tail) => {
      const access = this.#accessOf(tail);
      this.#virtual.setAccess(address, asNumber(sizeBytes), access);
      return NO_REPLY;
    },
    getAccess: ({ address, agent }) => {
      const found = this.#owner.handles.object(agent);
      return {
        words: [BigInt(this.#virtual.accessOf(address, found instanceof Agent ? found : undefined))],
      };
    },
    exportMemory: ({ memory }) => ({ words: [], file: this.#virtual.fileOf(memory) }),
    importMemory: ({ file }) => ({ words: [this.#virtual.import(asNumber(file))] }),
    retainMemory: ({ address }) => ({ words: [this.#virtual.retain(address)] }),
    memoryInfo: ({ memory }) => {
      const { pool, type } = this.#virtual.info(memory);
      return { words: [this.#owner.handles.of(pool), BigInt(type)] };
    },
    shareMemory: ({ address, sizeBytes }) => {
      const handle = this.#owner.runtime.ipc.createMemoryHandle(address, asNumber(sizeBytes));
      return { words: [...new BigUint64Array(handle.buffer)] };
    },
    attachMemory: ({ first, second, third, fourth, sizeBytes }) => {
      const handle = new Uint8Array(BigUint64Array.of(first, second, third, fourth).buffer);
      const source = this.#owner.findShared(handle);
      if (!source) throw new HsaError('INVALID_ARGUMENT', 'no application shares memory by this handle');
      const { address, offset, sizeBytes: mappedBytes } = this.#attached.attach(source, asNumber(sizeBytes));
      return { words: [address, BigInt(mappedBytes), BigInt(offset), source.pool], file: source.file };
    },
    detachMemory: ({ address }) => {
      this.#attached.detach(address);
      return NO_REPLY;
    },
  } satisfies RequestHandlers;

  /** Agents with what they may do, from pairs of words. */
  #accessOf(tail: Uint8Array): ReadonlyMap<Agent, number> {
    if (tail.length % 16 !== 0 || tail.length === 0)
      throw new HsaError('INVALID_ARGUMENT', `access of ${tail.length} bytes`);
    const view = new DataView(tail.buffer, tail.byteOffset, tail.length);
    const pairs = Array.from({ length: tail.length / 16 }, (_, i): readonly [Agent, number] => [
      this.#owner.handles.agent(view.getBigUint64(16 * i, true)),
      asNumber(view.getBigUint64(16 * i + 8, true)),
    ]);
    return new Map(pairs);
  }

  [Symbol.dispose](): void {
    this.#attached[Symbol.dispose]();
    this.#virtual[Symbol.dispose]();
  }
}
