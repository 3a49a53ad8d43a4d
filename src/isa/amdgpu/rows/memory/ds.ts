/**
 * DS: the local data share, and moves between lanes that use its crossbar. CDNA2 ISA chapter 11 and 12.12;
 * RDNA3 ISA 12.5.
 */
import type { ExitReason, Value } from '../../../../ir/types.ts';
import type { Row, RowFlags } from '../../encoding/row.ts';
import { type AtomicUpdate, INTEGER_UPDATES, LDS_FLOAT_UPDATES } from '../../semantics/atomics.ts';
import type { InstructionBuilder, Semantics } from '../../semantics/instruction-builder.ts';
import { firstLane } from '../../semantics/lanes.ts';
import { atomic, type LoadKind, linearPort, load, type PortOf, refuse, store } from '../../semantics/memory.ts';
import { ldsSwizzleSource } from '../../semantics/swizzle.ts';
import { variant } from '../table/opcode-variants.ts';
import { type Opcodes, row } from '../table/row.ts';
import { registerType } from './vector-memory.ts';

const immediate = (b: InstructionBuilder, field: string): Value => b.dword(b.index(field), 0);

/** addr + {offset1, offset0}. */
const lds: PortOf = (b) => {
  refuse(b, 'gds');
  return linearPort(b, 'lds', b.add(b.dword(b.index('addr'), 0), immediate(b, 'offset')));
};

/** Address `number` of an instruction with two: addr + offset0 or offset1 in units of `2 ** scale` bytes. */
const ldsOfPair = (b: InstructionBuilder, number: 0 | 1, scale: number) => {
  refuse(b, 'gds');
  const offset = b.shl(immediate(b, `offset${number}`), scale);
  return linearPort(b, 'lds', b.add(b.dword(b.index('addr'), 0), offset));
};

/** From gfx11 on: loads, stores and exchanges by other names. */
const modernName = (name: string): string =>
  name
    .replace('ds_read', 'ds_load')
    .replace('ds_write', 'ds_store')
    .replace('ds_wrxchg', 'ds_storexchg')
    .replace('2st64_', '_2addr_stride64_')
    .replace('2_', '_2addr_');

/** On all targets, with the name of each. */
const renamed = (name: string, gfx9: number, gfx10 = gfx9): Opcodes => ({
  gfx9,
  gfx10,
  gfx11: [modernName(name), gfx10],
});

/** Global wave sync, until gfx11. */
/** M0 and the offset name the resource; memory has no part in it. */
const GWS: RowFlags = { gds: 'always', touches: { readsState: ['m0'], memory: [] } };
const gws = (gfx9: number, gfx10: number): Opcodes => ({ gfx9, gfx10, gfx12: -1 });

/**
 * The first lane says how many waves there are besides it; M0 and the offset name the resource (CDNA2 ISA
 * 12.12, "DS_GWS_INIT"). The host finds both in one dword, the resource from bit 24 on; -1 where no lane is
 * active.
 */
const syncGlobally =
  (reason: ExitReason): Semantics =>
  (b) => {
    const base = b.bits(b.state('m0'), 16, 6);
    const resource = b.and(b.add(base, b.i32(b.field('offset') & 63)), b.i32(63));
    const others = b.bits(b.readLane({ operand: b.index('data'), dword: 0 }, firstLane(b)), 0, 24);
    b.setState('request', b.select(b.isZero(b.exec), b.i32(-1), b.or(others, b.shl(resource, 24))));
    b.exit(reason);
  };

/** On all targets by the same name. */
const common = (gfx9: number, gfx10 = gfx9): Opcodes => ({ gfx9, gfx10 });

function read(name: string, opcodes: Opcodes, kind: LoadKind): Row {
  const type = registerType(kind.sizeBytes);
  return row('DS', name, opcodes, `${kind.half ? '+' : '='}vdst:${type} addr:b32 offset:imm16`, load(lds, kind));
}

function write(name: string, opcodes: Opcodes, sizeBytes: number, half?: 'high'): Row {
  const type = registerType(sizeBytes);
  return row('DS', name, opcodes, `addr:b32 data0:${type} offset:imm16`, store(lds, 'data0', sizeBytes, half));
}

/** The forms with offsets in units of the data and of 64 times the data, which have consecutive opcodes. */
function pairRows(
  name: string,
  bits: 32 | 64,
  opcode: number,
  operands: string,
  semantics: (scale: number) => Semantics,
): Row[] {
  const scale = bits === 32 ? 2 : 3;
  return ['', 'st64'].map((stride, i) =>
    pairRow(name.replace('2', `2${stride}`), opcode + i, operands, semantics(scale + 6 * i)),
  );
}

const pairRow = (name: string, opcode: number, operands: string, semantics: Semantics): Row =>
  row('DS', name, renamed(name, opcode), `${operands} offset0:imm8 offset1:imm8`, semantics);

const pairReads = (bits: 32 | 64, opcode: number): Row[] =>
  pairRows(`ds_read2_b${bits}`, bits, opcode, `=vdst:b${bits * 2} addr:b32`, (scale) => (b) => {
    const values = ([0, 1] as const).flatMap((number) => ldsOfPair(b, number, scale).load(bits / 8));
    b.setDwords(b.index('vdst'), values);
  });

/** With equal offsets only the first data operand is written (11.3.2): it is stored last. */
const pairWrites = (bits: 32 | 64, opcode: number): Row[] =>
  pairRows(`ds_write2_b${bits}`, bits, opcode, `addr:b32 data0:b${bits} data1:b${bits}`, (scale) => (b) => {
    const data = [b.dwords(b.index('data0')), b.dwords(b.index('data1'))] as const;
    for (const number of [1, 0] as const) ldsOfPair(b, number, scale).store(bits / 8, data[number]);
  });

const pairExchanges = (bits: 32 | 64, opcode: number): Row[] =>
  pairRows(
    `ds_wrxchg2_rtn_b${bits}`,
    bits,
    opcode,
    `=vdst:b${bits * 2} addr:b32 data0:b${bits} data1:b${bits}`,
    (scale) => {
      return (b) => {
        const data = ['data0', 'data1'].map((field) => b.read(b.index(field)));
        const old = ([0, 1] as const).map((n) => ldsOfPair(b, n, scale).atomic([data[n]!], INTEGER_UPDATES.swap));
        b.setDwords(b.index('vdst'), bits === 32 ? old : old.flatMap((value) => [b.low(value), b.high(value)]));
      };
    },
  );

type AtomicShape = readonly [name: string, opcodes: Opcodes, update: AtomicUpdate, sources?: 1 | 2 | undefined];

function atomicRow([name, opcodes, update, sources = 1]: AtomicShape): Row {
  const bits = name.endsWith('64') ? 64 : 32;
  const result = name.includes('_rtn_') ? `=vdst:b${bits} ` : '';
  const fields = ['data0', 'data1'].slice(0, sources);
  const data = fields.map((field) => `${field}:b${bits}`).join(' ');
  return row('DS', name, opcodes, `${result}addr:b32 ${data} offset:imm16`, atomic(lds, fields, bits, update));
}

/** An instruction that gfx11 replaced by one with its data operands in the other order. */
const COMPARE_FIRST = { gfx11: -1 } as const;

const swapped =
  (update: AtomicUpdate): AtomicUpdate =>
  (b, old, first, second) =>
    update(b, old, second, first);

/**
 * Stems with the opcode of the 32-bit form without return; `ds_add_rtn_u64` is `add` with `rtn` and the
 * type's letter.
 */
const INTEGER_ATOMICS: readonly (readonly [
  stem: string,
  letter: string,
  opcodes: Opcodes,
  update: AtomicUpdate,
  sources?: 2,
])[] = [
  ['add', 'u', common(0x00), INTEGER_UPDATES.add],
  ['sub', 'u', common(0x01), INTEGER_UPDATES.sub],
  ['rsub', 'u', common(0x02), INTEGER_UPDATES.rsub],
  ['inc', 'u', common(0x03), INTEGER_UPDATES.inc],
  ['dec', 'u', common(0x04), INTEGER_UPDATES.dec],
  ['min', 'i', common(0x05), INTEGER_UPDATES.minS],
  ['max', 'i', common(0x06), INTEGER_UPDATES.maxS],
  ['min', 'u', common(0x07), INTEGER_UPDATES.minU],
  ['max', 'u', common(0x08), INTEGER_UPDATES.maxU],
  ['and', 'b', common(0x09), INTEGER_UPDATES.and],
  ['or', 'b', common(0x0a), INTEGER_UPDATES.or],
  ['xor', 'b', common(0x0b), INTEGER_UPDATES.xor],
  ['mskor', 'b', common(0x0c), INTEGER_UPDATES.maskedOr, 2],
  // The comparand comes first, unlike in FLAT and MUBUF; gfx11 turned that around.
  ['cmpst', 'b', { ...COMPARE_FIRST, gfx9: 0x10, gfx10: 0x10 }, swapped(INTEGER_UPDATES.compareSwap), 2],
  ['cmpstore', 'b', { gfx11: 0x10 }, INTEGER_UPDATES.compareSwap, 2],
];

const RTN = 32;
const WIDE = 64;

const integerAtomics = () =>
  INTEGER_ATOMICS.flatMap(([stem, letter, opcodes, update, sources]) =>
    ([32, 64] as const).flatMap((bits) =>
      ['', '_rtn'].map((rtn) => {
        const step = (bits === 64 ? WIDE : 0) + (rtn ? RTN : 0);
        return atomicRow([`ds_${stem}${rtn}_${letter}${bits}`, variant(opcodes, step), update, sources]);
      }),
    ),
  );

/** Two exchanges of a dword, each where bit 31 of its data is set; the address is a multiple of 8. */
const conditionalExchange: Semantics = (b) => {
  refuse(b, 'gds');
  const address = b.and(b.add(b.dword(b.index('addr'), 0), immediate(b, 'offset')), b.i32(0xfff8));
  const old = b.atomic('lds', address, [b.read(b.index('data0'))], (inner, before, data) => {
    const half = (from: Value, to: Value): Value =>
      inner.select(inner.ltS(from, inner.i32(0)), inner.and(from, inner.i32(0x7fffffff)), to);
    return inner.pack(half(inner.low(data), inner.low(before)), half(inner.high(data), inner.high(before)));
  });
  b.setDwords(b.index('vdst'), [b.low(old), b.high(old)]);
};

/** M0[15:0] + offset, what the instructions without an address register start from. */
const addressInM0 = (b: InstructionBuilder): Value => {
  refuse(b, 'gds');
  return b.add(b.and(b.state('m0'), b.i32(0xffff)), immediate(b, 'offset'));
};

const addressByLane: PortOf = (b) => linearPort(b, 'lds', b.add(addressInM0(b), b.shl(b.laneId(), 2)));

/**
 * The number of active lanes is added once, by the lowest one; every active lane gets the value from before.
 * The other lanes read it after the addition: nothing comes in between, because the waves of a workgroup take
 * turns between instructions.
 */
const countLanes =
  (direction: 'add' | 'sub', undo: 'sub' | 'add'): Semantics =>
  (b) => {
    const address = addressInM0(b);
    const count = b.op('i64.popcnt', b.exec);
    const isFirst = b.eq(b.laneId(), b.op('i64.ctz', b.exec));
    b.atomic('lds', address, [count], (inner, old, data) => inner[direction](old, data), { predicate: isFirst });
    return b[undo](b.load('lds', 4, address)[0]!, count);
  };

/** Value of `source` in another lane; 0 when that lane is off. */
function fromLane(b: InstructionBuilder, source: string, lane: Value): Value {
  return b.select(b.laneBit(b.exec, lane), b.gather({ operand: b.index(source), dword: 0 }, lane), b.i32(0));
}

/**
 * From gfx10 on a lane reaches the 32 lanes of its half only (RDNA3 ISA 12.5.2); `lane` is the one that asks.
 */
function laneNumber(b: InstructionBuilder, address: Value, lane: Value): Value {
  const reach = b.instruction.target.permutedLanes === 'wave' ? b.waveSize : 32;
  const inReach = b.and(b.shrU(b.add(address, immediate(b, 'offset')), 2), b.i32(reach - 1));
  return reach === b.waveSize ? inReach : b.or(inReach, b.and(lane, b.i32(~(reach - 1))));
}

const pullFromLane: Semantics = (b, address) => fromLane(b, 'data0', laneNumber(b, address!, b.laneId()));

/** Every lane looks for the highest active lane that names it. */
const pushToLane: Semantics = (b) => {
  const [addr, data] = [b.index('addr'), b.index('data0')];
  let result = b.i32(0);
  for (let lane = 0; lane < b.waveSize; lane++) {
    const number = b.i32(lane);
    const target = laneNumber(b, b.readLane({ operand: addr, dword: 0 }, number), number);
    const named = b.select(b.laneBit(b.exec, number), target, b.i32(-1));
    result = b.select(b.eq(b.laneId(), named), b.readLane({ operand: data, dword: 0 }, number), result);
  }
  return result;
};

/**
 * Up to gfx908: the data is in the LDS too, at a distance. Known by name; a 64-bit form is 64 opcodes further
 * on.
 */
const SOURCES_IN_LDS: readonly (readonly [
  stem: string,
  letter: string,
  opcode: number,
  widths: readonly (32 | 64)[],
])[] = [
  ...INTEGER_ATOMICS.slice(0, 12).map(([stem, letter], i) => [stem, letter, 128 + i, [32, 64]] as const),
  ['write', 'b', 141, [32, 64]],
  ['min', 'f', 146, [32, 64]],
  ['max', 'f', 147, [32, 64]],
  ['add', 'f', 149, [32]],
];

const sourceInLds = () =>
  SOURCES_IN_LDS.flatMap(([stem, letter, opcode, widths]) =>
    widths.map((bits) => {
      const gfx9 = opcode + (bits === 64 ? WIDE : 0);
      return row('DS', `ds_${stem}_src2_${letter}${bits}`, { gfx9, gfx90a: -1, gfx101: gfx9 }, 'addr:b32 offset:imm16');
    }),
  );

const swizzle: Semantics = (b, _source, pattern) => fromLane(b, 'addr', ldsSwizzleSource(b, pattern!));

/** In the GDS, or what only has to do with lanes. */
const GLOBAL: RowFlags = { gds: 'always' };
const LANES_ONLY: RowFlags = { gds: 'never' };

const COMPARE_SWAP_F32 = LDS_FLOAT_UPDATES.compareSwapF32;
const COMPARE_SWAP_F64 = LDS_FLOAT_UPDATES.compareSwapF64;

const FLOAT_ATOMICS: readonly AtomicShape[] = [
  ['ds_cmpst_f32', { ...COMPARE_FIRST, gfx9: 0x11, gfx10: 0x11 }, swapped(COMPARE_SWAP_F32), 2],
  ['ds_cmpst_rtn_f32', { ...COMPARE_FIRST, gfx9: 0x31, gfx10: 0x31 }, swapped(COMPARE_SWAP_F32), 2],
  ['ds_cmpstore_f32', { gfx11: 0x11, gfx12: -1 }, COMPARE_SWAP_F32, 2],
  ['ds_cmpstore_rtn_f32', { gfx11: 0x31, gfx12: -1 }, COMPARE_SWAP_F32, 2],
  ['ds_min_f32', { gfx9: 0x12, gfx10: 0x12, gfx12: ['ds_min_num_f32', 0x12] }, LDS_FLOAT_UPDATES.minF32],
  ['ds_min_rtn_f32', { gfx9: 0x32, gfx10: 0x32, gfx12: ['ds_min_num_rtn_f32', 0x32] }, LDS_FLOAT_UPDATES.minF32],
  ['ds_max_f32', { gfx9: 0x13, gfx10: 0x13, gfx12: ['ds_max_num_f32', 0x13] }, LDS_FLOAT_UPDATES.maxF32],
  ['ds_max_rtn_f32', { gfx9: 0x33, gfx10: 0x33, gfx12: ['ds_max_num_rtn_f32', 0x33] }, LDS_FLOAT_UPDATES.maxF32],
  ['ds_add_f32', common(0x15), LDS_FLOAT_UPDATES.addF32],
  ['ds_add_rtn_f32', { gfx9: 0x35, gfx10: 0x55, gfx11: 0x79 }, LDS_FLOAT_UPDATES.addF32],
  ['ds_pk_add_f16', { gfx940: 0x17, gfx12: 0x9a }, LDS_FLOAT_UPDATES.packedAddF16],
  ['ds_pk_add_rtn_f16', { gfx940: 0xb7, gfx12: 0xaa }, LDS_FLOAT_UPDATES.packedAddF16],
  ['ds_pk_add_bf16', { gfx940: 0x18, gfx12: 0x9b }, LDS_FLOAT_UPDATES.packedAddBf16],
  ['ds_pk_add_rtn_bf16', { gfx940: 0xb8, gfx12: 0xab }, LDS_FLOAT_UPDATES.packedAddBf16],
  ['ds_cmpst_f64', { ...COMPARE_FIRST, gfx9: 0x51, gfx10: 0x51 }, swapped(COMPARE_SWAP_F64), 2],
  ['ds_cmpst_rtn_f64', { ...COMPARE_FIRST, gfx9: 0x71, gfx10: 0x71 }, swapped(COMPARE_SWAP_F64), 2],
  ['ds_cmpstore_f64', { gfx11: 0x51, gfx12: -1 }, COMPARE_SWAP_F64, 2],
  ['ds_cmpstore_rtn_f64', { gfx11: 0x71, gfx12: -1 }, COMPARE_SWAP_F64, 2],
  ['ds_min_f64', { gfx9: 0x52, gfx10: 0x52, gfx12: ['ds_min_num_f64', 0x52] }, LDS_FLOAT_UPDATES.minF64],
  ['ds_min_rtn_f64', { gfx9: 0x72, gfx10: 0x72, gfx12: ['ds_min_num_rtn_f64', 0x72] }, LDS_FLOAT_UPDATES.minF64],
  ['ds_max_f64', { gfx9: 0x53, gfx10: 0x53, gfx12: ['ds_max_num_f64', 0x53] }, LDS_FLOAT_UPDATES.maxF64],
  ['ds_max_rtn_f64', { gfx9: 0x73, gfx10: 0x73, gfx12: ['ds_max_num_rtn_f64', 0x73] }, LDS_FLOAT_UPDATES.maxF64],
  ['ds_add_f64', { gfx90a: 0x5c }, LDS_FLOAT_UPDATES.addF64],
  ['ds_add_rtn_f64', { gfx90a: 0x7c }, LDS_FLOAT_UPDATES.addF64],
];

/**
 * Global wave sync: between workgroups, on a resource that the driver allots. Its data stands in the place of
 * the address.
 */
// biome-ignore format: one row per line, as the tables of the manual
const waveSyncRows = (): readonly Row[] => [
  row('DS', 'ds_gws_sema_release_all', gws(0x98, 0x18), 'offset:imm16', undefined, GWS),
  row('DS', 'ds_gws_init', gws(0x99, 0x19), 'data:b32 offset:imm16', syncGlobally('gws-init'), GLOBAL),
  row('DS', 'ds_gws_sema_v', gws(0x9a, 0x1a), 'offset:imm16', undefined, GWS),
  row('DS', 'ds_gws_sema_br', gws(0x9b, 0x1b), 'data:b32 offset:imm16', undefined, GWS),
  row('DS', 'ds_gws_sema_p', gws(0x9c, 0x1c), 'offset:imm16', undefined, GWS),
  row('DS', 'ds_gws_barrier', gws(0x9d, 0x1d), 'data:b32 offset:imm16', syncGlobally('gws-barrier'), GLOBAL),
];

// biome-ignore format: one row per line, as the tables of the manual
export const dsRows = (): readonly Row[] => [
  atomicRow(['ds_cond_sub_u32', { gfx12: 0x98 }, INTEGER_UPDATES.conditionalSub]),
  atomicRow(['ds_cond_sub_rtn_u32', { gfx12: 0xa8 }, INTEGER_UPDATES.conditionalSub]),
  atomicRow(['ds_sub_clamp_u32', { gfx12: 0x99 }, INTEGER_UPDATES.clampedSub]),
  atomicRow(['ds_sub_clamp_rtn_u32', { gfx12: 0xa9 }, INTEGER_UPDATES.clampedSub]),
  ...integerAtomics(),
  ...FLOAT_ATOMICS.map(atomicRow),
  atomicRow(['ds_wrxchg_rtn_b32', renamed('ds_wrxchg_rtn_b32', 0x2d), INTEGER_UPDATES.swap]),
  atomicRow(['ds_wrxchg_rtn_b64', renamed('ds_wrxchg_rtn_b64', 0x6d), INTEGER_UPDATES.swap]),
  atomicRow(['ds_wrap_rtn_b32', { gfx9: 0x34, gfx10: 0x34, gfx12: -1 }, INTEGER_UPDATES.wrap, 2]),
  row('DS', 'ds_condxchg32_rtn_b64', common(0x7e), '=vdst:b64 addr:b32 data0:b64 offset:imm16', conditionalExchange),

  ...(
    [
      ['ds_write_b8', 30, 30, 1],
      ['ds_write_b16', 31, 31, 2],
      ['ds_write_b32', 13, 13, 4],
      ['ds_write_b64', 77, 77, 8],
      ['ds_write_b96', 222, 222, 12],
      ['ds_write_b128', 223, 223, 16],
      ['ds_write_b8_d16_hi', 84, 160, 1, 'high'],
      ['ds_write_b16_d16_hi', 85, 161, 2, 'high'],
    ] as const
  ).map(([name, gfx9, gfx10, sizeBytes, half]) => write(name, renamed(name, gfx9, gfx10), sizeBytes, half)),
  ...(
    [
      ['ds_read_i8', 57, 57, { sizeBytes: 1, signed: true }],
      ['ds_read_u8', 58, 58, { sizeBytes: 1 }],
      ['ds_read_i16', 59, 59, { sizeBytes: 2, signed: true }],
      ['ds_read_u16', 60, 60, { sizeBytes: 2 }],
      ['ds_read_b32', 54, 54, { sizeBytes: 4 }],
      ['ds_read_b64', 118, 118, { sizeBytes: 8 }],
      ['ds_read_b96', 254, 254, { sizeBytes: 12 }],
      ['ds_read_b128', 255, 255, { sizeBytes: 16 }],
      ['ds_read_u8_d16', 86, 162, { sizeBytes: 1, half: 'low' }],
      ['ds_read_u8_d16_hi', 87, 163, { sizeBytes: 1, half: 'high' }],
      ['ds_read_i8_d16', 88, 164, { sizeBytes: 1, signed: true, half: 'low' }],
      ['ds_read_i8_d16_hi', 89, 165, { sizeBytes: 1, signed: true, half: 'high' }],
      ['ds_read_u16_d16', 90, 166, { sizeBytes: 2, half: 'low' }],
      ['ds_read_u16_d16_hi', 91, 167, { sizeBytes: 2, half: 'high' }],
    ] as const
  ).map(([name, gfx9, gfx10, kind]) => read(name, renamed(name, gfx9, gfx10), kind)),
  ...pairWrites(32, 0x0e),
  ...pairWrites(64, 0x4e),
  ...pairReads(32, 0x37),
  ...pairReads(64, 0x77),
  ...pairExchanges(32, 0x2e),
  ...pairExchanges(64, 0x6e),
  row('DS', 'ds_write_addtid_b32', renamed('ds_write_addtid_b32', 0x1d, 0xb0), 'data0:b32 offset:imm16', store(addressByLane, 'data0', 4)),
  row('DS', 'ds_read_addtid_b32', renamed('ds_read_addtid_b32', 0xb6, 0xb1), '=vdst:b32 offset:imm16', load(addressByLane, { sizeBytes: 4 })),

  row('DS', 'ds_swizzle_b32', common(0x3d, 0x35), '=vdst:b32 addr:b32 offset:imm16', swizzle, { offsetPattern: true }),
  row('DS', 'ds_permute_b32', common(0x3e, 0xb2), '=vdst:b32 addr:b32 data0:b32 offset:imm16', pushToLane, LANES_ONLY),
  row('DS', 'ds_bpermute_b32', common(0x3f, 0xb3), '=vdst:b32 addr:b32 data0:b32 offset:imm16', pullFromLane, LANES_ONLY),
  row('DS', 'ds_consume', common(0xbd, 0x3d), '=vdst:b32 offset:imm16', countLanes('sub', 'add')),
  row('DS', 'ds_append', common(0xbe, 0x3e), '=vdst:b32 offset:imm16', countLanes('add', 'sub')),
  row('DS', 'ds_nop', common(0x14), '', () => {}, LANES_ONLY),
  row('DS', 'ds_ordered_count', { gfx9: 0xbf, gfx90a: -1, gfx10: 0x3f, gfx12: -1 }, '=vdst:b32 addr:b32 offset:imm16', undefined, { touches: { readsState: ['m0'] }, gds: 'always' }),

  ...sourceInLds(),

  // Ray tracing and geometry shaders.
  row('DS', 'ds_bvh_stack_rtn_b32', { gfx11: 0xad, gfx12: -1 }, '=vdst:b32 +addr:b32 data0:b32 data1:b128 offset:imm16', undefined, LANES_ONLY),
  row('DS', 'ds_add_gs_reg_rtn', { gfx11: 0x7a, gfx12: -1 }, '=vdst:b64 data0:b32 offset:imm16', undefined, GLOBAL),
  row('DS', 'ds_sub_gs_reg_rtn', { gfx11: 0x7b, gfx12: -1 }, '=vdst:b64 data0:b32 offset:imm16', undefined, GLOBAL),

  ...waveSyncRows(),
];
