/** RPC conversations as text, one line each: what every packet and byte stream means. */
import { toHex } from '../../base/bytes.ts';
import { hex, printable } from '../../base/text.ts';
import type { RecordedStep } from './protocol/port.ts';
import type { ConversationRecord } from './server.ts';

/**
 * Names of the words of a packet in slot order, or of a byte stream. A packet of no names carries nothing.
 */
type Shape = readonly (readonly string[] | string)[];

const ENDS: Shape = [[], [], ['status']];
const WRITES: Shape = ['bytes', ['written']];
const PRINTS: Shape = ['format', ['areaSize'], 'arguments'];
const ASKS: Shape = [['stream'], ['result']];

/**
 * Packets and streams of a conversation in order; a printf goes on with as many strings as its formats ask
 * for.
 */
const SHAPES: Readonly<Record<string, Shape>> = {
  NOOP: [[]],
  EXIT: ENDS,
  ABORT: [[], [], []],
  WRITE_TO_STDOUT: WRITES,
  WRITE_TO_STDERR: WRITES,
  WRITE_TO_STDOUT_NEWLINE: WRITES,
  WRITE_TO_STREAM: [['stream'], ...WRITES],
  READ_FROM_STREAM: [['size', 'stream'], 'bytes', ['read']],
  READ_FGETS: [['size', 'stream'], 'line'],
  OPEN_FILE: ['path', 'mode', ['stream']],
  CLOSE_FILE: ASKS,
  MALLOC: [['size'], ['address']],
  FREE: [['address']],
  HOST_CALL: ['argument', ['function'], ['result']],
  OFFLOAD_HOST_CALL: ['argument', ['function'], ['result']],
  FEOF: ASKS,
  FERROR: ASKS,
  CLEARERR: ASKS,
  FSEEK: [['stream', 'offset', 'whence'], ['result']],
  FTELL: [['stream'], ['position']],
  FFLUSH: ASKS,
  UNGETC: [['character', 'stream'], ['result']],
  PRINTF_TO_STDOUT: PRINTS,
  PRINTF_TO_STDERR: PRINTS,
  PRINTF_TO_STREAM: [['stream'], ...PRINTS],
  PRINTF_TO_STDOUT_PACKED: PRINTS,
  PRINTF_TO_STDERR_PACKED: PRINTS,
  PRINTF_TO_STREAM_PACKED: [['stream'], ...PRINTS],
  REMOVE: ['path', ['result']],
  RENAME: ['from', 'to', ['result']],
  SYSTEM: ['command', ['status']],
  TEST_INCREMENT: [['value'], ['result']],
  TEST_STREAM: ['bytes', 'bytes'],
};

/** Words that are read as signed numbers; the others are addresses, handles and sizes. */
const SIGNED = new Set(['result', 'offset', 'whence', 'status', 'character', 'position', 'value']);
const HEXADECIMAL = new Set(['stream', 'address', 'function', 'word0', 'word1']);
const MAX_BYTES_SHOWN = 48;
const MAX_LANES_SHOWN = 4;

/**
 * `port 3 MALLOC lanes 0-63: size=64 > address=0x...`; lanes that say the same are shown once, others up to
 * four.
 */
export function formatConversation({ port, opcode, lanes, steps }: ConversationRecord): string {
  const shape = SHAPES[opcode] ?? [];
  const rest = opcode.startsWith('PRINTF') ? PRINTF_REST : UNKNOWN;
  const texts = lanes.map((_, index) =>
    steps.map((step, at) => stepText(step, index, shape[at] ?? rest[step.kind])).join(' '),
  );
  const different = [...new Set(texts)];
  const head = `port ${port} ${opcode} ${laneText(lanes)}:`;
  if (different.length <= 1) return `${head} ${different[0] ?? ''}`;
  const shown = lanes.slice(0, MAX_LANES_SHOWN).map((lane, index) => `[${lane}] ${texts[index]}`);
  const more = lanes.length - shown.length;
  return `${head} ${shown.join('  ')}${more > 0 ? `  and ${more} more lanes` : ''}`;
}

/** What follows the shape of a printf: packets that ask for strings, or say the result and ask for none. */
const PRINTF_REST = { packet: ['result', 'address'], stream: 'string' } as const;
/** Conversations whose meaning only the user knows. */
const UNKNOWN = { packet: ['word0', 'word1'], stream: 'bytes' } as const;

function stepText(step: RecordedStep, index: number, shape: readonly string[] | string): string {
  const arrow = step.from === 'client' ? '<' : '>';
  if (step.kind === 'stream') {
    const name = typeof shape === 'string' ? shape : 'bytes';
    return `${arrow} ${name}=${quoted(step.streams[index]!)}`;
  }
  const packet = step.packets[index]!;
  if (typeof shape === 'string') return `${arrow} ${shape}=${quoted(packet.subarray(0, packet.indexOf(0)))}`;
  const words = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
  return [arrow, ...shape.map((name, slot) => `${name}=${wordText(name, words.getBigUint64(8 * slot, true))}`)].join(
    ' ',
  );
}

function wordText(name: string, value: bigint): string {
  if (SIGNED.has(name)) return String(BigInt.asIntN(64, value));
  return HEXADECIMAL.has(name) ? hex(value) : String(value);
}

function quoted(bytes: Uint8Array): string {
  const shown = bytes.subarray(0, MAX_BYTES_SHOWN);
  const cut = bytes.length > MAX_BYTES_SHOWN ? `... (${bytes.length} bytes)` : '';
  const ending = shown.at(-1) === 0 ? shown.length - 1 : shown.length;
  // A C string loses its NUL; what has another one is data.
  if (shown.subarray(0, ending).includes(0)) return `${toHex(shown)}${cut}`;
  return `${printable(JSON.stringify(new TextDecoder().decode(shown.subarray(0, ending))))}${cut}`;
}

/** Ranges of lanes: `lane 3`, `lanes 0-31,40`. */
function laneText(lanes: readonly number[]): string {
  const ranges: string[] = [];
  for (let at = 0; at < lanes.length; ) {
    let end = at;
    while (lanes[end + 1] === lanes[end]! + 1) end++;
    ranges.push(end === at ? `${lanes[at]}` : `${lanes[at]}-${lanes[end]}`);
    at = end + 1;
  }
  return `${lanes.length === 1 ? 'lane' : 'lanes'} ${ranges.join(',')}`;
}
