/**
 * Files of numpy.save: a magic number, a version, a header that is a Python dictionary, then the elements
 * (numpy.lib.format). Several arrays may follow each other in a file.
 */
import { concatenate } from '../../base/concatenate.ts';
import { HalError, invalidArgument } from '../core/status.ts';
import { elementTypeOfNumpy } from './element-type.ts';
import { elementCount, type Tensor, tensorTypeText } from './tensor.ts';

const MAGIC = Uint8Array.of(0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59);
/** The elements begin at a multiple of this. */
const ALIGNMENT_BYTES = 64;
const MAX_HEADER_BYTES = 2 ** 16;

/** The array at an offset of a file, and where it ends. Throws INVALID_ARGUMENT, UNIMPLEMENTED. */
export function readNpy(file: Uint8Array, offset: number, name: string): { tensor: Tensor; end: number } {
  const fail = (what: string): never => {
    throw invalidArgument(`${name}, offset ${offset}: ${what}`);
  };
  const data = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const version = file[offset + MAGIC.length] ?? 0;
  if (offset === file.length) fail('the file has no further array');
  if (!MAGIC.every((byte, i) => file[offset + i] === byte)) fail('no array of numpy.save');
  if (version < 1 || version > 3) fail(`version ${version} of numpy's format, expected 1 to 3`);
  const start = offset + MAGIC.length + (version === 1 ? 4 : 6);
  if (start > file.length) fail('the file ends in the header');
  const headerBytes = version === 1 ? data.getUint16(start - 2, true) : data.getUint32(start - 4, true);
  const body = start + headerBytes;
  if (headerBytes > MAX_HEADER_BYTES || body > file.length) fail(`a header of ${headerBytes} bytes does not fit`);
  const header = new TextDecoder().decode(file.subarray(start, body));
  const descr = /'descr'\s*:\s*'([^']*)'/.exec(header)?.[1] ?? fail(`a header without 'descr': ${header.trim()}`);
  const sizes = /'shape'\s*:\s*\(([\d\s,L]*)\)/.exec(header)?.[1] ?? fail(`a header without 'shape': ${header.trim()}`);
  if (/'fortran_order'\s*:\s*True/.test(header)) {
    throw new HalError('UNIMPLEMENTED', `${name}: an array in Fortran's order`, { hint: 'numpy.ascontiguousarray' });
  }
  const type = elementTypeOfNumpy(descr);
  if (type === undefined) throw new HalError('UNIMPLEMENTED', `${name}: elements '${descr}' of numpy`);
  const shape = (sizes.match(/\d+/g) ?? []).map(Number);
  const end = body + elementCount({ shape }) * type.sizeBytes;
  if (end > file.length)
    fail(`${tensorTypeText({ type, shape })} needs ${end - body} bytes, ${file.length - body} follow`);
  return { tensor: { type, shape, bytes: file.slice(body, end) }, end };
}

/** As numpy.save writes it; what numpy has no type for becomes bytes (`|i1`). */
export function writeNpy({ type, shape, bytes }: Tensor): Uint8Array {
  const isKnown = type.numpy !== undefined;
  const sizes = isKnown ? shape : [bytes.length];
  const list = sizes.length === 1 ? `${sizes[0]},` : sizes.join(', ');
  const text = `{'descr': '${type.numpy ?? '|i1'}', 'fortran_order': False, 'shape': (${list}), }`;
  const prefix = MAGIC.length + 4;
  const total = Math.ceil((prefix + text.length + 1) / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
  const header = new TextEncoder().encode(`${text.padEnd(total - prefix - 1)}\n`);
  const lengths = Uint8Array.of(1, 0, header.length & 0xff, header.length >> 8);
  return concatenate([MAGIC, lengths, header, bytes]);
}
