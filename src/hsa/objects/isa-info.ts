/**
 * What can be asked of an instruction set and its wavefronts by number (hsa_isa_info_t,
 * hsa_wavefront_info_t).
 */
import {
  answer,
  FBARRIER_MAX_SIZE,
  GRID_MAX_DIM,
  GRID_MAX_SIZE,
  MACHINE_MODEL_LARGE,
  PROFILES,
  type Questions,
  ROUNDING_MODES,
} from './info-table.ts';
import { expectIsa, type Isa } from './isa.ts';
import { HsaError } from './status.ts';

/** Numbers of the specification. */
export const ISA_INFO = {
  nameLength: 0,
  name: 1,
  callConventionCount: 2,
  callConventionWavefrontSize: 3,
  machineModels: 5,
  profiles: 6,
  defaultFloatRoundingModes: 7,
  baseProfileDefaultFloatRoundingModes: 8,
  fastF16Operation: 9,
  workgroupMaxDim: 12,
  workgroupMaxSize: 13,
  gridMaxDim: 14,
  gridMaxSize: 16,
  fbarrierMaxSize: 17,
} as const;

export const WAVEFRONT_INFO = { size: 0 } as const;

export type IsaInfoValue = number | bigint | string | boolean | readonly number[] | readonly boolean[];

const WORKGROUP_MAX_SIZE = 1024;
/** Which of two or three numbered things there are. */
const only = (count: number, index: number): boolean[] => Array.from({ length: count }, (_, i) => i === index);

const QUESTIONS: Questions<Isa, IsaInfoValue> = {
  // ROCr counts the NUL.
  [ISA_INFO.nameLength]: ({ name }) => name.length + 1,
  [ISA_INFO.name]: ({ name }) => name,
  [ISA_INFO.callConventionCount]: () => 1,
  [ISA_INFO.callConventionWavefrontSize]: ({ wavefrontSizes }) => wavefrontSizes[0],
  [ISA_INFO.machineModels]: () => only(2, MACHINE_MODEL_LARGE),
  [ISA_INFO.profiles]: () => only(2, PROFILES.base),
  [ISA_INFO.defaultFloatRoundingModes]: () => only(3, ROUNDING_MODES.near),
  [ISA_INFO.baseProfileDefaultFloatRoundingModes]: () => only(3, ROUNDING_MODES.near),
  [ISA_INFO.fastF16Operation]: () => true,
  [ISA_INFO.workgroupMaxDim]: () => [WORKGROUP_MAX_SIZE, WORKGROUP_MAX_SIZE, WORKGROUP_MAX_SIZE],
  [ISA_INFO.workgroupMaxSize]: () => WORKGROUP_MAX_SIZE,
  [ISA_INFO.gridMaxDim]: () => GRID_MAX_DIM,
  [ISA_INFO.gridMaxSize]: () => BigInt(GRID_MAX_SIZE),
  [ISA_INFO.fbarrierMaxSize]: () => FBARRIER_MAX_SIZE,
};

/** hsa_isa_get_info_alt. Throws INVALID_ARGUMENT for another number, INVALID_ISA for null. */
export function isaInfo(isa: Isa, id: number): IsaInfoValue {
  expectIsa(isa);
  return answer(QUESTIONS, id, isa, `instruction set ${isa.name}`);
}

/**
 * hsa_wavefront_get_info, of a size that hsa_isa_iterate_wavefronts lists. Throws INVALID_WAVEFRONT,
 * INVALID_ISA, INVALID_ARGUMENT.
 */
export function wavefrontInfo(isa: Isa, wavefrontSize: number, id: number): number {
  expectIsa(isa);
  if (!isa.wavefrontSizes.some((size) => size === wavefrontSize)) {
    throw new HsaError('INVALID_WAVEFRONT', `${isa.name} has no waves of ${wavefrontSize} lanes`);
  }
  return answer({ [WAVEFRONT_INFO.size]: (size: number) => size }, id, wavefrontSize, 'a wavefront');
}

/** hsa_isa_get_exception_policies: instructions neither stop nor report for a floating-point exception. */
export function isaExceptionPolicies(isa: Isa): number {
  expectIsa(isa);
  return 0;
}

/** hsa_isa_get_round_method: fused multiply-add rounds once (HSA_ROUND_METHOD_SINGLE). */
export function isaRoundMethod(isa: Isa): 1 {
  expectIsa(isa);
  return 1;
}
