/** What can be asked of a symbol by number (hsa_executable_symbol_info_t). */
import { hex } from '../../base/text.ts';
import type { Agent } from '../objects/agent.ts';
import { expectHandle } from '../objects/handles.ts';
import { HsaError } from '../objects/status.ts';
import type { ExecutableSymbol, FunctionSymbol, VariableSymbol } from './executable-symbol.ts';
import type { KernelSymbol } from './kernel-symbol.ts';
import type { LoadedCodeObject } from './loaded-code-object.ts';
import { LoadedSymbol } from './loaded-symbol.ts';

/** Numbers of the specification; from 0xa000 on those of Wavewright. */
export const SYMBOL_INFO = {
  kind: 0,
  nameLength: 1,
  name: 2,
  moduleNameLength: 3,
  moduleName: 4,
  linkage: 5,
  variableAllocation: 6,
  variableSegment: 7,
  variableAlignment: 8,
  variableSize: 9,
  variableIsConst: 10,
  kernelKernargSegmentSize: 11,
  kernelKernargSegmentAlignment: 12,
  kernelGroupSegmentSize: 13,
  kernelPrivateSegmentSize: 14,
  kernelDynamicCallstack: 15,
  indirectFunctionCallConvention: 16,
  isDefinition: 17,
  kernelCallConvention: 18,
  kernelWavefrontSize: 19,
  agent: 20,
  variableAddress: 21,
  kernelObject: 22,
  indirectFunctionObject: 23,
  size: 0xa000,
  alignment: 0xa001,
  loadedCodeObject: 0xa002,
  vgprCount: 0xa003,
  agprCount: 0xa004,
  sgprCount: 0xa005,
  stackSize: 0xa006,
  callees: 0xa007,
} as const;

export type SymbolInfo = number | bigint | string | boolean | readonly string[] | Agent | LoadedCodeObject;

type Questions<S> = Readonly<Record<number, (symbol: S) => SymbolInfo | undefined>>;

const KINDS = { variable: 0, kernel: 1, 'indirect-function': 2 } as const;
const LINKAGES = { module: 0, program: 1 } as const;
const INFO = SYMBOL_INFO;
/** Functions are aligned as instructions are. */
const FUNCTION_ALIGNMENT_BYTES = 4;
const DESCRIPTOR_ALIGNMENT_BYTES = 64;

/** Symbols of module linkage have the code object as their module. */
const moduleName = ({ linkage, codeObject }: ExecutableSymbol): string => (linkage === 'module' ? codeObject.uri : '');

const ANY: Questions<ExecutableSymbol> = {
  [INFO.kind]: ({ kind }) => KINDS[kind],
  [INFO.nameLength]: ({ name }) => new TextEncoder().encode(name).length,
  [INFO.name]: ({ name }) => name,
  [INFO.moduleNameLength]: (symbol) => moduleName(symbol).length,
  [INFO.moduleName]: moduleName,
  [INFO.linkage]: ({ linkage }) => LINKAGES[linkage],
  [INFO.isDefinition]: () => true,
  [INFO.agent]: ({ agent }) => agent,
  [INFO.size]: ({ sizeBytes }) => sizeBytes,
  [INFO.loadedCodeObject]: ({ codeObject }) => codeObject,
};

const CODE: Questions<KernelSymbol | FunctionSymbol> = {
  [INFO.vgprCount]: ({ needs }) => needs?.vgprCount,
  [INFO.agprCount]: ({ needs }) => needs?.agprCount,
  [INFO.sgprCount]: ({ needs }) => needs?.sgprCount,
  [INFO.stackSize]: ({ needs }) => needs?.privateSegmentSizeBytes,
  [INFO.callees]: ({ needs }) => needs?.callees,
};

const VARIABLE: Questions<VariableSymbol> = {
  // Agent allocation, global segment.
  [INFO.variableAllocation]: () => 0,
  [INFO.variableSegment]: () => 0,
  [INFO.variableAlignment]: ({ address, codeObject }) => alignmentOf(address - codeObject.loadDelta),
  [INFO.variableSize]: ({ sizeBytes }) => sizeBytes,
  [INFO.variableIsConst]: ({ address, codeObject }) => codeObject.constantDword(address) !== undefined,
  [INFO.variableAddress]: ({ address }) => address,
  [INFO.alignment]: ({ address, codeObject }) => alignmentOf(address - codeObject.loadDelta),
};

const KERNEL: Questions<KernelSymbol> = {
  ...CODE,
  [INFO.kernelKernargSegmentSize]: (kernel) => kernel.kernargSegmentSizeBytes,
  [INFO.kernelKernargSegmentAlignment]: (kernel) => kernel.kernargSegmentAlignmentBytes,
  [INFO.kernelGroupSegmentSize]: (kernel) => kernel.groupSegmentSizeBytes,
  [INFO.kernelPrivateSegmentSize]: (kernel) => kernel.privateSegmentSizeBytes,
  [INFO.kernelDynamicCallstack]: (kernel) => kernel.dynamicCallstack,
  [INFO.kernelCallConvention]: () => 0,
  [INFO.kernelWavefrontSize]: (kernel) => kernel.wavefrontSize,
  [INFO.kernelObject]: (kernel) => kernel.kernelObject,
  [INFO.alignment]: () => DESCRIPTOR_ALIGNMENT_BYTES,
};

const FUNCTION: Questions<FunctionSymbol> = {
  ...CODE,
  [INFO.indirectFunctionCallConvention]: () => 0,
  [INFO.indirectFunctionObject]: ({ functionObject }) => functionObject,
  [INFO.alignment]: () => FUNCTION_ALIGNMENT_BYTES,
};

const MAX_ALIGNMENT = 4096n;

/** Largest power of two that the linked address is a multiple of, at most a page. */
function alignmentOf(address: bigint): number {
  const low = address & -address;
  return Number(low === 0n || low > MAX_ALIGNMENT ? MAX_ALIGNMENT : low);
}

/**
 * hsa_executable_symbol_get_info. Throws INVALID_ARGUMENT for what a symbol of this kind does not have, and
 * for the needs of code before the executable is frozen; INVALID_EXECUTABLE_SYMBOL when it was destroyed.
 */
export function symbolInfo(symbol: ExecutableSymbol, id: number): SymbolInfo {
  expectHandle(symbol, LoadedSymbol, 'INVALID_EXECUTABLE_SYMBOL');
  symbol.agent.lifetime.expect();
  if (!symbol.codeObject.executable.isLive) {
    throw new HsaError('INVALID_EXECUTABLE_SYMBOL', `the executable of symbol '${symbol.name}' was destroyed`);
  }
  const own =
    symbol.kind === 'kernel'
      ? KERNEL[id]?.(symbol)
      : symbol.kind === 'variable'
        ? VARIABLE[id]?.(symbol)
        : FUNCTION[id]?.(symbol);
  const value = own ?? ANY[id]?.(symbol);
  if (value !== undefined) return value;
  throw new HsaError('INVALID_ARGUMENT', `symbol '${symbol.name}' (${symbol.kind}) has no information ${hex(id)}`);
}
