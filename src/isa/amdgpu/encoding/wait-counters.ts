/** The counters that s_waitcnt and s_waitcnt_depctr hold, and where. */
import type { Family } from './formats.ts';

/** A counter whose bits stand in several pieces of an immediate, the lowest piece first. */
export interface PackedCounter<Name extends string = string> {
  readonly name: Name;
  readonly bits: readonly (readonly [low: number, width: number])[];
}

const counter = <Name extends string>(name: Name, ...bits: PackedCounter['bits']): PackedCounter<Name> => ({
  name,
  bits,
});

/** The counters of s_waitcnt: CDNA2 ISA 4.4; RDNA2 ISA 4.4; RDNA3 ISA 5.6. */
export const WAIT_COUNTERS: Readonly<
  Partial<Record<Family, readonly PackedCounter<'vmcnt' | 'expcnt' | 'lgkmcnt'>[]>>
> = {
  gfx9: [counter('vmcnt', [0, 4], [14, 2]), counter('expcnt', [4, 3]), counter('lgkmcnt', [8, 4])],
  gfx10: [counter('vmcnt', [0, 4], [14, 2]), counter('expcnt', [4, 3]), counter('lgkmcnt', [8, 6])],
  gfx11: [counter('vmcnt', [10, 6]), counter('expcnt', [0, 3]), counter('lgkmcnt', [4, 6])],
};

/**
 * Those of s_waitcnt_depctr, for hazards inside the wave. Names and widths are those of LLVM, "Syntax of
 * GFX11 Instructions", operand waitcnt_depctr.
 */
const DEPENDENCY_COUNTERS_GFX101: readonly PackedCounter[] = [
  counter('depctr_sa_sdst', [0, 1]),
  counter('depctr_va_vdst', [12, 4]),
  counter('depctr_va_sdst', [9, 3]),
  counter('depctr_va_ssrc', [8, 1]),
  counter('depctr_va_vcc', [1, 1]),
  counter('depctr_vm_vsrc', [2, 3]),
];
export const DEPENDENCY_COUNTERS: Readonly<Partial<Record<Family, readonly PackedCounter[]>>> = {
  gfx10: [counter('depctr_hold_cnt', [7, 1]), ...DEPENDENCY_COUNTERS_GFX101],
  gfx101: DEPENDENCY_COUNTERS_GFX101,
};

/** The highest count of a counter: an instruction that says it does not wait for the counter. */
export const limitOf = ({ bits }: PackedCounter): number => 2 ** bits.reduce((sum, [, width]) => sum + width, 0) - 1;

export function counterOf(value: number, { bits }: PackedCounter): number {
  let [result, at] = [0, 0];
  for (const [low, width] of bits) {
    result |= ((value >> low) & (2 ** width - 1)) << at;
    at += width;
  }
  return result;
}
