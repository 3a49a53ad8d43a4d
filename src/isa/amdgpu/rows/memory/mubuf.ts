/**
 * MUBUF: untyped buffer accesses through a resource descriptor (V#). CDNA2 ISA 9.1 and 12.13, RDNA2 ISA 8.1,
 * RDNA3 ISA chapter 9.
 */

import type { Row, RowFlags } from '../../encoding/row.ts';
import { CACHE_FLOAT_UPDATES } from '../../semantics/atomics.ts';
import { bufferPort } from '../../semantics/buffer/buffer-address.ts';
import { CONVERTS, loadFormatted, storeFormatted } from '../../semantics/buffer/buffer-conversion.ts';
import type { Semantics } from '../../semantics/instruction-builder.ts';
import { type LoadKind, load, transferAddress } from '../../semantics/memory.ts';
import { type Opcodes, row } from '../table/row.ts';
import {
  atomicRow,
  atomicRows,
  clampedSubtraction,
  conditionalSubtraction,
  loadAndStoreRows,
  type VectorMemory,
} from './vector-memory.ts';

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

const formatRows = () =>
  FORMAT_COMPONENTS.flatMap(([name, dwords, d16Dwords], i) => {
    const type = `b${dwords * 32}`;
    const d16Type = `b${d16Dwords * 32}`;
    const common = (opcode: number): Opcodes => ({ gfx9: opcode, gfx10: opcode });
    const d16 = (verb: string, gfx9: number, gfx10: number): Opcodes => ({
      gfx9,
      gfx10,
      gfx11: [`buffer_${verb}_d16_format_${name}`, gfx9],
    });
    return [
      row(
        'MUBUF',
        `buffer_load_format_${name}`,
        common(i),
        MUBUF.loadOperands('=', name === 'x' ? `${type}/vgpr` : type),
        loadFormatted({ channels: i + 1, format: 'resource' }),
        CONVERTS,
      ),
      row(
        'MUBUF',
        `buffer_store_format_${name}`,
        common(0x04 + i),
        MUBUF.storeOperands(type),
        storeFormatted({ channels: i + 1, format: 'resource' }),
        CONVERTS,
      ),
      row(
        'MUBUF',
        `buffer_load_format_d16_${name}`,
        d16('load', 0x08 + i, 0x80 + i),
        MUBUF.loadOperands(name === 'x' ? '+' : '=', d16Type),
        loadFormatted({ channels: i + 1, d16: 'packed', format: 'resource' }),
        CONVERTS,
      ),
      row(
        'MUBUF',
        `buffer_store_format_d16_${name}`,
        d16('store', 0x0c + i, 0x84 + i),
        MUBUF.storeOperands(d16Type),
        storeFormatted({ channels: i + 1, d16: 'packed', format: 'resource' }),
        CONVERTS,
      ),
    ];
  });

/** gfx11: loads that go to the LDS, known by name. */
const LDS_LOADS: readonly (readonly [name: string, opcode: number, kind?: LoadKind])[] = [
  ['u8', 45, { sizeBytes: 1 }],
  ['i8', 46, { sizeBytes: 1, signed: true }],
  ['u16', 47, { sizeBytes: 2 }],
  ['i16', 48, { sizeBytes: 2, signed: true }],
  ['b32', 49, { sizeBytes: 4 }],
  ['format_x', 50],
];

/** What the form with a conversion, which has no meaning, does too. */
const TO_LDS: RowFlags = {
  touches: {
    readsState: ['m0'],
    memory: [
      { space: 'global', access: 'load' },
      { space: 'lds', access: 'store' },
    ],
  },
};

const ldsLoadRows = () =>
  LDS_LOADS.map(([name, opcode, kind]) =>
    row(
      'MUBUF',
      `buffer_load_lds_${name}`,
      { gfx11: opcode, gfx12: -1 },
      ADDRESS,
      kind && load(bufferPort, kind),
      TO_LDS,
    ),
  );

const storeFromLds: Semantics = (b) => {
  bufferPort(b).store(4, b.load('lds', 4, transferAddress(b)));
};

const noEffect = (): void => {};
const INVALIDATES: RowFlags = { counter: 'none' };

// biome-ignore format: one row per line, as the tables of the manual
export const mubufRows = (): readonly Row[] => [
  ...formatRows(),
  ...loadAndStoreRows(MUBUF),
  row('MUBUF', 'buffer_load_format_d16_hi_x', { gfx9: 0x26, gfx10: 0x26, gfx11: ['buffer_load_d16_hi_format_x', 0x26] }, MUBUF.loadOperands('+', 'b32'), loadFormatted({ channels: 1, d16: 'high', format: 'resource' }), CONVERTS),
  row('MUBUF', 'buffer_store_format_d16_hi_x', { gfx9: 0x27, gfx10: 0x27, gfx11: ['buffer_store_d16_hi_format_x', 0x27] }, MUBUF.storeOperands('b32'), storeFormatted({ channels: 1, d16: 'high', format: 'resource' }), CONVERTS),
  // Memory is coherent: there is nothing to write back or to invalidate.
  row('MUBUF', 'buffer_wbl2', { gfx90a: 0x28 }, '', noEffect, { scoped: true }),
  row('MUBUF', 'buffer_invl2', { gfx90a: 0x29, gfx940: -1 }, '', noEffect, INVALIDATES),
  row('MUBUF', 'buffer_inv', { gfx940: 0x29 }, '', noEffect, { ...INVALIDATES, scoped: true }),
  row('MUBUF', 'buffer_store_lds_dword', 0x3d, 'srsrc:b128 soffset:b32 offset:imm12', storeFromLds, { storesLds: true }),
  row('MUBUF', 'buffer_wbinvl1', 0x3e, '', noEffect, INVALIDATES),
  row('MUBUF', 'buffer_wbinvl1_vol', 0x3f, '', noEffect, INVALIDATES),
  row('MUBUF', 'buffer_gl0_inv', { gfx10: 0x71, gfx11: 0x2b, gfx12: -1 }, '', noEffect, INVALIDATES),
  row('MUBUF', 'buffer_gl1_inv', { gfx10: 0x72, gfx11: 0x2c, gfx12: -1 }, '', noEffect, INVALIDATES),
  ...ldsLoadRows(),
  ...atomicRows(MUBUF),
  atomicRow(MUBUF, 'add_f32', { gfx908: 0x4d, gfx11: 0x56 }, 32, CACHE_FLOAT_UPDATES.addF32),
  atomicRow(MUBUF, 'pk_add_f16', { gfx908: 0x4e, gfx12: 0x59 }, 32, CACHE_FLOAT_UPDATES.packedAddF16),
  atomicRow(MUBUF, 'pk_add_bf16', { gfx12: 0x5a }, 32, CACHE_FLOAT_UPDATES.packedAddBf16),
  clampedSubtraction(MUBUF),
  conditionalSubtraction(MUBUF),
];
