/** What exports of code take, as recordings hold it: 32 bytes, 32 for each export, 8 for each parameter. */
import { ByteReader, type ByteSource } from '../../base/bytes.ts';

export interface ParameterMetadata {
  readonly offset: number;
  readonly flags: number;
  /** 0 constant, 1 binding, 2 pointer to a buffer. */
  readonly type: number;
  readonly size: number;
}

export interface ExportMetadata {
  /** Bit 0: sequential; bit 1: each dispatch says the size of workgroups. */
  readonly flags: bigint;
  readonly workgroupSize: readonly number[];
  readonly constantCount: number;
  readonly bindingCount: number;
  readonly parameters: readonly ParameterMetadata[];
}

const HEADER_BYTES = 32;
const EXPORT_BYTES = 32;
const PARAMETER_BYTES = 8;

export function encodeMetadata(exports: readonly ExportMetadata[]): Uint8Array {
  const parameters = exports.flatMap((each) => each.parameters);
  const start = HEADER_BYTES + EXPORT_BYTES * exports.length;
  const view = new DataView(new ArrayBuffer(start + PARAMETER_BYTES * parameters.length));
  view.setBigUint64(0, BigInt(exports.length), true);
  view.setBigUint64(8, BigInt(parameters.length), true);
  for (const [i, each] of exports.entries()) {
    const at = HEADER_BYTES + EXPORT_BYTES * i;
    view.setBigUint64(at, each.flags, true);
    for (const [axis, size] of each.workgroupSize.entries()) view.setUint32(at + 8 + 4 * axis, size, true);
    const counts = [each.constantCount, each.bindingCount, each.parameters.length];
    for (const [j, count] of counts.entries()) view.setUint16(at + 20 + 2 * j, count, true);
  }
  for (const [i, { offset, flags, type, size }] of parameters.entries()) {
    const at = start + PARAMETER_BYTES * i;
    view.setUint16(at, offset, true);
    view.setUint16(at + 2, flags, true);
    view.setUint8(at + 4, type);
    view.setUint8(at + 5, size);
  }
  return new Uint8Array(view.buffer);
}

/** Undefined where a recording has none. Throws BAD_INPUT. */
export function decodeMetadata(bytes: Uint8Array, source: ByteSource = {}): ExportMetadata[] | undefined {
  if (bytes.length === 0) return undefined;
  const reader = new ByteReader(bytes, { ...source, section: 'metadata of an executable' });
  const [exportCount, parameterCount] = [reader.size('the exports'), reader.size('the parameters')];
  const expected = HEADER_BYTES + EXPORT_BYTES * exportCount + PARAMETER_BYTES * parameterCount;
  if (expected !== bytes.length) reader.fail(`${bytes.length} bytes, expected ${expected}`, 0);
  reader.offset = HEADER_BYTES;
  const heads = Array.from({ length: exportCount }, () => {
    const flags = reader.u64('the flags');
    const workgroupSize = [0, 1, 2].map(() => reader.u32('the size of a workgroup'));
    const [constantCount, bindingCount, count] = [0, 1, 2].map(() => reader.u16('a count')) as [number, number, number]; // reason: three
    reader.offset += 6;
    return { flags, workgroupSize, constantCount, bindingCount, count };
  });
  const total = heads.reduce((sum, { count }) => sum + count, 0);
  if (total !== parameterCount) reader.fail(`exports with ${total} parameters, expected ${parameterCount}`, 8);
  return heads.map(({ count, ...head }) => ({
    ...head,
    parameters: Array.from({ length: count }, () => {
      const [offset, flags] = [reader.u16('an offset'), reader.u16('flags')];
      const [type, size] = [reader.u8('a type'), reader.u8('a size')];
      reader.offset += 2;
      return { offset, flags, type, size };
    }),
  }));
}
