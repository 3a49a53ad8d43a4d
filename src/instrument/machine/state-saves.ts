/** State of the application that a payload overwrites: it is kept in registers while the payload runs. */
import { WavewrightError } from '../../base/errors.ts';
import { instructionClass } from '../../isa/amdgpu/encoding/instruction-class.ts';
import { SGPR_EXEC_LO, SGPR_M0, SGPR_VCC_LO } from '../../isa/amdgpu/encoding/registers.ts';
import type { MachineItem, Payload, PhysicalRange, VirtualRegister } from './machine-code.ts';
import { PayloadBuilder, partsOf } from './payload-builder.ts';
import { payloadEffects } from './payload-effects.ts';
import { type VectorHome, withMasksKept, withVectorsKept } from './vector-homes.ts';

/** What a payload would spoil, were it not saved. */
export interface Saves {
  readonly scc: boolean;
  readonly vcc: boolean;
  readonly m0: boolean;
  /** The mode in which M0 completes the numbers of VGPRs is left while the payload runs (CDNA2 ISA 6.6). */
  readonly gprIndexing: boolean;
}

/** Which registers of a payload may be live ones, that are put back as they were. */
export interface Borrowing {
  /** Vector registers of which no lane but 0 is written: scalar registers keep what they have. */
  readonly borrowsFirstLanes: boolean;
  /** Scalar registers: lanes of one more vector register keep what they have. */
  readonly borrowsScalars: boolean;
  /** All vector registers, that one among them: what they have is kept there. */
  readonly home?: VectorHome | undefined;
  /** Scalar registers that serve to keep others, too: active lanes of vector ones keep what they have. */
  readonly borrowsMasks?: boolean;
  /** Those of them that are none, by `id`: dead ones serve. */
  readonly spared?: readonly number[];
}

/** Registers of the application. */
export interface KeptRegisters {
  /** Over REGISTER_PLACES. */
  readonly set: bigint;
  readonly ranges: readonly PhysicalRange[];
}

export interface FormOptions {
  readonly saves: Saves;
  readonly borrowing: Borrowing;
  /** What a payload with an envelope keeps. */
  readonly kept?: KeptRegisters | undefined;
}

/** Whether a register of a payload may be a live one of the application. */
export function mayBorrow(
  { id, file, isOfFirstLane, isNeverBorrowed, pointRegister }: VirtualRegister,
  { borrowsFirstLanes, borrowsScalars, borrowsMasks = false, home, spared }: Borrowing,
): boolean {
  if (pointRegister !== undefined || spared?.includes(id)) return false;
  if (file === 'scalar') return isNeverBorrowed ? borrowsMasks : borrowsScalars;
  return file === 'vector' && (home !== undefined || (borrowsFirstLanes && isOfFirstLane === true));
}

/** The lowest bit of MODE.gpr_idx_en (CDNA2 ISA 3.1, "MODE"). */
const GPR_INDEX_MODE = 'hwreg(HW_REG_MODE, 27, 1)';

const isWithin = (inner: PhysicalRange, outer: PhysicalRange): boolean =>
  inner.file === outer.file && outer.first <= inner.first && inner.first + inner.dwords <= outer.first + outer.dwords;

/** What the payload overwrites. Throws BAD_INPUT where it changes registers of which it does not say so. */
export function clobbersOf({ items, changes, code, envelope }: Payload): Saves {
  const maskDwords = code.waveSize / 32;
  const exec: PhysicalRange = { file: 'scalar', first: SGPR_EXEC_LO, dwords: maskDwords };
  const vcc: PhysicalRange = { file: 'scalar', first: SGPR_VCC_LO, dwords: maskDwords };
  const m0: PhysicalRange = { file: 'scalar', first: SGPR_M0, dwords: 1 };
  const allowed = [exec, ...changes, ...(envelope?.clobbers ?? [])];
  const clobbers = { scc: false, vcc: false, m0: false, gprIndexing: false };
  for (const item of items) {
    if (item.kind === 'label') continue;
    const { writesPhysical, effects } = payloadEffects(item);
    clobbers.scc ||= effects.writesState.has('scc');
    // Vector registers have other numbers there.
    clobbers.gprIndexing ||= /^(valu|matrix)$/.test(instructionClass(item.template.row));
    for (const range of writesPhysical) {
      if (allowed.some((each) => isWithin(range, each))) continue;
      if (isWithin(range, vcc)) clobbers.vcc = true;
      else if (isWithin(range, m0)) clobbers.m0 = true;
      else {
        const what = `${range.file} register ${range.first}`;
        throw new WavewrightError('BAD_INPUT', `the payload writes ${what} without saying that it changes it`);
      }
    }
  }
  return clobbers;
}

/** The payload between saves and restores. None of these instructions changes SCC before it is restored. */
export function withSaves(payload: Payload, { saves, borrowing }: FormOptions): Payload {
  const { code, items } = payload;
  const { borrowsFirstLanes, borrowsScalars, borrowsMasks, home } = borrowing;
  const needsNothing = ![...Object.values(saves), borrowsFirstLanes, borrowsScalars, home !== undefined].includes(true);
  if (needsNothing) return payload;
  const registers = registersOf(items);
  const b = new PayloadBuilder(code, registers);
  b.purpose = 'save';
  const scc = saves.scc && b.scalar();
  const vcc = saves.vcc && b.mask();
  const m0 = saves.m0 && b.scalar();
  if (scc) b.emit`s_cselect_b32 ${scc}, 1, 0`;
  if (vcc) b.emit`s_mov_${b.maskBits} ${vcc}, ${b.vcc}`;
  if (m0) b.emit`s_mov_b32 ${m0}, m0`;
  const isKept = (register: VirtualRegister): boolean => mayBorrow(register, borrowing);
  const borrowed = registers.filter((each) => each.file === 'vector' && each.isOfFirstLane && isKept(each));
  const firstLanes = (borrowsFirstLanes ? borrowed.flatMap(partsOf) : []).map((dword) => ({ dword, copy: b.scalar() }));
  // These look at no other lane than the one they name, be it on or off (CDNA2 ISA 6.2.3, RDNA3 ISA 7.2.2).
  for (const { dword, copy } of firstLanes) b.emit`v_readlane_b32 ${copy}, ${dword}, 0`;
  b.append(items);
  for (const { dword, copy } of firstLanes) b.emit`v_writelane_b32 ${dword}, ${copy}, 0`;
  if (m0) b.emit`s_mov_b32 m0, ${m0}`;
  if (vcc) b.emit`s_mov_${b.maskBits} ${b.vcc}, ${vcc}`;
  if (scc) b.emit`s_cmp_lg_u32 ${scc}, 0`;
  const inner = borrowsScalars ? withScalarsKept(b, code, isKept) : b.items;
  const kept = home ? withVectorsKept(inner, registersOf(inner), { code, home, isKept }) : inner;
  const whole = borrowsMasks ? withMasksKept(kept, registersOf(kept), { code, home: home!, isKept }) : kept;
  return { ...payload, items: saves.gprIndexing ? withoutIndexing(whole, code) : whole };
}

function registersOf(items: readonly MachineItem[]): VirtualRegister[] {
  const all = items.flatMap((item) =>
    item.kind === 'instruction' ? [...item.registers.values()].map(({ register }) => register) : [],
  );
  return [...new Set(all)];
}

/** Lanes of vector registers keep what scalar registers of the items have, one for each dword. */
function withScalarsKept(
  { items }: PayloadBuilder,
  code: Payload['code'],
  isKept: (register: VirtualRegister) => boolean,
): readonly MachineItem[] {
  const registers = registersOf(items);
  const b = new PayloadBuilder(code, registers);
  b.purpose = 'save';
  b.otherLanes = 'any';
  const dwords = registers.filter((register) => register.file === 'scalar' && isKept(register)).flatMap(partsOf);
  const { waveSize } = code;
  const homes = Array.from({ length: Math.ceil(dwords.length / waveSize) }, () => b.vector());
  const kept = dwords.map((dword, i) => ({ dword, home: homes[Math.floor(i / waveSize)]!, lane: i % waveSize }));
  for (const { dword, home, lane } of kept) b.emit`v_writelane_b32 ${home}, ${dword}, ${lane}`;
  b.append(items);
  for (const { dword, home, lane } of kept) b.emit`v_readlane_b32 ${dword}, ${home}, ${lane}`;
  return b.items;
}

/** Vector registers have the numbers that instructions name. */
function withoutIndexing(items: readonly MachineItem[], code: Payload['code']): readonly MachineItem[] {
  const b = new PayloadBuilder(code);
  b.purpose = 'save';
  b.emit`s_set_gpr_idx_off`;
  b.append(items);
  b.emit`s_setreg_imm32_b32 ${GPR_INDEX_MODE}, 1`;
  return b.items;
}
