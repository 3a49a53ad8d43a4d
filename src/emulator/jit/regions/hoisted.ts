/**
 * Values of the wave that accesses of all chunks use: each is computed once, before the loop over the chunks.
 */
import { assert } from '../../../base/errors.ts';
import { assign, geU, loadFrom, operation, select, sub, type Term } from '../../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import { WAVE_LDS_BASE, WAVE_LDS_SIZE, WAVE_PRIVATE_BASE, WAVE_PRIVATE_SIZE } from '../../machine/layout.ts';
import type { FunctionState } from '../function/function-state.ts';
import type { AccessGroup } from './access-group.ts';

type Segment = 'lds' | 'private';

const SEGMENTS = {
  lds: { base: WAVE_LDS_BASE, size: WAVE_LDS_SIZE },
  private: { base: WAVE_PRIVATE_BASE, size: WAVE_PRIVATE_SIZE },
} as const;

export class Hoisted {
  readonly #f: FunctionBuilder;
  readonly #bases = new Map<Segment, Local>();
  readonly #sizes = new Map<Segment, Local>();
  readonly #counts = { lds: new Map<number, Local>(), private: new Map<number, Local>() };
  #window: Local | undefined;
  #lanes: Local | undefined;
  #dwords: Local | undefined;
  /** In the order in which they were taken. */
  readonly #all: Local[] = [];

  constructor(f: FunctionBuilder) {
    this.#f = f;
  }

  /** Emits what the accesses of the groups use. */
  emit({ f, wave, spaces }: FunctionState, groups: Iterable<AccessGroup>): void {
    for (const { space, max } of groups) {
      if (space === 'lds' || space === 'private') this.#addSegment(wave, space, max);
      else this.#window ??= this.#made('v128', operation('i32x4.splat', spaces.windowHi));
      this.#lanes ??= this.#made('v128', () => f.v128([0, 1, 2, 3]));
      if (space !== 'private') this.#dwords ??= this.#made('v128', () => f.v128([0, 4, 8, 12]));
    }
  }

  #addSegment(wave: Local, space: Segment, max: number): void {
    const { base, size } = SEGMENTS[space];
    const sizeBytes = loadFrom('i32.load', wave, size);
    if (!this.#bases.has(space)) this.#bases.set(space, this.#made('i32', loadFrom('i32.load', wave, base)));
    if (!this.#sizes.has(space)) this.#sizes.set(space, this.#made('i32', sizeBytes));
    if (this.#counts[space].has(max)) return;
    const count = select(sub(sizeBytes, max - 1), 0, geU(sizeBytes, max));
    const local = space === 'lds' ? this.#made('v128', operation('i32x4.splat', count)) : this.#made('i32', count);
    this.#counts[space].set(max, local);
  }

  #made(type: 'i32' | 'v128', value: Term): Local {
    const local = this.#f.local(type);
    this.#all.push(local);
    assign(this.#f, local, value);
    return local;
  }

  /** Address of byte 0 of a segment. */
  base(space: Segment): Local {
    return hoisted(this.#bases.get(space));
  }

  sizeBytes(space: Segment): Local {
    return hoisted(this.#sizes.get(space));
  }

  /**
   * How many addresses there are at which an access may begin whose bytes end before `max`; in LDS, a vector
   * of that number.
   */
  permittedCount(space: Segment, max: number): Local {
    return hoisted(this.#counts[space].get(max));
  }

  /** High word of addresses of device memory, in each lane. */
  get window(): Local {
    return hoisted(this.#window);
  }

  /** 0, 1, 2, 3, and four times that. */
  get lanes(): Local {
    return hoisted(this.#lanes);
  }

  get dwords(): Local {
    return hoisted(this.#dwords);
  }

  release(): void {
    this.#f.free(...this.#all);
  }
}

function hoisted(local: Local | undefined): Local {
  assert(local, 'what accesses use is hoisted');
  return local;
}
