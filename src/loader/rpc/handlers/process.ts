/** Ending the program, device memory, commands and functions of the host. */
import { decodeUtf8 } from '../../../base/bytes.ts';
import { WavewrightError } from '../../../base/errors.ts';
import { hex } from '../../../base/text.ts';
import { allocateForProgram } from '../../../hsa/memory/device-heap.ts';
import { type Conversation, settled } from '../../host/conversation.ts';
import type { Handler, RpcHost, Termination } from '../protocol/host.ts';
import type { OpcodeName } from '../protocol/opcodes.ts';

/** The extra round trip shows the client that the server listens. */
function ends(termination: (status: number) => Termination): Handler {
  return function* (port, host) {
    yield* port.receive();
    yield* port.send(() => undefined);
    yield* port.receive();
    const lane = port.lanes[0];
    host.terminate(termination(lane === undefined ? 0 : Number(BigInt.asIntN(32, port.word(lane, 0)))));
  };
}

/** `replies`: the client waits for a result. */
function calls(replies: boolean): Handler {
  return function* (port, host) {
    const parameters = yield* port.receiveStreams();
    yield* port.receive();
    const results = port.perLane((lane, index) => {
      const address = port.word(lane, 0);
      const hostFunction = host.hostFunctions?.get(address);
      if (hostFunction !== undefined) return hostFunction(parameters[index]!);
      const what = `the program calls a function of this host at ${hex(address)}, and none is registered there`;
      throw new WavewrightError('UNSUPPORTED', what);
    });
    if (replies) yield* port.reply(results);
  };
}

export const HOST_CALL_WITHOUT_REPLY: Handler = calls(false);

export const processHandlers = {
  *NOOP(port) {
    yield* port.receive();
  },
  EXIT: ends((status) => ({ kind: 'exit', status })),
  ABORT: ends(() => ({ kind: 'abort' })),
  *MALLOC(port, host) {
    yield* port.receive();
    yield* port.reply(port.perLane((lane) => allocateForProgram(host, port.word(lane, 0))));
  },
  *FREE(port, host) {
    yield* port.receive();
    port.perLane((lane) => {
      const address = port.word(lane, 0);
      if (address !== 0n) host.free(address);
    });
  },
  HOST_CALL: calls(true),
  *SYSTEM(port, host) {
    const commands = yield* port.receiveStrings();
    // What the program printed so far comes before what the command prints.
    host.streams.flush();
    yield* port.reply(yield* port.perLaneInTurn((_lane, index) => runCommand(host, commands[index]!)));
  },
} satisfies Partial<Record<OpcodeName, Handler>>;

function* runCommand(host: RpcHost, command: Uint8Array): Conversation<number> {
  const text = decodeUtf8(command);
  const status = text === undefined ? -1 : (host.system?.(text) ?? -1);
  return typeof status === 'number' ? status : yield* settled(status);
}
