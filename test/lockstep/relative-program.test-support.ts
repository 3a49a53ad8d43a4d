/** Random programs of registers that M0 chooses, in range and out of range, between other instructions. */

import { targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { assembleInstruction } from '../../src/isa/amdgpu/text/assembler/assemble.ts';
import type { KernelGenerator } from './random-kernel.test-support.ts';

const VECTOR_MOVES = ['v_movreld_b32', 'v_movrels_b32', 'v_movrelsd_b32', 'v_movrelsd_2_b32', 'v_swaprel_b32'];
const SCALAR_MOVES = ['s_movrels_b32', 's_movrels_b64', 's_movreld_b32', 's_movreld_b64'];

export function relativeProgram(
  generator: KernelGenerator,
  processor: string,
  waveSize: 32 | 64,
  random: () => number,
): number[] {
  const target = targetFor(processor);
  const isGfx9 = target.families.includes('gfx9');
  const below = (limit: number): number => random() % limit;
  const words: number[] = [];
  const emit = (text: string): void => {
    words.push(...assembleInstruction(text, { target, waveSize }).words);
  };
  const rows = (count: number): void => {
    for (let i = 0; i < count; i++) words.push(...generator.vectorRow());
  };
  /** A number that leads to a register, or out of its file. */
  const distance = (inRange: number, outOfRange: number): number =>
    below(3) > 0 ? below(inRange) : outOfRange + below(400);
  const setM0 = (low: number, high: number): void => emit(`s_mov_b32 m0, ${low | (high << 16)}`);

  /** What it overwrites is below s80, or does not exist. */
  const scalarMove = (): void => {
    const names = isGfx9 ? SCALAR_MOVES : [...SCALAR_MOVES, 's_movrelsd_2_b32'];
    const name = names[below(names.length)]!;
    setM0(distance(38, 110), name.includes('_2_') ? distance(38, 110) : 0);
    const [to, from] = [2 * below(20), 2 * below(40)];
    emit(name.endsWith('64') ? `${name} s[${to}:${to + 1}], s[${from}:${from + 1}]` : `${name} s${to}, s${from}`);
  };
  const vectorMove = (): void => {
    const kind = below(VECTOR_MOVES.length);
    setM0(distance(80, 170), kind < 3 ? 0 : distance(80, 170));
    emit(`${VECTOR_MOVES[kind]} v${below(80)}, v${below(80)}`);
  };
  const indexedRows = (): void => {
    emit(`s_movk_i32 s90, ${below(below(2) === 0 ? 16 : 256)}`);
    emit(`s_set_gpr_idx_on s90, ${below(16)}`);
    rows(1 + below(4));
    emit('s_set_gpr_idx_off');
  };
  for (let left = 3 + below(10); left > 0; left--) {
    rows(below(4));
    if (below(4) === 0) scalarMove();
    else if (isGfx9) indexedRows();
    else vectorMove();
  }
  return words;
}
