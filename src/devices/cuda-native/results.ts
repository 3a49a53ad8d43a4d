/**
 * What results of CUDA's driver mean here (CUresult; CUDA driver API, section "Data types used by CUDA
 * driver"). The driver says their names and sentences.
 */
import type { ErrorCode } from '../../base/errors.ts';
import type { FaultKind } from '../../device/fault.ts';

export const SUCCESS = 0;
export const OUT_OF_MEMORY = 2;
export const NO_DEVICE = 100;
export const NOT_FOUND = 500;
export const NOT_READY = 600;

interface Meaning {
  readonly code: ErrorCode;
  readonly hint?: string;
}

const driverHint =
  "the driver's kernel module and libcuda.so.1 must be of one version: `nvidia-smi` says whether they are";
const rebuild =
  'rebuild for this GPU (`wavewright info --device=cuda` says which it is), or with PTX, which the driver compiles';
const limits = 'take a smaller block, less --dynamic-lds or a smaller --stack-size';

const MEANINGS: Readonly<Record<number, Meaning>> = {
  2: { code: 'LIMIT_EXCEEDED', hint: 'other programs may have memory of this GPU: `nvidia-smi` lists them' },
  34: { code: 'NO_DEVICE', hint: 'this libcuda.so.1 is the stub to link with; the real one comes with the driver' },
  36: { code: 'NO_DEVICE', hint: 'install a newer driver' },
  46: { code: 'NO_DEVICE', hint: 'another process has the GPU for itself, or it is in a state that needs a reset' },
  100: { code: 'NO_DEVICE', hint: 'is there an NVIDIA GPU, and does CUDA_VISIBLE_DEVICES hide it?' },
  101: { code: 'NO_DEVICE' },
  102: { code: 'NO_DEVICE' },
  200: { code: 'BAD_INPUT', hint: 'expected PTX or a cubin' },
  209: { code: 'UNSUPPORTED', hint: rebuild },
  214: { code: 'GPU_FAULT', hint: 'memory of the GPU is damaged: `nvidia-smi -q -d ECC` tells more' },
  215: { code: 'LIMIT_EXCEEDED', hint: limits },
  218: { code: 'BAD_INPUT', hint: '`wavewright ptx FILE` checks PTX' },
  220: { code: 'GPU_FAULT' },
  221: { code: 'UNSUPPORTED', hint: "install the driver's compiler (libnvidia-ptxjitcompiler.so.1), or build a cubin" },
  222: {
    code: 'UNSUPPORTED',
    hint: 'the driver is older than this version of PTX: build with an earlier one, as -Xclang -target-feature -Xclang +ptx78, or install a newer driver',
  },
  223: { code: 'UNSUPPORTED', hint: 'CUDA_DISABLE_PTX_JIT is set: unset it, or build a cubin' },
  300: { code: 'BAD_INPUT' },
  302: { code: 'BAD_INPUT', hint: 'nothing defines a name that the code uses' },
  304: { code: 'NO_DEVICE', hint: 'may this user open /dev/nvidia0 and /dev/nvidiactl?' },
  500: { code: 'BAD_INPUT' },
  701: { code: 'LIMIT_EXCEEDED', hint: limits },
  702: { code: 'GPU_FAULT', hint: "the system's watchdog ended the kernel: GPUs with a display allow some seconds" },
  720: { code: 'LIMIT_EXCEEDED', hint: 'a cooperative grid must fit on the GPU at once' },
  800: { code: 'UNSUPPORTED' },
  801: { code: 'UNSUPPORTED' },
  802: { code: 'NO_DEVICE', hint: 'a service that this GPU needs (nvidia-fabricmanager) does not run yet' },
  803: { code: 'NO_DEVICE', hint: driverHint },
  804: { code: 'NO_DEVICE', hint: driverHint },
  805: { code: 'NO_DEVICE', hint: 'the server of MPS does not answer' },
  999: { code: 'NO_DEVICE', hint: driverHint },
};

/** What a result means that is no success; one that nothing is known of is our defect. */
export const resultMeaning = (result: number): Meaning =>
  MEANINGS[result] ?? { code: resultFault(result) ? 'GPU_FAULT' : 'INTERNAL' };

/**
 * What kernels were stopped for: from then on the context answers every call with the same result. The
 * sentences are ours, because the driver's say no more than the names.
 */
const FAULTS: Readonly<Record<number, { readonly kind: FaultKind; readonly what: string }>> = {
  214: { kind: 'exception', what: 'an error in memory that could not be corrected' },
  220: { kind: 'exception', what: 'an error of NVLink that could not be corrected' },
  700: { kind: 'memory', what: 'access to memory that is not there' },
  702: { kind: 'exception', what: "the kernel took longer than the system's watchdog allows" },
  710: { kind: 'exception', what: 'an assertion of the kernel failed' },
  714: { kind: 'exception', what: 'an error of the hardware stack: it overflowed, or was overwritten' },
  715: { kind: 'illegal-instruction', what: 'an illegal instruction, or a trap of the kernel' },
  716: { kind: 'memory', what: 'an address that is not aligned' },
  717: { kind: 'aperture', what: 'an address of the wrong state space' },
  718: { kind: 'memory', what: 'a jump to where no code is' },
  719: { kind: 'exception', what: 'an exception in the kernel' },
};

/** Undefined for results that do not stop kernels. */
export const resultFault = (result: number): { readonly kind: FaultKind; readonly what: string } | undefined =>
  FAULTS[result];

export const resultHint = (result: number): string | undefined => MEANINGS[result]?.hint;
