/** Where a code object lies while it runs, so that runs of others made of it can be compared. */
import type { LaunchObserver } from '../src/hsa/runtime/launch-observer.ts';

/** One of one lane. */
export interface LaneAccess {
  /** Of the instruction. */
  readonly pc: number;
  readonly lane: number;
  readonly address: bigint;
}

/** Remembers where the image lies. */
export class LoadedImage implements LaunchObserver {
  readonly #tools: LaunchObserver | undefined;
  #delta = 0n;
  #end = 0n;

  constructor(tools?: LaunchObserver) {
    this.#tools = tools;
  }

  onLoaded(...loaded: Parameters<LaunchObserver['onLoaded']>): void {
    const [, , executable] = loaded;
    const { loadDelta, address, sizeBytes } = executable.loadedCodeObjects[0]!;
    this.#delta = loadDelta;
    this.#end = address + BigInt(sizeBytes);
    this.#tools?.onLoaded(...loaded);
  }

  onLaunch(packet: DataView): void {
    this.#tools?.onLaunch(packet);
  }

  onFinished(): void {
    this.#tools?.onFinished();
  }

  /** The address in the file. */
  addressOf(loaded: bigint): number {
    return Number(loaded - this.#delta);
  }

  /** The same for what steps of observers have, which counts from the start of device memory. */
  addressOfOffset(offset: number): number {
    return offset - Number(BigInt.asUintN(32, this.#delta));
  }

  /**
   * Accesses as sorted text. Where the image is larger, what the host allocated lies elsewhere, all of it by
   * as much: such addresses count from the lowest one.
   */
  accessText(accesses: readonly LaneAccess[]): readonly string[] {
    const isBuffer = (address: bigint): boolean => address >> 32n === this.#delta >> 32n && address >= this.#end;
    const isImage = (address: bigint): boolean => address >= this.#delta && address < this.#end;
    const lowest = accesses.reduce((low, { address: a }) => (isBuffer(a) && a < low ? a : low), 2n ** 64n);
    const placeOf = (address: bigint): string => {
      if (isBuffer(address)) return `buffer ${address - lowest}`;
      return isImage(address) ? `image ${address - this.#delta}` : `${address}`;
    };
    return accesses.map(({ pc, lane, address }) => `${pc} ${lane} ${placeOf(address)}`).sort();
  }
}
