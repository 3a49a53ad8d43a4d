/** Files with a JSON object on each line, read as a stream, and members of such objects checked by type. */
import { WavewrightError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** A line of a file. */
export interface JsonLine {
  readonly object: JsonObject;
  readonly place: LinePlace;
}

/** Where an object stands, for errors. */
export class LinePlace {
  readonly file: string;
  /** From 1 on; absent where the file is one object. */
  readonly line: number | undefined;

  constructor(file: string, line?: number) {
    this.file = file;
    this.line = line;
  }

  wrong(what: string, hint?: string): WavewrightError {
    return this.error('BAD_INPUT', what, hint);
  }

  error(code: 'BAD_INPUT' | 'LIMIT_EXCEEDED', what: string, hint?: string): WavewrightError {
    const section = this.line === undefined ? {} : { section: `line ${this.line}` };
    return new WavewrightError(code, what, { file: this.file, ...section, ...(hint !== undefined && { hint }) });
  }
}

const NEWLINE = 10;
const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The objects of a file, `-` being standard input; empty lines do not count. A last line without an end may
 * be cut off: `onCutOff` is told of one that is no JSON, where it is given. Throws IO, BAD_INPUT for what is
 * no object, LIMIT_EXCEEDED for a line above `LIMITS.jsonLineBytes`.
 */
export async function* readJsonLines(file: string, onCutOff?: (place: LinePlace) => void): AsyncGenerator<JsonLine> {
  let number = 0;
  for await (const { bytes, ended } of rawLines(file)) {
    const place = new LinePlace(file, ++number);
    if (bytes.length > LIMITS.jsonLineBytes) {
      throw place.error('LIMIT_EXCEEDED', `is longer than jsonLineBytes = ${LIMITS.jsonLineBytes}`);
    }
    let object: JsonObject | undefined;
    try {
      object = parseLine(bytes, place);
    } catch (error) {
      if (ended || !onCutOff || !(error instanceof WavewrightError)) throw error;
      onCutOff(place);
      return;
    }
    if (object) yield { object, place };
  }
}

function parseLine(bytes: Uint8Array, place: LinePlace): JsonObject | undefined {
  let value: unknown;
  try {
    const text = DECODER.decode(bytes);
    if (text.trim() === '') return undefined;
    value = JSON.parse(text);
  } catch (error) {
    throw place.wrong(`is no JSON (${error instanceof Error ? error.message : error}), expected an object`);
  }
  if (!isObject(value)) throw place.wrong('is no object', 'each line is one JSON object');
  return value;
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A line that is too long comes cut, so that memory stays bounded. */
async function* rawLines(file: string): AsyncGenerator<{ readonly bytes: Uint8Array; readonly ended: boolean }> {
  let parts: Uint8Array[] = [];
  let sizeBytes = 0;
  const take = (part: Uint8Array) => {
    // A part of a chunk would keep the chunk: lines that go on are copied.
    if (sizeBytes <= LIMITS.jsonLineBytes) parts.push(Uint8Array.from(part));
    sizeBytes += part.length;
  };
  const joined = () => {
    const line = Buffer.concat(parts);
    [parts, sizeBytes] = [[], 0];
    return line;
  };
  for await (const chunk of chunksOf(file)) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      if (sizeBytes === 0) yield { bytes: chunk.subarray(start, end), ended: true };
      else {
        take(chunk.subarray(start, end));
        yield { bytes: joined(), ended: true };
      }
      start = end + 1;
    }
    take(chunk.subarray(start));
  }
  if (sizeBytes > 0) yield { bytes: joined(), ended: false };
}

async function* chunksOf(file: string): AsyncGenerator<Uint8Array> {
  try {
    const stream = file === '-' ? process.stdin : await streamOf(file);
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause;
    throw new WavewrightError('IO', `cannot be read (${cause.code})`, { file, cause });
  }
}

async function streamOf(file: string): Promise<AsyncIterable<unknown>> {
  const { createReadStream, open, statSync } = process.getBuiltinModule('node:fs');
  if (!statSync(file, { throwIfNoEntry: false })?.isFIFO()) return createReadStream(file);
  // Of a file stream, a read that waits for the other end of a pipe would keep the process from ending.
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  open(file, 'r', (error, descriptor) => (error ? reject(error) : resolve(descriptor)));
  const fd = await promise;
  return new (process.getBuiltinModule('node:net').Socket)({ fd, readable: true, writable: false });
}

/** Throws BAD_INPUT when there is a member that nobody asked for: a name with a typing error does nothing. */
export function expectNames(object: JsonObject, known: readonly string[], place: LinePlace): void {
  const other = Object.keys(object).find((name) => !known.includes(name));
  if (other === undefined) return;
  throw place.wrong(`has a member '${other}', which is not known`, `the members are ${known.join(', ')}`);
}

export function textMember(object: JsonObject, name: string, place: LinePlace): string | undefined {
  const value = object[name];
  if (value === undefined || typeof value === 'string') return value;
  throw place.wrong(`'${name}' is no string`);
}

export function textsMember(object: JsonObject, name: string, place: LinePlace): readonly string[] {
  const value = object[name] ?? [];
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
  throw place.wrong(`'${name}' is no list of strings`);
}

/** An integer, or with `isFraction` any number, of the range. */
export function numberMember(
  object: JsonObject,
  name: string,
  range: { readonly min: number; readonly max: number; readonly isFraction?: boolean },
  place: LinePlace,
): number | undefined {
  const value = object[name];
  if (value === undefined) return undefined;
  const { min, max, isFraction = false } = range;
  const isFine = typeof value === 'number' && value >= min && value <= max && (isFraction || Number.isInteger(value));
  if (isFine) return value;
  throw place.wrong(`'${name}' is no ${isFraction ? 'number' : 'integer'} from ${min} to ${max}`);
}

/** A required member. */
export function required<T>(value: T | undefined, name: string, place: LinePlace): T {
  if (value !== undefined) return value;
  throw place.wrong(`has no '${name}'`);
}
