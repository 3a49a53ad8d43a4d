/**
 * WebAssembly of the floating-point operations of src/ir/float-ops.ts. WebAssembly leaves the bits of a NaN
 * result open, so every operation that can produce one is followed by a test that is rarely true and repairs
 * those lanes.
 */
import { CANONICAL_NAN, type FLOAT_OPS } from '../../ir/float-ops.ts';
import type { Local } from '../../wasm/function.ts';
import type { PlainName } from '../../wasm/opcodes.ts';
import {
  captured,
  type Emission,
  type Emitter,
  insert,
  type LaneArgument,
  type ScalarEmission,
  type SimdEmission,
  vector,
} from './emitter.ts';
import { EVEN_DWORDS, shuffleDwords, shuffled } from './int-emission.ts';

type Width = 'f32x4' | 'f64x2';

function pushNan(e: Emitter, width: Width, kind: 'default' | 'quiet'): void {
  const { f } = e;
  if (width === 'f32x4') {
    f.i32(kind === 'default' ? 0x7fc00000 : 0x00400000);
    f.op('i32x4.splat');
  } else {
    f.i64(kind === 'default' ? 0x7ff8000000000000n : 0x0008000000000000n);
    f.op('i64x2.splat');
  }
}

/** Function (result, operands...) -> result with the NaN lanes as float-ops.ts defines them. */
function nanRepair(e: Emitter, width: Width, operandCount: number) {
  const parameters = new Array<'v128'>(operandCount + 1).fill('v128');
  return e.context.helper(`nan ${width} ${operandCount}`, parameters, ['v128'], (f) => {
    const inner: Emitter = { f, context: e.context };
    pushNan(inner, width, 'default');
    const nan = captured(f);
    for (let i = operandCount; i >= 1; i--) {
      const operand = f.param(i);
      f.get(operand);
      pushNan(inner, width, 'quiet');
      f.op('v128.or');
      f.get(nan);
      f.get(operand);
      f.get(operand);
      f.op(`${width}.ne`);
      f.op('v128.bitselect');
      f.set(nan);
    }
    const result = f.param(0);
    f.get(nan);
    f.get(result);
    f.get(result);
    f.get(result);
    f.op(`${width}.ne`);
    f.op('v128.bitselect');
  });
}

function repairNans(e: Emitter, width: Width, result: Local, operands: readonly Local[]): void {
  const { f } = e;
  if (e.deferNan) {
    e.deferNan(width, result);
    return;
  }
  f.get(result);
  f.get(result);
  f.op(`${width}.ne`);
  f.op('v128.any_true');
  f.if(undefined, () => {
    f.get(result);
    for (const operand of operands) f.get(operand);
    f.call(nanRepair(e, width, operands.length));
    f.set(result);
  });
}

/** One instruction on each v128, then the repair. */
function arithmetic(width: Width, name: PlainName): Emission {
  return {
    simd: (e, args) =>
      args[0]!.lanes.map((_, half) => {
        const operands = args.map((arg) => arg.lanes[half]!);
        for (const operand of operands) e.f.get(operand);
        e.f.op(name);
        const result = captured(e.f);
        repairNans(e, width, result, operands);
        return result;
      }),
  };
}

/** Fused only where the host fuses; elsewhere lane by lane in exact arithmetic outside WebAssembly. */
function fusedMultiplyAdd(width: Width): Emission {
  const fast = arithmetic(width, `${width}.relaxed_madd`).simd!;
  const type = width === 'f32x4' ? 'i32' : 'i64';
  const lanesOf = width === 'f32x4' ? 'i32x4' : 'i64x2';
  const soft: SimdEmission = ({ f, context }, args) =>
    args[0]!.lanes.map((_, half) => {
      const result = f.local('v128');
      const value = f.local(type);
      for (let lane = 0; lane < (type === 'i32' ? 4 : 2); lane++) {
        for (const arg of args) {
          f.get(arg.lanes[half]!);
          f.lane(`${lanesOf}.extract_lane`, lane);
        }
        f.call(type === 'i32' ? context.softFma32 : context.softFma64);
        f.set(value);
        insert({ f, context }, type === 'i32' ? [result] : [result, result], type, lane, value);
      }
      f.free(value);
      return result;
    });
  return { simd: (e, args) => (e.context.traits.fused ? fast(e, args) : soft(e, args)) };
}

/** Directed rounding is rare: exact arithmetic outside WebAssembly. */
const roundedMultiplyAdd: ScalarEmission = ({ f, context }, args) => {
  for (const arg of args) f.get(arg);
  f.call(context.softFmaRounded64);
};

/** A comparison of f64 lanes: two masks become one of 32-bit lanes. */
function compare(width: Width, name: 'eq' | 'lt' | 'le'): Emission {
  if (width === 'f32x4') return { simd: vector(`f32x4.${name}`) };
  return {
    simd: ({ f }, [a, b]) => {
      for (let half = 0; half < 2; half++) {
        f.get(a!.lanes[half]!);
        f.get(b!.lanes[half]!);
        f.op(`f64x2.${name}`);
      }
      f.shuffle(EVEN_DWORDS);
      return [captured(f)];
    },
  };
}

const LOW_HALVES = shuffleDwords(0, 1, 4, 5);
const UPPER = shuffleDwords(2, 3, 2, 3);

/** Two vectors with results in their low halves, joined. */
function joined(e: Emitter, args: readonly LaneArgument[], name: PlainName): Local {
  const { f } = e;
  for (const half of args[0]!.lanes) {
    f.get(half);
    f.op(name);
  }
  f.shuffle(LOW_HALVES);
  return captured(f);
}

/** An operation on the low half of a vector, applied to both halves. */
function spread(e: Emitter, source: Local, name: PlainName): Local[] {
  const { f } = e;
  return [source, shuffled(e, source, source, UPPER)].map((part) => {
    f.get(part);
    f.op(name);
    return captured(f);
  });
}

const width64 = (name: PlainName): Emission => ({ simd: (e, args) => [joined(e, args, name)] });
const from32 = (name: PlainName): Emission => ({ simd: (e, args) => spread(e, args[0]!.lanes[0]!, name) });

/**
 * The payload of a NaN moves with the top of the fraction, quieted, as src/ir/float-bits.ts `convert` says.
 */
function promote(e: Emitter, source: Local): Local[] {
  const { f } = e;
  const results = spread(e, source, 'f64x2.promote_low_f32x4');
  if (e.deferNan) {
    e.deferNan('f32x4', source);
    return results;
  }
  f.get(source);
  f.get(source);
  f.op('f32x4.ne');
  f.op('v128.any_true');
  f.if(undefined, () => {
    results.forEach((result, half) => {
      f.get(source);
      f.op(half === 0 ? 'i64x2.extend_low_i32x4_u' : 'i64x2.extend_high_i32x4_u');
      const bits = captured(f);
      f.get(bits);
      f.i32(29);
      f.op('i64x2.shl');
      f.i64(0x000fffffffffffffn);
      f.op('i64x2.splat');
      f.op('v128.and');
      f.get(bits);
      f.i32(32);
      f.op('i64x2.shl');
      f.i64(-0x8000000000000000n);
      f.op('i64x2.splat');
      f.op('v128.and');
      f.op('v128.or');
      pushNan(e, 'f64x2', 'default');
      f.op('v128.or');
      f.get(result);
      f.get(result);
      f.get(result);
      f.op('f64x2.ne');
      f.op('v128.bitselect');
      f.set(result);
      f.free(bits);
    });
  });
  return results;
}

function demote(e: Emitter, args: readonly LaneArgument[]): Local {
  const { f } = e;
  const result = joined(e, args, 'f32x4.demote_f64x2_zero');
  if (e.deferNan) {
    e.deferNan('f32x4', result);
    return result;
  }
  f.get(result);
  f.get(result);
  f.op('f32x4.ne');
  const isNan = captured(f);
  f.get(isNan);
  f.op('v128.any_true');
  f.if(undefined, () => {
    for (const half of args[0]!.lanes) {
      f.get(half);
      f.i32(29);
      f.op('i64x2.shr_u');
      f.i64(0x003fffffn);
      f.op('i64x2.splat');
      f.op('v128.and');
      f.get(half);
      f.i32(32);
      f.op('i64x2.shr_u');
      f.i64(0x80000000n);
      f.op('i64x2.splat');
      f.op('v128.and');
      f.op('v128.or');
    }
    f.shuffle(EVEN_DWORDS);
    pushNan(e, 'f32x4', 'default');
    f.op('v128.or');
    f.get(result);
    f.get(isNan);
    f.op('v128.bitselect');
    f.set(result);
  });
  f.free(isNan);
  return result;
}

/**
 * Pushes constants and operations in turn: a number is splat, a string is an instruction, a local is read.
 */
function push(e: Emitter, ...parts: (number | PlainName | Local)[]): void {
  for (const part of parts) {
    if (typeof part === 'number') {
      e.f.i32(part);
      e.f.op('i32x4.splat');
    } else if (typeof part === 'string') e.f.op(part);
    else e.f.get(part);
  }
}

/** v128 shifted by a constant. */
function pushShifted({ f }: Emitter, value: Local, name: 'i32x4.shl' | 'i32x4.shr_u', amount: number): void {
  f.get(value);
  f.i32(amount);
  f.op(name);
}

/**
 * f16 to f32: the half's fields moved to the f32 positions are the value times 2^-112, denormals included;
 * infinities and NaNs, which are rare, get the full exponent.
 */
const fromHalf: SimdEmission = (e, [a]) => {
  const { f } = e;
  pushShifted(e, a!.lanes[0]!, 'i32x4.shl', 16);
  f.i32(3);
  f.op('i32x4.shr_s');
  push(e, 0x8fffe000, 'v128.and');
  const moved = captured(f);
  push(e, moved, 0x77800000, 'f32x4.mul');
  const result = captured(f);
  push(e, moved, 0x0f800000, 'v128.and', 0x0f800000, 'i32x4.eq');
  const isSpecial = captured(f);
  f.get(isSpecial);
  f.op('v128.any_true');
  f.if(undefined, () => {
    push(e, result, 0x7f800000, 'v128.or');
    push(e, 0x00400000, moved, 0x007fffff, 'v128.and', 0, 'i32x4.gt_s', 'v128.and', 'v128.or');
    push(e, result, isSpecial, 'v128.bitselect');
    f.set(result);
  });
  f.free(moved, isSpecial);
  return [result];
};

/**
 * f32 to f16, to nearest even: below 2^-14 adding 0.5 aligns the fraction so that the f32 addition rounds it;
 * above, the bits that go are rounded by integer addition, which carries into the exponent and up to
 * infinity.
 */
const toHalf: SimdEmission = (e, [a]) => {
  const { f } = e;
  const x = a!.lanes[0]!;
  push(e, x, 0x7fffffff, 'v128.and');
  const magnitude = captured(f);
  push(e, magnitude, 0x3f000000, 'f32x4.add', 0x3f000000, 'i32x4.sub');
  const small = captured(f);
  push(e, magnitude, 0xfff - 0x38000000, 'i32x4.add');
  pushShifted(e, magnitude, 'i32x4.shr_u', 13);
  push(e, 1, 'v128.and', 'i32x4.add');
  f.i32(13);
  f.op('i32x4.shr_u');
  const normal = captured(f);
  push(e, small, normal, 0x38800000, magnitude, 'i32x4.gt_s', 'v128.bitselect');
  const finite = captured(f);
  pushShifted(e, magnitude, 'i32x4.shr_u', 13);
  push(e, 0x3ff, 'v128.and', 0x7e00, 'v128.or'); // NaN
  push(e, 0x7c00, magnitude, 0x7f800000, 'i32x4.gt_s', 'v128.bitselect');
  push(e, finite, magnitude, 0x477fffff, 'i32x4.gt_s', 'v128.bitselect');
  pushShifted(e, x, 'i32x4.shr_u', 16);
  push(e, 0x8000, 'v128.and', 'v128.or');
  f.free(magnitude, small, normal, finite);
  return [captured(f)];
};

/** Nothing to do where NaNs are looked for afterwards. */
function canonical(e: Emitter, source: Local): Local {
  const { f } = e;
  f.get(source);
  if (e.deferNan) e.deferNan('f32x4', source);
  else push(e, CANONICAL_NAN, source, source, 'f32x4.eq', 'v128.bitselect');
  return captured(f);
}

function floatEmission<P extends 'f32' | 'f64'>(prefix: P) {
  const width: Width = prefix === 'f32' ? 'f32x4' : 'f64x2';
  const table = {
    add: arithmetic(width, `${width}.add`),
    sub: arithmetic(width, `${width}.sub`),
    mul: arithmetic(width, `${width}.mul`),
    div: arithmetic(width, `${width}.div`),
    sqrt: arithmetic(width, `${width}.sqrt`),
    fma: fusedMultiplyAdd(width),
    floor: arithmetic(width, `${width}.floor`),
    ceil: arithmetic(width, `${width}.ceil`),
    trunc: arithmetic(width, `${width}.trunc`),
    nearest: arithmetic(width, `${width}.nearest`),
    eq: compare(width, 'eq'),
    lt: compare(width, 'lt'),
    le: compare(width, 'le'),
    toI32S: prefix === 'f32' ? { simd: vector('i32x4.trunc_sat_f32x4_s') } : width64('i32x4.trunc_sat_f64x2_s_zero'),
    toI32U: prefix === 'f32' ? { simd: vector('i32x4.trunc_sat_f32x4_u') } : width64('i32x4.trunc_sat_f64x2_u_zero'),
    fromI32S: prefix === 'f32' ? { simd: vector('f32x4.convert_i32x4_s') } : from32('f64x2.convert_low_i32x4_s'),
    fromI32U: prefix === 'f32' ? { simd: vector('f32x4.convert_i32x4_u') } : from32('f64x2.convert_low_i32x4_u'),
  };
  return Object.fromEntries(Object.entries(table).map(([name, emission]) => [`${prefix}.${name}`, emission])) as {
    [K in keyof typeof table as `${P}.${K}`]: Emission;
  };
}

export const FLOAT_EMISSION: Readonly<Record<keyof typeof FLOAT_OPS, Emission>> = {
  ...floatEmission('f32'),
  ...floatEmission('f64'),
  'f64.fmaRounded': { scalar: roundedMultiplyAdd },
  'f64.fromF32': { simd: (e, [a]) => promote(e, a!.lanes[0]!) },
  'f32.fromF64': { simd: (e, args) => [demote(e, args)] },
  'f32.canonical': { simd: (e, [a]) => [canonical(e, a!.lanes[0]!)] },
  'f32.fromF16': { simd: fromHalf },
  'f16.fromF32': { simd: toHalf },
};
