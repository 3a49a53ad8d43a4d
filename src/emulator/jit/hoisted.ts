/** Values that are computed once before the loop over the chunks, by name. */
import { assert } from '../../base/errors.ts';
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import { WAVE_LDS_BASE, WAVE_LDS_SIZE, WAVE_PRIVATE_BASE, WAVE_PRIVATE_SIZE } from '../machine/layout.ts';
import type { FunctionState } from './function-state.ts';
import type { AccessGroup } from './regions/access-group.ts';

export class Hoisted {
  readonly #f: FunctionBuilder;
  readonly #locals = new Map<string, Local>();

  constructor(f: FunctionBuilder) {
    this.#f = f;
  }

  /** Emits the value that `push` pushes, once for each name. */
  add(name: string, type: 'i32' | 'v128', push: () => void): void {
    if (this.#locals.has(name)) return;
    const local = this.#f.local(type);
    push();
    this.#f.set(local);
    this.#locals.set(name, local);
  }

  get(name: string): Local {
    const local = this.#locals.get(name);
    assert(local, () => `${name} is hoisted`);
    return local;
  }

  release(): void {
    this.#f.free(...this.#locals.values());
  }
}

/** What the emission of accesses uses. */
export function hoistForAccesses(
  { f, wave, spaces }: FunctionState,
  hoisted: Hoisted,
  groups: Iterable<AccessGroup>,
): void {
  for (const { space, max } of groups) {
    if (space === 'lds' || space === 'private') {
      const [base, size] = space === 'lds' ? [WAVE_LDS_BASE, WAVE_LDS_SIZE] : [WAVE_PRIVATE_BASE, WAVE_PRIVATE_SIZE];
      const pushSize = (): void => {
        f.get(wave);
        f.load('i32.load', size);
      };
      hoisted.add(`${space} base`, 'i32', () => {
        f.get(wave);
        f.load('i32.load', base);
      });
      hoisted.add(`${space} size`, 'i32', pushSize);
      // How many addresses are permitted for the whole group.
      hoisted.add(`${space} count ${max}`, space === 'lds' ? 'v128' : 'i32', () => {
        pushSize();
        f.i32(max - 1);
        f.op('i32.sub');
        f.i32(0);
        pushSize();
        f.i32(max);
        f.op('i32.ge_u');
        f.select();
        if (space === 'lds') f.op('i32x4.splat');
      });
    } else
      hoisted.add('window', 'v128', () => {
        f.i32(spaces.windowHi);
        f.op('i32x4.splat');
      });
    if (space === 'private') continue;
    hoisted.add('lanes', 'v128', () => f.v128([0, 1, 2, 3]));
    hoisted.add('dwords', 'v128', () => f.v128([0, 4, 8, 12]));
  }
}
