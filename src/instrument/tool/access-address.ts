/**
 * Addresses that instructions access, as their meaning says: sums of registers and constants, which a hook
 * works out again.
 */
import type { Value } from '../../ir/types.ts';
import { meaningOf } from '../../isa/amdgpu/effects/meaning.ts';
import type { Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import type { HookBuilder, HookValue, Spread } from '../dsl/hook.ts';
import type { ToolInstruction } from './tool-function.ts';

/** A dword of a register. */
interface RegisterDword {
  readonly kind: 'scalar' | 'vector' | 'accumulator';
  readonly register: number;
}

/** A part of a sum. `high` is absent where the upper 32 bits are 0. */
interface Term {
  readonly low: RegisterDword;
  readonly high?: RegisterDword;
}

interface Sum {
  readonly terms: readonly Term[];
  readonly constant: bigint;
}

/** An access that an instruction makes in each of its active lanes. */
export interface CodeAccess {
  readonly kind: 'load' | 'store' | 'atomic';
  readonly space: 'global' | 'flat' | 'lds' | 'private';
  readonly sizeBytes: number;
  /** Undefined where it is no sum, as of buffers: a hook cannot know it. */
  readonly address: Sum | undefined;
}

/** Accesses in the order in which the instruction makes them; none where its meaning is not known. */
export function laneAccesses({ step: { instruction } }: ToolInstruction): readonly CodeAccess[] {
  const values = meaningOf(instruction)?.values ?? [];
  return values.flatMap(({ leaf, lane, args }): CodeAccess[] => {
    if (!lane || (leaf.kind !== 'load' && leaf.kind !== 'store' && leaf.kind !== 'atomic')) return [];
    const { kind, space, sizeBytes } = leaf;
    return [{ kind, space, sizeBytes, address: leaf.predicated ? undefined : sumOf(args[0]!, instruction) }];
  });
}

/**
 * The address, as a value of a hook before the instruction; of LDS and private memory its upper half is 0.
 */
export function addressIn(b: HookBuilder, { space, address }: CodeAccess): HookValue<Spread, 64> {
  const { terms, constant } = address!;
  const dword = ({ kind, register }: RegisterDword): HookValue<Spread, 32> => b[kind](register);
  const isWide = space === 'global' || space === 'flat';
  let sum: HookValue<Spread, 64> = b.constant64(0n);
  for (const { low, high } of terms) {
    const value = b.pack(dword(low), high ? dword(high) : b.constant(0));
    sum = sum === undefined || terms[0]!.low === low ? value : b.binary('add', sum, value);
  }
  if (constant !== 0n) sum = b.binary('add', sum, b.constant64(constant));
  return isWide ? sum : b.pack(b.low(sum), b.constant(0));
}

const isRegister = (value: RegisterDword | bigint): value is RegisterDword => typeof value === 'object';

/** An operand's dword: a register, or the constant that it is. */
function dwordOf({ leaf }: Value, instruction: Instruction): RegisterDword | bigint | undefined {
  if (leaf.kind === 'const') return leaf.value;
  if (leaf.kind !== 'operand') return undefined;
  const operand = instruction.operand(leaf.at.operand);
  if (operand.kind === 'constant') return BigInt.asUintN(32, operand.value >> BigInt(32 * leaf.at.dword));
  if (operand.kind === 'off' || operand.kind === 'null') return 0n;
  if (operand.kind === 'special') return undefined;
  const kind = operand.kind === 'scalar' ? 'scalar' : operand.accumulator ? 'accumulator' : 'vector';
  return { kind, register: operand.register + leaf.at.dword };
}

const constantSum = (constant: bigint): Sum => ({ terms: [], constant });

function sumOf(value: Value, instruction: Instruction): Sum | undefined {
  const plain = dwordOf(value, instruction);
  if (plain !== undefined) return isRegister(plain) ? { terms: [{ low: plain }], constant: 0n } : constantSum(plain);
  const { leaf, args } = value;
  if (leaf.kind !== 'pure') return undefined;
  if (leaf.op === 'i32.add' || leaf.op === 'i64.add') {
    const [a, b] = [sumOf(args[0]!, instruction), sumOf(args[1]!, instruction)];
    return a && b && { terms: [...a.terms, ...b.terms], constant: a.constant + b.constant };
  }
  if (leaf.op === 'i64.pack') {
    const [low, high] = args.map((arg) => dwordOf(arg, instruction));
    if (low === undefined || high === undefined) return undefined;
    if (isRegister(low) && isRegister(high)) return { terms: [{ low, high }], constant: 0n };
    return isRegister(low) || isRegister(high) ? undefined : constantSum(low | (high << 32n));
  }
  const inner = args[0] && sumOf(args[0], instruction);
  if (!inner) return undefined;
  if (leaf.op === 'i64.zext32') return inner.terms.length === 0 || inner.constant === 0n ? inner : undefined;
  const amount = args[1] && sumOf(args[1], instruction);
  if (inner.terms.length > 0) return undefined;
  if (leaf.op === 'i64.sext32') return constantSum(BigInt.asIntN(32, inner.constant));
  if (leaf.op === 'i32.shl' && amount?.terms.length === 0) return constantSum(inner.constant << amount.constant);
  return undefined;
}
