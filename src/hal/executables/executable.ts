/**
 * Executables (iree/hal/executable.h): code that was prepared for a logical device, with exports that can be
 * dispatched. What an export takes is known from its code: bindings are buffers, constants are 32-bit words.
 */
import { HalError, invalidArgument } from '../core/status.ts';

/** A parameter of an export as its code names it. */
export interface ExportParameter {
  readonly kind: 'binding' | 'constant';
  readonly name: string | undefined;
  /** In the language of its source, where the code says so: `float`, `int*`. */
  readonly typeName?: string | undefined;
  /** In the block of arguments. */
  readonly offsetBytes: number;
  readonly sizeBytes: number;
  /** Whether kernels only read it, where the code says so. */
  readonly isReadOnly?: boolean | undefined;
}

export interface ExportInfo {
  readonly name: string;
  readonly bindingCount: number;
  /** 32-bit words. */
  readonly constantCount: number;
  /** In the order of the code. */
  readonly parameters: readonly ExportParameter[];
  /** x, y, z; undefined where each dispatch says it. */
  readonly workgroupSize: readonly [number, number, number] | undefined;
  readonly maxWorkgroupSize: number;
  /** Why it cannot be dispatched, if it cannot: an argument that is neither a buffer nor words, say. */
  readonly problem?: string | undefined;
}

/** What a driver keeps of an executable. */
export interface ExecutableCode extends Disposable {
  /** What code it is: a target id, or `host`. */
  readonly format: string;
  readonly exports: readonly ExportInfo[];
}

/** An export of an executable, as dispatches name it. */
export class ExecutableExport<Code extends ExecutableCode = ExecutableCode> {
  readonly executable: HalExecutable<Code>;
  readonly ordinal: number;
  readonly info: ExportInfo;

  /** Use `HalExecutable.exports`. */
  constructor(executable: HalExecutable<Code>, ordinal: number, info: ExportInfo) {
    this.executable = executable;
    this.ordinal = ordinal;
    this.info = info;
  }

  get name(): string {
    return this.info.name;
  }
}

/** `using` withdraws its code as soon as no operation needs it. */
export class HalExecutable<Code extends ExecutableCode = ExecutableCode> implements Disposable {
  readonly device: object;
  readonly code: Code;
  readonly #exports: readonly ExecutableExport<Code>[];
  #users = 0;
  #isDisposed = false;

  /** Use `LogicalDevice.load`. */
  constructor(device: object, code: Code) {
    this.device = device;
    this.code = code;
    this.#exports = code.exports.map((info, ordinal) => new ExecutableExport(this, ordinal, info));
  }

  get format(): string {
    return this.code.format;
  }

  get exportCount(): number {
    return this.#exports.length;
  }

  /** By name, for programs that know theirs; `lookup` says which there are when one is missing. */
  get exports(): Readonly<Record<string, ExecutableExport<Code>>> {
    return Object.fromEntries(this.#exports.map((each) => [each.name, each]));
  }

  /** Throws OUT_OF_RANGE. */
  exportAt(ordinal: number): ExecutableExport<Code> {
    const found = this.#exports[ordinal];
    if (found !== undefined) return found;
    throw new HalError('OUT_OF_RANGE', `export ${ordinal}, the executable has ${this.exportCount}`);
  }

  /** Throws NOT_FOUND. */
  lookup(name: string): ExecutableExport<Code> {
    const found = this.#exports.find((each) => each.name === name);
    if (found !== undefined) return found;
    const names = this.#exports.map((each) => each.name).join(', ');
    throw new HalError('NOT_FOUND', `no export '${name}'`, { hint: `exports: ${names || 'none'}` });
  }

  /** Throws INVALID_ARGUMENT when it was disposed. */
  expectLive(): void {
    if (this.#isDisposed) throw invalidArgument('the executable is disposed');
  }

  retain(): void {
    this.#users++;
  }

  release(): void {
    this.#users--;
    this.#collect();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#collect();
  }

  #collect(): void {
    if (this.#isDisposed && this.#users === 0) this.code[Symbol.dispose]();
  }
}
