/** Where hooks are called, with what, and what they may ask of the place. */
import type { Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import type { SymbolPlace } from '../layout/code-item.ts';
import type { HookBlock } from './hook-file.ts';
import type { IntrinsicName } from './intrinsics.ts';

/** What a hook is called with; a value of 64 bits takes two of the registers v0, v1, ... */
export type HookArgument =
  | { readonly kind: 'constant'; readonly value: bigint; readonly dwords: 1 | 2 }
  /** The address of a byte of a variable. */
  | { readonly kind: 'symbol'; readonly symbol: string; readonly offset: number }
  /** What an intrinsic gives, such as a register of the application. */
  | {
      readonly kind: 'intrinsic';
      readonly name: IntrinsicName;
      readonly numbers: readonly number[];
      readonly dwords: 1 | 2;
    };

/**
 * Where a kernel keeps what it was launched with: numbers of SGPRs that hold it at all of its points. What is
 * looked at may be kept for that reason alone.
 */
export interface LaunchRegisters {
  readonly dispatchPacket?: number | undefined;
  readonly kernelArguments?: number | undefined;
  /** Hidden arguments stand so many bytes behind the first argument. */
  readonly implicitOffset?: number | undefined;
  /** x, y and z. */
  readonly workgroupIds?: Readonly<Record<number, number | undefined>>;
  /** Symbol of the variable that holds the values which a launch sets, 8 bytes each. */
  readonly launchValues?: string;
}

/** Where a hook is called. */
export interface HookPoint {
  /** The instruction that the point belongs to. */
  readonly instruction: Instruction;
  /** Its image address. */
  readonly address: number;
  /** The number that the tool knows its opcode by. */
  readonly opcode: number;
  readonly launch: LaunchRegisters;
  /** Where a block of the hook's file is in the instrumented code object. */
  placeOf(block: HookBlock): SymbolPlace;
}
