/**
 * The registers behind s_getreg_b32 and s_setreg_b32. CDNA2 ISA 5.8, "Access Instructions", tables 16 to 19,
 * and 3.4 "Status registers"; SH_MEM_BASES: the Linux kernel's amdkfd, which puts the apertures where
 * `registers.ts` says. RDNA2 ISA 5.8 and RDNA3 ISA 3.4.8 for the numbers from gfx10 on.
 */
import { WavewrightError } from '../../../base/errors.ts';
import type { Value } from '../../../ir/types.ts';
import type { Family } from '../encoding/formats.ts';
import { hardwareRegisterName } from '../encoding/hardware-register-names.ts';
import { PRIVATE_APERTURE_HI, SHARED_APERTURE_HI } from '../encoding/registers.ts';
import type { InstructionBuilder } from './instruction-builder.ts';

const MODE = 1;
const STATUS = 2;
const TRAPSTS = 3;
const SH_MEM_BASES = 15;

/** Registers whose value is the same for every wave here. */
const CONSTANT_REGISTERS: Readonly<Partial<Record<Family, Readonly<Record<number, number>>>>> = {
  gfx9: {
    4: 0, // HW_ID: wave slot 0 of compute unit 0; the manual warns that a wave may move.
    7: 0, // IB_STS: memory instructions are complete when the next instruction starts.
  },
  gfx940: { 20: 0 }, // XCC_ID: accelerator complex die 0.
  gfx10: { 7: 0, 23: 0, 24: 0 }, // IB_STS, HW_ID1, HW_ID2
};
/** Of gfx10.3 and later: a counter of 20 bits (RDNA3 ISA 3.4.10). */
const SHADER_CYCLES = 29;
/** From gfx10 on; gfx11 sets them up before the kernel starts. */
const FLAT_SCRATCH_LO = 20;
const FLAT_SCRATCH_HI = 21;
const SHADER_CYCLES_MASK = 0xfffff;

const STATUS_SCC = 0;
const STATUS_EXECZ = 9;
const STATUS_VCCZ = 10;
const LIVE_STATUS = (1 << STATUS_SCC) | (1 << STATUS_EXECZ) | (1 << STATUS_VCCZ);

interface RegisterField {
  readonly id: number;
  /** Lowest bit. */
  readonly offset: number;
  /** All ones in as many low bits as the field has (1 to 32). */
  readonly mask: number;
}

/** simm16 is no operand: which register it names is part of what the instruction is. */
function registerField(b: InstructionBuilder): RegisterField {
  const simm16 = b.field('simm16');
  return { id: simm16 & 63, offset: (simm16 >> 6) & 31, mask: (2 ** ((simm16 >> 11) + 1) - 1) | 0 };
}

function unsupported(b: InstructionBuilder, id: number, verb: string): WavewrightError {
  const { name, families } = b.instruction;
  return new WavewrightError(
    'UNSUPPORTED',
    `unsupported instruction '${name}': ${verb} hardware register ${hardwareRegisterName(id, families)}`,
  );
}

/** SCC, EXECZ and VCCZ follow the registers that they summarize. */
function liveStatus(b: InstructionBuilder): Value {
  const bit = (condition: Value, position: number): Value => b.shl(b.boolToI32(condition), position);
  const execz = bit(b.isZero(b.exec), STATUS_EXECZ);
  const vccz = bit(b.isZero(b.vcc), STATUS_VCCZ);
  const rest = b.and(b.state('status'), b.i32(~LIVE_STATUS));
  return b.or(b.or(rest, bit(b.scc, STATUS_SCC)), b.or(execz, vccz));
}

/** gfx12 numbers what a trap handler looks at anew; its counter of cycles has 64 bits (RDNA4 ISA 3.4.11). */
function registerGfx12(b: InstructionBuilder, id: number): Value {
  if (id === SHADER_CYCLES) return b.low(b.clock());
  if (id === SHADER_CYCLES + 1) return b.high(b.clock());
  const constant = CONSTANT_REGISTERS.gfx10?.[id];
  if (constant === undefined) throw unsupported(b, id, 'read of');
  return b.i32(constant);
}

function hardwareRegister(b: InstructionBuilder, id: number): Value {
  const { families } = b.instruction;
  if (families.includes('gfx12') && id !== MODE) return registerGfx12(b, id);
  switch (id) {
    case MODE:
      return b.state('mode');
    case STATUS:
      return liveStatus(b);
    case TRAPSTS:
      return b.state('trapsts');
    case SH_MEM_BASES:
      return b.i32(SHARED_APERTURE_HI | (PRIVATE_APERTURE_HI >>> 16));
  }
  if (id === SHADER_CYCLES && families.includes('gfx10') && !families.includes('gfx101'))
    return b.and(b.low(b.clock()), b.i32(SHADER_CYCLES_MASK));
  const constant = families.map((family) => CONSTANT_REGISTERS[family]?.[id]).find((value) => value !== undefined);
  if (constant === undefined) throw unsupported(b, id, 'read of');
  return b.i32(constant);
}

const isSetUpByKernel = ({ instruction: { target } }: InstructionBuilder): boolean =>
  !target.flatScratchSgprs && !target.architectedFlatScratch;

/** The selected bits of the selected register. Throws UNSUPPORTED for a register that is not modelled. */
export function getRegister(b: InstructionBuilder): Value {
  const { id, offset, mask } = registerField(b);
  return b.and(b.shrU(hardwareRegister(b, id), offset), b.i32(mask));
}

/**
 * Replaces the selected bits by the low bits of `value`. Throws UNSUPPORTED for registers other than MODE,
 * TRAPSTS and, where kernels set it up, FLAT_SCRATCH, which private memory is found without.
 */
export function setRegister(b: InstructionBuilder, value: Value): void {
  const { id, offset, mask } = registerField(b);
  if ((id === FLAT_SCRATCH_LO || id === FLAT_SCRATCH_HI) && isSetUpByKernel(b)) return;
  const isKnown = id === MODE || (id === TRAPSTS && !b.instruction.families.includes('gfx12'));
  if (!isKnown) throw unsupported(b, id, 'write to');
  const slot = id === MODE ? 'mode' : 'trapsts';
  const selected = mask << offset;
  const kept = b.and(b.state(slot), b.i32(~selected));
  b.setState(slot, b.or(kept, b.and(b.shl(value, offset), b.i32(selected))));
}
