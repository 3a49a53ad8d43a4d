/** What LLVM's own tests of RPC ask for. */
import type { Handler } from '../protocol/host.ts';

export const selfTestHandlers = {
  *NOOP(port) {
    yield* port.receive();
  },
  *INCREMENT(port) {
    yield* port.receive();
    yield* port.reply(port.words().map((value) => value + 1n));
  },
  /**
   * Both sides send a counter in turns of different lengths; the client checks that it comes back in order.
   */
  *INTERFACE(port) {
    let counter = 0n;
    const word = () => port.words()[0] ?? 0n;
    function* take() {
      yield* port.receive();
      counter = word();
    }
    function* give() {
      counter++;
      yield* port.reply(port.lanes.map(() => counter));
    }
    yield* port.receive();
    const endsWithReceive = word() !== 0n;
    for (const turn of [take, give, take, give, take, take, give, give]) yield* turn();
    yield* endsWithReceive ? take() : give();
  },
  *STREAM(port) {
    yield* port.sendStreams(yield* port.receiveStreams());
  },
} satisfies Record<string, Handler>;

/** Numbers as in LLVM 19 to 21. */
export const EARLY_SELF_TESTS = { NOOP: 0x8000, INCREMENT: 0x8001, INTERFACE: 0x8002, STREAM: 0x8003 } as const;
/** Numbers as from LLVM 22. */
export const LATE_SELF_TESTS = { INCREMENT: 0x6300_8000, INTERFACE: 0x6300_8001, STREAM: 0x6300_8002 } as const;
