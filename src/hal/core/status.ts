/**
 * The status codes of IREE's HAL (iree/base/status.h, whose numbers stand in profile and replay files) as a
 * closed table, and the error that carries one, with the operation that failed and what made it fail.
 */
import { type ErrorCode, type ErrorContext, WavewrightError } from '../../base/errors.ts';

export const HAL_STATUS = {
  CANCELLED: { value: 1, code: 'USAGE' },
  UNKNOWN: { value: 2, code: 'INTERNAL' },
  INVALID_ARGUMENT: { value: 3, code: 'USAGE' },
  DEADLINE_EXCEEDED: { value: 4, code: 'TIMEOUT' },
  NOT_FOUND: { value: 5, code: 'USAGE' },
  ALREADY_EXISTS: { value: 6, code: 'USAGE' },
  PERMISSION_DENIED: { value: 7, code: 'USAGE' },
  RESOURCE_EXHAUSTED: { value: 8, code: 'LIMIT_EXCEEDED' },
  FAILED_PRECONDITION: { value: 9, code: 'USAGE' },
  ABORTED: { value: 10, code: 'GPU_FAULT' },
  OUT_OF_RANGE: { value: 11, code: 'USAGE' },
  UNIMPLEMENTED: { value: 12, code: 'UNSUPPORTED' },
  INTERNAL: { value: 13, code: 'INTERNAL' },
  UNAVAILABLE: { value: 14, code: 'NO_DEVICE' },
  DATA_LOSS: { value: 15, code: 'BAD_INPUT' },
  UNAUTHENTICATED: { value: 16, code: 'USAGE' },
  DEFERRED: { value: 17, code: 'USAGE' },
  INCOMPATIBLE: { value: 18, code: 'UNSUPPORTED' },
} as const satisfies Record<string, { value: number; code: ErrorCode }>;

export type HalStatus = keyof typeof HAL_STATUS;

/** What an error says of the operation that it is about. */
export interface OperationInfo {
  /** Counted from 1 for each logical device, in the order of submission. */
  readonly id: number;
  /** `fill`, `dispatch`, `host-call`, ... */
  readonly kind: string;
  /** The name of the queue: `amdgpu:0/queue:1`. */
  readonly queue: string;
  /** What the program calls it. */
  readonly label?: string | undefined;
}

export const describeOperation = ({ id, kind, queue, label }: OperationInfo): string =>
  `${kind} ${label === undefined ? '' : `'${label}' `}(operation ${id} of ${queue})`;

export interface HalErrorContext extends ErrorContext {
  readonly operation?: OperationInfo | undefined;
  /** Where the kind of failure differs from the usual one of the status. */
  readonly code?: ErrorCode;
}

/**
 * A failure of the HAL: a `WavewrightError` that knows its status. `cause` is the failure that this one
 * follows from, if it follows from one.
 */
export class HalError extends WavewrightError {
  readonly status: HalStatus;
  /** The operation that failed, or was not run; absent for what failed at once, and for failures by hand. */
  readonly operation: OperationInfo | undefined;

  constructor(status: HalStatus, what: string, { operation, code, ...context }: HalErrorContext = {}) {
    super(code ?? HAL_STATUS[status].code, what, context);
    this.name = 'HalError';
    this.status = status;
    this.operation = operation;
  }

  /** Number of the status, as files hold it. */
  get statusValue(): number {
    return HAL_STATUS[this.status].value;
  }

  /** This failure, what it follows from, and so on up to the first one. */
  get chain(): readonly Error[] {
    const errors: Error[] = [this];
    // A chain is as long as the semaphores and operations that a failure went through, and has no circle.
    for (let next = this.cause; next instanceof Error; next = next.cause) errors.push(next);
    return errors;
  }

  /** The failure that everything began with. */
  get origin(): Error {
    return this.chain.at(-1)!;
  }

  override within(outer: ErrorContext): HalError {
    const { operation, code } = this;
    return new HalError(this.status, this.what, { ...outer, ...this.context, operation, code });
  }
}

/** Statuses of errors that come from below the HAL. */
const BY_CODE: Readonly<Record<ErrorCode, HalStatus>> = {
  USAGE: 'INVALID_ARGUMENT',
  BAD_INPUT: 'INVALID_ARGUMENT',
  LIMIT_EXCEEDED: 'RESOURCE_EXHAUSTED',
  IO: 'UNKNOWN',
  UNSUPPORTED: 'UNIMPLEMENTED',
  NO_DEVICE: 'UNAVAILABLE',
  GPU_FAULT: 'ABORTED',
  RPC_PROTOCOL: 'ABORTED',
  UNREACHABLE: 'UNAVAILABLE',
  INTERNAL: 'INTERNAL',
  TIMEOUT: 'DEADLINE_EXCEEDED',
};

/** What stands in the way of an operation, as a failure of it. `why`: said before the message of `cause`. */
export function operationError(operation: OperationInfo, why: string, cause: unknown): HalError {
  const place = describeOperation(operation);
  if (cause instanceof HalError) {
    // What another operation says is in the chain; what is said of this one belongs into its message.
    const detail = cause.operation === undefined ? `: ${cause.headline}` : '';
    return new HalError(cause.status, `${place} ${why}${detail}`, { operation, cause, code: cause.code });
  }
  if (cause instanceof WavewrightError) {
    const { code, headline, context } = cause;
    const what = `${place} ${why}: ${headline}`;
    // The message stays short; who prints it in lines has the parts of the cause below it.
    const parts = {
      ...(context.report && { report: { ...context.report, headline: what } }),
      ...(context.hint !== undefined && { hint: context.hint }),
    };
    return new HalError(BY_CODE[code], what, { operation, cause, code, ...parts });
  }
  const text = cause instanceof Error ? cause.message : String(cause);
  return new HalError('UNKNOWN', `${place} ${why}: ${text}`, { operation, cause, code: 'USAGE' });
}

/** What `run` throws, as a `HalError` of `status`, or of that which its code has. */
export function withHalStatus<T>(run: () => T, status?: HalStatus): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof HalError || !(error instanceof WavewrightError) || error.code === 'INTERNAL') throw error;
    throw new HalError(status ?? BY_CODE[error.code], error.what, { ...error.context, cause: error, code: error.code });
  }
}

export const invalidArgument = (what: string, context: HalErrorContext = {}): HalError =>
  new HalError('INVALID_ARGUMENT', what, context);
