/** WebAssembly of the integer operations of src/ir/int-ops.ts. */
import type { INT_OPS } from '../../ir/int-ops.ts';
import type { Local } from '../../wasm/function.ts';
import type { PlainName } from '../../wasm/opcodes.ts';
import {
  captured,
  type Emission,
  type Emitter,
  type LaneArgument,
  type Lanes,
  type ScalarEmission,
  type SimdEmission,
  scalar,
  vector,
} from './emitter.ts';

/** Byte indices of a shuffle that moves 32-bit lanes; 0..3 are of the first operand, 4..7 of the second. */
export const shuffleDwords = (...dwords: number[]): number[] =>
  dwords.flatMap((dword) => [0, 1, 2, 3].map((byte) => dword * 4 + byte));

export const EVEN_DWORDS = shuffleDwords(0, 2, 4, 6);
export const ODD_DWORDS = shuffleDwords(1, 3, 5, 7);
const LOW_PAIRS = shuffleDwords(0, 4, 1, 5);
const HIGH_PAIRS = shuffleDwords(2, 6, 3, 7);
const TWICE_LOW = shuffleDwords(0, 0, 1, 1);
const TWICE_HIGH = shuffleDwords(2, 2, 3, 3);

export function shuffled({ f }: Emitter, a: Local, b: Local, pattern: readonly number[]): Local {
  f.get(a);
  f.get(b);
  f.shuffle(pattern);
  return captured(f);
}

/** A mask of four 32-bit lanes as two of 64-bit lanes. */
export const widenMask = (e: Emitter, mask: Local): [Local, Local] => [
  shuffled(e, mask, mask, TWICE_LOW),
  shuffled(e, mask, mask, TWICE_HIGH),
];

const plain = (scalarName: PlainName, vectorName: PlainName): Emission => ({
  scalar: scalar(scalarName),
  simd: vector(vectorName),
});

type Shift = 'shl' | 'shr_u' | 'shr_s';

const oneShift =
  (type: 'i32' | 'i64', name: Shift): ScalarEmission =>
  ({ f }, [a, amount]) => {
    f.get(a!);
    f.get(amount!);
    if (type === 'i64') f.op('i64.extend_i32_u');
    f.op(`${type}.${name}`);
  };

function shiftAlike({ f }: Emitter, a: LaneArgument, amount: Local, name: PlainName): Lanes {
  return a.lanes.map((half) => {
    f.get(half);
    f.get(amount);
    f.op(name);
    return captured(f);
  });
}

const inAllLanes = (dword: number): [number, number, number, number] => [dword, dword, dword, dword];
const LOW_BYTES = [0x00000000, 0x04040404, 0x08080808, 0x0c0c0c0c] as const;
const BITS_OF_BYTES = [0x08040201, 0x80402010, 0, 0] as const;

/** Pushes 2^n, or 2^(31 - n), for the amount n of each lane, modulo 32. */
function pushPowers({ f }: Emitter, amount: Local, isMirrored: boolean): void {
  // Byte k has a bit where 8k <= n < 8k + 8, which a table gives for n - 8k.
  if (isMirrored) f.v128(inAllLanes(0x070f171f));
  f.get(amount);
  f.v128(LOW_BYTES);
  f.op('i8x16.relaxed_swizzle');
  if (!isMirrored) f.v128(inAllLanes(0x18100800));
  f.op('i8x16.sub');
  f.v128(inAllLanes(0x1f1f1f1f));
  f.op('v128.and');
  const index = captured(f);
  f.v128(BITS_OF_BYTES);
  f.get(index);
  f.op('i8x16.swizzle');
  f.free(index);
}

/** Pushes a >> n, of the 64 bits of a * 2^(31 - n) those from bit 31 on. */
function pushShiftedDown(e: Emitter, a: Local, amount: Local): void {
  const { f } = e;
  pushPowers(e, amount, true);
  const powers = captured(f);
  for (const part of ['low', 'high'] as const) {
    f.get(a);
    f.get(powers);
    f.op(`i64x2.extmul_${part}_i32x4_u`);
    f.i32(1);
    f.op('i64x2.shl');
  }
  f.shuffle(ODD_DWORDS);
  f.free(powers);
}

/** SIMD has one amount for all lanes: other shifts of 32 bits are products with powers of two. */
function shift32(name: Shift): Emission {
  const simd: SimdEmission = (e, [a, amount]) => {
    const { f } = e;
    if (amount!.scalar) return shiftAlike(e, a!, amount!.scalar, `i32x4.${name}`);
    const [value, count] = [a!.lanes[0]!, amount!.lanes[0]!];
    if (name === 'shl') {
      f.get(value);
      pushPowers(e, count, false);
      f.op('i32x4.mul');
    } else if (name === 'shr_u') pushShiftedDown(e, value, count);
    else {
      // Bits that follow a sign of 1 come in as 0, too, where all are flipped before and after.
      f.get(value);
      f.i32(31);
      f.op('i32x4.shr_s');
      const signs = captured(f);
      f.get(value);
      f.get(signs);
      f.op('v128.xor');
      const flipped = captured(f);
      pushShiftedDown(e, flipped, count);
      f.get(signs);
      f.op('v128.xor');
      f.free(signs, flipped);
    }
    return [captured(f)];
  };
  return { scalar: oneShift('i32', name), simd };
}

/** SIMD has one amount for all lanes: other shifts of 64 bits go lane by lane. */
function shift64(name: Shift): Emission {
  const simd: SimdEmission = (e, [a, amount]) => {
    const { f } = e;
    if (amount!.scalar) return shiftAlike(e, a!, amount!.scalar, `i64x2.${name}`);
    return a!.lanes.map((half, h) => {
      f.get(half);
      for (let lane = 0; lane < 2; lane++) {
        f.get(half);
        f.lane('i64x2.extract_lane', lane);
        f.get(amount!.lanes[0]!);
        f.lane('i32x4.extract_lane', 2 * h + lane);
        f.op('i64.extend_i32_u');
        f.op(`i64.${name}`);
        f.lane('i64x2.replace_lane', lane);
      }
      return captured(f);
    });
  };
  return { scalar: oneShift('i64', name), simd };
}

/** High halves of the four 64-bit products. */
function multiplyHigh(extend: 'i64.extend_i32_u' | 'i64.extend_i32_s', sign: 's' | 'u'): Emission {
  return {
    scalar: ({ f }, [a, b]) => {
      f.get(a!);
      f.op(extend);
      f.get(b!);
      f.op(extend);
      f.op('i64.mul');
      f.i64(32n);
      f.op('i64.shr_u');
      f.op('i32.wrap_i64');
    },
    simd: (e, [a, b]) => {
      const { f } = e;
      for (const part of ['low', 'high'] as const) {
        f.get(a!.lanes[0]!);
        f.get(b!.lanes[0]!);
        f.op(`i64x2.extmul_${part}_i32x4_${sign}`);
      }
      f.shuffle(ODD_DWORDS);
      return [captured(f)];
    },
  };
}

/**
 * A comparison of 64-bit lanes: two masks become one of 32-bit lanes. `prepare` runs after each operand is
 * pushed.
 */
function compare64(scalarName: PlainName, vectorName: PlainName, prepare: (e: Emitter) => void = () => {}): Emission {
  return {
    scalar: scalar(scalarName),
    simd: (e, [a, b]) => {
      const { f } = e;
      for (let half = 0; half < 2; half++) {
        for (const arg of [a!, b!]) {
          f.get(arg.lanes[half]!);
          prepare(e);
        }
        f.op(vectorName);
      }
      f.shuffle(EVEN_DWORDS);
      return [captured(f)];
    },
  };
}

function flipSigns({ f }: Emitter): void {
  f.i64(-0x8000000000000000n);
  f.op('i64x2.splat');
  f.op('v128.xor');
}

/** The mask is all ones or zero in each lane, for which relaxed instructions are exact. */
function select(e: Emitter, mask: readonly Local[], a: LaneArgument, b: LaneArgument): Lanes {
  const { f } = e;
  return mask.map((half, h) => {
    f.get(a.lanes[h]!);
    f.get(b.lanes[h]!);
    f.get(half);
    f.op('i32x4.relaxed_laneselect');
    return captured(f);
  });
}

const scalarSelect: ScalarEmission = ({ f }, [c, a, b]) => {
  f.get(a!);
  f.get(b!);
  f.get(c!);
  f.select();
};

/** Halves of a pair of 64-bit lanes vectors. */
const halfOf = (pattern: readonly number[]): SimdEmission => {
  return (e, [a]) => [shuffled(e, a!.lanes[0]!, a!.lanes[1]!, pattern)];
};

function minMax(compareName: 'lt' | 'gt', sign: 's' | 'u'): Emission {
  return {
    scalar: ({ f }, [a, b]) => {
      f.get(a!);
      f.get(b!);
      f.get(a!);
      f.get(b!);
      f.op(`i32.${compareName}_${sign}`);
      f.select();
    },
    simd: vector(`i32x4.${compareName === 'lt' ? 'min' : 'max'}_${sign}`),
  };
}

const signExtend = (name: 'i32.extend8_s' | 'i32.extend16_s', shiftAmount: number): Emission => ({
  scalar: scalar(name),
  simd: ({ f }, [a]) => {
    f.get(a!.lanes[0]!);
    f.i32(shiftAmount);
    f.op('i32x4.shl');
    f.i32(shiftAmount);
    f.op('i32x4.shr_s');
    return [captured(f)];
  },
});

const wrapped = (name: PlainName): Emission => ({ scalar: scalar(name, 'i32.wrap_i64') });

export const INT_EMISSION: Readonly<Record<keyof typeof INT_OPS, Emission>> = {
  'i32.add': plain('i32.add', 'i32x4.add'),
  'i32.sub': plain('i32.sub', 'i32x4.sub'),
  'i32.mul': plain('i32.mul', 'i32x4.mul'),
  'i32.mulHiU': multiplyHigh('i64.extend_i32_u', 'u'),
  'i32.mulHiS': multiplyHigh('i64.extend_i32_s', 's'),
  'i32.and': plain('i32.and', 'v128.and'),
  'i32.or': plain('i32.or', 'v128.or'),
  'i32.xor': plain('i32.xor', 'v128.xor'),
  'i32.shl': shift32('shl'),
  'i32.shrU': shift32('shr_u'),
  'i32.shrS': shift32('shr_s'),
  'i32.minU': minMax('lt', 'u'),
  'i32.maxU': minMax('gt', 'u'),
  'i32.minS': minMax('lt', 's'),
  'i32.maxS': minMax('gt', 's'),
  'i32.clz': { scalar: scalar('i32.clz') },
  'i32.ctz': { scalar: scalar('i32.ctz') },
  'i32.popcnt': {
    scalar: scalar('i32.popcnt'),
    simd: ({ f }, [a]) => {
      f.get(a!.lanes[0]!);
      f.op('i8x16.popcnt');
      f.op('i16x8.extadd_pairwise_i8x16_u');
      f.op('i32x4.extadd_pairwise_i16x8_u');
      return [captured(f)];
    },
  },
  'i32.eq': plain('i32.eq', 'i32x4.eq'),
  'i32.ltU': plain('i32.lt_u', 'i32x4.lt_u'),
  'i32.ltS': plain('i32.lt_s', 'i32x4.lt_s'),
  'i32.sext8': signExtend('i32.extend8_s', 24),
  'i32.sext16': signExtend('i32.extend16_s', 16),
  'i32.select': { scalar: scalarSelect, simd: (e, [c, a, b]) => select(e, c!.lanes, a!, b!) },

  'i64.add': plain('i64.add', 'i64x2.add'),
  'i64.sub': plain('i64.sub', 'i64x2.sub'),
  'i64.mul': plain('i64.mul', 'i64x2.mul'),
  'i64.and': plain('i64.and', 'v128.and'),
  'i64.or': plain('i64.or', 'v128.or'),
  'i64.xor': plain('i64.xor', 'v128.xor'),
  'i64.shl': shift64('shl'),
  'i64.shrU': shift64('shr_u'),
  'i64.shrS': shift64('shr_s'),
  'i64.clz': wrapped('i64.clz'),
  'i64.ctz': wrapped('i64.ctz'),
  'i64.popcnt': wrapped('i64.popcnt'),
  'i64.eq': compare64('i64.eq', 'i64x2.eq'),
  'i64.ltU': compare64('i64.lt_u', 'i64x2.lt_s', flipSigns),
  'i64.ltS': compare64('i64.lt_s', 'i64x2.lt_s'),
  'i64.select': {
    scalar: scalarSelect,
    simd: (e, [c, a, b]) => select(e, widenMask(e, c!.lanes[0]!), a!, b!),
  },
  'i64.pack': {
    scalar: ({ f }, [low, high]) => {
      f.get(low!);
      f.op('i64.extend_i32_u');
      f.get(high!);
      f.op('i64.extend_i32_u');
      f.i64(32n);
      f.op('i64.shl');
      f.op('i64.or');
    },
    simd: (e, [low, high]) =>
      [LOW_PAIRS, HIGH_PAIRS].map((pattern) => shuffled(e, low!.lanes[0]!, high!.lanes[0]!, pattern)),
  },
  'i64.low': { scalar: scalar('i32.wrap_i64'), simd: halfOf(EVEN_DWORDS) },
  'i64.high': {
    scalar: ({ f }, [a]) => {
      f.get(a!);
      f.i64(32n);
      f.op('i64.shr_u');
      f.op('i32.wrap_i64');
    },
    simd: halfOf(ODD_DWORDS),
  },
  'i64.zext32': {
    scalar: scalar('i64.extend_i32_u'),
    simd: ({ f }, [a]) => extendHalves(f, a!, 'u'),
  },
  'i64.sext32': {
    scalar: scalar('i64.extend_i32_s'),
    simd: ({ f }, [a]) => extendHalves(f, a!, 's'),
  },

  'i1.and': plain('i32.and', 'v128.and'),
  'i1.or': plain('i32.or', 'v128.or'),
  'i1.xor': plain('i32.xor', 'v128.xor'),
  'i1.not': { scalar: scalar('i32.eqz'), simd: vector('v128.not') },
  'i1.rare': { scalar: scalar(), simd: copy },
  'i1.toI32': {
    scalar: scalar(),
    simd: ({ f }, [a]) => {
      f.get(a!.lanes[0]!);
      f.i32(31);
      f.op('i32x4.shr_u');
      return [captured(f)];
    },
  },
  'i1.toMask': {
    scalar: ({ f }, [a]) => {
      f.i32(0);
      f.get(a!);
      f.op('i32.sub');
    },
    simd: copy,
  },
};

function copy({ f }: Emitter, [a]: readonly LaneArgument[]): Lanes {
  f.get(a!.lanes[0]!);
  return [captured(f)];
}

function extendHalves(f: Emitter['f'], a: LaneArgument, sign: 's' | 'u'): Lanes {
  return (['low', 'high'] as const).map((part) => {
    f.get(a.lanes[0]!);
    f.op(`i64x2.extend_${part}_i32x4_${sign}`);
    return captured(f);
  });
}
