/**
 * Executables (iree/hal/executable.h): code that was prepared for a logical device, with exports that can be
 * dispatched. What an export takes is known from its code: bindings are buffers, constants are 32-bit words.
 */
import type { SourceLine } from '../../codeobject/line-table.ts';
import { PLACEMENT_FLAGS } from '../core/flags.ts';
import { HalError, invalidArgument } from '../core/status.ts';
import { BufferAllocation, HalBuffer } from '../memory/buffer.ts';
import { resolveParams } from '../memory/buffer-params.ts';
import type { BufferStorage } from '../memory/storage.ts';

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
  /** Of the block of arguments that a dispatch may give as it is; absent where code has no such block. */
  readonly argumentsSizeBytes?: number | undefined;
  /** x, y, z; undefined where each dispatch says it. */
  readonly workgroupSize: readonly [number, number, number] | undefined;
  readonly maxWorkgroupSize: number;
  /** Why it cannot be dispatched, if it cannot: an argument that is neither a buffer nor words, say. */
  readonly problem?: string | undefined;
}

/**
 * Values that variables of code have from the start, by name: the bytes of a view. As many as the variable
 * has; for a name that the code leaves undefined, as many as its type has.
 */
export type ExecutableConstants = Readonly<Record<string, ArrayBufferView>>;

/** How code is prepared. */
export interface CodeLoadOptions {
  /** What errors call it. */
  readonly name?: string;
  readonly constants?: ExecutableConstants;
}

/** A variable of code, on one physical device. */
export interface CodeVariable {
  readonly storage: Omit<BufferStorage, 'free'>;
  /** Kernels only read it. */
  readonly isReadOnly: boolean;
}

/** How control goes on behind an instruction; `conditional`: with the next one, or at its target. */
export type InstructionControl = 'next' | 'branch' | 'conditional' | 'jump' | 'call' | 'return' | 'end';

/** What stands at an offset of code. */
export interface InstructionText {
  readonly text: string;
  readonly sizeBytes: number;
  readonly control: InstructionControl;
  /** Of a branch or a call of a fixed place: where it leads, as an offset of the code. */
  readonly target?: number | undefined;
  /** What kind of unit executes it: one of the classes that the device counts by. */
  readonly className: string;
}

/** An instruction in its place. */
export interface PlacedInstruction extends Omit<InstructionText, 'target'> {
  /** Where it was loaded to. */
  readonly pc: bigint;
  /** Where a branch or a call of a fixed place leads. */
  readonly targetPc: bigint | undefined;
  readonly function: { readonly name: string; readonly offset: number };
  readonly source?: SourceLine | undefined;
}

/** Instructions of code that was loaded for a kernel. */
export interface KernelCode {
  readonly waveSize: 32 | 64;
  /** What global accesses are cut into when their segments are counted; 0: these are not. */
  readonly segmentBytes: number;
  /** The code objects that are loaded with it. */
  readonly codeObjects: readonly PlacedCodeObject[];
  /**
   * All instructions of the function that one is in, in their order; empty where no symbol says what is
   * there.
   */
  functionAt(pc: bigint): readonly PlacedInstruction[];
}

/** A code object where it was loaded. */
export interface PlacedCodeObject {
  readonly address: bigint;
  readonly sizeBytes: number;
  /** What is added to addresses in the file. */
  readonly loadDelta: bigint;
  /** The file. */
  readonly bytes: Uint8Array;
}

/** What a driver keeps of an executable. */
export interface ExecutableCode extends Disposable {
  /** What code it is: a target id, or `host`. */
  readonly format: string;
  readonly exports: readonly ExportInfo[];
  /** Throws NOT_FOUND, OUT_OF_RANGE. Code of the host has no variables. */
  variable?(name: string, deviceOrdinal: number): CodeVariable;
  /** Where kernels call a device function. Throws NOT_FOUND, OUT_OF_RANGE. */
  functionAddress?(name: string, deviceOrdinal: number): bigint;
  /** Absent where nothing is known of single instructions. Throws OUT_OF_RANGE. */
  kernelCode?(exportOrdinal: number, deviceOrdinal: number): KernelCode;
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

  /** Events that name it can be written as JSON. */
  toJSON(): string {
    return this.name;
  }
}

/** Where a buffer comes from that is a variable. */
export interface VariableOrigin {
  readonly executable: HalExecutable;
  readonly name: string;
  readonly deviceOrdinal: number;
}

const ORIGINS = new WeakMap<BufferAllocation, VariableOrigin>();

/** For recorders: undefined for what is no variable of code. */
export const variableOf = ({ allocation }: HalBuffer): VariableOrigin | undefined => ORIGINS.get(allocation);

/** `using` withdraws its code as soon as no operation needs it. */
export class HalExecutable<Code extends ExecutableCode = ExecutableCode> implements Disposable {
  readonly device: object;
  readonly code: Code;
  readonly #exports: readonly ExecutableExport<Code>[];
  /** For recorders. */
  onDispose: (() => void) | undefined;
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

  /**
   * A variable of its code as a buffer, which host, queues and kernels use like any other; the code stays as
   * long as the buffer does. Each physical device has its own. Throws NOT_FOUND, OUT_OF_RANGE.
   */
  variable(name: string, deviceOrdinal = 0): HalBuffer {
    this.expectLive();
    const found = this.code.variable?.(name, deviceOrdinal);
    if (found === undefined) throw new HalError('NOT_FOUND', `no variable '${name}': ${this.format} code has none`);
    const { storage, isReadOnly } = found;
    const params = resolveParams({
      memoryType: ['device-local', 'host-visible', 'host-coherent'],
      usage: ['default', 'mapping', ...(isReadOnly ? (['immutable'] as const) : [])],
      access: isReadOnly ? 'read' : 'all',
      label: name,
      deviceOrdinal,
    });
    this.retain();
    const { sizeBytes, address } = storage;
    const kept = { sizeBytes, address, bytes: () => storage.bytes(), free: () => this.release() };
    const placement = { device: this.device, deviceOrdinal, flags: PLACEMENT_FLAGS.set([]) };
    const allocation = new BufferAllocation(params, placement, sizeBytes, kept);
    ORIGINS.set(allocation, { executable: this, name, deviceOrdinal });
    return new HalBuffer(allocation, 0, sizeBytes);
  }

  /**
   * The address of a device function on a physical device, for the constants of a dispatch there: two words.
   * Throws NOT_FOUND, OUT_OF_RANGE.
   */
  functionAddress(name: string, deviceOrdinal = 0): bigint {
    this.expectLive();
    const address = this.code.functionAddress?.(name, deviceOrdinal);
    if (address !== undefined) return address;
    throw new HalError('NOT_FOUND', `no device function '${name}': ${this.format} code has none`);
  }

  get isDisposed(): boolean {
    return this.#isDisposed;
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
    if (!this.#isDisposed) this.onDispose?.();
    this.#isDisposed = true;
    this.#collect();
  }

  #collect(): void {
    if (this.#isDisposed && this.#users === 0) this.code[Symbol.dispose]();
  }
}
