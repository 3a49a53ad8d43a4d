/** An HSA runtime one of whose calls fails, and which knows what nobody took back. */
import { HsaError } from '../../hsa/objects/status.ts';
import { createRuntime, type Runtime, type RuntimeOptions } from '../../hsa/runtime/runtime.ts';

/** Lets one call of a runtime fail, and knows what its calls gave and nobody took back. */
export class FailingCalls {
  /** Names of the calls since it was armed. */
  calls: string[] = [];
  readonly live = new Set<unknown>();
  /** What the call throws. */
  readonly error = new HsaError('OUT_OF_RESOURCES', 'injected');
  /** The number of the call that fails, from 0; -1: none. */
  #failing: number;

  /** `failing`: the number of the call that fails, from 0; -1: none. */
  constructor(failing = -1) {
    this.#failing = failing;
  }

  /** Lets one of the calls from now on fail, in place of any other: the next one is 0; -1: none. */
  arm(failing: number): void {
    this.calls = [];
    this.#failing = failing;
  }

  readonly createRuntime = (options: RuntimeOptions): Runtime => {
    const runtime = createRuntime(options);
    for (const name of ['createSignal', 'createQueue', 'createExecutable'] as const) this.#watch(runtime, name);
    for (const pool of runtime.agents.flatMap(({ pools }) => pools)) {
      const free = pool.free.bind(pool);
      this.#watch(pool, 'allocate');
      pool.free = (address, ...rest) => {
        free(address, ...rest);
        this.live.delete(address);
      };
    }
    return runtime;
  };

  #watch<Name extends string>(target: Record<Name, (...args: never[]) => unknown>, name: Name): void {
    const call = target[name].bind(target);
    const watched = (...args: never[]): unknown => {
      this.#expectNoFailure(name);
      const made = call(...args);
      this.live.add(made);
      if (typeof made === 'object' && made !== null) this.#follow(made as Disposable);
      return made;
    };
    Object.assign(target, { [name]: watched });
  }

  #follow(made: Disposable): void {
    const dispose = made[Symbol.dispose].bind(made);
    Object.assign(made, {
      [Symbol.dispose]: () => {
        dispose();
        this.live.delete(made);
      },
    });
    for (const name of ['loadCodeObject', 'freeze'] as const) {
      const call: unknown = Reflect.get(made, name);
      if (typeof call !== 'function') continue;
      const failing = (...args: unknown[]): unknown => {
        this.#expectNoFailure(name);
        return Reflect.apply(call, made, args);
      };
      Object.assign(made, { [name]: failing });
    }
  }

  #expectNoFailure(name: string): void {
    this.calls.push(name);
    if (this.calls.length - 1 === this.#failing) throw this.error;
  }
}
