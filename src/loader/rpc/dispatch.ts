/**
 * The server's side of rpc::dispatch of LLVM 23: a typed function call in one conversation. What the
 * arguments point to travels first, then the arguments, then what the function left in the memory that it was
 * given.
 */
import { WavewrightError } from '../../base/errors.ts';
import type { Conversation } from '../host/conversation.ts';
import type { Handler } from './protocol/host.ts';
import type { ServerPort } from './protocol/port.ts';

export type DispatchParameter =
  /** A value of 1 to 64 bytes. */
  | { readonly kind: 'value'; readonly sizeBytes: number }
  /** A pointer to a complete type. `isConst`: the pointer itself is const, and nothing comes back. */
  | { readonly kind: 'pointer'; readonly isConst?: boolean };

/**
 * An argument: the bytes of a value, or what a pointer points to, with the size that the program sent;
 * `undefined` for a null pointer. Pointees may be changed in place.
 */
export type DispatchArgument = Uint8Array | undefined;

export interface DispatchSignature {
  readonly parameters: readonly DispatchParameter[];
  /** 0 for void. */
  readonly resultSizeBytes: number;
}

const POINTER_BYTES = 8;

/**
 * A handler for `RunOptions.opcodes` that calls `call` for each active lane. `call` returns the result's
 * bytes, little endian; shorter ones are filled up with zeros.
 */
export function dispatched(
  { parameters, resultSizeBytes }: DispatchSignature,
  call: (args: readonly DispatchArgument[], lane: number) => Uint8Array | undefined,
): Handler {
  const sizes = parameters.map((parameter) => (parameter.kind === 'value' ? parameter.sizeBytes : POINTER_BYTES));
  const tupleSizeBytes = Math.max(
    sizes.reduce((sum, size) => sum + size, 0),
    1,
  );
  return function* (port) {
    const pointees = yield* receivePointees(port, parameters);
    const tuples = yield* port.receiveFixed(tupleSizeBytes);
    const results = port.perLane((lane, index) => {
      let at = 0;
      const args = parameters.map((parameter, position) => {
        const value = tuples[index]!.subarray(at, at + sizes[position]!);
        at += value.length;
        return parameter.kind === 'value' ? value : pointees[position]![index];
      });
      const result = new Uint8Array(Math.max(resultSizeBytes, 1));
      const returned = call(args, lane);
      if (returned !== undefined && returned.length > resultSizeBytes) {
        const what = `the function returned ${returned.length} bytes, expected at most ${resultSizeBytes}`;
        throw new WavewrightError('USAGE', what);
      }
      if (returned !== undefined) result.set(returned);
      return result;
    });
    for (const [position, parameter] of parameters.entries()) {
      if (parameter.kind === 'value' || parameter.isConst) continue;
      yield* port.sendStreams(pointees[position]!.map((bytes) => bytes ?? new Uint8Array()));
    }
    yield* port.sendFixed(results);
  };
}

/**
 * By parameter, then by lane. The program gets a token for each pointer; it comes back in the arguments and
 * means nothing here.
 */
function* receivePointees(
  port: ServerPort,
  parameters: readonly DispatchParameter[],
): Conversation<(DispatchArgument[] | undefined)[]> {
  const pointees: (DispatchArgument[] | undefined)[] = [];
  for (const [position, { kind }] of parameters.entries()) {
    if (kind === 'value') {
      pointees.push(undefined);
      continue;
    }
    const streams = (yield* port.receiveStreams()).map((bytes) => (bytes.length === 0 ? undefined : bytes));
    yield* port.reply(streams.map((bytes) => (bytes === undefined ? 0 : position + 1)));
    pointees.push(streams);
  }
  return pointees;
}
