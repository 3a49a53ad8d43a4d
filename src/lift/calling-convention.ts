/** What functions may change and must leave where nothing is known of who calls them. */
import type { LiveLanes } from '../flow/lane-words.ts';
import { REGISTER_PLACES, registerNumber, registerSet, stateNumber } from '../flow/steps.ts';
import { SGPR_VCC_LO } from '../isa/amdgpu/encoding/registers.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';

/**
 * Registers that a callee gives back as they were: from behind the return address up to VCC, and of 16 VGPRs
 * from v40 on the first 8 (LLVM "User Guide for AMDGPU Backend", "Non-Kernel Functions").
 */
export const FIRST_PRESERVED = 32;
export const isPreservedVector = (register: number): boolean => register >= 40 && (register - 40) % 16 < 8;

/**
 * Registers of a call (the same source): the resource of private memory, the address to go back to, the end
 * of the frame that is in use, and where functions keep its beginning.
 */
export const CALL_REGISTERS = {
  ...{ resource: 0, resourceDwords: 4, returnAddress: 30 },
  ...{ stackPointer: 32, framePointer: 33 },
} as const;

/** Scalar registers that a function may change: from behind the scratch buffer's to the return address. */
const [FIRST_SCRATCH, SCRATCH_END] = [4, 30];
const VECTOR_COUNT = 256;
/** Results are in the first of them. */
const RESULT_COUNT = 32;

/**
 * Registers that a kernel has which calls what its compiler did not see: LLVM counts on 24 VGPRs and 48 SGPRs
 * (AMDGPUResourceUsageAnalysis), of which a function may change those up to the return address.
 */
export const ASSUMED_REGISTERS = { scalar: SCRATCH_END, vector: 24 } as const;

/**
 * What is live behind the returns of a function that only other code objects call. Of VGPRs that may hold
 * results those are left out that none of `steps`, nor a callee, writes; `callsOthers`: a callee may be any.
 */
export function liveBehindReturns(steps: Iterable<AmdgpuStep>, callsOthers: boolean): LiveLanes {
  let written = 0n;
  for (const { effects } of steps) {
    written |= registerSet(effects.writes);
    if (effects.writesAnyOf.size > 0) written = REGISTER_PLACES.everything;
  }
  let active = REGISTER_PLACES.everything;
  const release = (number: number): void => {
    active &= ~(1n << BigInt(number));
  };
  for (let register = FIRST_SCRATCH; register < SCRATCH_END; register++) release(registerNumber('scalar', register));
  for (const half of [0, 1]) release(registerNumber('scalar', SGPR_VCC_LO + half));
  release(stateNumber('scc'));
  for (let register = 0; register < VECTOR_COUNT; register++) {
    const number = registerNumber('vector', register);
    const mayBeResult = register < RESULT_COUNT && (callsOthers || ((written >> BigInt(number)) & 1n) === 1n);
    if (!mayBeResult && !isPreservedVector(register)) release(number);
  }
  // A callee gives back lanes that are off when it is called.
  return { active, inactive: REGISTER_PLACES.rows };
}
