/** Bytes of private memory that are copied or cleared around calls, in steps of the machine. */
import { PLACES } from '../machine/places.ts';
import type { AddressOperands } from './frame.ts';
import { constant, type FunctionRegister, type Lir, type LirOperand, lir } from './lir.ts';

/** Where bytes are, by their offset: a register and what is added. */
export type BytesAt = (offset: number) => AddressOperands;

/** What a copy is made for. */
export interface CopyParts {
  /** The place in the text. */
  readonly offset: number;
  /** A register of its own. */
  temporary(): FunctionRegister;
}

/** Bytes that one round copies; what has no more than some rounds is copied without a loop. */
const ROUND_BYTES = 64;
const STRAIGHT_BYTES = 4 * ROUND_BYTES;

/** `sizeBytes`: a multiple of 4. `from`: undefined for zeros. */
export function copyCode(parts: CopyParts, from: BytesAt | undefined, to: BytesAt, sizeBytes: number): Lir[] {
  const { offset } = parts;
  if (sizeBytes <= STRAIGHT_BYTES) return straight(parts, from, to, { start: 0, end: sizeBytes });
  const [firstBase] = (from ?? to)(0);
  const [secondBase] = to(0);
  const [first, second] = PLACES.copied;
  const before = constant(-ROUND_BYTES);
  /** Distances move with the rounds, in rows that no function has for its own registers. */
  const moved =
    (row: LirOperand, at: BytesAt): BytesAt =>
    (distance) => [row, at(distance)[1]];
  const rounds = Math.floor(sizeBytes / ROUND_BYTES);
  const done = rounds * ROUND_BYTES;
  const labelBehind = Symbol('round');
  const label = { kind: 'label', label: labelBehind, addend: 0 } as const;
  return [
    lir('add.u32', [second, secondBase, before], offset),
    { ...lir('add.u32', [first, firstBase, before], offset), labelBehind },
    ...[first, second].map((row) => lir('add.u32', [row, row, constant(ROUND_BYTES)], offset)),
    ...straight(parts, from && moved(first, from), moved(second, to), { start: 0, end: ROUND_BYTES }),
    lir('wave_again', [first, firstBase, constant(done - ROUND_BYTES)], offset, { target: label }),
    ...straight(parts, from, to, { start: done, end: sizeBytes }),
  ];
}

/** Four registers at a time, so that a structure of many bytes takes few instructions. */
function straight(
  { offset, temporary }: CopyParts,
  from: BytesAt | undefined,
  to: BytesAt,
  { start, end }: { readonly start: number; readonly end: number },
): Lir[] {
  const lines: Lir[] = [];
  for (let at = start; at < end; ) {
    const count = end - at >= 16 ? 4 : 1;
    // What is copied may begin at any multiple of 4.
    const [load, store] =
      count === 4 ? ['wave_load.local.v4.b32', 'wave_store.local.v4.b32'] : ['ld.local.b32', 'st.local.b32'];
    const registers = Array.from({ length: count }, () => (from ? temporary() : constant(0)));
    if (from) lines.push(lir(load!, [...registers, ...from(at)], offset));
    lines.push(lir(store!, [...to(at), ...registers], offset));
    at += 4 * count;
  }
  return lines;
}
