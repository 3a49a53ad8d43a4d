/** Events of command buffers (iree/hal/event.h): set and reset by commands, waited for by others. */

export class HalEvent {
  readonly label: string;
  #isSet = false;
  #waiters: (() => void)[] = [];

  /** Use `LogicalDevice.createEvent`. */
  constructor(label: string) {
    this.label = label;
  }

  get isSet(): boolean {
    return this.#isSet;
  }

  set(): void {
    this.#isSet = true;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter();
  }

  reset(): void {
    this.#isSet = false;
  }

  /** Calls back once, at once where it is set. */
  onSet(callback: () => void): void {
    if (this.#isSet) callback();
    else this.#waiters.push(callback);
  }
}
