/**
 * SMEM: scalar memory reads, writes and atomics. CDNA2 ISA chapter 8 and 12.6, "SMEM Instructions"; RDNA3 ISA
 * chapter 8.
 */
import type { Value } from '../../../../ir/types.ts';
import type { OperandType, Row } from '../../encoding/row.ts';
import { type AtomicUpdate, INTEGER_UPDATES } from '../../semantics/atomics.ts';
import type { InstructionBuilder, Semantics } from '../../semantics/instruction-builder.ts';
import { type AtomicOfBuilder, destination, pairs } from '../../semantics/memory.ts';
import { type Opcodes, row } from '../table/row.ts';

const ADDRESS = 'sbase:b64 soffset:address offset:simm21';
const BUFFER_ADDRESS = 'sbase:b128 soffset:address offset:simm21';

function smem(name: string, opcodes: Opcodes, operandText: string, semantics?: Semantics): Row {
  return row('SMEM', name, opcodes, operandText, semantics);
}

/** Of gfx9 and gfx10.1: RDNA2 took them out. */
const withoutRdna2 = (opcode: number): Opcodes => ({ gfx9: opcode, gfx101: opcode });

/** Caches are not modelled: every access sees memory as it is. */
const nothing: Semantics = () => undefined;

/** The two low bits of every part of an address count as zero (8.2.1.1). */
const aligned = (b: InstructionBuilder, part: Value): Value =>
  part.type === 'i64' ? b.and(part, b.i64(~3n)) : b.and(part, b.i32(~3));

/** The SGPR part of the offset, unsigned; zero when the encoding has none. */
function scalarOffset(b: InstructionBuilder): Value {
  const index = b.index('soffset');
  return b.isOff(index) ? b.i64(0n) : b.zext64(aligned(b, b.dword(index, 0)));
}

/** The sum of base and offsets that an access without a buffer resource names. */
function addressOf(b: InstructionBuilder): Value {
  const base = b.pack(...(b.dwords(b.index('sbase'), 2) as [Value, Value]));
  return b.add(b.add(aligned(b, base), b.sext64(aligned(b, b.dword(b.index('offset'), 0)))), scalarOffset(b));
}

const load: Semantics = (b) => {
  const address = addressOf(b);
  const data = b.index('sdata');
  b.setDwords(data, b.load('global', b.instruction.dwords(data) * 4, address));
};

/** A place in a buffer, and whether all of it is inside. */
interface BufferPlace {
  readonly address: Value;
  readonly inside: Value;
}

/**
 * Accesses through a buffer resource: base, stride and number of records count (9.1.8); the offset is
 * unsigned. The size in bytes is number of records * stride, or the number of records when the stride is 0
 * (spelt out in RDNA3 ISA 8.1.2). `at`: bytes behind the place that the instruction names.
 */
function bufferPlaces(b: InstructionBuilder): (at: number, sizeBytes: number) => BufferPlace {
  const [baseLow, baseHigh, records] = b.dwords(b.index('sbase'), 3) as [Value, Value, Value];
  const base = b.pack(aligned(b, baseLow), b.bits(baseHigh, 0, 16));
  const stride = b.maxU(b.bits(baseHigh, 16, 14), b.i32(1));
  const size = b.mul(b.zext64(stride), b.zext64(records));
  const offset = b.dword(b.index('offset'), 0);
  const start = b.add(b.zext64(aligned(b, b.instruction.has('th') ? offset : b.bits(offset, 0, 21))), scalarOffset(b));
  return (at, sizeBytes) => {
    const first = b.add(start, b.i64(BigInt(at)));
    const inside = b.not(b.ltU(size, b.add(first, b.i64(BigInt(sizeBytes)))));
    return { address: b.add(base, first), inside };
  };
}

/** A dword beyond the buffer is not read and gives 0. */
const bufferLoad: Semantics = (b) => {
  const places = bufferPlaces(b);
  const data = b.index('sdata');
  const dwords = Array.from({ length: b.instruction.dwords(data) }, (_, i) => {
    const { address, inside } = places(i * 4, 4);
    return b.load('global', 4, address, { predicate: inside })[0]!;
  });
  b.setDwords(data, dwords);
};

const store: Semantics = (b) => {
  const data = b.dwords(b.index('sdata'));
  b.store('global', data.length * 4, addressOf(b), data);
};

/** A dword beyond the buffer is not written. */
const bufferStore: Semantics = (b) => {
  const places = bufferPlaces(b);
  for (const [i, dword] of b.dwords(b.index('sdata')).entries()) {
    const { address, inside } = places(i * 4, 4);
    b.store('global', 4, address, [dword], { predicate: inside });
  }
};

/** Up to gfx10 names say dwords, from gfx11 on bits. */
const WIDTHS: readonly (readonly [suffix: string, type: OperandType])[] = [
  ['dword', 'b32'],
  ['dwordx2', 'b64'],
  ['dwordx4', 'b128'],
  ['dwordx8', 'b256'],
  ['dwordx16', 'b512'],
];
const SHORT_WIDTHS = WIDTHS.slice(0, 3);

/** gfx12 has those of buffers behind those of 8 and 16 bits. */
const loads = (name: string, opcode: number, gfx12: number, address: string, semantics: Semantics): Row[] =>
  WIDTHS.map(([suffix, type], i) => {
    const opcodes = {
      gfx9: opcode + i,
      gfx10: opcode + i,
      gfx11: [`${name}_${type}`, opcode + i],
      gfx12: [`${name}_${type}`, gfx12 + i],
    } as const;
    return smem(`${name}_${suffix}`, opcodes, `=sdata:${type} ${address}`, semantics);
  });

/** Three dwords, and gfx12's parts of a dword, of 8 and 16 bits. */
function partialLoads(
  name: string,
  opcode: number,
  address: string,
  whole: () => Semantics,
  part: (sizeBytes: 1 | 2, signed: boolean) => Semantics | undefined,
): Row[] {
  const parts = [
    ['i8', 1, true],
    ['u8', 1, false],
    ['i16', 2, true],
    ['u16', 2, false],
  ] as const;
  return [
    smem(`${name}_b96`, { gfx12: opcode + 5 }, `=sdata:b96 ${address}`, whole()),
    ...parts.map(([suffix, sizeBytes, signed], i) =>
      smem(`${name}_${suffix}`, { gfx12: opcode + 8 + i }, `=sdata:b32 ${address}`, part(sizeBytes, signed)),
    ),
  ];
}

/** Parts of a dword are not moved to a multiple of 4 (RDNA4 ISA 8.1.3). */
const loadPart =
  (sizeBytes: 1 | 2, signed: boolean): Semantics =>
  (b, base, offset) => {
    const index = b.index('soffset');
    const register = b.isOff(index) ? b.i64(0n) : b.zext64(b.dword(index, 0));
    const value = b.load('global', sizeBytes, b.add(b.add(base!, b.sext64(offset!)), register))[0]!;
    return signed ? (sizeBytes === 1 ? b.sext8(value) : b.sext16(value)) : value;
  };

/** gfx12: offsets, and how many lines of 128 bytes. */
const prefetch = (name: string, opcode: number, base: string): Row =>
  smem(`s_${name}`, { gfx12: opcode }, `${base}offset:simm21 soffset:b32 sdata:imm8`, nothing);

const scratchLoads = () =>
  SHORT_WIDTHS.map(([suffix, type], i) =>
    smem(`s_scratch_load_${suffix}`, withoutRdna2(0x05 + i), `=sdata:${type} ${ADDRESS}`),
  );

const stores = (name: string, opcode: number, address: string, semantics?: Semantics): Row[] =>
  SHORT_WIDTHS.map(([suffix, type], i) =>
    smem(`${name}_${suffix}`, withoutRdna2(opcode + i), `sdata:${type} ${address}`, semantics),
  );

/** In the order of their opcodes. */
const ATOMICS: readonly (readonly [name: string, update: AtomicUpdate])[] = [
  ['swap', INTEGER_UPDATES.swap],
  ['cmpswap', INTEGER_UPDATES.compareSwap],
  ['add', INTEGER_UPDATES.add],
  ['sub', INTEGER_UPDATES.sub],
  ['smin', INTEGER_UPDATES.minS],
  ['umin', INTEGER_UPDATES.minU],
  ['smax', INTEGER_UPDATES.maxS],
  ['umax', INTEGER_UPDATES.maxU],
  ['and', INTEGER_UPDATES.and],
  ['or', INTEGER_UPDATES.or],
  ['xor', INTEGER_UPDATES.xor],
  ['inc', INTEGER_UPDATES.inc],
  ['dec', INTEGER_UPDATES.dec],
];

/** Where an atomic leads, and whether it is made there; undefined: it is. */
type PlaceOf = (b: InstructionBuilder, sizeBytes: number) => { readonly address: Value; readonly inside?: Value };

/** Of the wave, whatever EXEC is. With glc the first values of the data become the value before. */
const atomic =
  (bits: 32 | 64, update: AtomicUpdate, placeOf: PlaceOf): Semantics =>
  (b) => {
    const dwords = b.dwords(b.index('sdata'));
    const { address, inside } = placeOf(b, bits / 8);
    const operands = bits === 64 ? pairs(b, dwords) : dwords;
    const old = b.atomic('global', address, operands, update as AtomicOfBuilder, { predicate: inside });
    const target = destination(b);
    if (target !== undefined) b.setDwords(target, bits === 64 ? [b.low(old), b.high(old)] : [old]);
  };

/**
 * The forms for 32 bits (`opcode`) and 64 bits (`opcode + 32`); a compare-and-swap has both values in its
 * data, what is stored first (CDNA2 ISA 12.6).
 */
const atomics = (name: string, opcode: number, address: string, placeOf: PlaceOf): Row[] =>
  ATOMICS.flatMap(([operation, update], i) =>
    ([32, 64] as const).map((bits) => {
      const isWide = bits === 64;
      const type = `b${operation === 'cmpswap' ? 2 * bits : bits}`;
      const opcodes = withoutRdna2(opcode + i + (isWide ? 32 : 0));
      const suffix = isWide ? '_x2' : '';
      return smem(
        `${name}_${operation}${suffix}`,
        opcodes,
        `+sdata:${type}/glc ${address}`,
        atomic(bits, update, placeOf),
      );
    }),
  );

// biome-ignore format: one row per line, as the tables of the manual
export const smemRows = (): readonly Row[] => [
  ...loads('s_load', 0x00, 0x00, ADDRESS, load),
  ...partialLoads('s_load', 0x00, ADDRESS, () => load, loadPart),
  ...scratchLoads(),
  ...loads('s_buffer_load', 0x08, 0x10, BUFFER_ADDRESS, bufferLoad),
  ...partialLoads('s_buffer_load', 0x10, BUFFER_ADDRESS, () => bufferLoad, () => undefined),
  ...stores('s_store', 0x10, ADDRESS, store),
  ...stores('s_scratch_store', 0x15, ADDRESS),
  ...stores('s_buffer_store', 0x18, BUFFER_ADDRESS, bufferStore),
  smem('s_gl1_inv', { gfx10: 0x1f, gfx11: 0x20, gfx12: -1 }, '', nothing),
  smem('s_dcache_inv', { gfx9: 0x20, gfx10: 0x20, gfx11: 0x21 }, '', nothing),
  smem('s_dcache_wb', withoutRdna2(0x21), '', nothing),
  smem('s_dcache_inv_vol', 0x22, '', nothing),
  smem('s_dcache_wb_vol', 0x23, '', nothing),
  smem('s_memtime', { gfx9: 0x24, gfx10: 0x24, gfx11: -1 }, '=sdata:b64', (b) => b.clock()),
  smem('s_memrealtime', { gfx9: 0x25, gfx10: 0x25, gfx11: -1 }, '=sdata:b64', (b) => b.clock()),
  smem('s_atc_probe', { gfx9: 0x26, gfx10: 0x26, gfx11: 0x22, gfx12: 0x22 }, `sdata:imm8 ${ADDRESS}`, nothing),
  smem('s_atc_probe_buffer', { gfx9: 0x27, gfx10: 0x27, gfx11: 0x23 }, `sdata:imm8 ${BUFFER_ADDRESS}`, nothing),
  smem('s_dcache_discard', withoutRdna2(0x28), ADDRESS, nothing),
  smem('s_dcache_discard_x2', withoutRdna2(0x29), ADDRESS, nothing),
  smem('s_get_waveid_in_workgroup', { gfx101: 0x2a }, '=sdata:b32'),
  prefetch('prefetch_inst', 0x24, 'sbase:b64 '),
  prefetch('prefetch_inst_pc_rel', 0x25, ''),
  prefetch('prefetch_data', 0x26, 'sbase:b64 '),
  prefetch('buffer_prefetch_data', 0x27, 'sbase:b128 '),
  prefetch('prefetch_data_pc_rel', 0x28, ''),
  ...atomics('s_buffer_atomic', 0x40, BUFFER_ADDRESS, (b, sizeBytes) => bufferPlaces(b)(0, sizeBytes)),
  ...atomics('s_atomic', 0x80, ADDRESS, (b) => ({ address: addressOf(b) })),
];
