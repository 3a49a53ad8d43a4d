/**
 * The order in which waves execute instructions, one run against another. Runs are long: each wave keeps a
 * digest for a stretch of instructions, and where two differ both programs run again to see which
 * instruction it was.
 */
import type { ObservedWave } from '../../src/emulator/reference/step-observer.ts';

/** Of instructions that count. */
const STRETCH = 1024;

/** One wave's way through the code. */
class Way {
  readonly name: string;
  /** Of all instructions up to the end of each stretch, and of all. */
  readonly digests: number[] = [];
  count = 0;
  #high = 0;
  #low = 0;

  constructor(name: string) {
    this.name = name;
  }

  add(address: number): void {
    this.#high = Math.imul(this.#high ^ address, 0x01000193) ^ (this.#high >>> 15);
    this.#low = Math.imul(this.#low ^ address, 0x85ebca6b) ^ (this.#low >>> 13);
    this.digests[Math.floor(this.count++ / STRETCH)] = (this.#high >>> 11) * 2 ** 32 + (this.#low >>> 0);
  }
}

/** A stretch of one wave, of which the addresses are kept. */
export interface Stretch {
  readonly wave: string;
  readonly index: number;
}

export class ExecutionOrder {
  readonly #waves = new Map<ObservedWave, Way>();
  readonly #ways: Way[] = [];
  readonly #wanted: Stretch | undefined;
  /** The addresses of the stretch that was asked for. */
  readonly addresses: number[] = [];

  constructor(wanted?: Stretch) {
    this.#wanted = wanted;
  }

  waveStarts(launch: number, wave: ObservedWave): void {
    const way = new Way(`launch ${launch}, workgroup ${wave.workgroup.join(' ')}, wave ${wave.index}`);
    this.#waves.set(wave, way);
    this.#ways.push(way);
  }

  add(wave: ObservedWave, address: number): void {
    const way = this.#waves.get(wave)!;
    const index = Math.floor(way.count / STRETCH);
    way.add(address);
    if (index === this.#wanted?.index && way.name === this.#wanted.wave) this.addresses.push(address);
  }

  /** The first stretch of the first wave that has one where the two differ. */
  differenceTo(other: ExecutionOrder): Stretch | undefined {
    const others = new Map(other.#ways.map((way) => [way.name, way.digests]));
    const own = new Map(this.#ways.map((way) => [way.name, way.digests]));
    for (const wave of new Set([...own.keys(), ...others.keys()])) {
      const [a, b] = [own.get(wave) ?? [], others.get(wave) ?? []];
      const length = Math.max(a.length, b.length);
      for (let index = 0; index < length; index++) if (a[index] !== b[index]) return { wave, index };
    }
    return undefined;
  }

  /** How many instructions of how many waves. */
  get size(): { readonly waves: number; readonly instructions: number } {
    return { waves: this.#ways.length, instructions: this.#ways.reduce((sum, { count }) => sum + count, 0) };
  }
}
