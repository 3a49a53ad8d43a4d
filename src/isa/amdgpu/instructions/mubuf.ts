/** MUBUF: untyped buffer accesses through a resource descriptor (V#). CDNA2 ISA 9.1 and 12.13. */
import type { Value } from '../../../ir/types.ts';
import type { InstructionBuilder } from '../instruction-builder.ts';
import { type Row, row } from '../row.ts';
import {
  type AtomicOfBuilder,
  atomicRows,
  floatAtomicRows,
  loadAndStoreRows,
  type MemoryPort,
  refuse,
  type VectorMemory,
} from './memory.ts';

/** Bits of the descriptor's dwords, 9.1.8. Dword 0 is the low part of the base address, dword 2 is num_records. */
const BASE_HIGH_BITS = 16;
const STRIDE_BITS = 14;
const SWIZZLE_ENABLE_BIT = 31;
const DATA_FORMAT_BIT = 15;
const INDEX_STRIDE_BIT = 21;
const ADD_TID_ENABLE_BIT = 23;
/** log2 of the contiguous bytes of a swizzled record; gfx9 has no field for it in the descriptor. */
const ELEMENT_SHIFT = 2;

interface Descriptor {
  readonly base: Value;
  /** Bytes; 18 bits with add_tid_enable. */
  readonly stride: Value;
  readonly recordCount: Value;
  /** log2 of the indices in a swizzled group; 0 for a linear buffer. */
  readonly groupShift: Value;
  /** All ones with swizzle_enable, else 0. */
  readonly swizzled: Value;
  readonly addsLaneId: Value;
}

function descriptor(b: InstructionBuilder): Descriptor {
  const [word0, word1, word2, word3] = b.dwords(b.index('srsrc')) as [Value, Value, Value, Value];
  const swizzled = b.shrS(word1, SWIZZLE_ENABLE_BIT);
  const addsLaneId = b.ne(b.bits(word3, ADD_TID_ENABLE_BIT, 1), b.i32(0));
  const stride = b.bits(word1, BASE_HIGH_BITS, STRIDE_BITS);
  const strideHigh = b.shl(b.bits(word3, DATA_FORMAT_BIT, 4), STRIDE_BITS);
  return {
    base: b.pack(word0, b.bits(word1, 0, BASE_HIGH_BITS)),
    stride: b.select(addsLaneId, b.or(stride, strideHigh), stride),
    recordCount: word2,
    groupShift: b.and(b.add(b.bits(word3, INDEX_STRIDE_BIT, 2), b.i32(3)), swizzled),
    swizzled,
    addsLaneId,
  };
}

/** Index and offset registers, 9.1.3: the index comes first when there are both. */
function components(b: InstructionBuilder): { index: Value | undefined; offset: Value | undefined } {
  const registers = b.dwords(b.index('vaddr'));
  const index = b.field('idxen') ? registers.shift() : undefined;
  return { index, offset: registers[0] };
}

/**
 * 9.1.5. A linear buffer is the swizzled one with groups of one index and elements as long as the record:
 *   address = base + soffset + ((index / group * stride + element) * group) + index % group * 4 + offset % 4.
 */
function bufferPort(b: InstructionBuilder): MemoryPort {
  refuse(b, 'lds');
  const v = descriptor(b);
  const vector = components(b);
  const immediate = b.dword(b.index('offset'), 0);
  const offset = vector.offset ? b.add(vector.offset, immediate) : immediate;
  const laneId = b.and(b.laneId(), b.select(v.addsLaneId, b.i32(-1), b.i32(0)));
  const index = vector.index ? b.add(vector.index, laneId) : laneId;

  const groupMask = b.sub(b.shl(b.i32(1), v.groupShift), b.i32(1));
  const offsetMask = b.and(v.swizzled, b.i32(2 ** ELEMENT_SHIFT - 1));
  const group = b.shrU(index, v.groupShift);
  // A lane number times the stride fits in 32 bits; an index from a register may not.
  const record = vector.index ? b.mul(b.zext64(group), b.zext64(v.stride)) : b.zext64(b.mul(group, v.stride));
  const elements = b.add(record, b.zext64(b.and(offset, b.not(offsetMask))));
  const within = b.add(b.shl(b.and(index, groupMask), ELEMENT_SHIFT), b.and(offset, offsetMask));
  const start = b.add(v.base, b.zext64(b.dword(b.index('soffset'), 0)));
  const address = b.add(b.add(start, b.shl(elements, v.groupShift)), b.zext64(within));

  /** Dword `i` of the access; further elements of a swizzled record are a group apart. */
  const addressOf = (i: number): Value =>
    i === 0 ? address : b.add(address, b.zext64(b.shl(b.i32(i * 4), v.groupShift)));
  const raw = (i: number): Value => b.ltU(i === 0 ? offset : b.add(offset, b.i32(i * 4)), v.recordCount);
  /** Range check, for each dword: the index of a structured buffer, the offset of a raw one, nothing of a private one. */
  const inRange = (i: number): Value => {
    if (!vector.index) return b.op('i1.or', v.addsLaneId, raw(i));
    return b.select(b.isZero(v.stride), raw(i), b.ltU(vector.index, v.recordCount));
  };

  return {
    load(sizeBytes) {
      const dwords = Array.from({ length: Math.max(sizeBytes / 4, 1) }, (_, i) => i);
      return dwords.map((i) => b.load('global', Math.min(sizeBytes, 4), addressOf(i), inRange(i))[0]!);
    },
    store(sizeBytes, data) {
      for (const [i, value] of data.entries()) {
        b.store('global', Math.min(sizeBytes, 4), addressOf(i), [value], inRange(i));
      }
    },
    atomic: (operands, update) => b.atomic('global', address, operands, update as AtomicOfBuilder, inRange(0)),
  };
}

const ADDRESS = 'vaddr:address srsrc:b128 soffset:b32 offset:imm12';

const MUBUF: VectorMemory = {
  format: 'MUBUF',
  prefix: 'buffer',
  source: 'vdata',
  portOf: bufferPort,
  loadOperands: (access, type) => `${access}vdata:${type} ${ADDRESS}`,
  storeOperands: (type) => `vdata:${type} ${ADDRESS}`,
  atomicOperands: (type) => `+vdata:${type}/glc ${ADDRESS}`,
};

/** Accesses with format conversion: components, and registers in 32-bit and in d16 form. */
const FORMAT_COMPONENTS: readonly (readonly [name: string, dwords: number, d16Dwords: number])[] = [
  ['x', 1, 1],
  ['xy', 2, 1],
  ['xyz', 3, 2],
  ['xyzw', 4, 2],
];

const formatRows = FORMAT_COMPONENTS.flatMap(([name, dwords, d16Dwords], i) => {
  const type = `b${dwords * 32}`;
  const d16Type = `b${d16Dwords * 32}`;
  return [
    row('MUBUF', `buffer_load_format_${name}`, i, MUBUF.loadOperands('=', name === 'x' ? `${type}/vgpr` : type)),
    row('MUBUF', `buffer_store_format_${name}`, 4 + i, MUBUF.storeOperands(type)),
    row('MUBUF', `buffer_load_format_d16_${name}`, 8 + i, MUBUF.loadOperands(name === 'x' ? '+' : '=', d16Type)),
    row('MUBUF', `buffer_store_format_d16_${name}`, 12 + i, MUBUF.storeOperands(d16Type)),
  ];
});

const noEffect = (): void => {};

export const MUBUF_ROWS: readonly Row[] = [
  ...formatRows,
  ...loadAndStoreRows(MUBUF),
  row('MUBUF', 'buffer_load_format_d16_hi_x', 38, MUBUF.loadOperands('+', 'b32')),
  row('MUBUF', 'buffer_store_format_d16_hi_x', 39, MUBUF.storeOperands('b32')),
  // Memory is coherent: there is nothing to write back or to invalidate.
  row('MUBUF', 'buffer_wbl2', { gfx90a: 40 }, '', noEffect),
  row('MUBUF', 'buffer_invl2', { gfx90a: 41, gfx940: -1 }, '', noEffect),
  row('MUBUF', 'buffer_inv', { gfx940: 41 }, '', noEffect),
  row('MUBUF', 'buffer_store_lds_dword', 61, 'srsrc:b128 soffset:b32 offset:imm12'),
  row('MUBUF', 'buffer_wbinvl1', 62, '', noEffect),
  row('MUBUF', 'buffer_wbinvl1_vol', 63, '', noEffect),
  ...atomicRows(MUBUF),
  ...floatAtomicRows(MUBUF, 'gfx90a'),
];
