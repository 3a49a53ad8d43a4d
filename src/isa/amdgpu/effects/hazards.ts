/**
 * Hazards of gfx9 that the hardware does not resolve: so many wait states must lie between an instruction and
 * a later one (CDNA2 ISA 4.5 and CDNA3 ISA 4.5, "Manually Inserted Wait States (NOPs)"). Each instruction is
 * a wait state, s_nop N is N + 1. The list has those that a vector instruction causes by an SGPR, VCC, EXEC
 * or a VGPR. It lacks those of M0, of s_setreg, of wide stores, of VCC that is read as a constant, and of
 * matrix products (CDNA3 ISA 7.5).
 */
import type { HazardRole } from '../../../ir/effects.ts';
import type { StateSlot } from '../../../ir/types.ts';
import type { Instruction } from '../encoding/instruction.ts';
import { instructionClass } from '../encoding/instruction-class.ts';

/** What is known of an instruction that may take part in a hazard. */
interface Facts {
  readonly instruction: Instruction;
  readonly readsState: ReadonlySet<StateSlot>;
  readonly writesState: ReadonlySet<StateSlot>;
  readonly writesScalars: boolean;
}

export interface Hazard {
  readonly name: string;
  readonly waitStates: number;
  /**
   * The two meet in a register that the first writes and the second reads; else whichever registers they
   * touch.
   */
  readonly via: 'scalar' | 'vector' | undefined;
  readonly before: (facts: Facts) => boolean;
  readonly after: (facts: Facts) => boolean;
}

const isVectorArithmetic = ({ instruction }: Facts): boolean =>
  /^(valu|matrix)$/.test(instructionClass(instruction.row));
const isVectorMemory = ({ instruction }: Facts): boolean =>
  /^(vmem|flat|scratch)$/.test(instructionClass(instruction.row));
const writesScalars = (facts: Facts): boolean => isVectorArithmetic(facts) && facts.writesScalars;
/**
 * A scalar src1 that is no mask selects a lane; the other scalar sources of such an instruction count as
 * well.
 */
const selectsLane = (facts: Facts): boolean =>
  isVectorArithmetic(facts) &&
  facts.instruction.row.operands.some(
    ({ field, file, type }) => field === 'src1' && file === 'scalar' && type !== 'mask',
  );
const namesVcc = ({ row }: Instruction): boolean => row.operands.some(({ type }) => type === 'mask');

export const HAZARDS: readonly Hazard[] = [
  { name: 'valu-sgpr-vmem', waitStates: 5, via: 'scalar', before: writesScalars, after: isVectorMemory },
  { name: 'valu-sgpr-lane-select', waitStates: 4, via: 'scalar', before: writesScalars, after: selectsLane },
  {
    name: 'valu-vcc-div-fmas',
    waitStates: 4,
    via: undefined,
    before: (facts) => isVectorArithmetic(facts) && facts.writesState.has('vcc'),
    after: (facts) => isVectorArithmetic(facts) && facts.readsState.has('vcc') && !namesVcc(facts.instruction),
  },
  {
    name: 'valu-vgpr-dpp',
    waitStates: 2,
    via: 'vector',
    before: isVectorArithmetic,
    after: ({ instruction }) => instruction.hasDpp,
  },
  {
    name: 'valu-exec-dpp',
    waitStates: 5,
    via: undefined,
    before: (facts) => isVectorArithmetic(facts) && facts.writesState.has('exec'),
    after: ({ instruction }) => instruction.hasDpp,
  },
];

/** The hazards that an instruction takes part in, if its target has them. */
export const hazardRoles = (facts: Facts): readonly HazardRole[] =>
  !facts.instruction.families.includes('gfx9')
    ? []
    : HAZARDS.flatMap(({ name, before, after }) => [
        ...(before(facts) ? [{ hazard: name, role: 'before' } as const] : []),
        ...(after(facts) ? [{ hazard: name, role: 'after' } as const] : []),
      ]);
