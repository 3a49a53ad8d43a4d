import { decode } from '@msgpack/msgpack';
import { type ErrorContext, WavewrightError } from '../base/errors.ts';
import { checkLimit, LIMITS } from '../base/limits.ts';
import type { ArgumentAccess, CodeObjectMetadata, KernelArgument, KernelMetadata } from './metadata.ts';
import { msgpackDepth } from './msgpack-depth.ts';

/** Converts a decoded value; throws `BAD_INPUT` naming `path` when it has the wrong type. */
type Convert<T> = (value: unknown, path: string, at: ErrorContext) => T;

/** A key with the conversion of its value; `required` makes a missing key an error. */
interface Key<T> {
  key: string;
  required: boolean;
  convert: Convert<T>;
  /** Stands in for a missing key. */
  missing: T | undefined;
}

/**
 * One row for every property of T except the collected unknown keys: the compiler checks that none is
 * forgotten.
 */
type Schema<T> = { readonly [P in Exclude<keyof T, 'unknown'>]: Key<T[P]> };

const required = <T>(key: string, convert: Convert<T>): Key<T> => ({
  key,
  required: true,
  convert,
  missing: undefined,
});
const optional = <T>(key: string, convert: Convert<T>): Key<T | undefined> => ({
  ...required(key, convert),
  required: false,
});

function fail(found: unknown, expected: string, path: string, at: ErrorContext): never {
  throw new WavewrightError('BAD_INPUT', `metadata ${path} is ${describe(found)}, expected ${expected}`, at);
}

function describe(value: unknown): string {
  if (value === null) return 'nil';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value instanceof Uint8Array) return 'binary data';
  if (typeof value === 'object') return 'a map';
  if (typeof value === 'string') return `the string '${value.length > 40 ? `${value.slice(0, 40)}…` : value}'`;
  return String(value);
}

const text: Convert<string> = (value, path, at) =>
  typeof value === 'string' ? value : fail(value, 'a string', path, at);
const flag: Convert<boolean> = (value, path, at) =>
  typeof value === 'boolean' ? value : fail(value, 'true or false', path, at);

/** Sizes, offsets and counts are 32-bit in the kernel descriptor and in the dispatch packet. */
const count: Convert<number> = (value, path, at) => {
  // msgpack's 64-bit encodings arrive as bigint, whatever the value.
  const number = typeof value === 'bigint' ? Number(value) : value;
  const fits = typeof number === 'number' && Number.isInteger(number) && number >= 0 && number < 2 ** 32;
  return fits ? number : fail(value, 'an integer from 0 to 2^32 - 1', path, at);
};

const arrayOf =
  <T>(convert: Convert<T>, length?: number): Convert<readonly T[]> =>
  (value, path, at) => {
    if (!Array.isArray(value) || (length !== undefined && value.length !== length)) {
      return fail(value, length === undefined ? 'an array' : `an array of ${length}`, path, at);
    }
    return value.map((item, index) => convert(item, `${path}[${index}]`, at));
  };

const oneOf =
  <T extends string>(...names: readonly T[]): Convert<T> =>
  (value, path, at) =>
    names.find((name) => name === value) ?? fail(value, `one of ${names.join(', ')}`, path, at);

const record =
  <T extends { unknown: Readonly<Record<string, unknown>> }>(schema: Schema<T>): Convert<T> =>
  (value, path, at) => {
    if (!isMap(value)) return fail(value, 'a map', path, at);
    const result: Record<string, unknown> = {};
    const known = new Set<string>();
    // Rows of different property types, seen as one.
    const rows = schema as Readonly<Record<string, Key<unknown>>>;
    for (const property in rows) {
      const { key, required: mustExist, convert, missing } = rows[property]!;
      known.add(key);
      const found = Object.hasOwn(value, key) ? value[key] : undefined;
      if (found !== undefined) result[property] = convert(found, `${path}${key}`, at);
      else if (mustExist) throw new WavewrightError('BAD_INPUT', `metadata ${path || 'map'} lacks the key ${key}`, at);
      else result[property] = missing;
    }
    const unknown: Record<string, unknown> = {};
    for (const key of Object.keys(value)) if (!known.has(key)) unknown[key] = value[key];
    result['unknown'] = unknown;
    // Every property of T has its row (see Schema), and `unknown` was set last.
    return result as T;
  };

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
}

const access = oneOf<ArgumentAccess>('read_only', 'write_only', 'read_write');

const argument = record<KernelArgument>({
  name: optional('.name', text),
  typeName: optional('.type_name', text),
  sizeBytes: required('.size', count),
  offsetBytes: required('.offset', count),
  valueKind: required('.value_kind', text),
  pointeeAlignmentBytes: optional('.pointee_align', count),
  addressSpace: optional('.address_space', oneOf('private', 'global', 'constant', 'local', 'generic', 'region')),
  access: optional('.access', access),
  actualAccess: optional('.actual_access', access),
  isConst: optional('.is_const', flag),
  isRestrict: optional('.is_restrict', flag),
  isVolatile: optional('.is_volatile', flag),
  isPipe: optional('.is_pipe', flag),
});

const limitedArguments: Convert<readonly KernelArgument[]> = (value, path, at) => {
  if (Array.isArray(value)) checkLimit('kernelArguments', value.length, at);
  return arrayOf(argument)(value, path, at);
};

const kernel = record<KernelMetadata>({
  name: required('.name', text),
  symbol: required('.symbol', text),
  language: optional('.language', text),
  languageVersion: optional('.language_version', arrayOf(count, 2)),
  args: { key: '.args', required: false, convert: limitedArguments, missing: [] },
  reqdWorkgroupSize: optional('.reqd_workgroup_size', arrayOf(count, 3)),
  workgroupSizeHint: optional('.workgroup_size_hint', arrayOf(count, 3)),
  vecTypeHint: optional('.vec_type_hint', text),
  deviceEnqueueSymbol: optional('.device_enqueue_symbol', text),
  kernargSegmentSizeBytes: required('.kernarg_segment_size', count),
  kernargSegmentAlignmentBytes: required('.kernarg_segment_align', count),
  groupSegmentFixedSizeBytes: required('.group_segment_fixed_size', count),
  privateSegmentFixedSizeBytes: required('.private_segment_fixed_size', count),
  wavefrontSize: required('.wavefront_size', count),
  sgprCount: required('.sgpr_count', count),
  vgprCount: required('.vgpr_count', count),
  agprCount: optional('.agpr_count', count),
  maxFlatWorkgroupSize: required('.max_flat_workgroup_size', count),
  sgprSpillCount: optional('.sgpr_spill_count', count),
  vgprSpillCount: optional('.vgpr_spill_count', count),
  kind: optional('.kind', oneOf('normal', 'init', 'fini')),
  maxWorkgroupsX: optional('.max_num_workgroups_x', count),
  maxWorkgroupsY: optional('.max_num_workgroups_y', count),
  maxWorkgroupsZ: optional('.max_num_workgroups_z', count),
  uniformWorkgroupSize: optional('.uniform_work_group_size', count),
  usesDynamicStack: optional('.uses_dynamic_stack', flag),
  workgroupProcessorMode: optional('.workgroup_processor_mode', count),
  clusterDims: optional('.cluster_dims', arrayOf(count, 3)),
});

const metadata = record<CodeObjectMetadata>({
  version: required('amdhsa.version', arrayOf(count, 2)),
  target: optional('amdhsa.target', text),
  printf: optional('amdhsa.printf', arrayOf(text)),
  kernels: required('amdhsa.kernels', (value, path, at) => {
    if (Array.isArray(value)) checkLimit('kernels', value.length, at);
    return arrayOf(kernel)(value, path, at);
  }),
});

/**
 * Decodes the descriptor of the metadata note. Errors: `BAD_INPUT` for broken msgpack, a missing required key
 * or a wrong type (the message has the path, e.g. `amdhsa.kernels[0].args[2].offset`), `LIMIT_EXCEEDED`.
 */
export function readMetadata(bytes: Uint8Array, at: ErrorContext): CodeObjectMetadata {
  checkLimit('metadataBytes', bytes.length, at);
  checkLimit('metadataDepth', msgpackDepth(bytes, LIMITS.metadataDepth), at);
  let decoded: unknown;
  try {
    // No element is shorter than a byte, so the size bounds every announced count.
    const limit = bytes.length;
    const limits = {
      maxArrayLength: limit,
      maxMapLength: limit,
      maxStrLength: limit,
      maxBinLength: limit,
      maxExtLength: limit,
    };
    decoded = decode(bytes, { useBigInt64: true, ...limits });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new WavewrightError('BAD_INPUT', `the metadata is not valid msgpack: ${reason}`, { ...at, cause });
  }
  return metadata(decoded, '', at);
}
