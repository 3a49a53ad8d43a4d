/** FLAT, GLOBAL and SCRATCH: CDNA2 ISA chapter 10 "Flat Memory Instructions" and 12.16. */
import type { Value } from '../../../ir/types.ts';
import type { InstructionBuilder } from '../instruction-builder.ts';
import { type Row, row } from '../row.ts';
import { atomicRows, floatAtomicRows, linearPort, loadAndStoreRows, refuse, type VectorMemory } from './memory.ts';

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
    refuse(b, 'lds');
    return linearPort(b, 'flat', b.add(address(b, 'addr')!, b.zext64(offset(b))));
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
    refuse(b, 'lds');
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
    refuse(b, 'lds');
    const registers = ['addr', 'saddr'].flatMap((field) => address(b, field) ?? []);
    return linearPort(
      b,
      'private',
      registers.reduce((sum, register) => b.add(sum, register), offset(b)),
    );
  },
};

/** CDNA3: loads that go to the LDS, known by name. */
const ldsLoadRows = ({ format, prefix }: VectorMemory): Row[] =>
  ['ubyte', 'sbyte', 'ushort', 'sshort', 'dword'].map((name, i) =>
    row(format, `${prefix}_load_lds_${name}`, { gfx940: 38 + i }, 'addr:address saddr:address offset:simm13'),
  );

export const FLAT_ROWS: readonly Row[] = [
  ...loadAndStoreRows(FLAT),
  ...atomicRows(FLAT),
  ...floatAtomicRows(FLAT, 'gfx940'),
  ...loadAndStoreRows(GLOBAL),
  ...atomicRows(GLOBAL),
  ...floatAtomicRows(GLOBAL, 'gfx90a'),
  ...ldsLoadRows(GLOBAL),
  ...loadAndStoreRows(SCRATCH),
  ...ldsLoadRows(SCRATCH),
];
