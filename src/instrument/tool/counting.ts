/** Hooks that count, each with one addition to memory for a wave. */
import { runsOncePerWave } from '../../isa/amdgpu/encoding/instruction-class.ts';
import type { HookBuilder, Uniform } from '../dsl/hook.ts';
import { high, low, PayloadBuilder } from '../machine/payload-builder.ts';
import { type HookCode, hookCode, type PointHook } from './hook.ts';
import type { ToolInstruction } from './tool-function.ts';
import { COUNTER_BYTES, type Counters } from './variables.ts';

/** What is added when a wave comes by: 1; the number of its active lanes; 1 if any lane is active. */
export type Amount = 'waves' | 'lanes' | 'active waves';

/**
 * As what an instruction counts: scalar instructions and lane accesses once for each wave; others for each
 * active lane, or once for a wave with any.
 */
export const countedAs = ({ step }: ToolInstruction, level: string): Amount =>
  runsOncePerWave(step.instruction.row) ? 'waves' : level === 'thread' ? 'lanes' : 'active waves';

/** Adds to a counter. */
export const countHook = (counters: Counters, index: number, amount: Amount): PointHook => ({
  codes: codesFor(counters, amount),
  literals: [index * COUNTER_BYTES],
});

/** All points of a variable share their code. */
const known = new WeakMap<Counters, Map<Amount, readonly HookCode[]>>();

function codesFor(counters: Counters, amount: Amount): readonly HookCode[] {
  const byAmount = known.get(counters) ?? new Map<Amount, readonly HookCode[]>();
  known.set(counters, byAmount);
  const codes = byAmount.get(amount) ?? [
    hookCode((b) => {
      const sum = b.variable(counters.symbol, { pointLiteral: 0 });
      b.atomic('add', sum, b.pack(amountIn(b, amount), b.constant(0)));
    }),
    addFromKept(counters, amount),
  ];
  byAmount.set(amount, codes);
  return codes;
}

function amountIn(b: HookBuilder, amount: Amount): Uniform {
  if (amount === 'waves') return b.constant(1);
  const mask = b.laneMask();
  if (amount === 'lanes') return b.popcount(mask);
  return b.select(b.compare('ne', mask, b.constant64(0n)), b.constant(1), b.constant(0));
}

/**
 * The same in vector registers of the application, where none is free: what lane 0 has in them is kept in
 * scalar ones.
 */
const addFromKept =
  ({ symbol }: Counters, amount: Amount): HookCode =>
  (code) => {
    const b = new PayloadBuilder(code);
    const numbers = [0, 1, 2];
    b.changes({ file: 'vector', first: 0, dwords: numbers.length });
    const [saved, address, count] = [b.mask(), b.scalar(2), b.scalar()];
    const addend = { pointLiteral: 0 };
    b.emit`s_mov_${b.maskBits} ${saved}, ${b.exec}`;
    if (amount === 'lanes') b.emit`s_bcnt1_i32_${b.maskBits} ${count}, ${b.exec}`;
    if (amount === 'active waves') {
      b.emit`s_cmp_lg_u${code.waveSize} ${b.exec}, 0`;
      b.emit`s_cselect_b32 ${count}, 1, 0`;
    }
    b.emit`s_mov_b32 ${low(address)}, ${{ half: 'low', symbol, addend }}`;
    b.emit`s_mov_b32 ${high(address)}, ${{ half: 'high', symbol, addend }}`;
    b.emit`s_mov_${b.maskBits} ${b.exec}, 1`;
    const kept = numbers.map(() => b.scalar());
    for (const [i, register] of kept.entries()) b.emit`v_readlane_b32 ${register}, v${i}, 0`;
    b.emit`v_mov_b32 v0, ${amount === 'waves' ? 1 : count}`;
    b.emit`v_mov_b32 v1, 0`;
    b.emit`v_mov_b32 v2, 0`;
    b.emit`global_atomic_add_x2 v2, v[0:1], ${address}`;
    for (const [i, register] of kept.entries()) b.emit`v_writelane_b32 v${i}, ${register}, 0`;
    b.emit`s_mov_${b.maskBits} ${b.exec}, ${saved}`;
    return [b.payload()];
  };
