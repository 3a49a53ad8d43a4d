/** What a call leaves as it was: seen in the callee's code, or as the calling convention says. */

import { SCALAR_REGISTER_COUNT, SGPR_VCC_LO } from '../isa/amdgpu/encoding/registers.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';
import { FIRST_PRESERVED, isPreservedVector } from './calling-convention.ts';
import { entryValue, type ScalarState, writtenVectors } from './scalar-state.ts';

/** Of a function with what it calls. */
export interface CalleeSummary {
  /** By number: whether a scalar register holds, whenever the function returns, what it held on entry. */
  readonly preserved: readonly boolean[];
  /** VGPRs that may be written, be they restored or not. */
  readonly writtenVectors: ReadonlySet<number>;
}

/** A summary in the making. */
export class SummaryBuilder {
  readonly #preserved = new Array<boolean>(SCALAR_REGISTER_COUNT).fill(true);
  readonly #writtenVectors = new Set<number>();
  #isKnown = true;

  write({ instruction }: AmdgpuStep): void {
    for (const register of writtenVectors(instruction)) this.#writtenVectors.add(register);
  }

  /** The function returns, or goes on with another one, by whose summary. */
  end({ registers }: ScalarState, behind?: CalleeSummary): void {
    for (const register of this.#preserved.keys()) {
      const isKept = registers[register] === entryValue(register) && behind?.preserved[register] !== false;
      if (!isKept) this.#preserved[register] = false;
    }
    if (behind) this.include(behind);
  }

  /** What is called; undefined: anything. */
  include(callee: CalleeSummary | undefined): void {
    if (!callee) this.forget();
    else for (const register of callee.writtenVectors) this.#writtenVectors.add(register);
  }

  /** The function goes on nobody knows where, or calls what nobody knows. */
  forget(): void {
    this.#isKnown = false;
  }

  finish(): CalleeSummary | undefined {
    if (!this.#isKnown) return undefined;
    return { preserved: this.#preserved, writtenVectors: this.#writtenVectors };
  }
}

/** Makes of the state in front of a call that behind it. */
export function passCall(state: ScalarState, callees: readonly (CalleeSummary | undefined)[]): void {
  const isUnknown = callees.length === 0 || callees.includes(undefined);
  if (isUnknown) {
    state.forget(0, FIRST_PRESERVED);
    state.forget(SGPR_VCC_LO, state.registers.length);
  }
  for (const callee of callees) {
    callee?.preserved.forEach((isKept, register) => {
      if (!isKept) state.registers[register] = undefined;
    });
  }
  state.scc = undefined;
  const isWritten = (register: number): boolean =>
    !isPreservedVector(register) && (isUnknown || callees.some((callee) => callee!.writtenVectors.has(register)));
  for (const register of [...state.vectors.keys(), ...state.lanes.keys()]) {
    if (isWritten(register)) state.forgetVector(register);
  }
}
