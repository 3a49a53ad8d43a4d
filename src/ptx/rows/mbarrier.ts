/**
 * Barriers that are objects in shared memory: PTX ISA 9.7.13.15 "mbarrier". What the 64 bits hold is up to
 * the machine: arrivals that the phase still waits for (20 bits), those of each phase (20), bytes that are on
 * their way (21, as they wrap), and in the highest bit the parity of the phase. A state is a copy of them.
 */
import type { Builder } from '../../ir/builder.ts';
import type { Value } from '../../ir/types.ts';
import type { PtxBuilder } from './builder.ts';
import { placeOf } from './memory.ts';
import { type PtxRow, ptxRow } from './row.ts';

const COUNT_BITS = 20;
const EXPECTED = 20;
const BYTES = 40;
const BYTES_BITS = 21;
const PHASE = 63;

const field = (b: Builder, state: Value, first: number, bits: number): Value =>
  b.and(b.shrU(state, first), b.i64((1n << BigInt(bits)) - 1n));

/** What happens to a barrier at once. */
interface Change {
  /** Numbers that are subtracted: arrivals, arrivals of all phases to come, and bytes. */
  readonly arrivals?: Value;
  readonly dropped?: Value;
  readonly bytes?: Value;
  /** Whether the phase ends where nothing is left to wait for. */
  readonly completes: boolean;
}

/** The state before. */
function change(b: PtxBuilder, index: number, { completes, ...numbers }: Change): Value {
  const { space, address } = placeOf(b, index);
  const zero = b.i64(0n);
  const { arrivals = zero, dropped = zero, bytes = zero } = numbers;
  const mask = (1n << BigInt(BYTES_BITS)) - 1n;
  const update = (c: Builder, state: Value, arrived: Value, gone: Value, moved: Value): Value => {
    const pending = c.op('i64.sub', field(c, state, 0, COUNT_BITS), arrived);
    const expected = c.op('i64.sub', field(c, state, EXPECTED, COUNT_BITS), gone);
    const left = c.and(c.op('i64.sub', field(c, state, BYTES, BYTES_BITS), moved), c.i64(mask));
    const phase = c.and(state, c.i64(1n << BigInt(PHASE)));
    const isOver = c.isZero(c.or(pending, left));
    const count = c.and(
      completes ? c.select(isOver, expected, pending) : pending,
      c.i64((1n << BigInt(COUNT_BITS)) - 1n),
    );
    const next = completes ? c.select(isOver, c.xor(phase, c.i64(1n << BigInt(PHASE))), phase) : phase;
    return c.or(c.or(count, c.shl(expected, EXPECTED)), c.or(c.shl(left, BYTES), next));
  };
  b.fence();
  const old = b.atomic(
    space,
    address,
    [arrivals, dropped, bytes],
    (c, state, ...given) => update(c, state, given[0]!, given[1]!, given[2]!),
    { predicate: b.guard, alignmentBytes: 8 },
  );
  b.fence();
  return old;
}

function set(b: PtxBuilder, state: Value): void {
  const { space, address } = placeOf(b, 0);
  b.store(space, 8, address, [b.low(state), b.high(state)], { predicate: b.guard, alignmentBytes: 8 });
}

function initialize(b: PtxBuilder): void {
  const count = b.zext64(b.bits(b.read(1), 0, COUNT_BITS));
  set(b, b.or(count, b.shl(count, EXPECTED)));
}

/** A count that is not there is 1; it is never 0. */
function countOf(b: PtxBuilder, index: number): Value {
  const given = b.read(index);
  return b.zext64(b.select(b.isZero(given), b.i32(1), given));
}

function arrive(b: PtxBuilder): void {
  const expectsBytes = b.has('expect_tx');
  const arrivals = expectsBytes ? b.i64(1n) : countOf(b, 2);
  const old = change(b, 1, {
    ...{ arrivals, completes: true },
    ...(b.has('arrive_drop') && { dropped: arrivals }),
    ...(expectsBytes && { bytes: b.op('i64.sub', b.i64(0n), b.zext64(b.read(2))) }),
  });
  b.write(0, old);
}

const expectBytes = (b: PtxBuilder): void =>
  void change(b, 0, { bytes: b.op('i64.sub', b.i64(0n), b.zext64(b.read(1))), completes: false });
const completeBytes = (b: PtxBuilder): void => void change(b, 0, { bytes: b.zext64(b.read(1)), completes: true });

/** Whether the phase is over that a state is of, or that has a parity. */
function isComplete(b: PtxBuilder): void {
  const { space, address } = placeOf(b, 1);
  const [, high] = b.load(space, 8, address, { predicate: b.guard, alignmentBytes: 8 });
  b.fence();
  const given = b.has('parity') ? b.shl(b.read(2), 31) : b.high(b.read(2));
  b.write(0, b.ne(b.shrU(b.xor(high!, given), 31), b.i32(0)));
}

/** Copies are done when the next instruction begins: only what nobody counted before is an arrival. */
function arriveBehindCopies(b: PtxBuilder): void {
  if (b.has('noinc')) change(b, 0, { arrivals: b.i64(1n), completes: true });
}

const ORDER = '.order=release|relaxed|acquire?.scope=cta|cluster?';
const SPACE = '.space=shared|shared::cta|shared::cluster?';
const FLAGS = { className: 'memory', looks: 'always' } as const;

// biome-ignore format: one row per line, as the tables of the manual
export const BARRIER_ROWS: readonly PtxRow[] = [
  ptxRow('mbarrier', `.init${SPACE}.b64`, '[] u32', initialize, FLAGS),
  ptxRow('mbarrier', `.inval${SPACE}.b64`, '[]', (b) => set(b, b.i64(0n)), FLAGS),
  ptxRow('mbarrier', `.expect_tx${ORDER}${SPACE}.b64`, '[] u32', expectBytes, FLAGS),
  ptxRow('mbarrier', `.complete_tx${ORDER}${SPACE}.b64`, '[] u32', completeBytes, FLAGS),
  ...['arrive', 'arrive_drop'].flatMap((name) => [
    ptxRow('mbarrier', `.${name}${ORDER}${SPACE}.b64`, '=b64 [] u32?', arrive, FLAGS),
    ptxRow('mbarrier', `.${name}.expect_tx${ORDER}${SPACE}.b64`, '=b64 [] u32', arrive, FLAGS),
    ptxRow('mbarrier', `.${name}.noComplete${ORDER}${SPACE}.b64`, '=b64 [] u32', arrive, FLAGS),
  ]),
  ptxRow('mbarrier', `.test_wait${ORDER}${SPACE}.b64`, '=pred [] b64', isComplete, FLAGS),
  ptxRow('mbarrier', `.test_wait.parity${ORDER}${SPACE}.b64`, '=pred [] u32', isComplete, FLAGS),
  ptxRow('mbarrier', `.try_wait${ORDER}${SPACE}.b64`, '=pred [] b64 u32?', isComplete, FLAGS),
  ptxRow('mbarrier', `.try_wait.parity${ORDER}${SPACE}.b64`, '=pred [] u32 u32?', isComplete, FLAGS),
  ptxRow('mbarrier', '.pending_count.b64', '=u32 b64', (b) => b.write(0, b.low(field(b, b.read(1), 0, COUNT_BITS))), FLAGS),
  ptxRow('cp', '.async.mbarrier.arrive.noinc?.space=shared|shared::cta?.b64', '[]', arriveBehindCopies, FLAGS),
];
