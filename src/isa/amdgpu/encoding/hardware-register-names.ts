/**
 * The registers behind s_getreg and s_setreg by number, in LLVM's words. CDNA2 ISA 5.8, RDNA3 ISA 3.4, RDNA4
 * ISA 3.4.
 */
import { type Family, ofFamily } from './format.ts';

const COMMON_REGISTERS: Readonly<Record<number, string>> = {
  1: 'HW_REG_MODE',
  2: 'HW_REG_STATUS',
  3: 'HW_REG_TRAPSTS',
  5: 'HW_REG_GPR_ALLOC',
  6: 'HW_REG_LDS_ALLOC',
  7: 'HW_REG_IB_STS',
  15: 'HW_REG_SH_MEM_BASES',
};
const TRAP_REGISTERS = { 16: 'HW_REG_TBA_LO', 17: 'HW_REG_TBA_HI', 18: 'HW_REG_TMA_LO', 19: 'HW_REG_TMA_HI' };
const REGISTERS_GFX9 = { ...COMMON_REGISTERS, ...TRAP_REGISTERS, 4: 'HW_REG_HW_ID' };
const HARDWARE_IDS = {
  20: 'HW_REG_FLAT_SCR_LO',
  21: 'HW_REG_FLAT_SCR_HI',
  23: 'HW_REG_HW_ID1',
  24: 'HW_REG_HW_ID2',
};
const RDNA_REGISTERS = { ...HARDWARE_IDS, 29: 'HW_REG_SHADER_CYCLES' };

const REGISTERS_GFX101 = { ...COMMON_REGISTERS, ...TRAP_REGISTERS, ...HARDWARE_IDS, 25: 'HW_REG_POPS_PACKER' };

export const HARDWARE_REGISTERS: Readonly<Partial<Record<Family, Readonly<Record<number, string>>>>> = {
  gfx9: REGISTERS_GFX9,
  gfx940: {
    ...REGISTERS_GFX9,
    20: 'HW_REG_XCC_ID',
    21: 'HW_REG_SQ_PERF_SNAPSHOT_DATA',
    22: 'HW_REG_SQ_PERF_SNAPSHOT_DATA1',
    23: 'HW_REG_SQ_PERF_SNAPSHOT_PC_LO',
    24: 'HW_REG_SQ_PERF_SNAPSHOT_PC_HI',
  },
  gfx101: { ...REGISTERS_GFX101, 22: 'HW_REG_XNACK_MASK' },
  gfx10: { ...REGISTERS_GFX101, ...RDNA_REGISTERS },
  gfx11: {
    ...COMMON_REGISTERS,
    ...RDNA_REGISTERS,
    18: 'HW_REG_PERF_SNAPSHOT_PC_LO',
    19: 'HW_REG_PERF_SNAPSHOT_PC_HI',
    27: 'HW_REG_PERF_SNAPSHOT_DATA',
  },
  gfx12: {
    1: 'HW_REG_MODE',
    2: 'HW_REG_STATUS',
    4: 'HW_REG_STATE_PRIV',
    5: 'HW_REG_GPR_ALLOC',
    6: 'HW_REG_LDS_ALLOC',
    7: 'HW_REG_IB_STS',
    10: 'HW_REG_PERF_SNAPSHOT_DATA',
    11: 'HW_REG_PERF_SNAPSHOT_PC_LO',
    12: 'HW_REG_PERF_SNAPSHOT_PC_HI',
    15: 'HW_REG_PERF_SNAPSHOT_DATA1',
    16: 'HW_REG_PERF_SNAPSHOT_DATA2',
    17: 'HW_REG_EXCP_FLAG_PRIV',
    18: 'HW_REG_EXCP_FLAG_USER',
    19: 'HW_REG_TRAP_CTRL',
    20: 'HW_REG_SCRATCH_BASE_LO',
    21: 'HW_REG_SCRATCH_BASE_HI',
    23: 'HW_REG_HW_ID1',
    24: 'HW_REG_HW_ID2',
    29: 'HW_REG_SHADER_CYCLES_LO',
    30: 'HW_REG_SHADER_CYCLES_HI',
    31: 'HW_REG_DVGPR_ALLOC_LO',
    32: 'HW_REG_DVGPR_ALLOC_HI',
  },
};

export const hardwareRegisterName = (id: number, families: readonly Family[]): string =>
  ofFamily(HARDWARE_REGISTERS, families)[id] ?? String(id);
