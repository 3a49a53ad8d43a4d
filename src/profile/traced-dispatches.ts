/** What waves of traced dispatches executed: `--device_profiling_mode=executable-traces`. */
import { INSTRUCTIONS } from './format/instruction-records.ts';
import { TRACE_FORMATS } from './format/names.ts';
import type { RecordOf } from './format/record-layout.ts';
import { EXECUTABLE_TRACES } from './format/records.ts';
import { decodeTraceData, type TraceData } from './format/wave-trace-data.ts';
import type { Profile } from './profile.ts';

type TraceRecord = RecordOf<typeof EXECUTABLE_TRACES>;
type InstructionRecord = RecordOf<typeof INSTRUCTIONS>;

/** An instruction in all waves of a dispatch. */
export interface TracedInstruction {
  readonly codeObjectId: bigint;
  readonly address: bigint;
  /** Executions by waves, and their active lanes, summed. */
  readonly waves: number;
  readonly lanes: number;
  /** What stands there, where the profile says it. */
  readonly code: InstructionRecord | undefined;
}

/** One execution by a wave. */
export interface TracedExecution {
  readonly codeObjectId: bigint;
  readonly address: bigint;
  readonly exec: bigint;
}

/** A dispatch; what is read of its data throws BAD_INPUT. */
export class TracedDispatch {
  readonly record: TraceRecord;
  /** Its kernel, as in other reports. */
  readonly key: string;
  readonly data: TraceData;
  readonly #code: ReadonlyMap<string, InstructionRecord>;

  constructor(record: TraceRecord, key: string, data: TraceData, code: ReadonlyMap<string, InstructionRecord>) {
    this.record = record;
    this.key = key;
    this.data = data;
    this.#code = code;
  }

  /** By code object and address. The cost is that of the streams, however often loops ran. */
  instructions(): TracedInstruction[] {
    const { runs, waves, streamCount } = this.data;
    const users = new Array<number>(streamCount).fill(0);
    for (const { stream } of waves) users[stream]!++;
    const [times, lanes] = [new Float64Array(runs.length), new Float64Array(runs.length)];
    for (const [stream, count] of users.entries()) {
      for (const { run, exec, times: repeated } of count === 0 ? [] : this.data.items(stream)) {
        times[run]! += count * repeated;
        lanes[run]! += count * repeated * bitsOf(exec);
      }
    }
    const found = new Map<string, { -readonly [Key in keyof TracedInstruction]: TracedInstruction[Key] }>();
    for (const [run, { codeObjectId, address, sizesBytes }] of runs.entries()) {
      let at = address;
      for (const sizeBytes of sizesBytes) {
        const key = `${codeObjectId}/${at}`;
        const own = found.get(key) ?? { codeObjectId, address: at, waves: 0, lanes: 0, code: this.#code.get(key) };
        own.waves += times[run]!;
        own.lanes += lanes[run]!;
        found.set(key, own);
        at += BigInt(sizeBytes);
      }
    }
    return [...found.values()].toSorted((a, b) => Number(a.codeObjectId - b.codeObjectId || a.address - b.address));
  }

  /** What a wave executed, in order; `wave`: its place among those of the trace. */
  *executed(wave: number): Generator<TracedExecution> {
    for (const { run, exec, times } of this.data.items(this.data.waves[wave]!.stream)) {
      const { codeObjectId, address, sizesBytes } = this.data.runs[run]!;
      for (let time = 0; time < times; time++) {
        let at = address;
        for (const sizeBytes of sizesBytes) {
          yield { codeObjectId, address: at, exec };
          at += BigInt(sizeBytes);
        }
      }
    }
  }

  get lostCount(): number {
    return this.data.waves.reduce((sum, { lostCount }) => sum + lostCount, 0);
  }
}

const WAVES_FORMAT = 'wavewright_waves';

/** Traces of our own format; others are left out. Throws BAD_INPUT, UNSUPPORTED. */
export function tracedDispatches(profile: Profile): TracedDispatch[] {
  const byExecutable = Map.groupBy(profile.all(INSTRUCTIONS), ({ executableId }) => executableId);
  const codes = new Map(
    [...byExecutable].map(([id, records]) => [
      id,
      new Map(records.map((each) => [`${each.codeObjectId}/${each.address}`, each])),
    ]),
  );
  return profile
    .all(EXECUTABLE_TRACES)
    .filter(({ format }) => TRACE_FORMATS[format] === WAVES_FORMAT)
    .map((record) => {
      const key = profile.keyOf(record.executableId, record.exportOrdinal, record.physicalDeviceOrdinal);
      const data = decodeTraceData(record.data, profile.name);
      return new TracedDispatch(record, key, data, codes.get(record.executableId) ?? new Map());
    });
}

function bitsOf(exec: bigint): number {
  let count = 0;
  for (let rest = exec; rest !== 0n; rest &= rest - 1n) count++;
  return count;
}
