/** The kernels of ZLUDA's own tests, with what goes in and what comes out, from the macros that list them. */

/** Elements of Rust's types, by their name. */
const SIZES: Readonly<Record<string, number>> = {
  ...{ u8: 1, i8: 1, u16: 2, i16: 2, f16: 2, bf16: 2 },
  ...{ u32: 4, i32: 4, f32: 4, u64: 8, i64: 8, f64: 8 },
};

export interface ZludaCase {
  /** Of the kernel, and of its file without `.ptx`. */
  readonly name: string;
  /** Undefined for those that run with 64 threads and no input. */
  readonly input: Uint8Array | undefined;
  readonly output: Uint8Array;
}

/** `text`: the file that calls the macros. Cases without results are left out. */
export function zludaCases(text: string): ZludaCase[] {
  const found: ZludaCase[] = [];
  const source = text.replace(/\/\/.*$/gm, '');
  for (const { 1: macro, 2: body } of source.matchAll(/^(test_ptx(?:_warp|_with_32)?)!\(([^;{]*?)\);/gm)) {
    const [name = '', ...lists] = split(body!);
    if (lists.length === 0) continue;
    const [input, output] = macro === 'test_ptx_warp' ? [undefined, lists[0]!] : lists;
    found.push({ name, input: input === undefined ? undefined : bytesOf(input), output: bytesOf(output!) });
  }
  return found;
}

/** At commas that no bracket is around. */
function split(text: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const each of text) {
    if ('(['.includes(each)) depth++;
    if (')]'.includes(each)) depth--;
    if (each === ',' && depth === 0) parts.push('');
    else parts.push(parts.pop()! + each);
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

interface Literal {
  readonly type: string | undefined;
  /** Of integers, and of floats given by their bits. */
  readonly bits?: bigint;
  readonly value?: number;
}

const CONSTANTS: Readonly<Record<string, number>> = {
  ...{ NAN: Number.NaN, INFINITY: Number.POSITIVE_INFINITY, NEG_INFINITY: Number.NEGATIVE_INFINITY },
};

function literal(text: string): Literal {
  if (text === 'half::f16::NAN.to_bits()') return { type: 'u16', bits: 0x7e00n };
  const [, pi, half] = /^(std::f32::consts::PI)( \/ 2f32)?$/.exec(text) ?? [];
  if (pi !== undefined) return { type: 'f32', value: half === undefined ? Math.PI : Math.PI / 2 };
  const [, type, member, argument] =
    /^(?:half::)?(\w+)::(?:(NAN|INFINITY|NEG_INFINITY|MAX|MIN|max_value\(\))|from_\w+\((.*)\))$/.exec(text) ?? [];
  if (type !== undefined && argument !== undefined) return { ...literal(argument), type };
  if (type !== undefined && member! in CONSTANTS) return { type, value: CONSTANTS[member!]! };
  if (type !== undefined) {
    const sign = 1n << BigInt(8 * SIZES[type]! - 1);
    return { type, bits: member === 'MIN' ? sign : type.startsWith('u') ? -1n : sign - 1n };
  }
  const [, minus = '', digits = '', suffix] =
    /^(-?)(0x[\da-fA-F_]+?|0b[01_]+?|[\d_]+(?:\.\d*)?)_*([ui](?:8|16|32|64)|f(?:32|64))?$/.exec(text) ?? [];
  if (digits === '') throw new Error(`no literal: ${text}`);
  const plain = digits.replaceAll('_', '');
  const isFloat = plain.includes('.') || suffix?.startsWith('f') === true;
  if (isFloat) return { type: suffix, value: Number(minus + plain) };
  return { type: suffix, bits: minus === '' ? BigInt(plain) : -BigInt(plain) };
}

/** A list of literals, of which one at least says its type; Rust takes `i32` and `f64` where none does. */
function bytesOf(list: string): Uint8Array {
  const literals = split(list.replace(/^\[|\]$/g, '')).map(literal);
  const named = literals.find(({ type }) => type !== undefined)?.type;
  const type = named ?? (literals.some(({ value }) => value !== undefined) ? 'f64' : 'i32');
  const size = SIZES[type]!;
  const bytes = new Uint8Array(literals.length * size);
  const view = new DataView(bytes.buffer);
  for (const [i, { bits, value }] of literals.entries()) {
    const whole = bits ?? bitsOf(type, value!);
    for (let k = 0; k < size; k++) view.setUint8(i * size + k, Number((whole >> BigInt(8 * k)) & 0xffn));
  }
  return bytes;
}

function bitsOf(type: string, value: number): bigint {
  const view = new DataView(new ArrayBuffer(8));
  if (type === 'f64') view.setFloat64(0, value);
  else if (type === 'f16') view.setFloat16(6, value);
  else view.setFloat32(4, value);
  const bits = view.getBigUint64(0);
  return type === 'bf16' ? bits >> 16n : bits;
}
