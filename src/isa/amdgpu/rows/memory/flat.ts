/**
 * FLAT, GLOBAL and SCRATCH: CDNA2 ISA chapter 10 "Flat Memory Instructions" and 12.16; RDNA3 ISA chapter 11.
 */
import type { Value } from '../../../../ir/types.ts';
import type { Row, RowFlags } from '../../encoding/row.ts';
import { CACHE_FLOAT_UPDATES, INTEGER_UPDATES } from '../../semantics/atomics.ts';
import type { InstructionBuilder } from '../../semantics/instruction-builder.ts';
import { type LoadKind, linearPort, load, type PortOf, store } from '../../semantics/memory.ts';
import { type Opcodes, row } from '../table/row.ts';
import {
  atomicRow,
  atomicRows,
  clampedSubtraction,
  conditionalSubtraction,
  loadAndStoreRows,
  type VectorMemory,
} from './vector-memory.ts';

/** Registers of an address operand as one value; undefined when the addressing mode has none. */
function address(b: InstructionBuilder, field: string): Value | undefined {
  const [low, high] = b.dwords(b.index(field));
  return low && high ? b.pack(low, high) : low;
}

const offset = (b: InstructionBuilder): Value => b.dword(b.index('offset'), 0);

const FLAT: VectorMemory = {
  format: 'FLAT',
  prefix: 'flat',
  source: 'data',
  portOf: (b) => {
    return linearPort(b, 'flat', b.add(address(b, 'addr')!, b.sext64(offset(b))));
  },
  loadOperands: (access, type) => `${access}vdst:${type} addr:address offset:imm12`,
  storeOperands: (type) => `addr:address data:${type} offset:imm12`,
  atomicOperands: (type, oldType) => `=vdst:${oldType}/glc addr:address data:${type} offset:imm12`,
};

/** 10.4: vaddr (64 bits) + offset, or saddr + vaddr (32 bits, unsigned) + offset. */
const GLOBAL: VectorMemory = {
  format: 'GLOBAL',
  prefix: 'global',
  source: 'data',
  portOf: (b) => {
    const immediate = b.sext64(offset(b));
    const vector = address(b, 'addr')!;
    const scalar = address(b, 'saddr');
    return linearPort(
      b,
      'global',
      scalar ? b.add(b.add(scalar, immediate), b.zext64(vector)) : b.add(vector, immediate),
    );
  },
  loadOperands: (access, type) => `${access}vdst:${type} addr:address saddr:address offset:simm13`,
  storeOperands: (type) => `addr:address data:${type} saddr:address offset:simm13`,
  atomicOperands: (type, oldType) => `=vdst:${oldType}/glc addr:address data:${type} saddr:address offset:simm13`,
};

/** 10.5: an offset in the lane's private segment, from a VGPR or an SGPR; on CDNA3 both or neither too. */
const SCRATCH: VectorMemory = {
  ...GLOBAL,
  format: 'SCRATCH',
  prefix: 'scratch',
  portOf: (b) => {
    const registers = ['addr', 'saddr'].flatMap((field) => address(b, field) ?? []);
    return linearPort(
      b,
      'private',
      registers.reduce((sum, register) => b.add(sum, register), offset(b)),
    );
  },
};

/** CDNA3: loads that go to the LDS, known by name. */
const LDS_LOADS: readonly (readonly [name: string, kind: LoadKind])[] = [
  ['ubyte', { sizeBytes: 1 }],
  ['sbyte', { sizeBytes: 1, signed: true }],
  ['ushort', { sizeBytes: 2 }],
  ['sshort', { sizeBytes: 2, signed: true }],
  ['dword', { sizeBytes: 4 }],
];

const ldsLoadRows = ({ format, prefix, portOf }: VectorMemory): Row[] =>
  LDS_LOADS.map(([name, kind], i) =>
    row(
      format,
      `${prefix}_load_lds_${name}`,
      { gfx940: 38 + i },
      'addr:address saddr:address offset:simm13',
      load(portOf, kind),
    ),
  );

/** From gfx10 on: a dword for each lane behind the address in saddr. */
const byLane: PortOf = (b) => {
  const start = b.add(address(b, 'saddr') ?? b.i64(0n), b.sext64(offset(b)));
  return linearPort(b, 'global', b.add(start, b.zext64(b.shl(b.laneId(), 2))));
};

/** Floating-point atomics of 32 bits, which FLAT got later than GLOBAL. */
const floatAtomicRows = (memory: VectorMemory, since: 'gfx908' | 'gfx940'): Row[] => [
  atomicRow(memory, 'add_f32', { [since]: 0x4d, gfx11: 0x56 }, 32, CACHE_FLOAT_UPDATES.addF32),
  atomicRow(memory, 'pk_add_f16', { [since]: 0x4e, gfx12: 0x59 }, 32, CACHE_FLOAT_UPDATES.packedAddF16),
  atomicRow(memory, 'pk_add_bf16', { gfx940: 0x52, gfx12: 0x5a }, 32, CACHE_FLOAT_UPDATES.packedAddBf16),
];

const addressByLane = (verb: string, gfx10: number, gfx11: number): Opcodes => ({
  gfx10,
  gfx101: -1,
  gfx11: [`global_${verb}_addtid_b32`, gfx11],
});

/** A bit of M0 for each of the registers says whether it takes part (RDNA4 ISA 11.5). */
const BLOCK: RowFlags = { touches: { readsState: ['m0'], isPartial: true } };
/** Lanes get what others load. */
const TRANSPOSED: RowFlags = { touches: { isCrossLane: true } };

// biome-ignore format: one row per line, as the tables of the manual
export const flatRows = (): readonly Row[] => [
  ...loadAndStoreRows(FLAT),
  ...atomicRows(FLAT),
  ...floatAtomicRows(FLAT, 'gfx940'),
  atomicRow(FLAT, 'sub_clamp_u32', { gfx12: 0x37 }, 32, INTEGER_UPDATES.clampedSub),
  conditionalSubtraction(FLAT),
  ...loadAndStoreRows(GLOBAL),
  ...atomicRows(GLOBAL),
  ...floatAtomicRows(GLOBAL, 'gfx908'),
  clampedSubtraction(GLOBAL),
  conditionalSubtraction(GLOBAL),
  // Memory is coherent: there is nothing to write back or to invalidate.
  ...(['inv', 'wb', 'wbinv'] as const).map((name, i) => row('GLOBAL', `global_${name}`, { gfx12: [43, 44, 79][i]! }, '', () => {}, name === 'inv' ? {} : { counter: 'store' })),
  // Known by name.
  row('GLOBAL', 'global_load_block', { gfx12: 0x53 }, GLOBAL.loadOperands('=', 'b1024'), undefined, BLOCK),
  row('GLOBAL', 'global_store_block', { gfx12: 0x54 }, GLOBAL.storeOperands('b1024'), undefined, BLOCK),
  row('GLOBAL', 'global_load_tr_b128', { gfx12: 0x57 }, GLOBAL.loadOperands('=', 'wave128'), undefined, TRANSPOSED),
  row('GLOBAL', 'global_load_tr_b64', { gfx12: 0x58 }, GLOBAL.loadOperands('=', 'wave64'), undefined, TRANSPOSED),
  row('GLOBAL', 'global_atomic_ordered_add_b64', { gfx12: 0x73 }, GLOBAL.atomicOperands('b64', 'b64')),
  ...ldsLoadRows(GLOBAL),
  row('GLOBAL', 'global_load_dword_addtid', addressByLane('load', 0x16, 0x28), '=vdst:b32 saddr:address offset:simm13', load(byLane, { sizeBytes: 4 })),
  row('GLOBAL', 'global_store_dword_addtid', addressByLane('store', 0x17, 0x29), 'data:b32 saddr:address offset:simm13', store(byLane, 'data', 4)),
  ...loadAndStoreRows(SCRATCH),
  ...ldsLoadRows(SCRATCH),
  row('SCRATCH', 'scratch_load_block', { gfx12: 0x53 }, SCRATCH.loadOperands('=', 'b1024'), undefined, BLOCK),
  row('SCRATCH', 'scratch_store_block', { gfx12: 0x54 }, SCRATCH.storeOperands('b1024'), undefined, BLOCK),
];
