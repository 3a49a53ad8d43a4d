/**
 * Loads, stores and atomics on bytes: CDNA2 ISA 9 to 12.16, RDNA3 ISA 9 to 12. What an instruction does is
 * told by its name.
 */
import { Arithmetic, isNan, NEAREST, quiet, signed, unsigned } from './numbers.ts';

/** Little-endian bytes. */
export class Bytes {
  readonly data: Uint8Array;

  constructor(data: Uint8Array) {
    this.data = data;
  }

  get(at: number, sizeBytes: number): bigint {
    let value = 0n;
    for (let i = 0; i < sizeBytes; i++) value |= BigInt(this.data[at + i]!) << BigInt(8 * i);
    return value;
  }

  set(at: number, sizeBytes: number, value: bigint): void {
    for (let i = 0; i < sizeBytes; i++) this.data[at + i] = Number((value >> BigInt(8 * i)) & 0xffn);
  }

  get text(): string {
    return Buffer.from(this.data).toString('hex');
  }
}

export interface Access {
  readonly kind: 'load' | 'store' | 'atomic';
  readonly sizeBytes: number;
  readonly isSigned: boolean;
  /** Half of the register, for d16 forms. */
  readonly half: 'low' | 'high' | undefined;
  readonly atomic: string;
}

const SIZES: Readonly<Record<string, number>> = {
  ...{ u8: 1, i8: 1, b8: 1, u16: 2, i16: 2, b16: 2, b32: 4, b64: 8, b96: 12, b128: 16 },
  ...{ ubyte: 1, sbyte: 1, byte: 1, ushort: 2, sshort: 2, short: 2, dword: 4, dwordx2: 8, dwordx3: 12, dwordx4: 16 },
};

const OPERATIONS = new Set(
  'add sub rsub csub inc dec min max and or xor mskor swap wrxchg cmpswap cmpstore cmpst wrap'.split(' '),
);

/** Of the name that gfx9 gives an instruction. */
export function accessOf(name: string): Access | undefined {
  const moved = /^(?:ds|flat|global|scratch|buffer)_(read|load|write|store)_(?:lds_)?([a-z0-9]+)(_d16)?(_hi)?$/.exec(
    name,
  );
  if (moved && SIZES[moved[2]!] !== undefined) {
    const kind = /read|load/.test(moved[1]!) ? 'load' : 'store';
    const half = moved[4] ? 'high' : moved[3] ? 'low' : undefined;
    return {
      kind,
      sizeBytes: SIZES[moved[2]!]!,
      isSigned: /^[si]/.test(moved[2]!) && moved[2] !== 'short',
      half,
      atomic: '',
    };
  }
  const shared = /^ds_([a-z]+)(?:_rtn)?_([a-z])(32|64)$/.exec(name);
  if (shared && OPERATIONS.has(shared[1]!)) return atomicAccess(`${shared[1]}_${shared[2]}`, Number(shared[3]) / 8);
  const packed = /^(?:ds|flat|global|buffer)_(?:atomic_)?(pk_add)(?:_rtn)?_(b?f16)$/.exec(name);
  if (packed) return atomicAccess(`${packed[1]}_${packed[2]}`, 4);
  const cached = /^(?:flat|global|buffer)_atomic_([a-z]+)(?:_(x2|f32|f64))?$/.exec(name);
  if (!cached || !OPERATIONS.has(cached[1]!.replace(/^[su](?=m)|^f(?=m|c)/, ''))) return undefined;
  const [, operation, suffix] = cached;
  const wide = suffix === 'x2' || suffix === 'f64';
  const isFloat = /^f[3-6]/.test(suffix ?? '') || /^f/.test(operation!);
  const letter = isFloat ? 'f' : /^s[m]/.test(operation!) ? 'i' : 'u';
  const stem = operation!.replace(/^[su](?=m)|^f(?=m|c)/, '');
  return atomicAccess(`${stem}_${letter}`, wide ? 8 : 4);
}

const atomicAccess = (atomic: string, sizeBytes: number): Access => ({
  ...{ kind: 'atomic', sizeBytes, isSigned: false, half: undefined, atomic },
});

/** What the register holds after a load. */
export function loaded({ sizeBytes, isSigned, half }: Access, old: bigint, value: bigint): bigint {
  const wide = isSigned ? signed(8 * sizeBytes, value) : value;
  if (half === 'low') return (old & 0xffff0000n) | unsigned(16, wide);
  if (half === 'high') return (old & 0xffffn) | (unsigned(16, wide) << 16n);
  return unsigned(8 * Math.max(sizeBytes, 4), wide);
}

/**
 * Who computes the floats: the LDS keeps denormals as MODE says, which is to keep them; the caches flush f32
 * sums (CDNA2 ISA 9.5).
 */
export type Unit = 'lds' | 'cache';

function floatSum(type: 'f32' | 'f64', unit: Unit, x: bigint, y: bigint): bigint {
  const flush = type === 'f32' && unit === 'cache';
  return new Arithmetic(type, NEAREST, { inputs: flush, results: flush }).add(x, y);
}

/** A signalling NaN wins, quieted; a quiet one loses; -0 is below +0 (CDNA2 ISA 9.5.3). */
function floatExtreme(type: 'f32' | 'f64', x: bigint, y: bigint, wantLess: boolean): bigint {
  return new Arithmetic(type, NEAREST, { inputs: false, results: false }).extreme(x, y, wantLess, true);
}

function bf16Sum(x: bigint, y: bigint): bigint {
  const nan = [x, y].find((each) => isNan('bf16', each));
  if (nan !== undefined) return quiet('bf16', nan);
  return new Arithmetic('bf16', NEAREST, { inputs: false, results: false }).add(x, y);
}

const packedSum = (x: bigint, y: bigint, add: (x: bigint, y: bigint) => bigint): bigint =>
  add(x & 0xffffn, y & 0xffffn) | (add(x >> 16n, y >> 16n) << 16n);

function equalFloats(type: 'f32' | 'f64', x: bigint, y: bigint): boolean {
  if (isNan(type, x) || isNan(type, y)) return false;
  return new Arithmetic(type, NEAREST, { inputs: false, results: false }).order(x, y) === 0;
}

/** The new value; `second` is the other data operand. For swaps with a comparand, `data` is the new value. */
export function updated({ atomic, sizeBytes }: Access, unit: Unit, old: bigint, data: bigint, second: bigint): bigint {
  const bits = sizeBytes * 8;
  const [operation, letter] = [atomic.slice(0, atomic.lastIndexOf('_')), atomic.slice(atomic.lastIndexOf('_') + 1)];
  const type = sizeBytes === 8 ? 'f64' : 'f32';
  const number = (x: bigint): bigint => (letter === 'i' ? signed(bits, x) : x);
  const wrap = (x: bigint): bigint => unsigned(bits, x);
  const isFloat = letter === 'f';
  switch (operation) {
    case 'add':
      return isFloat ? floatSum(type, unit, old, data) : wrap(old + data);
    case 'sub':
      return wrap(old - data);
    case 'rsub':
      return wrap(data - old);
    case 'csub':
      return old < data ? 0n : old - data;
    case 'inc':
      return old >= data ? 0n : old + 1n;
    case 'dec':
      return old === 0n || old > data ? data : old - 1n;
    case 'min':
      if (isFloat) return floatExtreme(type, old, data, true);
      return number(data) < number(old) ? data : old;
    case 'max':
      if (isFloat) return floatExtreme(type, old, data, false);
      return number(data) >= number(old) ? data : old;
    case 'and':
      return old & data;
    case 'or':
      return old | data;
    case 'xor':
      return old ^ data;
    case 'mskor':
      return (old & ~data) | second;
    case 'swap':
    case 'wrxchg':
      return data;
    case 'cmpswap':
    case 'cmpstore':
      return (isFloat ? equalFloats(type, old, second) : old === second) ? data : old;
    // The comparand comes first.
    case 'cmpst':
      return (isFloat ? equalFloats(type, old, data) : old === data) ? second : old;
    case 'wrap':
      return wrap(old >= data ? old - data : old + second);
    case 'pk_add':
      if (letter === 'bf16') return packedSum(old, data, bf16Sum);
      return packedSum(old, data, (x, y) =>
        new Arithmetic('f16', NEAREST, { inputs: false, results: false }).add(x, y),
      );
    default:
      throw new Error(`atomic ${atomic}`);
  }
}
