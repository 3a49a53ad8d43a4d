/** `libcuda.so.1`, the driver API of CUDA (CUDA driver API reference; names as the library exports them). */
import type * as Ffi from 'node:ffi';
import { WavewrightError } from '../../base/errors.ts';
import { type LibraryOptions, openSharedLibrary, type SharedLibrary } from '../native/shared-library.ts';
import { resultMeaning, SUCCESS } from './results.ts';

const { existsSync } = process.getBuiltinModule('node:fs');

const SYSTEM_PATHS = ['libcuda.so.1', '/usr/lib/wsl/lib/libcuda.so.1'];
/** The environment variable that says where the library is. */
export const CUDA_LIBRARY_VARIABLE = 'WAVEWRIGHT_LIBCUDA_PATH';

/** CUresult. */
const RESULT = 'int32';
/** CUdevice: a number from 0 on. */
const DEVICE = 'int32';
/** CUcontext, CUmodule, CUfunction, CUstream, CUevent, CUlinkState. */
const HANDLE = 'uint64';
/** Of memory of the GPU, or of the host as a number. */
const ADDRESS = 'uint64';
const SIZE = 'uint64';
/** Memory of ours that the library reads or writes: a Uint8Array. */
const BUFFER = 'buffer';

const DEFINITIONS = {
  cuInit: { arguments: ['uint32'], return: RESULT },
  cuDriverGetVersion: { arguments: [BUFFER], return: RESULT },
  cuGetErrorName: { arguments: [RESULT, BUFFER], return: RESULT },
  cuGetErrorString: { arguments: [RESULT, BUFFER], return: RESULT },
  cuDeviceGetCount: { arguments: [BUFFER], return: RESULT },
  cuDeviceGet: { arguments: [BUFFER, 'int32'], return: RESULT },
  cuDeviceGetName: { arguments: [BUFFER, 'int32', DEVICE], return: RESULT },
  cuDeviceGetAttribute: { arguments: [BUFFER, 'int32', DEVICE], return: RESULT },
  cuDeviceTotalMem_v2: { arguments: [BUFFER, DEVICE], return: RESULT },
  cuDevicePrimaryCtxRetain: { arguments: [BUFFER, DEVICE], return: RESULT },
  cuDevicePrimaryCtxRelease_v2: { arguments: [DEVICE], return: RESULT },
  cuCtxSetCurrent: { arguments: [HANDLE], return: RESULT },
  cuCtxSetLimit: { arguments: ['int32', SIZE], return: RESULT },
  cuCtxGetLimit: { arguments: [BUFFER, 'int32'], return: RESULT },
  cuModuleLoadDataEx: { arguments: [BUFFER, ADDRESS, 'uint32', BUFFER, BUFFER], return: RESULT },
  cuModuleUnload: { arguments: [HANDLE], return: RESULT },
  cuModuleGetFunction: { arguments: [BUFFER, HANDLE, 'string'], return: RESULT },
  cuModuleGetGlobal_v2: { arguments: [BUFFER, BUFFER, HANDLE, 'string'], return: RESULT },
  cuLinkCreate_v2: { arguments: ['uint32', BUFFER, BUFFER, BUFFER], return: RESULT },
  cuLinkAddData_v2: {
    arguments: [HANDLE, 'int32', BUFFER, SIZE, 'string', 'uint32', ADDRESS, ADDRESS],
    return: RESULT,
  },
  cuLinkComplete: { arguments: [HANDLE, BUFFER, BUFFER], return: RESULT },
  cuLinkDestroy: { arguments: [HANDLE], return: RESULT },
  cuFuncGetAttribute: { arguments: [BUFFER, 'int32', HANDLE], return: RESULT },
  cuFuncSetAttribute: { arguments: [HANDLE, 'int32', 'int32'], return: RESULT },
  cuMemHostAlloc: { arguments: [BUFFER, SIZE, 'uint32'], return: RESULT },
  cuMemFreeHost: { arguments: [ADDRESS], return: RESULT },
  cuMemHostGetDevicePointer_v2: { arguments: [BUFFER, ADDRESS, 'uint32'], return: RESULT },
  cuMemAlloc_v2: { arguments: [BUFFER, SIZE], return: RESULT },
  cuMemFree_v2: { arguments: [ADDRESS], return: RESULT },
  cuMemcpyHtoDAsync_v2: { arguments: [ADDRESS, BUFFER, SIZE, HANDLE], return: RESULT },
  cuMemcpyDtoHAsync_v2: { arguments: [BUFFER, ADDRESS, SIZE, HANDLE], return: RESULT },
  cuMemsetD8Async: { arguments: [ADDRESS, 'uint8', SIZE, HANDLE], return: RESULT },
  cuStreamCreate: { arguments: [BUFFER, 'uint32'], return: RESULT },
  cuStreamDestroy_v2: { arguments: [HANDLE], return: RESULT },
  cuStreamQuery: { arguments: [HANDLE], return: RESULT },
  cuStreamSynchronize: { arguments: [HANDLE], return: RESULT },
  cuEventCreate: { arguments: [BUFFER, 'uint32'], return: RESULT },
  cuEventDestroy_v2: { arguments: [HANDLE], return: RESULT },
  cuEventRecord: { arguments: [HANDLE, HANDLE], return: RESULT },
  cuEventQuery: { arguments: [HANDLE], return: RESULT },
  cuEventElapsedTime: { arguments: [BUFFER, HANDLE, HANDLE], return: RESULT },
  cuLaunchKernel: {
    arguments: [
      ...([HANDLE, 'uint32', 'uint32', 'uint32', 'uint32', 'uint32', 'uint32', 'uint32', HANDLE] as const),
      ...([ADDRESS, BUFFER] as const),
    ],
    return: RESULT,
  },
} as const satisfies Ffi.FunctionDefinitions;

/** What drivers before CUDA 11.2 lack: memory that is allocated while kernels run. */
const ASYNC_DEFINITIONS = {
  cuMemAllocAsync: { arguments: [BUFFER, SIZE, HANDLE], return: RESULT },
  cuMemFreeAsync: { arguments: [ADDRESS, HANDLE], return: RESULT },
} as const satisfies Ffi.FunctionDefinitions;

type Functions = Ffi.WrappedFunctionsFromDefinitions<typeof DEFINITIONS>;
type AsyncFunctions = Ffi.WrappedFunctionsFromDefinitions<typeof ASYNC_DEFINITIONS>;

export class CudaLibrary {
  readonly path: string;
  readonly ffi: typeof Ffi;
  readonly call: Functions;
  readonly #library: Ffi.DynamicLibrary;
  #async: AsyncFunctions | undefined;

  private constructor({ ffi, path, library }: SharedLibrary, call: Functions) {
    this.ffi = ffi;
    this.path = path;
    this.#library = library;
    this.call = call;
  }

  /** Throws NO_DEVICE with what was tried when there is no such library, or one that is too old. */
  static async open({ path, environment = process.env }: LibraryOptions = {}): Promise<CudaLibrary> {
    const named = environment[CUDA_LIBRARY_VARIABLE];
    const chosen = path ?? (named === '' ? undefined : named);
    let call: Functions | undefined;
    const library = await openSharedLibrary({
      what: 'CUDA driver',
      candidates: chosen === undefined ? SYSTEM_PATHS : [chosen],
      // A library without one of the functions is another one, or too old.
      verify: (opened) => {
        call = opened.library.getFunctions(DEFINITIONS);
      },
      hint: cudaHint(),
    });
    return new CudaLibrary(library, call!);
  }

  /** Allocation in the order of a stream. Throws UNSUPPORTED where the driver is older than CUDA 11.2. */
  get async(): AsyncFunctions {
    try {
      this.#async ??= this.#library.getFunctions(ASYNC_DEFINITIONS);
      return this.#async;
    } catch (cause) {
      const what = 'memory for a kernel that runs: this driver lacks cuMemAllocAsync, which came with CUDA 11.2';
      throw new WavewrightError('UNSUPPORTED', what, { file: this.path, hint: 'install a newer driver', cause });
    }
  }

  /** Throws the error of a result that is not success; `detail` says what the driver told besides. */
  check(result: number, what: string, detail = ''): void {
    if (result !== SUCCESS) throw this.error(result, what, detail);
  }

  error(result: number, what: string, detail = ''): WavewrightError {
    const { code, hint } = resultMeaning(result);
    const said = `${what}: ${this.describe(result)}`;
    const file = { file: this.path, ...(hint !== undefined && { hint }) };
    return new WavewrightError(code, detail === '' ? said : `${said}\n${detail}`, file);
  }

  /** `CUDA_ERROR_INVALID_VALUE (1), invalid argument`. */
  describe(result: number): string {
    const name = this.#text((out) => this.call.cuGetErrorName(result, out)) ?? 'a result that the driver cannot name';
    const sentence = this.#text((out) => this.call.cuGetErrorString(result, out));
    return `${name} (${result})${sentence === undefined ? '' : `, ${sentence}`}`;
  }

  /** A string of the library. */
  #text(ask: (out: Uint8Array) => number): string | undefined {
    const out = new BigUint64Array(1);
    if (ask(new Uint8Array(out.buffer)) !== SUCCESS || out[0] === 0n) return undefined;
    return this.ffi.toString(out[0]!) ?? undefined;
  }

  /** What a function stores at the pointer that it gets; throws the error of its result. */
  number(ask: (out: Uint8Array) => number, what: string): number {
    const out = new Int32Array(1);
    this.check(ask(new Uint8Array(out.buffer)), what);
    return out[0]!;
  }

  /** The same of 64 bits: a handle, an address or a size. */
  word(ask: (out: Uint8Array) => number, what: string): bigint {
    const out = new BigUint64Array(1);
    this.check(ask(new Uint8Array(out.buffer)), what);
    return out[0]!;
  }
}

/** Why a machine may lack the driver, and what works without. */
export function cudaHint(): string {
  const driver = existsSync('/dev/nvidiactl')
    ? `the kernel module is there: install libcuda.so.1 of the same version, or name it in ${CUDA_LIBRARY_VARIABLE}`
    : 'there is no /dev/nvidiactl: no driver for NVIDIA GPUs is loaded';
  return `${driver}; --device=ptx:sm_70 runs PTX without a GPU`;
}
