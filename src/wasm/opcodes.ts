/**
 * Instruction names and their opcodes, grouped by the immediates that follow the opcode: WebAssembly core
 * specification 2.0 section 5.4, with the threads, relaxed SIMD and tail-call proposals. Instructions that a
 * `FunctionBuilder` method encodes by itself (control, constants, locals, calls, bulk memory, fence) are in
 * `CONTROL`.
 *
 * An opcode is one byte, or `prefix << 16 | number` for the prefixed spaces.
 */
const SIMD = 0xfd0000;
const ATOMIC = 0xfe0000;

/** Consecutive opcodes for `names`, from `first` on. */
function run<const N extends readonly string[]>(first: number, names: N): Record<N[number], number> {
  const rows: Record<string, number> = {};
  for (const [i, name] of names.entries()) rows[name] = first + i;
  return rows as Record<N[number], number>; // reason: one entry was written for every member of N
}

export const CONTROL = {
  ...run(0x00, ['unreachable', 'nop', 'block', 'loop', 'if', 'else']),
  ...run(0x0b, ['end', 'br', 'br_if', 'br_table', 'return']),
  ...run(0x10, ['call', 'call_indirect', 'return_call', 'return_call_indirect']),
  ...run(0x1a, ['drop', 'select']),
  ...run(0x20, ['local.get', 'local.set', 'local.tee']),
  ...run(0x41, ['i32.const', 'i64.const', 'f32.const', 'f64.const']),
  ...run(0xfc000a, ['memory.copy', 'memory.fill']),
  ...run(SIMD + 0x0c, ['v128.const', 'i8x16.shuffle']),
  ...run(ATOMIC + 0x03, ['atomic.fence']),
} as const;

/** Instructions without immediates. */
export const PLAIN = {
  ...run(0x45, ['i32.eqz', 'i32.eq', 'i32.ne', 'i32.lt_s', 'i32.lt_u', 'i32.gt_s', 'i32.gt_u', 'i32.le_s', 'i32.le_u']),
  ...run(0x4e, ['i32.ge_s', 'i32.ge_u']),
  ...run(0x50, ['i64.eqz', 'i64.eq', 'i64.ne', 'i64.lt_s', 'i64.lt_u', 'i64.gt_s', 'i64.gt_u', 'i64.le_s', 'i64.le_u']),
  ...run(0x59, ['i64.ge_s', 'i64.ge_u']),
  ...run(0x5b, ['f32.eq', 'f32.ne', 'f32.lt', 'f32.gt', 'f32.le', 'f32.ge']),
  ...run(0x61, ['f64.eq', 'f64.ne', 'f64.lt', 'f64.gt', 'f64.le', 'f64.ge']),
  ...run(0x67, ['i32.clz', 'i32.ctz', 'i32.popcnt', 'i32.add', 'i32.sub', 'i32.mul', 'i32.div_s', 'i32.div_u']),
  ...run(0x6f, ['i32.rem_s', 'i32.rem_u', 'i32.and', 'i32.or', 'i32.xor', 'i32.shl', 'i32.shr_s', 'i32.shr_u']),
  ...run(0x77, ['i32.rotl', 'i32.rotr']),
  ...run(0x79, ['i64.clz', 'i64.ctz', 'i64.popcnt', 'i64.add', 'i64.sub', 'i64.mul', 'i64.div_s', 'i64.div_u']),
  ...run(0x81, ['i64.rem_s', 'i64.rem_u', 'i64.and', 'i64.or', 'i64.xor', 'i64.shl', 'i64.shr_s', 'i64.shr_u']),
  ...run(0x89, ['i64.rotl', 'i64.rotr']),
  ...run(0x8b, ['f32.abs', 'f32.neg', 'f32.ceil', 'f32.floor', 'f32.trunc', 'f32.nearest', 'f32.sqrt']),
  ...run(0x92, ['f32.add', 'f32.sub', 'f32.mul', 'f32.div', 'f32.min', 'f32.max', 'f32.copysign']),
  ...run(0x99, ['f64.abs', 'f64.neg', 'f64.ceil', 'f64.floor', 'f64.trunc', 'f64.nearest', 'f64.sqrt']),
  ...run(0xa0, ['f64.add', 'f64.sub', 'f64.mul', 'f64.div', 'f64.min', 'f64.max', 'f64.copysign']),
  ...run(0xa7, ['i32.wrap_i64', 'i32.trunc_f32_s', 'i32.trunc_f32_u', 'i32.trunc_f64_s', 'i32.trunc_f64_u']),
  ...run(0xac, ['i64.extend_i32_s', 'i64.extend_i32_u', 'i64.trunc_f32_s', 'i64.trunc_f32_u', 'i64.trunc_f64_s']),
  ...run(0xb1, ['i64.trunc_f64_u']),
  ...run(0xb2, ['f32.convert_i32_s', 'f32.convert_i32_u', 'f32.convert_i64_s', 'f32.convert_i64_u', 'f32.demote_f64']),
  ...run(0xb7, ['f64.convert_i32_s', 'f64.convert_i32_u', 'f64.convert_i64_s', 'f64.convert_i64_u', 'f64.promote_f32']),
  ...run(0xbc, ['i32.reinterpret_f32', 'i64.reinterpret_f64', 'f32.reinterpret_i32', 'f64.reinterpret_i64']),
  ...run(0xc0, ['i32.extend8_s', 'i32.extend16_s', 'i64.extend8_s', 'i64.extend16_s', 'i64.extend32_s']),
  ...run(0xfc0000, ['i32.trunc_sat_f32_s', 'i32.trunc_sat_f32_u', 'i32.trunc_sat_f64_s', 'i32.trunc_sat_f64_u']),
  ...run(0xfc0004, ['i64.trunc_sat_f32_s', 'i64.trunc_sat_f32_u', 'i64.trunc_sat_f64_s', 'i64.trunc_sat_f64_u']),

  ...run(SIMD + 0x0e, ['i8x16.swizzle']),
  ...run(SIMD + 0x0f, ['i8x16.splat', 'i16x8.splat', 'i32x4.splat', 'i64x2.splat', 'f32x4.splat', 'f64x2.splat']),
  ...run(SIMD + 0x23, ['i8x16.eq', 'i8x16.ne', 'i8x16.lt_s', 'i8x16.lt_u', 'i8x16.gt_s', 'i8x16.gt_u', 'i8x16.le_s']),
  ...run(SIMD + 0x2a, ['i8x16.le_u', 'i8x16.ge_s', 'i8x16.ge_u']),
  ...run(SIMD + 0x2d, ['i16x8.eq', 'i16x8.ne', 'i16x8.lt_s', 'i16x8.lt_u', 'i16x8.gt_s', 'i16x8.gt_u', 'i16x8.le_s']),
  ...run(SIMD + 0x34, ['i16x8.le_u', 'i16x8.ge_s', 'i16x8.ge_u']),
  ...run(SIMD + 0x37, ['i32x4.eq', 'i32x4.ne', 'i32x4.lt_s', 'i32x4.lt_u', 'i32x4.gt_s', 'i32x4.gt_u', 'i32x4.le_s']),
  ...run(SIMD + 0x3e, ['i32x4.le_u', 'i32x4.ge_s', 'i32x4.ge_u']),
  ...run(SIMD + 0x41, ['f32x4.eq', 'f32x4.ne', 'f32x4.lt', 'f32x4.gt', 'f32x4.le', 'f32x4.ge']),
  ...run(SIMD + 0x47, ['f64x2.eq', 'f64x2.ne', 'f64x2.lt', 'f64x2.gt', 'f64x2.le', 'f64x2.ge']),
  ...run(SIMD + 0x4d, [
    'v128.not',
    'v128.and',
    'v128.andnot',
    'v128.or',
    'v128.xor',
    'v128.bitselect',
    'v128.any_true',
  ]),
  ...run(SIMD + 0x5e, ['f32x4.demote_f64x2_zero', 'f64x2.promote_low_f32x4']),
  ...run(SIMD + 0x60, ['i8x16.abs', 'i8x16.neg', 'i8x16.popcnt', 'i8x16.all_true', 'i8x16.bitmask']),
  ...run(SIMD + 0x65, ['i8x16.narrow_i16x8_s', 'i8x16.narrow_i16x8_u']),
  ...run(SIMD + 0x67, ['f32x4.ceil', 'f32x4.floor', 'f32x4.trunc', 'f32x4.nearest']),
  ...run(SIMD + 0x6b, ['i8x16.shl', 'i8x16.shr_s', 'i8x16.shr_u', 'i8x16.add', 'i8x16.add_sat_s', 'i8x16.add_sat_u']),
  ...run(SIMD + 0x71, ['i8x16.sub', 'i8x16.sub_sat_s', 'i8x16.sub_sat_u', 'f64x2.ceil', 'f64x2.floor']),
  ...run(SIMD + 0x76, ['i8x16.min_s', 'i8x16.min_u', 'i8x16.max_s', 'i8x16.max_u', 'f64x2.trunc', 'i8x16.avgr_u']),
  ...run(SIMD + 0x7c, ['i16x8.extadd_pairwise_i8x16_s', 'i16x8.extadd_pairwise_i8x16_u']),
  ...run(SIMD + 0x7e, ['i32x4.extadd_pairwise_i16x8_s', 'i32x4.extadd_pairwise_i16x8_u']),
  ...run(SIMD + 0x80, ['i16x8.abs', 'i16x8.neg', 'i16x8.q15mulr_sat_s', 'i16x8.all_true', 'i16x8.bitmask']),
  ...run(SIMD + 0x85, ['i16x8.narrow_i32x4_s', 'i16x8.narrow_i32x4_u']),
  ...run(SIMD + 0x87, ['i16x8.extend_low_i8x16_s', 'i16x8.extend_high_i8x16_s']),
  ...run(SIMD + 0x89, ['i16x8.extend_low_i8x16_u', 'i16x8.extend_high_i8x16_u']),
  ...run(SIMD + 0x8b, ['i16x8.shl', 'i16x8.shr_s', 'i16x8.shr_u', 'i16x8.add', 'i16x8.add_sat_s', 'i16x8.add_sat_u']),
  ...run(SIMD + 0x91, ['i16x8.sub', 'i16x8.sub_sat_s', 'i16x8.sub_sat_u', 'f64x2.nearest', 'i16x8.mul']),
  ...run(SIMD + 0x96, ['i16x8.min_s', 'i16x8.min_u', 'i16x8.max_s', 'i16x8.max_u']),
  ...run(SIMD + 0x9b, ['i16x8.avgr_u', 'i16x8.extmul_low_i8x16_s', 'i16x8.extmul_high_i8x16_s']),
  ...run(SIMD + 0x9e, ['i16x8.extmul_low_i8x16_u', 'i16x8.extmul_high_i8x16_u']),
  ...run(SIMD + 0xa0, ['i32x4.abs', 'i32x4.neg']),
  ...run(SIMD + 0xa3, ['i32x4.all_true', 'i32x4.bitmask']),
  ...run(SIMD + 0xa7, ['i32x4.extend_low_i16x8_s', 'i32x4.extend_high_i16x8_s']),
  ...run(SIMD + 0xa9, ['i32x4.extend_low_i16x8_u', 'i32x4.extend_high_i16x8_u']),
  ...run(SIMD + 0xab, ['i32x4.shl', 'i32x4.shr_s', 'i32x4.shr_u', 'i32x4.add']),
  ...run(SIMD + 0xb1, ['i32x4.sub']),
  ...run(SIMD + 0xb5, ['i32x4.mul', 'i32x4.min_s', 'i32x4.min_u', 'i32x4.max_s', 'i32x4.max_u', 'i32x4.dot_i16x8_s']),
  ...run(SIMD + 0xbc, ['i32x4.extmul_low_i16x8_s', 'i32x4.extmul_high_i16x8_s']),
  ...run(SIMD + 0xbe, ['i32x4.extmul_low_i16x8_u', 'i32x4.extmul_high_i16x8_u']),
  ...run(SIMD + 0xc0, ['i64x2.abs', 'i64x2.neg']),
  ...run(SIMD + 0xc3, ['i64x2.all_true', 'i64x2.bitmask']),
  ...run(SIMD + 0xc7, ['i64x2.extend_low_i32x4_s', 'i64x2.extend_high_i32x4_s']),
  ...run(SIMD + 0xc9, ['i64x2.extend_low_i32x4_u', 'i64x2.extend_high_i32x4_u']),
  ...run(SIMD + 0xcb, ['i64x2.shl', 'i64x2.shr_s', 'i64x2.shr_u', 'i64x2.add']),
  ...run(SIMD + 0xd1, ['i64x2.sub']),
  ...run(SIMD + 0xd5, ['i64x2.mul', 'i64x2.eq', 'i64x2.ne', 'i64x2.lt_s', 'i64x2.gt_s', 'i64x2.le_s', 'i64x2.ge_s']),
  ...run(SIMD + 0xdc, ['i64x2.extmul_low_i32x4_s', 'i64x2.extmul_high_i32x4_s']),
  ...run(SIMD + 0xde, ['i64x2.extmul_low_i32x4_u', 'i64x2.extmul_high_i32x4_u']),
  ...run(SIMD + 0xe0, ['f32x4.abs', 'f32x4.neg']),
  ...run(SIMD + 0xe3, ['f32x4.sqrt', 'f32x4.add', 'f32x4.sub', 'f32x4.mul', 'f32x4.div', 'f32x4.min', 'f32x4.max']),
  ...run(SIMD + 0xea, ['f32x4.pmin', 'f32x4.pmax', 'f64x2.abs', 'f64x2.neg']),
  ...run(SIMD + 0xef, ['f64x2.sqrt', 'f64x2.add', 'f64x2.sub', 'f64x2.mul', 'f64x2.div', 'f64x2.min', 'f64x2.max']),
  ...run(SIMD + 0xf6, ['f64x2.pmin', 'f64x2.pmax', 'i32x4.trunc_sat_f32x4_s', 'i32x4.trunc_sat_f32x4_u']),
  ...run(SIMD + 0xfa, ['f32x4.convert_i32x4_s', 'f32x4.convert_i32x4_u']),
  ...run(SIMD + 0xfc, ['i32x4.trunc_sat_f64x2_s_zero', 'i32x4.trunc_sat_f64x2_u_zero']),
  ...run(SIMD + 0xfe, ['f64x2.convert_low_i32x4_s', 'f64x2.convert_low_i32x4_u']),

  ...run(SIMD + 0x100, ['i8x16.relaxed_swizzle', 'i32x4.relaxed_trunc_f32x4_s', 'i32x4.relaxed_trunc_f32x4_u']),
  ...run(SIMD + 0x103, ['i32x4.relaxed_trunc_f64x2_s_zero', 'i32x4.relaxed_trunc_f64x2_u_zero']),
  ...run(SIMD + 0x105, ['f32x4.relaxed_madd', 'f32x4.relaxed_nmadd', 'f64x2.relaxed_madd', 'f64x2.relaxed_nmadd']),
  ...run(SIMD + 0x109, ['i8x16.relaxed_laneselect', 'i16x8.relaxed_laneselect']),
  ...run(SIMD + 0x10b, ['i32x4.relaxed_laneselect', 'i64x2.relaxed_laneselect']),
  ...run(SIMD + 0x10d, ['f32x4.relaxed_min', 'f32x4.relaxed_max', 'f64x2.relaxed_min', 'f64x2.relaxed_max']),
  ...run(SIMD + 0x111, ['i16x8.relaxed_q15mulr_s', 'i16x8.relaxed_dot_i8x16_i7x16_s']),
  ...run(SIMD + 0x113, ['i32x4.relaxed_dot_i8x16_i7x16_add_s']),
} as const;

/** Instructions with one lane index. */
export const LANE = {
  ...run(SIMD + 0x15, ['i8x16.extract_lane_s', 'i8x16.extract_lane_u', 'i8x16.replace_lane']),
  ...run(SIMD + 0x18, ['i16x8.extract_lane_s', 'i16x8.extract_lane_u', 'i16x8.replace_lane']),
  ...run(SIMD + 0x1b, ['i32x4.extract_lane', 'i32x4.replace_lane', 'i64x2.extract_lane', 'i64x2.replace_lane']),
  ...run(SIMD + 0x1f, ['f32x4.extract_lane', 'f32x4.replace_lane', 'f64x2.extract_lane', 'f64x2.replace_lane']),
} as const;

/** A memory instruction: its opcode and the base-2 logarithm of its access size in bytes. */
export interface MemoryAccess {
  readonly opcode: number;
  readonly alignLog2: number;
}

/** Consecutive memory opcodes from `first` on: `[name, alignLog2]`. */
function accesses<const N extends readonly (readonly [string, number])[]>(
  first: number,
  rows: N,
): Record<N[number][0], MemoryAccess> {
  const table: Record<string, MemoryAccess> = {};
  for (const [i, [name, alignLog2]] of rows.entries()) table[name] = { opcode: first + i, alignLog2 };
  return table as Record<N[number][0], MemoryAccess>; // reason: one entry was written for every row of N
}

export const LOAD = {
  ...accesses(0x28, [
    ['i32.load', 2],
    ['i64.load', 3],
    ['f32.load', 2],
    ['f64.load', 3],
  ]),
  ...accesses(0x2c, [
    ['i32.load8_s', 0],
    ['i32.load8_u', 0],
    ['i32.load16_s', 1],
    ['i32.load16_u', 1],
  ]),
  ...accesses(0x30, [
    ['i64.load8_s', 0],
    ['i64.load8_u', 0],
    ['i64.load16_s', 1],
    ['i64.load16_u', 1],
  ]),
  ...accesses(0x34, [
    ['i64.load32_s', 2],
    ['i64.load32_u', 2],
  ]),
  ...accesses(SIMD + 0x00, [
    ['v128.load', 4],
    ['v128.load8x8_s', 3],
    ['v128.load8x8_u', 3],
    ['v128.load16x4_s', 3],
  ]),
  ...accesses(SIMD + 0x04, [
    ['v128.load16x4_u', 3],
    ['v128.load32x2_s', 3],
    ['v128.load32x2_u', 3],
  ]),
  ...accesses(SIMD + 0x07, [
    ['v128.load8_splat', 0],
    ['v128.load16_splat', 1],
  ]),
  ...accesses(SIMD + 0x09, [
    ['v128.load32_splat', 2],
    ['v128.load64_splat', 3],
  ]),
  ...accesses(SIMD + 0x5c, [
    ['v128.load32_zero', 2],
    ['v128.load64_zero', 3],
  ]),
} as const;

export const STORE = {
  ...accesses(0x36, [
    ['i32.store', 2],
    ['i64.store', 3],
    ['f32.store', 2],
    ['f64.store', 3],
  ]),
  ...accesses(0x3a, [
    ['i32.store8', 0],
    ['i32.store16', 1],
    ['i64.store8', 0],
    ['i64.store16', 1],
    ['i64.store32', 2],
  ]),
  ...accesses(SIMD + 0x0b, [['v128.store', 4]]),
} as const;

/** Loads and stores of one lane of a v128: an address and a lane index. */
export const LANE_ACCESS = {
  ...accesses(SIMD + 0x54, [
    ['v128.load8_lane', 0],
    ['v128.load16_lane', 1],
  ]),
  ...accesses(SIMD + 0x56, [
    ['v128.load32_lane', 2],
    ['v128.load64_lane', 3],
  ]),
  ...accesses(SIMD + 0x58, [
    ['v128.store8_lane', 0],
    ['v128.store16_lane', 1],
  ]),
  ...accesses(SIMD + 0x5a, [
    ['v128.store32_lane', 2],
    ['v128.store64_lane', 3],
  ]),
} as const;

type AtomicUpdate<O extends string> =
  | `${'i32' | 'i64'}.atomic.rmw.${O}`
  | `${'i32' | 'i64'}.atomic.${'rmw8' | 'rmw16'}.${O}_u`
  | `i64.atomic.rmw32.${O}_u`;

/** The seven widths of one atomic read-modify-write operation. */
function updates<const O extends string>(first: number, operation: O): Record<AtomicUpdate<O>, MemoryAccess> {
  const table: Record<string, MemoryAccess> = accesses(first, [
    [`i32.atomic.rmw.${operation}`, 2],
    [`i64.atomic.rmw.${operation}`, 3],
    [`i32.atomic.rmw8.${operation}_u`, 0],
    [`i32.atomic.rmw16.${operation}_u`, 1],
    [`i64.atomic.rmw8.${operation}_u`, 0],
    [`i64.atomic.rmw16.${operation}_u`, 1],
    [`i64.atomic.rmw32.${operation}_u`, 2],
  ]);
  return table as Record<AtomicUpdate<O>, MemoryAccess>; // reason: the seven names above are the members of the type
}

/** Atomic accesses; their alignment is always exact (threads proposal). */
export const ATOMIC_ACCESS = {
  ...accesses(ATOMIC + 0x00, [
    ['memory.atomic.notify', 2],
    ['memory.atomic.wait32', 2],
    ['memory.atomic.wait64', 3],
  ]),
  ...accesses(ATOMIC + 0x10, [
    ['i32.atomic.load', 2],
    ['i64.atomic.load', 3],
  ]),
  ...accesses(ATOMIC + 0x12, [
    ['i32.atomic.load8_u', 0],
    ['i32.atomic.load16_u', 1],
  ]),
  ...accesses(ATOMIC + 0x14, [
    ['i64.atomic.load8_u', 0],
    ['i64.atomic.load16_u', 1],
    ['i64.atomic.load32_u', 2],
  ]),
  ...accesses(ATOMIC + 0x17, [
    ['i32.atomic.store', 2],
    ['i64.atomic.store', 3],
  ]),
  ...accesses(ATOMIC + 0x19, [
    ['i32.atomic.store8', 0],
    ['i32.atomic.store16', 1],
  ]),
  ...accesses(ATOMIC + 0x1b, [
    ['i64.atomic.store8', 0],
    ['i64.atomic.store16', 1],
    ['i64.atomic.store32', 2],
  ]),
  ...updates(ATOMIC + 0x1e, 'add'),
  ...updates(ATOMIC + 0x25, 'sub'),
  ...updates(ATOMIC + 0x2c, 'and'),
  ...updates(ATOMIC + 0x33, 'or'),
  ...updates(ATOMIC + 0x3a, 'xor'),
  ...updates(ATOMIC + 0x41, 'xchg'),
  ...updates(ATOMIC + 0x48, 'cmpxchg'),
} as const;

export type PlainName = keyof typeof PLAIN;
export type LaneName = keyof typeof LANE;
export type LoadName = keyof typeof LOAD;
export type StoreName = keyof typeof STORE;
export type LaneAccessName = keyof typeof LANE_ACCESS;
export type AtomicName = keyof typeof ATOMIC_ACCESS;
