/**
 * Kernels as they were compiled, beside those with new code: descriptors of their own lead to the original
 * code, which stays whole.
 */
import type { Kernel } from '../../codeobject/code-object.ts';
import { encodeKernelDescriptor, KERNEL_DESCRIPTOR_SIZE_BYTES } from '../../codeobject/kernel-descriptor.ts';
import type { LiftedCode } from '../../lift/lifted-code.ts';
import type { LiftedFunction, TransferSite } from '../../lift/lifted-function.ts';
import { freeName } from './redirect.ts';
import type { VariableToAdd } from './variables.ts';

export interface NativeKernels {
  /** The symbols of the descriptors, by the names of the kernels. */
  readonly symbols: ReadonlyMap<string, string>;
  readonly variables: readonly VariableToAdd[];
}

/**
 * For kernels with new code. Left out are kernels that nothing finds by name, and those that go to functions
 * through pointers: these lead to the functions' new code, which counts, and which may need more registers
 * than the original descriptor asks for.
 */
export function nativeKernels(lifted: LiftedCode, newEntries: ReadonlyMap<number, number>): NativeKernels {
  const { kernels, elf } = lifted.codeObject;
  // With preloaded arguments a kernel has two entries.
  const entered = new Map<Kernel, LiftedFunction[]>(kernels.map((kernel) => [kernel, []]));
  for (const each of lifted.functions) for (const kernel of each.kernels) entered.get(kernel)?.push(each);
  const taken = new Set([...elf.dynamicSymbols, ...elf.symbols].map(({ name }) => name));
  const relocated = new Set(lifted.addresses.map(({ isRelocated, target }) => (isRelocated ? target : undefined)));
  const staysInside = ({ how, targets }: TransferSite): boolean =>
    how === 'direct' ||
    targets.every((target) => !newEntries.has(target) || (how === 'getpc' && !relocated.has(target)));
  const isSelfContained = (kernel: Kernel): boolean => {
    const reached = entered.get(kernel)!.map((each) => each.reaches());
    const sites = reached.flatMap(({ functions }) => [...functions].flatMap((each) => each.sites));
    return reached.length > 0 && reached.every(({ isComplete }) => isComplete) && sites.every(staysInside);
  };
  const symbols = new Map<string, string>();
  const variables: VariableToAdd[] = [];
  for (const kernel of kernels) {
    const { name, descriptor, entryAddress, isExported } = kernel;
    if (!isExported || !newEntries.has(Number(entryAddress)) || !isSelfContained(kernel)) continue;
    const symbol = freeName(`${name}.native`, taken);
    symbols.set(name, symbol);
    variables.push({
      symbol,
      // Of a weak kernel, code objects that are linked may have one each.
      binding: kernel.symbol.binding,
      ...{ sizeBytes: KERNEL_DESCRIPTOR_SIZE_BYTES, alignmentBytes: KERNEL_DESCRIPTOR_SIZE_BYTES },
      bytes: (address) => encodeKernelDescriptor({ ...descriptor, kernelCodeEntryByteOffset: entryAddress! - address }),
    });
  }
  return { symbols, variables };
}
