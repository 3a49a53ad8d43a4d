/** Streams and files. Results are C's: 0 or -1, NULL, short counts. */
import { beforeNul, decodeUtf8 } from '../../../base/bytes.ts';
import type { Conversation } from '../../host/conversation.ts';
import { parseOpenMode } from '../../host/file-system.ts';
import type { HostStream } from '../../host/streams.ts';
import type { Handler, RpcHost } from '../protocol/host.ts';
import type { OpcodeName } from '../protocol/opcodes.ts';
import type { ServerPort } from '../protocol/port.ts';

const EOF = -1;
const NEWLINE = Uint8Array.of(0x0a);

/** Writes each lane's bytes, and `ending`, in lane order. */
function writes(target: (host: RpcHost) => HostStream, ending: Uint8Array = new Uint8Array()): Handler {
  return function* (port, host) {
    const texts = yield* port.receiveStreams();
    const stream = target(host);
    yield* port.reply(port.perLane((_lane, index) => stream.writeWithEnding(texts[index]!, ending)));
  };
}

/** A request of one packet about the tagged stream in `slot`, answered with a number. */
function asks(slot: number, answer: (stream: HostStream, port: ServerPort, lane: number) => number): Handler {
  return function* (port, host) {
    yield* port.receive();
    yield* port.reply(port.perLane((lane) => answer(host.streams.tagged(port.word(lane, slot)), port, lane)));
  };
}

/** A size that a client asks for; what no array can hold is as good as no limit. */
function sizeOf(word: bigint): number {
  return Number(word > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : word);
}

function* readLine(stream: HostStream, bufferSizeBytes: bigint): Conversation<Uint8Array> {
  // fgets with room for nothing but the NUL reads nothing and succeeds; with no room at all it fails.
  if (BigInt.asIntN(64, bufferSizeBytes) < 1n) return new Uint8Array();
  if (bufferSizeBytes === 1n) return new Uint8Array(1);
  const line = yield* stream.readLine(sizeOf(bufferSizeBytes - 1n));
  if (line.length === 0) return line;
  const withNul = new Uint8Array(line.length + 1);
  withNul.set(line);
  return withNul;
}

function open(host: RpcHost, path: Uint8Array, modeText: Uint8Array): bigint {
  const name = nameOf(path);
  const mode = parseOpenMode(decodeUtf8(modeText) ?? '');
  if (name === undefined || mode === undefined || !host.streams.hasRoom) return 0n;
  const file = host.fileSystem.open(name, mode);
  return file === undefined ? 0n : host.streams.add(file, mode);
}

/** No system has longer names of files. */
const MAX_NAME_BYTES = 4096;

function nameOf(bytes: Uint8Array): string | undefined {
  return bytes.length > MAX_NAME_BYTES ? undefined : decodeUtf8(bytes);
}

/** 0 when all names are text and `act` succeeds. */
function result(names: readonly Uint8Array[], act: (...names: string[]) => boolean): number {
  const texts = names.map(nameOf).filter((text) => text !== undefined);
  return texts.length === names.length && act(...texts) ? 0 : -1;
}

export const fileHandlers = {
  WRITE_TO_STDOUT: writes((host) => host.streams.stdout),
  WRITE_TO_STDERR: writes((host) => host.streams.stderr),
  WRITE_TO_STDOUT_NEWLINE: writes((host) => host.streams.stdout, NEWLINE),
  *WRITE_TO_STREAM(port, host) {
    yield* port.receive();
    const streams = port.perLane((lane) => host.streams.raw(port.word(lane, 0)));
    const texts = yield* port.receiveStreams();
    yield* port.reply(port.perLane((_lane, index) => streams[index]!.write(texts[index]!)));
  },
  *READ_FROM_STREAM(port, host) {
    yield* port.receive();
    const data = yield* port.perLaneInTurn(function* (lane) {
      const bytes = yield* host.streams.tagged(port.word(lane, 1)).read(sizeOf(port.word(lane, 0)));
      port.hold(bytes.length);
      return bytes;
    });
    yield* port.sendStreams(data);
    yield* port.reply(data.map((bytes) => bytes.length));
  },
  *READ_FGETS(port, host) {
    yield* port.receive();
    const lines = yield* port.perLaneInTurn(function* (lane) {
      const line = yield* readLine(host.streams.tagged(port.word(lane, 1)), port.word(lane, 0));
      port.hold(line.length);
      return line;
    });
    yield* port.sendStreams(lines);
  },
  *OPEN_FILE(port, host) {
    const paths = yield* port.receiveStrings();
    yield* port.receive();
    const handles = port.perLane((lane, index) => open(host, paths[index]!, beforeNul(port.packet(lane).slice())));
    yield* port.reply(handles);
  },
  *CLOSE_FILE(port, host) {
    yield* port.receive();
    yield* port.reply(port.perLane((lane) => (host.streams.close(port.word(lane, 0)) ? 0 : EOF)));
  },
  FEOF: asks(0, (stream) => Number(stream.atEnd)),
  FERROR: asks(0, (stream) => Number(stream.failed)),
  CLEARERR: asks(0, (stream) => {
    stream.clearError();
    return 0;
  }),
  // ftell of all client versions opens FSEEK with two slots unset: any values must be taken.
  FSEEK: asks(0, (stream, port, lane) =>
    stream.seek(BigInt.asIntN(64, port.word(lane, 1)), Number(BigInt.asIntN(32, port.word(lane, 2)))),
  ),
  FTELL: asks(0, (stream) => stream.tell()),
  UNGETC: asks(1, (stream, port, lane) => stream.unget(Number(BigInt.asIntN(32, port.word(lane, 0))))),
  *FFLUSH(port, host) {
    yield* port.receive();
    // Files are written at once; what is collected for stdout and stderr goes out. A null stream means all.
    port.perLane((lane) => {
      const value = port.word(lane, 0);
      if (value !== 0n) host.streams.tagged(value);
    });
    host.streams.flush();
    yield* port.reply(port.lanes.map(() => 0));
  },
  *REMOVE(port, host) {
    const paths = yield* port.receiveStrings();
    const remove = (path: string) => host.fileSystem.remove(path);
    yield* port.reply(port.perLane((_lane, index) => result([paths[index]!], remove)));
  },
  *RENAME(port, host) {
    const sources = yield* port.receiveStrings();
    const targets = yield* port.receiveStrings();
    const rename = (from: string, to: string) => host.fileSystem.rename(from, to);
    yield* port.reply(port.perLane((_lane, index) => result([sources[index]!, targets[index]!], rename)));
  },
} satisfies Partial<Record<OpcodeName, Handler>>;
