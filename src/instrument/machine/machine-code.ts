/**
 * Payload code before it has registers and a place: what hooks compiled by clang, hooks written in TypeScript
 * and the code around calls come to, so that one allocator serves them all.
 *
 * An instruction keeps the physical registers of its encoding in all operands that `registers` does not name:
 * that is how a payload reads the registers of the application, EXEC, VCC or M0.
 */
import type { CodeContext, Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import type { PayloadLabel, PointLiteral, SymbolHalf } from '../layout/payload-code.ts';

/** A register that the allocator chooses, the same for the whole payload. */
export interface VirtualRegister {
  /** Unique within the payload. */
  readonly id: number;
  readonly file: 'scalar' | 'vector' | 'accumulator';
  readonly dwords: number;
  /** The number of the first physical register is a multiple of it. */
  readonly alignmentDwords: number;
  /**
   * Whether lanes that are off where the payload stands are written, too, because the payload switches them
   * on: what these lanes have in the physical register must be dead then as well.
   */
  readonly writesOtherLanes: boolean;
  /** No lane but 0 is ever written: a scalar register can keep what it has meanwhile. */
  readonly isOfFirstLane?: boolean;
  /** It serves to put live registers back, so that nothing would keep what a live one has. */
  readonly isNeverBorrowed?: boolean;
  /**
   * Where it is none that is chosen, but one of the application that is read: which of those that the point
   * names (`PointHook.registers`).
   */
  readonly pointRegister?: number;
}

/** Neighbouring dwords of a virtual register, as an operand names them. */
export interface RegisterUse {
  readonly register: VirtualRegister;
  readonly firstDword: number;
}

export interface MachineInstruction {
  readonly kind: 'instruction';
  /** Opcode, modifiers, constants and physical operands. */
  readonly template: Instruction;
  /** The operands of the row that are virtual registers, by index. */
  readonly registers: ReadonlyMap<number, RegisterUse>;
  /** In place of the literal of the template. */
  readonly literal?: number | SymbolHalf | PointLiteral;
  /** Of a branch. */
  readonly target?: PayloadLabel;
  /** What it is there for, for statistics: `body` where it is missing. */
  readonly purpose?: Purpose;
  /** Of a call: what the called function may leave in other registers, and in SCC. */
  readonly clobbers?: readonly PhysicalRange[];
}

/** `save` keeps and restores what the application needs, `wait` waits for memory accesses. */
export type Purpose = 'body' | 'save' | 'wait';

export type MachineItem = MachineInstruction | { readonly kind: 'label'; readonly label: PayloadLabel };

/** Registers of the application. */
export interface PhysicalRange {
  readonly file: 'scalar' | 'vector' | 'accumulator';
  readonly first: number;
  readonly dwords: number;
}

/** What a payload keeps around a call: what the called function may overwrite and the application needs. */
export interface CallEnvelope {
  /** All that may be overwritten, but for VCC, M0 and EXEC. */
  readonly clobbers: readonly PhysicalRange[];
  /** The payload's items where these registers, single ones of `clobbers`, are to be as they were. */
  readonly around: (kept: readonly PhysicalRange[]) => readonly MachineItem[];
}

/**
 * What runs at one point. Control enters at the first item and leaves behind the last one, with EXEC as it
 * was. The allocator saves SCC, VCC and M0 where the payload overwrites them and the application needs them.
 */
export interface Payload {
  readonly code: CodeContext;
  readonly items: readonly MachineItem[];
  /**
   * Application registers that the payload changes on purpose: everything else that is live stays as it was.
   */
  readonly changes: readonly PhysicalRange[];
  /** Where it calls a function: `items` are those that keep no register. */
  readonly envelope?: CallEnvelope;
}
