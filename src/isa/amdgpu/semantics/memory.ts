/**
 * What the memory formats share: loads, stores and atomics on an access path. CDNA2 ISA 12.13 and 12.16;
 * RDNA3 ISA 9.1 and 11.
 */
import { WavewrightError } from '../../../base/errors.ts';
import type { MemorySpace, Value } from '../../../ir/types.ts';
import type { AtomicUpdate } from './atomics.ts';
import type { InstructionBuilder, Semantics } from './instruction-builder.ts';

/** Where the address of an instruction leads; per lane. */
export interface MemoryPort {
  /** The dwords at the address; 1 and 2 bytes are zero-extended. */
  load(sizeBytes: number): Value[];
  /** Of 1 and 2 bytes the low ones of the first value are stored. */
  store(sizeBytes: number, data: readonly Value[]): void;
  /** `operands` are i32 or i64; returns the old value. */
  atomic(operands: readonly Value[], update: AtomicUpdate): Value;
}

/** Computes the address of the instruction being built. */
export type PortOf = (b: InstructionBuilder) => MemoryPort;

/** Consecutive bytes from `address` on. */
export function linearPort(b: InstructionBuilder, space: MemorySpace, address: Value): MemoryPort {
  return {
    load: (sizeBytes) => b.load(space, sizeBytes, address),
    store: (sizeBytes, data) => b.store(space, sizeBytes, address, data),
    atomic: (operands, update) => b.atomic(space, address, operands, update as AtomicOfBuilder),
  };
}

/** An update takes as many parameters as the atomic has operands. */
export type AtomicOfBuilder = Parameters<InstructionBuilder['atomic']>[3];

/** Throws UNSUPPORTED when a bit of the encoding asks for what is not emulated. */
export function refuse(b: InstructionBuilder, field: string): void {
  if (b.field(field) === 0) return;
  throw new WavewrightError('UNSUPPORTED', `unsupported instruction '${b.instruction.row.name}' with ${field}`);
}

/** The operand that the instruction writes, if it writes one: an atomic without glc does not. */
export function destination(b: InstructionBuilder): number | undefined {
  const index = b.instruction.row.operands.findIndex((_, i) => b.instruction.access(i)?.includes('write'));
  return index < 0 ? undefined : index;
}

/**
 * Where in the LDS a lane's dword of a transfer between LDS and memory is: M0, whose value is a multiple of
 * 4, plus the offset of the instruction plus 4 for each lane (CDNA2 ISA 9.1.9, CDNA3 ISA 10.3).
 */
export function transferAddress(b: InstructionBuilder): Value {
  const base = b.add(b.and(b.state('m0'), b.i32(0xfffc)), b.dword(b.index('offset'), 0));
  return b.add(base, b.shl(b.laneId(), 2));
}

export interface LoadKind {
  readonly sizeBytes: number;
  readonly signed?: boolean;
  /** A d16 load: which half of the register it writes; the other half stays. */
  readonly half?: 'low' | 'high';
}

/**
 * Whether an access passes the caches of the compute unit, as what other compute units write must be read:
 * GLC, SC1 or a scope beyond the compute unit (CDNA2 ISA 9.1.10, CDNA3 ISA 9.1.10, RDNA3 ISA 4.1.1; LLVM's
 * memory models).
 */
const isCoherent = (b: InstructionBuilder): boolean =>
  b.instruction.has('scope') ? b.field('scope') > 1 : (b.field('glc') | b.field('scc')) !== 0;

export const load =
  (portOf: PortOf, kind: LoadKind): Semantics =>
  (b) => {
    if (isCoherent(b)) b.fence();
    const values = portOf(b).load(kind.sizeBytes);
    const extended = kind.signed ? [kind.sizeBytes === 1 ? b.sext8(values[0]!) : b.sext16(values[0]!)] : values;
    const target = destination(b);
    if (target === undefined) return b.store('lds', 4, transferAddress(b), [extended[0]!]);
    refuse(b, 'lds');
    b.setDwords(target, kind.half ? [withHalf(b, b.dword(target, 0), extended[0]!, kind.half)] : extended);
  };

function withHalf(b: InstructionBuilder, register: Value, value: Value, half: 'low' | 'high'): Value {
  if (half === 'high') return b.or(b.bits(register, 0, 16), b.shl(value, 16));
  return b.or(b.and(register, b.i32(0xffff0000)), b.bits(value, 0, 16));
}

export const store =
  (portOf: PortOf, source: string, sizeBytes: number, half: 'low' | 'high' = 'low'): Semantics =>
  (b) => {
    refuse(b, 'lds');
    const data = b.dwords(b.index(source));
    portOf(b).store(sizeBytes, half === 'high' ? [b.shrU(data[0]!, 16)] : data);
  };

/**
 * `sources` name the data registers in the order of the update's parameters; each holds one or two values of
 * `bits`.
 */
export const atomic =
  (portOf: PortOf, sources: readonly string[], bits: 32 | 64, update: AtomicUpdate): Semantics =>
  (b) => {
    refuse(b, 'lds');
    const dwords = sources.flatMap((source) => b.dwords(b.index(source)));
    const old = portOf(b).atomic(bits === 32 ? dwords : pairs(b, dwords), update);
    const target = destination(b);
    if (target !== undefined) b.setDwords(target, bits === 32 ? [old] : [b.low(old), b.high(old)]);
  };

/** Dwords by twos, the low one first. */
export const pairs = (b: InstructionBuilder, dwords: readonly Value[]): Value[] =>
  Array.from({ length: dwords.length / 2 }, (_, i) => b.pack(dwords[i * 2]!, dwords[i * 2 + 1]!));
