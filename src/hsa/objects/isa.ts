/** Instruction sets of agents (hsa_isa_t, hsa_wavefront_t; HSA runtime 1.2, section 2.8). */
import { WavewrightError } from '../../base/errors.ts';
import { processorNamed } from '../../codeobject/processors.ts';
import { explainIncompatibility, formatIsaName, parseTargetId } from '../../codeobject/target-id.ts';
import type { DeviceProperties } from '../../device/properties.ts';
import { expectHandle } from './handles.ts';
import { HsaError } from './status.ts';

export interface Isa {
  /** `amdgcn-amd-amdhsa--` and the target id. */
  readonly name: string;
  readonly targetId: string;
  /** Lanes of the waves that code for it can ask for, the preferred size first. */
  readonly wavefrontSizes: readonly (32 | 64)[];
}

const WAVE32_FAMILIES = ['gfx10', 'gfx11', 'gfx12', 'gfx125', 'gfx13'];
/** Families without waves of 64 lanes. */
const WAVE32_ONLY = ['gfx125', 'gfx13'];

function wavefrontSizes(processor: string): readonly (32 | 64)[] {
  const { family } = processorNamed(processor)!;
  if (!WAVE32_FAMILIES.includes(family)) return [64];
  return WAVE32_ONLY.includes(family) ? [32] : [32, 64];
}

/** The instruction set of a device, with the settings of its features. */
export function agentIsa({ targetId }: DeviceProperties): Isa {
  return { name: `amdgcn-amd-amdhsa--${targetId}`, targetId, wavefrontSizes: wavefrontSizes(targetId.split(':')[0]!) };
}

/**
 * hsa_isa_from_name, also of a target id alone. Throws INVALID_ISA_NAME for a text that names no known
 * processor or a feature that it does not have, INVALID_ARGUMENT for what is no text.
 */
export function isaFromName(name: string): Isa {
  if (typeof name !== 'string') throw new HsaError('INVALID_ARGUMENT', 'the name of an instruction set is no text');
  try {
    const target = parseTargetId(name);
    const isaName = formatIsaName(target);
    return {
      name: isaName,
      targetId: isaName.replace(/^.*--/, ''),
      wavefrontSizes: wavefrontSizes(target.processor),
    };
  } catch (error) {
    if (!(error instanceof WavewrightError)) throw error;
    throw new HsaError('INVALID_ISA_NAME', error.what);
  }
}

/** Throws INVALID_ISA for null. */
export function expectIsa(isa: Isa): void {
  expectHandle(isa, Object, 'INVALID_ISA');
}

/** Whether code built for the first runs on an agent with the second (hsa_isa_compatible). */
export function isaCompatible(code: Isa, agent: Isa): boolean {
  for (const isa of [code, agent]) expectIsa(isa);
  const target = { ...parseTargetId(code.targetId), genericVersion: 1 };
  return explainIncompatibility(target, parseTargetId(agent.targetId)) === undefined;
}
