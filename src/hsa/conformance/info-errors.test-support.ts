/**
 * Errors of the functions that ask: of the runtime, agents, instruction sets, pools, executables and symbols.
 */

import { agentMemoryPoolInfo, memoryPoolInfo, regionInfo } from '../memory/memory-info.ts';
import { agentInfo, cacheInfo } from '../objects/agent-info.ts';
import { isaCompatible, isaFromName } from '../objects/isa.ts';
import { isaExceptionPolicies, isaInfo, isaRoundMethod, wavefrontInfo } from '../objects/isa-info.ts';
import { createRuntime } from '../runtime/runtime.ts';
import { UNSUPPORTED_FUNCTIONS, type UnsupportedFunction } from '../runtime/unsupported.ts';
import { NOWHERE, NULL, type Refusals, UNKNOWN_ID, type World } from './world.test-support.ts';

export function runtimeFunctions({ own, ended }: World): Record<string, Refusals> {
  const { runtime } = own;
  return {
    hsa_init: {
      INVALID_ARGUMENT: [() => createRuntime({ devices: [] })],
      NOT_INITIALIZED: [
        () => ended.runtime.retain(),
        () => ended.runtime.progress(),
        () => ended.runtime.view(ended.address, 1),
      ],
    },
    hsa_system_get_info: {
      INVALID_ARGUMENT: [() => runtime.systemInfo(UNKNOWN_ID)],
      NOT_INITIALIZED: [() => ended.runtime.systemInfo(0)],
    },
    'hsa_system_major_extension_supported, hsa_system_get_major_extension_table': {
      NOT_INITIALIZED: [
        () => ended.runtime.extensionMinor(0x201, 1),
        () => ended.runtime.loader.executables,
        () => ended.runtime.loader.querySegmentDescriptors(),
        () => ended.runtime.loader.queryHostAddress(ended.address),
      ],
      INVALID_ARGUMENT: [
        () => runtime.loader.queryHostAddress(NOWHERE),
        () => runtime.loader.queryExecutable(own.address),
      ],
    },
    hsa_amd_register_system_event_handler: {
      INVALID_ARGUMENT: [() => runtime.onSystemEvent(NULL)],
      NOT_INITIALIZED: [() => ended.runtime.onSystemEvent(() => {})],
    },
    ...Object.fromEntries(
      Object.keys(UNSUPPORTED_FUNCTIONS).map((name) => [
        name,
        {
          NOT_SUPPORTED: [() => runtime.refuse(name as UnsupportedFunction)],
          NOT_INITIALIZED: [() => ended.runtime.refuse(name as UnsupportedFunction)],
        },
      ]),
    ),
  };
}

export function infoFunctions(world: World): Record<string, Refusals> {
  const { own, other, ended } = world;
  const isa = own.agent.isas[0]!;
  return {
    hsa_agent_get_info: {
      INVALID_AGENT: [() => agentInfo(NULL, 0)],
      INVALID_ARGUMENT: [() => agentInfo(own.agent, UNKNOWN_ID), () => agentInfo(own.cpu, 19)],
      NOT_INITIALIZED: [() => agentInfo(ended.agent, 0)],
    },
    'hsa_cache_get_info, hsa_agent_iterate_caches': {
      INVALID_CACHE: [() => cacheInfo(NULL, 0)],
      INVALID_ARGUMENT: own.agent.caches.map((cache) => () => cacheInfo(cache, UNKNOWN_ID)),
    },
    hsa_isa_from_name: {
      INVALID_ISA_NAME: ['', 'amdgcn-amd-amdhsa--gfx0', `${isa.name}:none+`].map((name) => () => isaFromName(name)),
      INVALID_ARGUMENT: [() => isaFromName(NULL)],
    },
    hsa_isa_get_info_alt: { INVALID_ISA: [() => isaInfo(NULL, 0)], INVALID_ARGUMENT: [() => isaInfo(isa, UNKNOWN_ID)] },
    'hsa_isa_get_exception_policies, hsa_isa_get_round_method, hsa_isa_compatible': {
      INVALID_ISA: [
        () => isaExceptionPolicies(NULL),
        () => isaRoundMethod(NULL),
        () => isaCompatible(isa, NULL),
        () => isaCompatible(NULL, isa),
      ],
    },
    'hsa_wavefront_get_info, hsa_isa_iterate_wavefronts': {
      INVALID_ISA: [() => wavefrontInfo(NULL, 64, 0)],
      INVALID_WAVEFRONT: [NULL, 0, 48].map((size) => () => wavefrontInfo(isa, size, 0)),
      INVALID_ARGUMENT: [() => wavefrontInfo(isa, isa.wavefrontSizes[0]!, UNKNOWN_ID)],
    },
    hsa_region_get_info: {
      INVALID_REGION: [() => regionInfo(NULL, 0)],
      INVALID_ARGUMENT: [() => regionInfo(own.pool, UNKNOWN_ID)],
      NOT_INITIALIZED: [() => regionInfo(ended.pool, 0)],
    },
    hsa_amd_memory_pool_get_info: {
      INVALID_MEMORY_POOL: [() => memoryPoolInfo(NULL, 0)],
      INVALID_ARGUMENT: [() => memoryPoolInfo(own.pool, UNKNOWN_ID)],
      NOT_INITIALIZED: [() => memoryPoolInfo(ended.pool, 0)],
    },
    hsa_amd_agent_memory_pool_get_info: {
      INVALID_AGENT: [() => agentMemoryPoolInfo(NULL, own.pool, 0)],
      INVALID_MEMORY_POOL: [NULL, other.pool].map((pool) => () => agentMemoryPoolInfo(own.agent, pool, 0)),
      INVALID_ARGUMENT: [() => agentMemoryPoolInfo(own.agent, own.pool, UNKNOWN_ID)],
      NOT_INITIALIZED: [() => agentMemoryPoolInfo(ended.agent, ended.pool, 0)],
    },
  };
}
