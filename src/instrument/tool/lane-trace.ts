/**
 * Traces: a value for each active lane at points, in the order in which waves come there. The buffer on the
 * device begins with 16 bytes, of which the first 8 count records; each record has 16 bytes.
 */
import type { HookBuilder, HookCondition, HookValue, Spread } from '../dsl/hook.ts';
import { accessesOfLanes, type CodeAccess, placeIn } from '../dsl/memory-accesses.ts';
import { type HookCode, hookCode, type PointHook } from './hook.ts';
import type { ToolOption } from './options.ts';
import type { ToolCode } from './tool-code.ts';
import type { ToolInstruction } from './tool-function.ts';
import type { ToolVariable, VariableMemory } from './variables.ts';

const RECORD_SHIFT = 4;
const RECORD_BYTES = 1 << RECORD_SHIFT;
/** The lane stands above the number of the point. */
const LANE_SHIFT = 24;
const MAX_POINTS = 1 << LANE_SHIFT;
const MAX_LANES = 64;
/** Most that a trace may hold: 256 MiB. */
export const MAX_TRACE_RECORDS = 1 << 24;

export interface Trace {
  readonly variable: ToolVariable;
  readonly capacity: number;
}

/** What a lane left at a point. */
export interface TraceRecord {
  readonly value: bigint;
  /** The number that the point was given. */
  readonly point: number;
  readonly lane: number;
  /** The same for all lanes that came to the point together; later ones have higher numbers. */
  readonly group: number;
}

export const traceIn = (code: ToolCode, name: string, capacity: number): Trace => ({
  variable: code.records(name, RECORD_BYTES * (capacity + 1)),
  capacity,
});

/** What a hook writes into the records of its lanes. */
export interface Traced {
  readonly value: HookValue<Spread, 64>;
  /** The lanes that write; undefined: all that are on. */
  readonly condition?: HookCondition | undefined;
}

/**
 * Writes a record for each active lane, or with `isUniform` for the lowest of them. Points with the same code
 * share it.
 */
export function traceCode(trace: Trace, traced: (b: HookBuilder) => Traced, isUniform = false): HookCode {
  return hookCode((b) => {
    const { value, condition } = traced(b);
    const write = (): void => writeRecords(b, trace, value, isUniform);
    if (condition) b.when(condition, write);
    else write();
  });
}

function writeRecords(
  b: HookBuilder,
  { variable, capacity }: Trace,
  value: HookValue<Spread, 64>,
  isUniform: boolean,
): void {
  const mask = b.laneMask();
  b.when(b.compare('ne', mask, b.constant64(0n)), () => {
    const buffer = b.variable(variable.symbol);
    const count = isUniform ? b.constant(1) : b.popcount(mask);
    const group = b.low(b.fetchAdd(buffer, b.pack(count, b.constant(0))));
    const lane = b.laneId();
    const below = b.binary('sub', b.shift('shl', b.constant64(1n), lane), b.constant64(1n));
    const rank = b.popcount(b.binary('and', below, mask));
    const record = (slot: HookValue<Spread, 32>): void => {
      b.when(b.compare('ltU', slot, b.constant(capacity)), () => {
        const offset = b.shift('shl', b.binary('add', slot, b.constant(1)), b.constant(RECORD_SHIFT));
        const at = b.binary('add', b.pack(offset, b.constant(0)), buffer);
        b.store(at, value);
        const place = b.binary('or', b.shift('shl', lane, b.constant(LANE_SHIFT)), b.pointLiteral(0));
        b.store(b.binary('add', at, b.constant64(8n)), b.pack(place, group));
      });
    };
    const first = b.binary('add', rank, group);
    if (isUniform) b.when(b.compare('eq', rank, b.constant(0)), () => record(first));
    else record(first);
  });
}

/** The point's number is its first literal. */
const FIRST_OWN_LITERAL = 1;

/**
 * With the trace that `code` was made for, the file says `what` the records of the point hold. The last
 * argument is what its code names, literals from the second on.
 */
export const tracePoint = (
  code: HookCode,
  point: number,
  trace?: Trace,
  what = 'values',
  { literals = [], registers = [] }: Partial<Pick<PointHook, 'literals' | 'registers'>> = {},
): PointHook => ({
  codes: [code],
  literals: [point % MAX_POINTS, ...literals],
  registers,
  ...(trace && { meaning: { symbol: trace.variable.symbol, index: point % MAX_POINTS, amount: what } }),
});

export interface TraceContents {
  readonly records: readonly TraceRecord[];
  /** How many did not find room. */
  readonly lost: bigint;
}

/**
 * Records of points below `pointCount`, of lanes that waves have. Code of the application may write to the
 * trace, too: what is no such record counts as lost.
 */
export function readTrace(memory: VariableMemory, { variable, capacity }: Trace, pointCount: number): TraceContents {
  const bytes = memory.read(variable.symbol, variable.sizeBytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const count = view.getBigUint64(0, true);
  const kept = count < BigInt(capacity) ? Number(count) : capacity;
  const records = decodeRecords(bytes.subarray(RECORD_BYTES, RECORD_BYTES * (kept + 1))).filter(
    ({ point, lane }) => point < pointCount && lane < MAX_LANES,
  );
  return { records, lost: count - BigInt(records.length) };
}

/** Records as the device writes them. */
export function decodeRecords(bytes: Uint8Array): TraceRecord[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / RECORD_BYTES }, (_, i): TraceRecord => {
    const at = RECORD_BYTES * i;
    const place = view.getUint32(at + 8, true);
    return {
      value: view.getBigUint64(at, true),
      point: place % MAX_POINTS,
      lane: place >>> LANE_SHIFT,
      group: view.getUint32(at + 12, true),
    };
  });
}

export function encodeRecords(records: readonly TraceRecord[]): Uint8Array {
  const bytes = new Uint8Array(RECORD_BYTES * records.length);
  const view = new DataView(bytes.buffer);
  for (const [i, { value, point, lane, group }] of records.entries()) {
    view.setBigUint64(RECORD_BYTES * i, value, true);
    view.setUint32(RECORD_BYTES * i + 8, lane * MAX_POINTS + point, true);
    view.setUint32(RECORD_BYTES * i + 12, group, true);
  }
  return bytes;
}

/** Records of the lanes that came to a point together, in the order of time. */
export const groupsOf = ({ records }: TraceContents): readonly (readonly TraceRecord[])[] => [
  ...Map.groupBy(records, ({ group }) => group).values(),
];

export interface AccessPoint {
  readonly instruction: ToolInstruction;
  readonly access: CodeAccess;
}

export interface TracedAccesses {
  /** By the numbers in the records. */
  readonly points: readonly AccessPoint[];
  /** Accesses whose addresses a hook cannot know. */
  readonly unknown: readonly AccessPoint[];
}

/** As `accessesOfLanes` says. */
export const laneAccesses = ({ step }: ToolInstruction): readonly CodeAccess[] => accessesOfLanes(step);

/** Traces the addresses of all accesses that `isWanted`, before the instruction. */
export function traceAccesses(code: ToolCode, trace: Trace, isWanted: (access: CodeAccess) => boolean): TracedAccesses {
  const codes = new Map<string, HookCode>();
  const [points, unknown]: [AccessPoint[], AccessPoint[]] = [[], []];
  for (const instruction of code.instructions) {
    for (const access of laneAccesses(instruction).filter(isWanted)) {
      const { place } = access;
      if (place === undefined) {
        unknown.push({ instruction, access });
        continue;
      }
      const hook = codes.get(place) ?? traceCode(trace, (b) => tracedAddress(b, access));
      codes.set(place, hook);
      const what = `address of a ${access.kind}`;
      code.before(instruction, tracePoint(hook, points.length, trace, what, access));
      points.push({ instruction, access });
    }
  }
  return { points, unknown };
}

function tracedAddress(b: HookBuilder, access: CodeAccess): Traced {
  const { address, condition } = placeIn(b, access, FIRST_OWN_LITERAL);
  return { value: address, condition };
}

/** What every tool says that traces. */
export const traceSummary = ({ records, lost }: TraceContents, { unknown }: Pick<TracedAccesses, 'unknown'>) => ({
  records: records.length,
  lost,
  'accesses without a known address': unknown.length,
});

export const RECORDS_OPTION = {
  kind: 'integer',
  min: 1,
  max: MAX_TRACE_RECORDS,
  default: 1 << 20,
  description: 'records of single lanes that the buffer on the device holds; later ones are lost, and counted',
} as const satisfies ToolOption;
