/** The printf conversation: format, arguments, then the strings that the arguments point to. */

import { beforeNul } from '../../../base/bytes.ts';
import {
  type ArgumentLayout,
  argumentAreaSizeBytes,
  readArguments,
  stringAddresses,
} from '../../../printf/arguments.ts';
import { formatPrintf } from '../../../printf/format.ts';
import { parseFormat, type Section } from '../../../printf/parse.ts';
import type { Conversation } from '../../host/conversation.ts';
import type { HostStream } from '../../host/streams.ts';
import type { Handler, RpcHost } from '../protocol/host.ts';
import type { OpcodeName } from '../protocol/opcodes.ts';
import type { ServerPort } from '../protocol/port.ts';

type Target = (port: ServerPort, host: RpcHost) => Conversation<readonly HostStream[]>;

const toStdout: Target = function* ({ lanes }, { streams }) {
  return lanes.map(() => streams.stdout);
};

const toStderr: Target = function* ({ lanes }, { streams }) {
  return lanes.map(() => streams.stderr);
};

const toStream: Target = function* (port, { streams }) {
  yield* port.receive();
  return port.perLane((lane) => streams.raw(port.word(lane, 0)));
};

function prints(target: Target, layout: ArgumentLayout): Handler {
  return function* (port, host) {
    const streams = yield* target(port, host);
    const texts = yield* port.receiveStrings();
    const formats = port.perLane((_lane, index) => parse(port, texts[index]!, host));
    yield* port.reply(formats.map((sections) => argumentAreaSizeBytes(sections, layout)));
    const areas = yield* port.receiveStreams();
    const values = formats.map((sections, index) => readArguments(sections, areas[index]!, layout));
    const strings = yield* collectStrings(
      port,
      formats.map((sections, index) => stringAddresses(sections, values[index]!)),
    );
    const written = port.perLane((_lane, index) => {
      const sections = formats[index]!;
      const text = formatPrintf(sections, values[index]!, strings[index]!, host.printf);
      return streams[index]!.write(text) === text.length ? text.length : -1;
    });
    yield* port.send((lane, index) => {
      port.setWord(lane, 0, BigInt(written[index]!));
      port.setWord(lane, 1, 0n);
    });
  };
}

/** What a parsed section takes of this host, about. */
const SECTION_BYTES = 256;

function parse(port: ServerPort, format: Uint8Array, host: RpcHost): Section[] {
  const sections = parseFormat(format, host.printf);
  port.hold(sections.length * SECTION_BYTES);
  return sections;
}

/** Asks for one string of every lane that has one left, until no lane has. */
function* collectStrings(port: ServerPort, addresses: readonly bigint[][]): Conversation<Uint8Array[][]> {
  const rounds = addresses.reduce((most, { length }) => Math.max(most, length), 0);
  const strings: Uint8Array[][] = addresses.map(() => []);
  for (let round = 0; round < rounds; round++) {
    yield* port.send((lane, index) => port.setWord(lane, 1, addresses[index]![round] ?? 0n));
    const texts = yield* port.receiveStreams();
    // What a lane without a string sends means nothing; it comes behind all strings of that lane.
    for (const [index, text] of texts.entries()) strings[index]!.push(beforeNul(text));
  }
  return strings;
}

export const printfHandlers = {
  PRINTF_TO_STDOUT: prints(toStdout, 'natural'),
  PRINTF_TO_STDERR: prints(toStderr, 'natural'),
  PRINTF_TO_STREAM: prints(toStream, 'natural'),
  PRINTF_TO_STDOUT_PACKED: prints(toStdout, 'packed'),
  PRINTF_TO_STDERR_PACKED: prints(toStderr, 'packed'),
  PRINTF_TO_STREAM_PACKED: prints(toStream, 'packed'),
} satisfies Partial<Record<OpcodeName, Handler>>;
