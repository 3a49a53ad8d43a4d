/** Why GPU code was stopped. */
import type { SourceLine } from '../codeobject/line-table.ts';
import type { Allocation } from './memory.ts';

/**
 * `memory`: an address that the kernel may not use so, or a jump to where no code is; `lds`: an access behind
 * the group memory of the workgroup; `aperture`: one behind the private memory of the lane, or to no
 * aperture; `illegal-instruction`: bytes that are no instruction; `unsupported`: an instruction or a setting
 * that the device does not have; `exception`: the code itself trapped.
 */
export type FaultKind = 'memory' | 'aperture' | 'illegal-instruction' | 'unsupported' | 'exception' | 'lds';

/** Why a dispatch stopped. `message` is complete and readable; the parts are there for programs. */
export interface Fault {
  readonly kind: FaultKind;
  readonly message: string;
  /**
   * The part of the message that says what was attempted, and the one that says what memory is there, where
   * the device tells them apart.
   */
  readonly what?: string;
  readonly near?: string;
  readonly pc: bigint;
  /** Instruction text as LLVM prints it. */
  readonly instruction: string;
  /** Kernel or function symbol and offset, e.g. `_start+0x40`; empty when unknown. */
  readonly location: string;
  readonly workgroup: readonly [number, number, number];
  readonly wave: number;
  readonly lane?: number;
  readonly address?: bigint;
  readonly access?: 'read' | 'write' | 'atomic' | 'execute';
  readonly nearestAllocation?: Allocation;
  /** The allocation that the address was in before it was freed. */
  readonly freedAllocation?: Allocation;
  /**
   * Filled in by the runtime: the line that the instruction comes from, where the code object has line
   * tables.
   */
  readonly source?: SourceLine;
  /**
   * Filled in by the runtime: the line of the text that the device was given, where `source` is of what a
   * compiler made that text of.
   */
  readonly text?: SourceLine;
  /** Filled in by the runtime: where the host freed that allocation, as a line of a stack trace. */
  readonly freedBy?: string;
}
