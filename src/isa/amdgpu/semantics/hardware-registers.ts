/**
 * The registers behind s_getreg_b32 and s_setreg_b32. CDNA2 ISA 5.8, "Access Instructions", tables 16 to 19,
 * and 3.4 "Status registers"; SH_MEM_BASES: the Linux kernel's amdkfd, which puts the apertures where
 * `registers.ts` says. RDNA2 ISA 5.8 and RDNA3 ISA 3.4.8 for the numbers from gfx10 on.
 */
import { WavewrightError } from '../../../base/errors.ts';
import type { StateSlot, Value } from '../../../ir/types.ts';
import { ofFamily } from '../encoding/format.ts';
import type { Family } from '../encoding/formats.ts';
import { hardwareRegisterName } from '../encoding/hardware-register-names.ts';
import { PRIVATE_APERTURE_HI, SHARED_APERTURE_HI } from '../encoding/registers.ts';
import type { InstructionBuilder } from './instruction-builder.ts';

const MODE = 1;
const STATUS = 2;
const TRAPSTS = 3;
/** gfx9: the manual warns that a wave may move. */
const HW_ID = 4;
const IB_STS = 7;
const SH_MEM_BASES = 15;
/** gfx94x. */
const XCC_ID = 20;
/** Where kernels set them up; what amdkfd saves when it preempts a wave shows that code reads them, too. */
const FLAT_SCRATCH_LO = 20;
const FLAT_SCRATCH_HI = 21;
const HW_ID1 = 23;
const HW_ID2 = 24;
/** A counter of cycles: of 20 bits (RDNA3 ISA 3.4.10), or of 64 in two registers (RDNA4 ISA 3.4.11). */
const SHADER_CYCLES = 29;
const SHADER_CYCLES_HI = 30;
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

/** What registers hold, by their number. */
type Readers = Readonly<Record<number, (b: InstructionBuilder) => Value>>;

const mode = (b: InstructionBuilder): Value => b.state('mode');
/** The first of what there is; and memory instructions are complete when the next instruction starts. */
const zero = (b: InstructionBuilder): Value => b.i32(0);

const COMMON: Readers = {
  [MODE]: mode,
  [STATUS]: liveStatus,
  [TRAPSTS]: (b) => b.state('trapsts'),
  [IB_STS]: zero,
  [SH_MEM_BASES]: (b) => b.i32(SHARED_APERTURE_HI | (PRIVATE_APERTURE_HI >>> 16)),
};
const GFX9: Readers = { ...COMMON, [HW_ID]: zero };
const GFX101: Readers = { ...COMMON, [HW_ID1]: zero, [HW_ID2]: zero };
/** The registers that are modelled. gfx12 numbers anew what a trap handler looks at. */
const READERS: Readonly<Partial<Record<Family, Readers>>> = {
  gfx9: GFX9,
  gfx940: { ...GFX9, [XCC_ID]: zero },
  gfx101: GFX101,
  gfx10: { ...GFX101, [SHADER_CYCLES]: (b) => b.and(b.low(b.clock()), b.i32(SHADER_CYCLES_MASK)) },
  gfx12: {
    [MODE]: mode,
    [IB_STS]: zero,
    [HW_ID1]: zero,
    [HW_ID2]: zero,
    [SHADER_CYCLES]: (b) => b.low(b.clock()),
    [SHADER_CYCLES_HI]: (b) => b.high(b.clock()),
  },
};

const FLAT_SCRATCH_SLOTS: Readonly<Record<number, StateSlot>> = {
  [FLAT_SCRATCH_LO]: 'flatScratchLow',
  [FLAT_SCRATCH_HI]: 'flatScratchHigh',
};

const flatScratchSlot = ({ instruction: { target } }: InstructionBuilder, id: number): StateSlot | undefined =>
  target.flatScratch === 'hardwareRegisters' ? FLAT_SCRATCH_SLOTS[id] : undefined;

const readersOf = ({ instruction }: InstructionBuilder): Readers => ofFamily(READERS, instruction.families);

function hardwareRegister(b: InstructionBuilder, id: number): Value {
  const slot = flatScratchSlot(b, id);
  if (slot) return b.state(slot);
  const read = readersOf(b)[id];
  if (!read) throw unsupported(b, id, 'read of');
  return read(b);
}

/** The selected bits of the selected register. Throws UNSUPPORTED for a register that is not modelled. */
export function getRegister(b: InstructionBuilder): Value {
  const { id, offset, mask } = registerField(b);
  return b.and(b.shrU(hardwareRegister(b, id), offset), b.i32(mask));
}

/**
 * Replaces the selected bits by the low bits of `value`. Throws UNSUPPORTED for registers other than MODE,
 * TRAPSTS and, where kernels set it up, FLAT_SCRATCH, without which the emulator finds private memory.
 */
export function setRegister(b: InstructionBuilder, value: Value): void {
  const { id, offset, mask } = registerField(b);
  const isWritable = (id === MODE || id === TRAPSTS) && readersOf(b)[id] !== undefined;
  const slot = flatScratchSlot(b, id) ?? (isWritable ? (id === MODE ? 'mode' : 'trapsts') : undefined);
  if (!slot) throw unsupported(b, id, 'write to');
  const selected = mask << offset;
  if (selected === -1) {
    b.setState(slot, value);
    return;
  }
  const kept = b.and(b.state(slot), b.i32(~selected));
  b.setState(slot, b.or(kept, b.and(b.shl(value, offset), b.i32(selected))));
}
