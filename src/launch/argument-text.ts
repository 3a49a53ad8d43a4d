/** Kernel arguments as text: `KIND:VALUE`, as `wavewright dispatch --arg` takes them. */
import { WavewrightError } from '../base/errors.ts';
import type { BufferArgument, LaunchArgument } from './kernel-arguments.ts';

/** Memory that holds what files hold. */
export interface FileBuffer extends BufferArgument {
  /** What the memory holds before every run; zero behind it. */
  readonly contents: Uint8Array;
  readonly sizeBytes: number;
  /** File that gets the memory's contents after the last run. */
  readonly output: string | undefined;
}

/** An argument of a launch whose buffers hold what files hold. */
export type ParsedArgument = LaunchArgument<FileBuffer>;

const MAX_BUFFER_BYTES = 2 ** 32;

type Write = (view: DataView, offset: number, text: string) => void;

function integer(bits: 8 | 16 | 32 | 64, signed: boolean): Write {
  const low = signed ? -(2n ** BigInt(bits - 1)) : 0n;
  // An unsigned pattern of a signed type is as good, such as i32:0xffffffff.
  const high = 2n ** BigInt(bits) - 1n;
  return (view, offset, text) => {
    const match = /^(-?)(0[xX][\da-fA-F]+|\d+)$/.exec(text);
    const value = match === null ? undefined : BigInt(match[2]!) * (match[1] === '-' ? -1n : 1n);
    if (value === undefined || value < low || value > high) {
      throw new WavewrightError('USAGE', `'${text}' is no ${signed ? 'i' : 'u'}${bits}`);
    }
    const pattern = BigInt.asUintN(bits, value);
    for (let i = 0; i < bits / 8; i++) view.setUint8(offset + i, Number((pattern >> BigInt(8 * i)) & 0xffn));
  };
}

function float(set: (view: DataView, offset: number, value: number) => void, round: (value: number) => number): Write {
  return (view, offset, text) => {
    const isNamed = /^[+-]?(nan|inf(inity)?)$/i.test(text);
    const value = isNamed ? namedFloat(text) : Number(text);
    if (text.trim() === '' || (!isNamed && Number.isNaN(value)))
      throw new WavewrightError('USAGE', `'${text}' is no number`);
    set(view, offset, value);
    if (!isNamed && !Number.isFinite(round(value))) {
      throw new WavewrightError('USAGE', `'${text}' is too large, expected inf or a finite number of this type`);
    }
  };
}

function namedFloat(text: string): number {
  if (/nan/i.test(text)) return Number.NaN;
  return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

const SCALARS: Readonly<Record<string, { readonly sizeBytes: number; readonly write: Write }>> = {
  u8: { sizeBytes: 1, write: integer(8, false) },
  i8: { sizeBytes: 1, write: integer(8, true) },
  u16: { sizeBytes: 2, write: integer(16, false) },
  i16: { sizeBytes: 2, write: integer(16, true) },
  u32: { sizeBytes: 4, write: integer(32, false) },
  i32: { sizeBytes: 4, write: integer(32, true) },
  u64: { sizeBytes: 8, write: integer(64, false) },
  i64: { sizeBytes: 8, write: integer(64, true) },
  f16: { sizeBytes: 2, write: float((view, at, value) => view.setFloat16(at, value, true), Math.f16round) },
  f32: { sizeBytes: 4, write: float((view, at, value) => view.setFloat32(at, value, true), Math.fround) },
  f64: {
    sizeBytes: 8,
    write: float(
      (view, at, value) => view.setFloat64(at, value, true),
      (value) => value,
    ),
  },
};

/** Numbers one after the other. `kind`: u8 to f64. Throws USAGE for what is none of that kind. */
export function numberBytes(kind: string, numbers: readonly string[]): Uint8Array {
  const { sizeBytes, write } = SCALARS[kind]!;
  const bytes = new Uint8Array(sizeBytes * numbers.length);
  const view = new DataView(bytes.buffer);
  for (const [i, number] of numbers.entries()) write(view, i * sizeBytes, number);
  return bytes;
}

/** One line each, for help texts. */
export const ARGUMENT_KINDS: readonly string[] = [
  'u8 i8 u16 i16 u32 i32 u64 i64 f16 f32 f64 :VALUE   by value; VALUE,VALUE,... for a vector',
  'hex:BYTES          by value, the bytes in the order of memory',
  'in:FILE            a pointer to the contents of FILE',
  'out:FILE:BYTES     a pointer to zeroed memory, which goes to FILE afterwards',
  'inout:FILE         a pointer to the contents of FILE, which are written back',
  'zero:BYTES         a pointer to zeroed memory',
  'local:BYTES        memory of the workgroup',
  'fn:NAME            the address of a device function',
];

/** Throws USAGE for what is no argument, and what `readFile` throws. */
export function parseArgument(text: string, readFile: (file: string) => Uint8Array): ParsedArgument {
  const [, kind = '', value = ''] = /^(\w+):(.*)$/s.exec(text) ?? [];
  try {
    if (Object.hasOwn(SCALARS, kind)) {
      const bytes = numberBytes(kind, value.split(','));
      return { kind: 'value', text, bytes, elements: kind.startsWith('f') ? 'float' : 'integer' };
    }
    switch (kind) {
      case 'hex':
        return { kind: 'value', text, bytes: hexBytes(value) };
      case 'in':
      case 'inout': {
        if (value === '') throw new WavewrightError('USAGE', `expected ${kind}:FILE`);
        const contents = readFile(value);
        const output = kind === 'inout' ? value : undefined;
        return { kind: 'buffer', text, contents, sizeBytes: contents.length, output };
      }
      case 'out': {
        const [, file = '', size = ''] = /^(.+):(\w+)$/s.exec(value) ?? [];
        if (file === '') throw new WavewrightError('USAGE', 'expected out:FILE:BYTES');
        return { kind: 'buffer', text, contents: new Uint8Array(0), sizeBytes: sizeOf(size), output: file };
      }
      case 'zero':
        return { kind: 'buffer', text, contents: new Uint8Array(0), sizeBytes: sizeOf(value), output: undefined };
      case 'local':
        return { kind: 'local', text, sizeBytes: sizeOf(value) };
      case 'fn':
        if (value !== '') return { kind: 'function', text, name: value };
    }
  } catch (error) {
    throw error instanceof WavewrightError && error.code === 'USAGE'
      ? error.within({ section: `argument ${text}` })
      : error;
  }
  throw new WavewrightError('USAGE', `'${text}' is no argument`, {
    hint: 'arguments are u32:5, f32:1.5, in:FILE, out:FILE:BYTES, ...; `wavewright help dispatch` lists all kinds',
  });
}

function hexBytes(text: string): Uint8Array {
  if (!/^([\da-fA-F]{2})+$/.test(text))
    throw new WavewrightError('USAGE', 'expected an even number of hexadecimal digits');
  return Uint8Array.from(text.match(/../g)!, (byte) => Number.parseInt(byte, 16));
}

function sizeOf(text: string): number {
  const size = /^(0[xX][\da-fA-F]+|\d+)$/.test(text) ? Number(text) : 0;
  if (size < 1 || size > MAX_BUFFER_BYTES) {
    throw new WavewrightError('USAGE', `'${text}' is no size, expected bytes from 1 to ${MAX_BUFFER_BYTES}`);
  }
  return size;
}
