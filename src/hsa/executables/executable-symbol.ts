/** Symbols of an executable (hsa_executable_symbol_t). */
import type { KernelMetadata } from '../../codeobject/metadata.ts';
import type { Agent } from '../objects/agent.ts';
import type { CodeNeeds } from './call-graph.ts';
import type { LoadedCodeObject } from './loaded-code-object.ts';

/** What all kinds of symbols have. */
export interface SymbolBase {
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
  /** Of a lane: the compiler's fixed size, once frozen at least what the functions of other code objects need that it calls. */
  readonly privateSegmentSizeBytes: number;
  /** More may be needed: recursion, calls through pointers, allocations of unknown size. */
  readonly dynamicCallstack: boolean;
  readonly wavefrontSize: 32 | 64;
  /** Absent for a kernel that the code object's metadata does not list. */
  readonly metadata: KernelMetadata | undefined;
  /** Registers, stack and callees over all that the kernel reaches; read from the code on first use, undefined before freezing. */
  readonly needs: CodeNeeds | undefined;
  /** Why the kernel would fail on hardware as it is linked here; empty when nothing is known against it. */
  readonly hardwareProblems: readonly string[];
}

export interface VariableSymbol extends SymbolBase {
  readonly kind: 'variable';
}

/** A device function: its address can be passed to kernels and called there. */
export interface FunctionSymbol extends SymbolBase {
  readonly kind: 'indirect-function';
  /** What a kernel calls: the address of the first instruction; 0 before freezing (HSA_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_OBJECT). */
  readonly functionObject: bigint;
  /** As for kernels. */
  readonly needs: CodeNeeds | undefined;
}

/** As the source names it: without the suffix of its descriptor. */
export const kernelName = ({ name }: Pick<KernelSymbol, 'name'>): string => name.replace(/\.kd$/, '');

export type ExecutableSymbol = KernelSymbol | VariableSymbol | FunctionSymbol;
