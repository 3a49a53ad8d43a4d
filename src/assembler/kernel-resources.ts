/**
 * What registers a kernel needs besides those that it names (LLVM "User Guide for AMDGPU Backend", kernel
 * descriptor).
 */
import { assert } from '../base/errors.ts';
import { processorNamed } from '../codeobject/processors.ts';
import type { FunctionName } from '../isa/amdgpu/text/reader/expression.ts';
import type { AssemblyTarget } from './assembly-target.ts';

/**
 * VCC, FLAT_SCRATCH and XNACK_MASK stand behind the SGPRs of the kernel up to gfx9 (CDNA2 ISA 3.6.2), VCC
 * alone from gfx10 on.
 */
export function extraSgprs(target: AssemblyTarget, vcc: boolean, flatScratch: boolean, xnack: boolean): number {
  const { family } = processorNamed(target.id.processor)!;
  const isGfx9 = family === 'gfx9' || family === 'gfx90a';
  if (isGfx9 && (flatScratch || target.context.target.flatScratch === 'architected')) return 6;
  return isGfx9 && xnack ? 4 : vcc ? 2 : 0;
}

const alignUp = (value: bigint, alignment: bigint): bigint => ((value + alignment - 1n) / alignment) * alignment;

/** The value of a function in an expression. */
export function resourceFunction(target: AssemblyTarget, name: FunctionName, args: readonly bigint[]): bigint {
  const [first, second, third] = args;
  assert(first !== undefined, 'functions have arguments');
  switch (name) {
    case 'max':
      return args.reduce((a, b) => (b > a ? b : a));
    case 'or':
      return args.reduce((a, b) => a | b);
    case 'alignto':
      return second! > 0n ? alignUp(first, second!) : first;
    case 'extrasgprs':
      return BigInt(extraSgprs(target, first !== 0n, second !== 0n, third !== 0n));
    case 'totalnumvgprs': {
      const [agprs, vgprs] = [first, second!];
      if (target.context.target.unifiedVgprs && agprs !== 0n) return alignUp(vgprs, 4n) + agprs;
      return vgprs > agprs ? vgprs : agprs;
    }
  }
}
