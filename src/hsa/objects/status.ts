/**
 * The status codes of the HSA specification (runtime 1.2, section 2.2) and of the AMD extension, as a closed
 * table, and the error that carries one. `code` is what kind of failure the status is for the command line.
 */
import { type ErrorCode, type ErrorContext, WavewrightError } from '../../base/errors.ts';

export const HSA_STATUS = {
  ERROR: { value: 0x1000, code: 'INTERNAL' },
  INVALID_ARGUMENT: { value: 0x1001, code: 'USAGE' },
  INVALID_QUEUE_CREATION: { value: 0x1002, code: 'USAGE' },
  INVALID_ALLOCATION: { value: 0x1003, code: 'LIMIT_EXCEEDED' },
  INVALID_AGENT: { value: 0x1004, code: 'USAGE' },
  INVALID_REGION: { value: 0x1005, code: 'USAGE' },
  INVALID_SIGNAL: { value: 0x1006, code: 'USAGE' },
  INVALID_QUEUE: { value: 0x1007, code: 'USAGE' },
  OUT_OF_RESOURCES: { value: 0x1008, code: 'LIMIT_EXCEEDED' },
  INVALID_PACKET_FORMAT: { value: 0x1009, code: 'USAGE' },
  RESOURCE_FREE: { value: 0x100a, code: 'INTERNAL' },
  NOT_INITIALIZED: { value: 0x100b, code: 'USAGE' },
  REFCOUNT_OVERFLOW: { value: 0x100c, code: 'USAGE' },
  INCOMPATIBLE_ARGUMENTS: { value: 0x100d, code: 'USAGE' },
  INVALID_INDEX: { value: 0x100e, code: 'USAGE' },
  INVALID_ISA: { value: 0x100f, code: 'UNSUPPORTED' },
  INVALID_CODE_OBJECT: { value: 0x1010, code: 'BAD_INPUT' },
  INVALID_EXECUTABLE: { value: 0x1011, code: 'USAGE' },
  FROZEN_EXECUTABLE: { value: 0x1012, code: 'USAGE' },
  INVALID_SYMBOL_NAME: { value: 0x1013, code: 'BAD_INPUT' },
  VARIABLE_ALREADY_DEFINED: { value: 0x1014, code: 'BAD_INPUT' },
  VARIABLE_UNDEFINED: { value: 0x1015, code: 'BAD_INPUT' },
  EXCEPTION: { value: 0x1016, code: 'GPU_FAULT' },
  INVALID_ISA_NAME: { value: 0x1017, code: 'USAGE' },
  INVALID_CODE_SYMBOL: { value: 0x1018, code: 'USAGE' },
  INVALID_EXECUTABLE_SYMBOL: { value: 0x1019, code: 'USAGE' },
  INVALID_FILE: { value: 0x1020, code: 'IO' },
  INVALID_CODE_OBJECT_READER: { value: 0x1021, code: 'USAGE' },
  INVALID_CACHE: { value: 0x1022, code: 'USAGE' },
  INVALID_WAVEFRONT: { value: 0x1023, code: 'USAGE' },
  INVALID_SIGNAL_GROUP: { value: 0x1024, code: 'USAGE' },
  INVALID_RUNTIME_STATE: { value: 0x1025, code: 'INTERNAL' },
  FATAL: { value: 0x1026, code: 'INTERNAL' },
  INVALID_MEMORY_POOL: { value: 40, code: 'USAGE' },
  MEMORY_APERTURE_VIOLATION: { value: 41, code: 'GPU_FAULT' },
  ILLEGAL_INSTRUCTION: { value: 42, code: 'GPU_FAULT' },
  MEMORY_FAULT: { value: 43, code: 'GPU_FAULT' },
  CU_MASK_REDUCED: { value: 44, code: 'USAGE' },
  OUT_OF_REGISTERS: { value: 45, code: 'LIMIT_EXCEEDED' },
  RESOURCE_BUSY: { value: 46, code: 'USAGE' },
  NOT_SUPPORTED: { value: 47, code: 'UNSUPPORTED' },
} as const satisfies Record<string, { value: number; code: ErrorCode }>;

export type HsaStatus = keyof typeof HSA_STATUS;

const BY_VALUE = new Map<number, HsaStatus>(
  Object.entries(HSA_STATUS).map(([name, { value }]) => [value, name as HsaStatus]),
);

/**
 * The name of an `hsa_status_t` (hsa_status_string), undefined for success and numbers that no status has.
 */
export function statusNamed(value: number): HsaStatus | undefined {
  return BY_VALUE.get(value);
}

/**
 * What `run` throws, with a status: OUT_OF_RESOURCES where there is not enough of something, else `status`.
 * Errors of the runtime and defects of ours stay what they are.
 */
export function withStatus<T>(status: HsaStatus, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof WavewrightError ? statusError(status, error) : error;
  }
}

/** `error` with a status, see `withStatus`. */
export function statusError(status: HsaStatus, error: WavewrightError): WavewrightError {
  if (error instanceof HsaError || error.code === 'INTERNAL') return error;
  const { code, what, context } = error;
  return new HsaError(code === 'LIMIT_EXCEEDED' ? 'OUT_OF_RESOURCES' : status, what, context, code);
}

/** A failure of the HSA runtime: a `WavewrightError` that knows its `hsa_status_t`. */
export class HsaError extends WavewrightError {
  readonly status: HsaStatus;
  /** The `hsa_status_t` value. */
  readonly hsaStatus: number;

  /** `code` is for the few failures whose kind differs from the usual one of the status. */
  constructor(status: HsaStatus, what: string, context: ErrorContext = {}, code: ErrorCode = HSA_STATUS[status].code) {
    super(code, what, context);
    this.name = 'HsaError';
    this.status = status;
    this.hsaStatus = HSA_STATUS[status].value;
  }

  override within(outer: ErrorContext): HsaError {
    return new HsaError(this.status, this.what, { ...outer, ...this.context }, this.code);
  }
}
