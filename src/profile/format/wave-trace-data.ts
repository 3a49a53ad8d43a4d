/**
 * What stands behind a record of `executable-traces` of the format `wavewright_waves`: numbers in LEB128.
 *
 *     version (1)
 *     count of runs, each: code object, address, count of instructions, bytes of each
 *     count of streams, each: bytes, and so many bytes (`StreamWriter`)
 *     count of waves, each: workgroup x, y, z, number in it, stream, lost instructions
 *
 * An address is that of the code object; IREE's tools pass over formats that they do not know.
 */
import { WavewrightError } from '../../base/errors.ts';
import { writeUnsigned } from '../../base/leb128.ts';
import { NumberReader, type StreamItem, streamItems, type TracedWave, type WaveTrace } from '../../base/wave-trace.ts';

const VERSION = 1;
const MAX_U32 = 2 ** 32 - 1;

/** A run in a file: `codeObjectId` as `executable-code-objects` has it, 0: in none. */
export interface PlacedRun {
  readonly codeObjectId: bigint;
  readonly address: bigint;
  readonly sizesBytes: readonly number[];
}

/** As `WaveTrace`, in places of files. */
export interface TraceData {
  readonly runs: readonly PlacedRun[];
  readonly waves: readonly TracedWave[];
  readonly streamCount: number;
  /** What a stream names, in order. Throws BAD_INPUT. */
  items(stream: number): Generator<StreamItem>;
}

export function encodeTraceData(trace: WaveTrace, placeOf: (pc: bigint) => Omit<PlacedRun, 'sizesBytes'>): Uint8Array {
  const bytes: number[] = [];
  const add = (...numbers: readonly number[]): void => {
    for (const each of numbers) writeUnsigned(bytes, bytes.length, each);
  };
  add(VERSION, trace.runs.length);
  for (const { pc, sizesBytes } of trace.runs) {
    const { codeObjectId, address } = placeOf(pc);
    add(Number(codeObjectId), Number(address), sizesBytes.length, ...sizesBytes);
  }
  add(trace.streams.length);
  const head = Uint8Array.from(bytes.splice(0));
  const streams = trace.streams.flatMap((stream) => {
    add(stream.length);
    return [Uint8Array.from(bytes.splice(0)), stream];
  });
  add(trace.waves.length);
  for (const { workgroup, index, stream, lostCount } of trace.waves) add(...workgroup, index, stream, lostCount);
  const parts = [head, ...streams, Uint8Array.from(bytes)];
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** `file` is named by errors. Throws BAD_INPUT, UNSUPPORTED for another version. */
export function decodeTraceData(data: Uint8Array, file: string): TraceData {
  const bad = (what: string, at: number): never => {
    throw new WavewrightError('BAD_INPUT', `a trace of waves ${what}, at byte ${at} of it`, { file });
  };
  const reader = new NumberReader(data, bad);
  const version = reader.number();
  if (version !== VERSION) {
    throw new WavewrightError('UNSUPPORTED', `a trace of waves of version ${version}, expected ${VERSION}`, { file });
  }
  const listOf = <Each>(read: () => Each): Each[] => Array.from({ length: reader.count() }, read);
  const runs = listOf(() => {
    const [codeObjectId, address] = [BigInt(reader.number()), BigInt(reader.number())];
    return { codeObjectId, address, sizesBytes: listOf(() => reader.number(MAX_U32)) };
  });
  const streams = listOf(() => reader.take(reader.count()));
  const waves = listOf((): TracedWave => {
    const workgroup = [reader.number(MAX_U32), reader.number(MAX_U32), reader.number(MAX_U32)] as const;
    const wave = { workgroup, index: reader.number(MAX_U32), stream: reader.number(), lostCount: reader.number() };
    return wave.stream < streams.length
      ? wave
      : bad(`has a wave of stream ${wave.stream} of ${streams.length}`, reader.at);
  });
  return {
    ...{ runs, waves, streamCount: streams.length },
    items: (stream) => streamItems(streams[stream]!, runs.length, bad),
  };
}
