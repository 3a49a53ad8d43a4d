/** The MODE register: what code is specialised on. */
import type { Rounding } from '../../../ir/float-bits.ts';
import type { FloatMode } from '../../../ir/float-builder.ts';
import { MODE_GPR_INDEX } from './gpr-index.ts';

/** The MODE register as the float operations need it (CDNA2 ISA 3.5, "Mode register"). */
export function floatMode(mode: number): FloatMode {
  const denormals = (shift: number) => ({
    inputs: ((mode >> shift) & 1) === 0,
    results: ((mode >> (shift + 1)) & 1) === 0,
  });
  return {
    round32: (mode & 3) as Rounding,
    round64: ((mode >> 2) & 3) as Rounding,
    flush32: denormals(4),
    flush64: denormals(6),
    dx10Clamp: (mode & 0x100) !== 0,
    ieee: (mode & 0x200) !== 0,
  };
}

/** The bits of MODE that code is specialised on: rounding, denormals, DX10_CLAMP, IEEE. */
export const MODE_KEY_BITS = 0x3ff | MODE_GPR_INDEX;
/** Bits that no executor models: exceptions, VSKIP, debugging. */
export const MODE_REFUSED_BITS = ~(MODE_KEY_BITS | (1 << 10));

/**
 * What clang asks for: rounding to nearest, denormals kept, IEEE and DX10_CLAMP. For those who only ask which
 * registers an instruction touches, or compute addresses: in no mode is that another answer.
 */
export const CLANG_MODE = floatMode(0x3f0);
