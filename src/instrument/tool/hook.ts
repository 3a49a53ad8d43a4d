/** What runs at a point. */
import type { CodeContext } from '../../isa/amdgpu/encoding/instruction.ts';
import { compileHook } from '../dsl/compile-hook.ts';
import type { VariablePlace } from '../dsl/global-memory.ts';
import type { HookBuilder } from '../dsl/hook.ts';
import type { Payload, PhysicalRange } from '../machine/machine-code.ts';

/**
 * Makes payloads that do the same, the cheapest first. It is asked once for all points where the variables of
 * the tool are at the same place.
 */
export type HookCode = (code: CodeContext, place?: VariablePlace) => readonly Payload[];

/** Runs something that a tool wrote; what it throws may become another error, which says so. */
export type Guard = <T>(run: () => T) => T;

/** What a number in a variable of the tool is, as `InsertedPoint` says it. */
export interface HookMeaning {
  readonly symbol: string;
  /** Asked when all hooks are there. */
  readonly index: number | (() => number);
  readonly amount: string;
}

export interface PointHook {
  /** Those behind the first are for points where it finds no registers. */
  readonly codes: readonly HookCode[];
  /** In what points with the same code differ: the numbers that it names as `pointLiteral`. */
  readonly literals: readonly number[];
  /** Registers of the application, one dword each, that its code names as `pointScalar` and `pointVector`. */
  readonly registers?: readonly PhysicalRange[];
  /** The symbol that literals of its code name which name none: another thing in which points differ. */
  readonly symbol?: string;
  /** Whether results are wrong, and not only smaller, where the point is refused. */
  readonly isRequired?: boolean;
  /** Whether what it counts stays in registers that are its own (`ResidentCounter`). */
  readonly isResident?: boolean;
  /** What it leaves where, for who reads the variable without the tool (`.wavewright.tools`). */
  readonly meaning?: HookMeaning;
  /** Why it runs nowhere, in words that stand behind "the hook": the point is refused. */
  readonly refusal?: string;
}

/** Code that is written with a HookBuilder, for any number of points. */
export const hookCode =
  (build: (b: HookBuilder) => void): HookCode =>
  (code, place) =>
    compileHook({ build }, code, place);

/** A hook that is written for one point. */
export const hookOf = (build: (b: HookBuilder) => void): PointHook => ({ codes: [hookCode(build)], literals: [] });
