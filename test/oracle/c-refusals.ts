/**
 * What functions of the C interface refuse, as `src/hsa/conformance` has it for the TypeScript runtime:
 * arguments for each status. All arguments are integers, pointers included.
 */
import type { HsaStatus } from '../../src/hsa/objects/status.ts';
import { memoryRefusals } from './c-memory-refusals.ts';

/** What arguments are made of. */
export interface CObjects {
  readonly cpu: bigint;
  readonly gpu: bigint;
  readonly isa: bigint;
  readonly wavefront: bigint;
  readonly pool: bigint;
  readonly group: bigint;
  readonly region: bigint;
  /** 4096 bytes of the pool, 64 that were freed. */
  readonly memory: bigint;
  readonly freed: bigint;
  readonly signal: bigint;
  readonly goneSignal: bigint;
  readonly signals: bigint;
  readonly goneSignals: bigint;
  readonly queue: bigint;
  readonly goneQueue: bigint;
  readonly reader: bigint;
  readonly goneReader: bigint;
  readonly damaged: bigint;
  /** The code is loaded in both, in which the variable `variable` and the kernel `kernel.kd` are. */
  readonly executable: bigint;
  readonly frozen: bigint;
  readonly goneExecutable: bigint;
  readonly kernel: bigint;
  readonly variable: bigint;
  /** A function of the library itself: nobody calls it. */
  readonly callback: bigint;
  /** 4096 bytes of the program for results. */
  readonly out: bigint;
  /** The address of words of 64 bits, of a text with its end. */
  list(...words: readonly bigint[]): bigint;
  text(text: string): bigint;
}

export type CRefusals = Readonly<Record<string, Partial<Record<HsaStatus, readonly (readonly bigint[])[]>>>>;

const UNKNOWN = 0x7fffn;
/** An address that nothing is at. */
export const NOWHERE = 16n;
const NO_WISH = 0xffff_ffffn;

function infoRefusals(own: CObjects): CRefusals {
  const { cpu, gpu, pool, out } = own;
  return {
    hsa_init: {},
    hsa_system_get_info: {
      INVALID_ARGUMENT: [
        [UNKNOWN, out],
        [0n, 0n],
      ],
    },
    hsa_system_major_extension_supported: { INVALID_ARGUMENT: [[0x201n, 1n, 0n, 0n]] },
    hsa_system_get_major_extension_table: {
      INVALID_ARGUMENT: [
        [0x201n, 1n, 24n, 0n],
        [0x201n, 2n, 24n, out],
      ],
    },
    hsa_amd_register_system_event_handler: { INVALID_ARGUMENT: [[0n, 0n]] },
    hsa_iterate_agents: { INVALID_ARGUMENT: [[0n, 0n]] },
    hsa_agent_get_info: {
      INVALID_AGENT: [
        [0n, 0n, out],
        [pool, 0n, out],
      ],
      INVALID_ARGUMENT: [
        [gpu, UNKNOWN, out],
        [cpu, 19n, out],
        [gpu, 0n, 0n],
      ],
    },
    hsa_cache_get_info: {
      INVALID_CACHE: [
        [0n, 0n, out],
        [gpu, 0n, out],
      ],
    },
    hsa_agent_iterate_caches: { INVALID_AGENT: [[0n, own.callback, 0n]], INVALID_ARGUMENT: [[gpu, 0n, 0n]] },
  };
}

function isaRefusals(own: CObjects): CRefusals {
  const { gpu, isa, wavefront, pool, region, out } = own;
  return {
    hsa_isa_from_name: {
      INVALID_ISA_NAME: ['', 'amdgcn-amd-amdhsa--gfx0'].map((name) => [own.text(name), out]),
      INVALID_ARGUMENT: [
        [0n, out],
        [own.text('x'), 0n],
      ],
    },
    hsa_isa_get_info_alt: {
      INVALID_ISA: [
        [0n, 0n, out],
        [gpu, 0n, out],
      ],
      INVALID_ARGUMENT: [
        [isa, UNKNOWN, out],
        [isa, 0n, 0n],
      ],
    },
    hsa_isa_get_exception_policies: { INVALID_ISA: [[0n, 0n, out]], INVALID_ARGUMENT: [[isa, 0n, 0n]] },
    hsa_isa_get_round_method: { INVALID_ISA: [[0n, 0n, 0n, out]], INVALID_ARGUMENT: [[isa, 0n, 0n, 0n]] },
    hsa_isa_compatible: {
      INVALID_ISA: [
        [isa, 0n, out],
        [0n, isa, out],
      ],
      INVALID_ARGUMENT: [[isa, isa, 0n]],
    },
    hsa_wavefront_get_info: {
      INVALID_WAVEFRONT: [
        [0n, 0n, out],
        [gpu, 0n, out],
      ],
      INVALID_ARGUMENT: [
        [wavefront, UNKNOWN, out],
        [wavefront, 0n, 0n],
      ],
    },
    hsa_isa_iterate_wavefronts: { INVALID_ISA: [[0n, own.callback, 0n]], INVALID_ARGUMENT: [[isa, 0n, 0n]] },
    hsa_region_get_info: {
      INVALID_REGION: [
        [0n, 0n, out],
        [gpu, 0n, out],
      ],
      INVALID_ARGUMENT: [
        [region, UNKNOWN, out],
        [region, 0n, 0n],
      ],
    },
    hsa_amd_memory_pool_get_info: {
      INVALID_MEMORY_POOL: [
        [0n, 0n, out],
        [gpu, 0n, out],
      ],
      INVALID_ARGUMENT: [
        [pool, UNKNOWN, out],
        [pool, 0n, 0n],
      ],
    },
    hsa_amd_agent_memory_pool_get_info: {
      INVALID_AGENT: [[0n, pool, 0n, out]],
      INVALID_MEMORY_POOL: [
        [gpu, 0n, 0n, out],
        [gpu, gpu, 0n, out],
      ],
      INVALID_ARGUMENT: [
        [gpu, pool, UNKNOWN, out],
        [gpu, pool, 0n, 0n],
      ],
    },
    hsa_amd_agent_iterate_memory_pools: { INVALID_AGENT: [[0n, own.callback, 0n]], INVALID_ARGUMENT: [[gpu, 0n, 0n]] },
    hsa_agent_iterate_regions: { INVALID_AGENT: [[0n, own.callback, 0n]], INVALID_ARGUMENT: [[gpu, 0n, 0n]] },
    hsa_amd_profiling_async_copy_enable: {},
  };
}

function signalRefusals(own: CObjects): CRefusals {
  const { gpu, cpu, signal, goneSignal, out, callback, list } = own;
  const bad = [0n, goneSignal, NOWHERE];
  return {
    hsa_signal_create: {
      INVALID_AGENT: [[0n, 1n, list(0n), out]],
      INVALID_ARGUMENT: [
        [0n, 2n, list(gpu, gpu), out],
        [0n, 1n, 0n, out],
        [0n, 0n, 0n, 0n],
      ],
    },
    hsa_amd_signal_create: {
      INVALID_AGENT: [[0n, 1n, list(0n), 0n, out]],
      INVALID_ARGUMENT: [
        [0n, 2n, list(gpu, gpu), 0n, out],
        [0n, 0n, 0n, 8n, out],
      ],
    },
    hsa_signal_group_create: {
      INVALID_SIGNAL: bad.map((each) => [1n, list(each), 1n, list(gpu), out]),
      INVALID_AGENT: [[1n, list(signal), 1n, list(0n), out]],
      INVALID_ARGUMENT: [
        [0n, 0n, 1n, list(gpu), out],
        [1n, list(signal), 0n, 0n, out],
      ],
    },
    hsa_signal_group_wait_any_scacquire: {
      INVALID_SIGNAL_GROUP: [own.goneSignals, 0n].map((each) => [each, list(0n), list(1n), 0n, out, out]),
      INVALID_ARGUMENT: [[own.signals, 0n, list(1n), 0n, out, out]],
    },
    hsa_amd_signal_async_handler: {
      INVALID_SIGNAL: bad.map((each) => [each, 0n, 0n, callback, 0n]),
      INVALID_ARGUMENT: [
        [signal, 0n, 0n, 0n, 0n],
        [signal, 9n, 0n, callback, 0n],
      ],
    },
    hsa_amd_profiling_get_dispatch_time: {
      INVALID_SIGNAL: bad.map((each) => [gpu, each, out]),
      INVALID_AGENT: [0n, cpu].map((each) => [each, signal, out]),
    },
    hsa_amd_profiling_convert_tick_to_system_domain: { INVALID_AGENT: [0n, cpu].map((each) => [each, 0n, out]) },
  };
}

function queueRefusals(own: CObjects): CRefusals {
  const { gpu, cpu, queue, goneQueue, out, list } = own;
  const gone = (...others: readonly bigint[]) => ({
    INVALID_QUEUE: [goneQueue, NOWHERE].map((each) => [each, ...others]),
  });
  return {
    hsa_queue_create: {
      INVALID_AGENT: [0n, cpu].map((each) => [each, 64n, 0n, 0n, 0n, NO_WISH, NO_WISH, out]),
      INVALID_ARGUMENT: [
        ...[0n, 3n, 65n].map((size) => [gpu, size, 0n, 0n, 0n, NO_WISH, NO_WISH, out]),
        [gpu, 64n, 9n, 0n, 0n, NO_WISH, NO_WISH, out],
        [gpu, 64n, 0n, 0n, 0n, NO_WISH, NO_WISH, 0n],
      ],
      OUT_OF_RESOURCES: [
        [gpu, 2n ** 18n, 0n, 0n, 0n, NO_WISH, NO_WISH, out],
        [gpu, 64n, 0n, 0n, 0n, 262_129n, NO_WISH, out],
        [gpu, 64n, 0n, 0n, 0n, NO_WISH, 2n ** 20n, out],
      ],
    },
    hsa_queue_destroy: gone(),
    hsa_queue_inactivate: gone(),
    hsa_amd_queue_set_priority: { ...gone(0n), INVALID_ARGUMENT: [[queue, 9n]] },
    hsa_amd_queue_cu_set_mask: {
      ...gone(32n, list(1n)),
      INVALID_ARGUMENT: [
        [queue, 32n, 0n],
        [queue, 32n, list(0n)],
        [queue, 8n, list(1n)],
      ],
    },
    hsa_amd_queue_cu_get_mask: gone(32n, out),
    hsa_amd_queue_get_info: gone(0n, out),
    hsa_amd_profiling_set_profiler_enabled: gone(1n),
  };
}

function codeRefusals(own: CObjects): CRefusals {
  const { gpu, cpu, reader, goneReader, executable, frozen, goneExecutable, out, text, list, callback } = own;
  const gone = (...others: readonly bigint[]) => ({
    INVALID_EXECUTABLE: [goneExecutable, 0n].map((each) => [each, ...others]),
  });
  const load = {
    ...gone(gpu, reader, 0n, out),
    INVALID_AGENT: [0n, cpu].map((each) => [executable, each, reader, 0n, out]),
    INVALID_CODE_OBJECT: [[executable, gpu, own.damaged, 0n, out]],
    VARIABLE_ALREADY_DEFINED: [[executable, gpu, reader, 0n, out]],
    FROZEN_EXECUTABLE: [[frozen, gpu, reader, 0n, out]],
  };
  const [x, variable] = [text('x'), text('variable')];
  return {
    hsa_code_object_reader_create_from_memory: {
      INVALID_ARGUMENT: [
        [0n, 8n, out],
        [out, 0n, out],
        [out, 8n, 0n],
      ],
    },
    hsa_code_object_deserialize: {
      INVALID_ARGUMENT: [
        [0n, 8n, 0n, out],
        [out, 8n, 0n, 0n],
      ],
    },
    hsa_code_object_reader_destroy: { INVALID_CODE_OBJECT_READER: [[goneReader], [0n]] },
    hsa_code_object_destroy: { INVALID_CODE_OBJECT: [[goneReader], [0n]] },
    hsa_executable_create_alt: {
      INVALID_ARGUMENT: [
        [9n, 0n, 0n, out],
        [0n, 9n, 0n, out],
        [0n, 0n, 0n, 0n],
      ],
    },
    hsa_executable_destroy: gone(),
    hsa_executable_load_agent_code_object: {
      ...load,
      INVALID_CODE_OBJECT_READER: [goneReader, 0n].map((each) => [executable, gpu, each, 0n, out]),
    },
    hsa_executable_load_code_object: load,
    hsa_executable_agent_global_variable_define: {
      ...gone(gpu, x, 64n),
      INVALID_AGENT: [[executable, 0n, x, 64n]],
      INVALID_ARGUMENT: [
        [executable, gpu, 0n, 64n],
        [executable, gpu, text(''), 64n],
      ],
      VARIABLE_ALREADY_DEFINED: [[executable, gpu, variable, 64n]],
      FROZEN_EXECUTABLE: [[frozen, gpu, x, 64n]],
    },
    hsa_executable_freeze: { ...gone(0n), FROZEN_EXECUTABLE: [[frozen, 0n]] },
    hsa_executable_validate: { ...gone(out), INVALID_ARGUMENT: [[executable, 0n]] },
    hsa_executable_get_info: { ...gone(1n, out), INVALID_ARGUMENT: [[executable, UNKNOWN, out]] },
    hsa_executable_get_symbol_by_name: {
      ...gone(variable, list(gpu), out),
      INVALID_SYMBOL_NAME: ['', 'kernel', 'none'].map((name) => [frozen, text(name), list(gpu), out]),
      INVALID_AGENT: [[frozen, variable, list(0n), out]],
      INVALID_ARGUMENT: [
        [frozen, 0n, list(gpu), out],
        [frozen, variable, list(gpu), 0n],
      ],
    },
    hsa_executable_iterate_symbols: { ...gone(callback, 0n), INVALID_ARGUMENT: [[frozen, 0n, 0n]] },
    hsa_executable_iterate_agent_symbols: { ...gone(gpu, callback, 0n), INVALID_AGENT: [[frozen, 0n, callback, 0n]] },
    hsa_executable_symbol_get_info: {
      INVALID_EXECUTABLE_SYMBOL: [
        [0n, 0n, out],
        [executable, 0n, out],
      ],
      INVALID_ARGUMENT: [
        [own.kernel, UNKNOWN, out],
        [own.kernel, 21n, out],
        [own.variable, 22n, out],
        [own.variable, 23n, out],
      ],
    },
  };
}

export const cRefusals = (own: CObjects): CRefusals => ({
  ...infoRefusals(own),
  ...isaRefusals(own),
  ...signalRefusals(own),
  ...queueRefusals(own),
  ...memoryRefusals(own),
  ...codeRefusals(own),
});
