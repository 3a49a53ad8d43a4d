/**
 * `libhsa-runtime64.so.1`: every callback that is passed here runs on the calling thread, and queues are made
 * without one.
 */

import type * as Ffi from 'node:ffi';
import { hex } from '../../base/text.ts';
import { HsaError, statusNamed } from '../../hsa/objects/status.ts';
import { type LibraryOptions, noDevice, openSharedLibrary, type SharedLibrary } from '../native/shared-library.ts';

const { existsSync } = process.getBuiltinModule('node:fs');

/** Names that are looked for when neither a path nor the environment says where the library is. */
const SYSTEM_PATHS = ['libhsa-runtime64.so.1', '/opt/rocm/lib/libhsa-runtime64.so.1'];
/** The environment variable that says where the library is. */
export const LIBRARY_VARIABLE = 'WAVEWRIGHT_LIBHSA_PATH';
/** What every export of the library carries. */
const SYMBOL_VERSION = 'ROCR_1';
const RTLD_NOW = 2;
const NAME_BYTES = 64;

const STATUS = 'uint32';
const HANDLE = 'uint64';
/** Address of memory that the library writes to or reads; a Uint8Array of ours. */
const OUT = 'buffer';
const ADDRESS = 'uint64';

const DEFINITIONS = {
  hsa_init: { arguments: [], return: STATUS },
  hsa_shut_down: { arguments: [], return: STATUS },
  hsa_system_get_info: { arguments: ['uint32', OUT], return: STATUS },
  hsa_iterate_agents: { arguments: ['pointer', ADDRESS], return: STATUS },
  hsa_agent_get_info: { arguments: [HANDLE, 'uint32', OUT], return: STATUS },
  hsa_agent_iterate_isas: { arguments: [HANDLE, 'pointer', ADDRESS], return: STATUS },
  hsa_isa_get_info_alt: { arguments: [HANDLE, 'uint32', OUT], return: STATUS },
  hsa_amd_agent_iterate_memory_pools: { arguments: [HANDLE, 'pointer', ADDRESS], return: STATUS },
  hsa_amd_memory_pool_get_info: { arguments: [HANDLE, 'uint32', OUT], return: STATUS },
  hsa_amd_memory_pool_allocate: { arguments: [HANDLE, 'uint64', 'uint32', OUT], return: STATUS },
  hsa_amd_memory_pool_free: { arguments: [ADDRESS], return: STATUS },
  hsa_amd_agents_allow_access: { arguments: ['uint32', OUT, ADDRESS, ADDRESS], return: STATUS },
  hsa_queue_create: {
    arguments: [HANDLE, 'uint32', 'uint32', ADDRESS, ADDRESS, 'uint32', 'uint32', OUT],
    return: STATUS,
  },
  hsa_queue_destroy: { arguments: [ADDRESS], return: STATUS },
  hsa_queue_load_read_index_scacquire: { arguments: [ADDRESS], return: 'uint64' },
  hsa_queue_add_write_index_screlease: { arguments: [ADDRESS, 'uint64'], return: 'uint64' },
  hsa_signal_create: { arguments: ['int64', 'uint32', ADDRESS, OUT], return: STATUS },
  hsa_signal_destroy: { arguments: [HANDLE], return: STATUS },
  hsa_signal_load_scacquire: { arguments: [HANDLE], return: 'int64' },
  hsa_signal_store_screlease: { arguments: [HANDLE, 'int64'], return: 'void' },
  hsa_amd_profiling_set_profiler_enabled: { arguments: [ADDRESS, 'int32'], return: STATUS },
  hsa_amd_profiling_get_dispatch_time: { arguments: [HANDLE, HANDLE, OUT], return: STATUS },
} as const satisfies Ffi.FunctionDefinitions;

type Functions = Ffi.WrappedFunctionsFromDefinitions<typeof DEFINITIONS>;

export class HsaLibrary {
  readonly path: string;
  readonly ffi: typeof Ffi;
  readonly call: Functions;
  readonly #library: Ffi.DynamicLibrary;

  private constructor({ ffi, path, library }: SharedLibrary) {
    this.ffi = ffi;
    this.path = path;
    this.#library = library;
    this.call = library.getFunctions(DEFINITIONS);
  }

  /** Throws NO_DEVICE with what was tried when there is no such library or it is another one. */
  static async open({ path, environment = process.env }: LibraryOptions = {}): Promise<HsaLibrary> {
    const chosen = path ?? environment[LIBRARY_VARIABLE];
    const library = await openSharedLibrary({
      what: 'HSA runtime',
      candidates: chosen === undefined ? SYSTEM_PATHS : [chosen],
      verify: checkVersion,
      hint: `install ROCm's runtime (libhsa-runtime64-1), or name the library in ${LIBRARY_VARIABLE}`,
    });
    return new HsaLibrary(library);
  }

  /** Throws the HSA error of a status that is not success. */
  check(status: number, what: string): void {
    if (status === 0) return;
    const name = statusNamed(status) ?? 'ERROR';
    throw new HsaError(name, `${what}: ${name} (${hex(status)})`, { file: this.path });
  }

  /** Handles that an iterate function calls back with. */
  handles(iterate: (callback: bigint) => number, what: string): bigint[] {
    const found: bigint[] = [];
    const callback = this.#library.registerCallback(
      { arguments: [HANDLE, 'pointer'], return: STATUS },
      (handle: bigint) => {
        found.push(handle);
        return 0;
      },
    );
    try {
      this.check(iterate(callback), what);
    } finally {
      this.#library.unregisterCallback(callback);
    }
    return found;
  }

  /** A 32-bit or 64-bit attribute; undefined where the library does not know it. */
  info(ask: (value: Uint8Array) => number, sizeBytes: 1 | 2 | 4 | 8): bigint | undefined {
    const value = new Uint8Array(8);
    return ask(value) === 0
      ? BigInt.asUintN(8 * sizeBytes, new DataView(value.buffer).getBigUint64(0, true))
      : undefined;
  }

  /** An attribute of characters. */
  text(ask: (value: Uint8Array) => number): string | undefined {
    const value = new Uint8Array(4 * NAME_BYTES);
    if (ask(value) !== 0) return undefined;
    const end = value.indexOf(0);
    return new TextDecoder().decode(value.subarray(0, end < 0 ? value.length : end));
  }
}

/** Throws for a library whose exports do not have the version that every HSA program asks for. */
function checkVersion({ ffi, path }: SharedLibrary): void {
  using libc = ffi.dlopen('libc.so.6', {
    dlopen: { arguments: ['string', 'int32'], return: 'uint64' },
    dlvsym: { arguments: ['uint64', 'string', 'string'], return: 'uint64' },
    dlclose: { arguments: ['uint64'], return: 'int32' },
  });
  const handle = libc.functions.dlopen(path, RTLD_NOW);
  const found = libc.functions.dlvsym(handle, 'hsa_init', SYMBOL_VERSION);
  libc.functions.dlclose(handle);
  if (found === 0n) throw noDevice(`${path} exports no hsa_init@${SYMBOL_VERSION}`);
}

/** Why a machine with the library may still have no GPU. */
export function driverHint(): string {
  return existsSync('/dev/kfd')
    ? 'the driver is there: check who may open /dev/kfd'
    : 'there is no /dev/kfd: no AMD GPU driver is loaded';
}
