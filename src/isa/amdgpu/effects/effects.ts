/**
 * What an instruction may touch. Registers follow from the operands of the row, their extents from its format
 * and modifiers; state, memory and other lanes follow from its meaning, or where that is missing from the
 * format and the row's `touches`. EXEC, VCC and M0 count as registers 126, 106 and 124 of the scalar file and
 * as state, whether an operand names them or not.
 */
import type {
  Effects,
  MaskChange,
  MemoryEffect,
  ReadRange,
  RegisterFile,
  RegisterRange,
  WrittenRange,
} from '../../../ir/effects.ts';
import { type ExecPlaces, maskChange } from '../../../ir/mask-change.ts';
import type { Program, StateSlot } from '../../../ir/types.ts';
import type { FormatName } from '../encoding/formats.ts';
import { generationOf } from '../encoding/formats.ts';
import type { Instruction } from '../encoding/instruction.ts';
import { instructionClass } from '../encoding/instruction-class.ts';
import {
  SGPR_EXEC_LO,
  SGPR_FLAT_SCRATCH_LO,
  SGPR_M0,
  SGPR_VCC_LO,
  SRC_EXECZ,
  SRC_LDS_DIRECT,
  SRC_SCC,
  SRC_VCCZ,
} from '../encoding/registers.ts';
import { is16Bit, isFloat } from '../encoding/row.ts';
import { gprIndexField } from '../semantics/gpr-index.ts';
import { raisedCounters, waitsOf } from './counters.ts';
import { hazardRoles } from './hazards.ts';
import { meaningOf, type Touched, touchedBy } from './meaning.ts';
import { rangeOf } from './operand-ranges.ts';

export interface EffectsOptions {
  /** MODE.gpr_idx_en is set: M0 completes the numbers of VGPRs of vector instructions (CDNA2 ISA 6.6). */
  readonly gprIndexing?: boolean;
  /** What `meaningOf` says of the instruction, or of another one whose step has the same key. */
  readonly program?: Program | undefined;
}

/** State that is a register, too; masks have a register for each 32 lanes. */
const SLOT_REGISTERS: readonly (readonly [slot: StateSlot, first: number, isMask: boolean])[] = [
  ['vcc', SGPR_VCC_LO, true],
  ['m0', SGPR_M0, false],
  ['exec', SGPR_EXEC_LO, true],
];

/** Sources that are no registers. */
const SPECIAL_STATE: Readonly<Record<number, StateSlot>> = {
  [SRC_SCC]: 'scc',
  [SRC_VCCZ]: 'vcc',
  [SRC_EXECZ]: 'exec',
  [SRC_LDS_DIRECT]: 'm0',
};

/** Where the accesses of a format lead. Buffers and images are in global memory. */
const SPACES: Readonly<Partial<Record<FormatName, MemoryEffect['space']>>> = {
  SMEM: 'global',
  DS: 'lds',
  FLAT: 'flat',
  GLOBAL: 'global',
  SCRATCH: 'private',
  MUBUF: 'global',
  MTBUF: 'global',
  MIMG: 'global',
  VSAMPLE: 'global',
  LDSDIR: 'lds',
};

/** Every flat access sends it along (CDNA2 ISA 10.8). */
const FLAT_SCRATCH: RegisterRange = { file: 'scalar', first: SGPR_FLAT_SCRATCH_LO, dwords: 2 };

const isVectorFormat = ({ format }: Instruction): boolean => !/^(SOP|SMEM)/.test(format.name);

export function effectsOf(
  instruction: Instruction,
  { gprIndexing = false, program = meaningOf(instruction) }: EffectsOptions = {},
): Effects {
  const collector = new Collector(instruction, program ? touchedBy(program) : touchedByForm(instruction), program);
  instruction.row.operands.forEach((_, index) => {
    collector.addOperand(index, gprIndexing);
  });
  collector.addForm();
  return collector.finish();
}

/** What is known of an instruction without meaning: it touches what its format lets it. */
function touchedByForm(instruction: Instruction): Touched {
  const { row, format } = instruction;
  const isMatrix = instructionClass(row) === 'matrix';
  const space = SPACES[format.name];
  const readsState = new Set<StateSlot>();
  if (isVectorFormat(instruction) && !isMatrix) readsState.add('exec');
  if (row.flags.writesExec) readsState.add('exec');
  if (space === undefined && row.operands.some(({ type }) => isFloat(type))) readsState.add('mode');
  return {
    readsState,
    writesState: new Set(row.flags.writesExec ? ['exec'] : []),
    memory: space === undefined || format.name === 'EXP' ? [] : [{ space, access: accessOf(instruction) }],
    alsoRead: new Set(),
    crossLane: new Set(isMatrix ? row.operands.keys() : []),
    written: undefined,
    partly: new Set(),
    writesLanes: new Set(),
  };
}

/**
 * What writes registers only is a load; what reads data only is a store; where no operand tells, it may be
 * both.
 */
function accessOf(instruction: Instruction): MemoryEffect['access'] {
  const accesses = instruction.row.operands.flatMap(({ field }, index) =>
    /^[vs]?data|^vdst/.test(field) ? (instruction.access(index) ?? []) : [],
  );
  if (accesses.length === 0) return 'atomic';
  if (accesses.every((each) => each === 'write')) return 'load';
  return accesses.every((each) => each === 'read') ? 'store' : 'atomic';
}

class Collector {
  readonly #instruction: Instruction;
  readonly #touched: Touched;
  readonly #program: Program | undefined;
  readonly #reads: ReadRange[] = [];
  readonly #writes: WrittenRange[] = [];
  readonly #readsState: Set<StateSlot>;
  readonly #writesState: Set<StateSlot>;
  readonly #readsAnyOf = new Set<RegisterFile>();
  readonly #writesAnyOf = new Set<RegisterFile>();
  readonly #memory: MemoryEffect[];

  constructor(instruction: Instruction, touched: Touched, program: Program | undefined) {
    this.#program = program;
    this.#instruction = instruction;
    this.#touched = touched;
    this.#readsState = new Set(touched.readsState);
    this.#writesState = new Set(touched.writesState);
    const { touches = {} } = instruction.row.flags;
    this.#memory = [...(touches.memory ?? touched.memory)];
    for (const slot of touches.readsState ?? []) this.#readsState.add(slot);
    for (const slot of touches.writesState ?? []) this.#writesState.add(slot);
    for (const file of touches.readsAnyOf ?? []) this.#readsAnyOf.add(file);
    for (const file of touches.writesAnyOf ?? []) this.#writesAnyOf.add(file);
  }

  addOperand(index: number, gprIndexing: boolean): void {
    const access = this.#instruction.access(index);
    if (access === undefined) return;
    const operand = this.#instruction.operand(index);
    if (operand.kind === 'special') this.#addSpecial(operand.encoding);
    const range = rangeOf(operand, this.#instruction.dwords(index));
    if (!range) return;
    const isRead = access !== 'write' || this.#keepsBits(index) || this.#touched.alsoRead.has(index);
    const isWritten = access !== 'read';
    if (this.#isRelative(index, range.file, gprIndexing)) {
      this.#readsState.add('m0');
      if (isRead) this.#readsAnyOf.add(range.file);
      if (isWritten) this.#writesAnyOf.add(range.file);
      return;
    }
    if (isRead) this.#addRead(range, this.#isCrossLane(index));
    if (isWritten) {
      const lanes = this.#writtenLanes(index, range.file);
      this.#writes.push({ ...range, lanes, isPartial: this.#isPartial(index, range.file) });
    }
  }

  /** What formats and modifier bits bring with them. */
  addForm(): void {
    const { row, format, target } = this.#instruction;
    if (row.flags.message || format.name === 'EXP') this.#readsState.add('m0');
    if (/^(FLAT|SCRATCH)$/.test(format.name)) {
      if (target.flatScratch === 'sgprs') this.#addRead(FLAT_SCRATCH, false);
      if (target.flatScratch === 'hardwareRegisters') this.#readsState.add('flatScratchLow').add('flatScratchHigh');
    }
    // Registers of images depend on dmask, their type, and the dimension.
    if (/^(MIMG|VSAMPLE)$/.test(format.name)) {
      for (const file of ['scalar', 'vector', 'accumulator'] as const) this.#readsAnyOf.add(file);
      if (this.#memory.some(({ access }) => access !== 'store')) {
        for (const file of ['vector', 'accumulator'] as const) this.#writesAnyOf.add(file);
      }
    }
    // M0 holds the base of global wave sync's resources, and where loads to the LDS go (CDNA2 ISA 3.7).
    if (this.#instruction.field('gds') === 1 || this.#instruction.field('lds') === 1) this.#readsState.add('m0');
    if (this.#instruction.field('gds') === 1) this.#memory.push({ space: 'unknown', access: 'atomic' });
    if (this.#instruction.field('lds') === 1) this.#memory.push({ space: 'lds', access: 'store' });
  }

  finish(): Effects {
    this.#matchSlots(this.#readsState, this.#reads, (range) => this.#addRead(range, false));
    this.#matchSlots(this.#writesState, this.#writes, (range) =>
      this.#writes.push({ ...range, lanes: 'all', isPartial: false }),
    );
    const memory = this.#memory.filter(
      (each, i) => this.#memory.findIndex(({ space, access }) => space === each.space && access === each.access) === i,
    );
    // Where the register that M0 leads to is none, nothing is written (CDNA3 ISA 3.6.1).
    const mayBeSkipped = this.#writesAnyOf.size > 0;
    const effects = {
      reads: this.#reads,
      writes: mayBeSkipped ? this.#writes.map((range) => ({ ...range, isPartial: true })) : this.#writes,
      readsState: this.#readsState,
      writesState: this.#writesState,
      maskChange: this.#maskChange(),
      readsAnyOf: this.#readsAnyOf,
      writesAnyOf: this.#writesAnyOf,
      memory,
      counters: raisedCounters(this.#instruction, memory),
      waits: waitsOf(this.#instruction),
    };
    const facts = { instruction: this.#instruction, effects };
    return {
      ...effects,
      // Few ask, and it takes as long as all the rest.
      get hazards() {
        return hazardRoles(facts);
      },
    };
  }

  #maskChange(): MaskChange {
    if (!this.#writesState.has('exec')) return 'none';
    return this.#program ? maskChange(this.#program.values, execPlacesOf(this.#instruction)) : 'any';
  }

  /** State that is a register stands in both lists. */
  #matchSlots(slots: Set<StateSlot>, ranges: readonly RegisterRange[], add: (range: RegisterRange) => void): void {
    for (const [slot, first, isMask] of SLOT_REGISTERS) {
      const dwords = isMask ? this.#instruction.waveSize / 32 : 1;
      const touching = ranges.filter(
        (range) => range.file === 'scalar' && range.first < first + dwords && first < range.first + range.dwords,
      );
      const isWhole = touching.some((range) => range.first <= first && first + dwords <= range.first + range.dwords);
      if (slots.has(slot) && !isWhole) add({ file: 'scalar', first, dwords });
      else if (touching.length > 0) slots.add(slot);
    }
  }

  #addSpecial(encoding: number): void {
    const slot = SPECIAL_STATE[encoding];
    if (slot !== undefined) this.#readsState.add(slot);
    if (encoding === SRC_LDS_DIRECT) this.#memory.push({ space: 'lds', access: 'load' });
  }

  #addRead(range: RegisterRange, isCrossLane: boolean): void {
    this.#reads.push({ ...range, isCrossLane });
  }

  #isRelative(index: number, file: RegisterFile, gprIndexing: boolean): boolean {
    if (this.#instruction.row.operands[index]!.relative !== undefined) return true;
    return gprIndexing && file !== 'scalar' && gprIndexField(this.#instruction, index) !== undefined;
  }

  #isCrossLane(index: number): boolean {
    if (this.#instruction.hasDpp && this.#instruction.row.operands[index]!.field === 'src0') return true;
    return this.#instruction.row.flags.touches?.isCrossLane === true || this.#touched.crossLane.has(index);
  }

  /** A result of 16 or 8 bits leaves the other bits of its register as they were. */
  #keepsBits(index: number): boolean {
    const { row, families } = this.#instruction;
    if (this.#instruction.operand(index).kind !== 'vector') return false;
    if (this.#instruction.has('dst_sel') && !row.flags.noSdwaDestination)
      return this.#instruction.field('dst_sel') !== 6 && this.#instruction.field('dst_unused') === 2;
    if (!is16Bit(row.operands[index]!.type)) return false;
    const { keepsHighHalf, writesHighHalf } = row.flags;
    return (
      this.#instruction.isHighHalf(index) ||
      writesHighHalf === true ||
      keepsHighHalf === true ||
      generationOf(families).keepsHalves
    );
  }

  /** Matrix products work in all lanes; what writes single lanes may write those that are off. */
  #writtenLanes(index: number, file: RegisterFile): WrittenRange['lanes'] {
    const { row } = this.#instruction;
    const isAll = file === 'scalar' || instructionClass(row) === 'matrix' || row.flags.touches?.isPartial;
    return isAll || this.#touched.writesLanes.has(index) ? 'all' : 'active';
  }

  #isPartial(index: number, file: RegisterFile): boolean {
    const { row, format } = this.#instruction;
    const { written, partly, writesLanes } = this.#touched;
    if (written && !written.has(index)) return true;
    if (file === 'scalar') return false;
    if (row.flags.touches?.isPartial || (SPACES[format.name] !== undefined && isKept(this.#instruction, index)))
      return true;
    return this.#instruction.hasDpp || partly.has(index) || writesLanes.has(index) || this.#keepsBits(index);
  }
}

const execPlacesOf = (instruction: Instruction): ExecPlaces => ({
  execHalf: ({ operand: index, dword }) => {
    const operand = index < instruction.row.operands.length ? instruction.operand(index) : undefined;
    const half = operand?.kind === 'scalar' ? operand.register + dword - SGPR_EXEC_LO : -1;
    return half === 0 || half === 1 ? half : -1;
  },
  constant: ({ operand: index, dword }) => {
    const operand = instruction.operand(index);
    return operand.kind === 'constant' ? Number(BigInt.asIntN(32, operand.value >> BigInt(32 * dword))) : undefined;
  },
});

/** Loads of 8 and 16 bits into half of a register read it. */
const isKept = ({ row }: Instruction, index: number): boolean =>
  row.operands[index]!.access === 'readwrite' && row.operands[index]!.writtenIf === undefined;
