/** Symbols of an executable (hsa_executable_symbol_t; spec/hsa.md sections 2.5 and 3.5). */
import type { KernelMetadata } from '../codeobject/metadata.ts';
import type { Agent } from './agent.ts';
import type { LoadedCodeObject } from './loaded-code-object.ts';

interface SymbolBase {
  /** A kernel's ends in `.kd`. */
  readonly name: string;
  /** `program`: found by name; `module`: local to its code object, found by iteration only, names may repeat. */
  readonly linkage: 'program' | 'module';
  readonly binding: 'strong' | 'weak';
  readonly agent: Agent;
  readonly codeObject: LoadedCodeObject;
  /** Where the code object was loaded; what stands there is complete once the executable is frozen. */
  readonly address: bigint;
  readonly sizeBytes: number;
}

export interface KernelSymbol extends SymbolBase {
  readonly kind: 'kernel';
  /** What a dispatch packet names: the address of the kernel descriptor. */
  readonly kernelObject: bigint;
  readonly kernargSegmentSizeBytes: number;
  readonly kernargSegmentAlignmentBytes: number;
  readonly groupSegmentSizeBytes: number;
  readonly privateSegmentSizeBytes: number;
  readonly dynamicCallstack: boolean;
  readonly wavefrontSize: 32 | 64;
  /** Absent for a kernel that the code object's metadata does not list. */
  readonly metadata: KernelMetadata | undefined;
}

export interface VariableSymbol extends SymbolBase {
  readonly kind: 'variable';
}

/** A device function: its address can be passed to kernels and called there. */
export interface FunctionSymbol extends SymbolBase {
  readonly kind: 'indirect-function';
}

export type ExecutableSymbol = KernelSymbol | VariableSymbol | FunctionSymbol;
