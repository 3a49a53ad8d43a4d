/** Which places of the wave state anything still reads: what is dead need not be stored. */
import { type ProgramEffects, programEffects } from '../../../flow/lane-effects.ts';
import { LaneLiveness } from '../../../flow/lane-liveness.ts';
import { isMaskSlot } from '../../../ir/types.ts';
import { STATE_OFFSETS, VGPR_COUNT, WAVE_VGPRS } from '../../machine/layout.ts';
import type { Block } from './control-flow.ts';
import { type Decoded, isRelative } from './decoded.ts';

/**
 * What a wave that enters a block may read before it writes it, at least: where it starts there, nothing else
 * need be set up.
 */
export interface LiveIn {
  /** VGPRs and AGPRs from the first to the last of them. */
  readonly vgprs: number;
  readonly agprs: number;
  /** One more than the last of the SGPRs below VCC. */
  readonly sgprs: number;
}

/** Stands for all places that the function does not name. */
const OTHERS = -1;

export class Liveness {
  readonly #rowSizeBytes: number;
  readonly #bits = new Map<number, bigint>();
  readonly #effects = new Map<Decoded, ProgramEffects>();
  readonly #live: LaneLiveness<Decoded>;

  /** Of blocks, among which are those of the function: what is outside of them may read all. */
  constructor(blocks: readonly Block[], waveSize: 32 | 64) {
    this.#rowSizeBytes = waveSize * 4;
    this.#bit(OTHERS);
    for (const { instructions } of blocks)
      for (const instruction of instructions) this.#effects.set(instruction, this.#effectsOf(instruction));
    let [everything, rows] = [0n, 0n];
    for (const [offset, bit] of this.#bits) {
      everything |= bit;
      if (offset === OTHERS || offset >= WAVE_VGPRS) rows |= bit;
    }
    this.#live = new LaneLiveness(blocks, (instruction) => this.#effects.get(instruction)!, { everything, rows });
  }

  /**
   * Whether what a region leaves in a place is read. `own`: the region's instructions; its lane values are of
   * the EXEC of the first of them that writes a row.
   */
  isLive(offset: number, own: readonly Decoded[]): boolean {
    const bit = this.#bits.get(offset);
    const { active, inactive } = this.#live.after(own.at(-1)!);
    if (bit === undefined) return true;
    if (offset < WAVE_VGPRS || this.#changesOnlyBy('grows', own)) return (active & bit) !== 0n;
    return ((active | inactive) & bit) !== 0n;
  }

  /**
   * Whether a row is read in a lane that is off while the region runs: else the region may write all of it.
   */
  isLiveWhereOff(offset: number, own: readonly Decoded[]): boolean {
    const bit = this.#bits.get(offset);
    const { active, inactive } = this.#live.after(own.at(-1)!);
    if (bit === undefined) return true;
    return ((this.#changesOnlyBy('shrinks', own) ? inactive : active | inactive) & bit) !== 0n;
  }

  /**
   * Whether EXEC, from the first write of a row on, changes in one way only: then lanes that were active or
   * off, respectively, still are.
   */
  #changesOnlyBy(change: 'grows' | 'shrinks', own: readonly Decoded[]): boolean {
    const effects = own.map((instruction) => this.#effects.get(instruction)!);
    const first = effects.findIndex(({ writesRows }) => writesRows);
    return first >= 0 && effects.slice(first).every(({ maskChange }) => maskChange === 'none' || maskChange === change);
  }

  liveIn(block: Block): LiveIn {
    const { active } = this.#live.beforeInstruction(block.instructions[0]!);
    const agprs = WAVE_VGPRS + VGPR_COUNT * this.#rowSizeBytes;
    const live = [...this.#bits].filter(([, bit]) => (active & bit) !== 0n).map(([offset]) => offset);
    if (live.includes(OTHERS)) return { vgprs: VGPR_COUNT, agprs: VGPR_COUNT, sgprs: STATE_OFFSETS.vcc / 4 };
    const count = (from: number, to: number, size: number): number =>
      Math.max(0, ...live.filter((at) => at >= from && at < to).map((at) => (at - from) / size + 1));
    return {
      vgprs: count(WAVE_VGPRS, agprs, this.#rowSizeBytes),
      agprs: count(agprs, Number.POSITIVE_INFINITY, this.#rowSizeBytes),
      sgprs: count(0, STATE_OFFSETS.vcc, 4),
    };
  }

  /** Whether a place is live, in any lane, when a block begins; everything is outside of the function. */
  isLiveAt(block: Block | undefined, offset: number): boolean {
    const bit = this.#bits.get(offset);
    if (bit === undefined || !block) return true;
    const { active, inactive } = this.#live.beforeInstruction(block.instructions[0]!);
    return ((active | inactive) & bit) !== 0n;
  }

  writesExec(instruction: Decoded): boolean {
    return this.#effects.get(instruction)!.maskChange !== 'none';
  }

  #bit(offset: number): bigint {
    let bit = this.#bits.get(offset);
    if (bit === undefined) {
      bit = 1n << BigInt(this.#bits.size);
      this.#bits.set(offset, bit);
    }
    return bit;
  }

  #effectsOf({ shape, parameter }: Decoded): ProgramEffects {
    const { program, live, operands } = shape;
    return programEffects(program, live, {
      register: ({ operand, dword }) => {
        const { kind } = operands[operand]!;
        if (kind !== 'scalar' && kind !== 'row') return undefined;
        return this.#bit(parameter(operand, 0) + dword * (kind === 'scalar' ? 4 : this.#rowSizeBytes));
      },
      constant: ({ operand, dword }) =>
        operands[operand]!.kind === 'constant' ? parameter(operand, dword) : undefined,
      isRelative: (operand) => isRelative(operands[operand]!),
      state: (slot) => {
        const offset = STATE_OFFSETS[slot];
        return isMaskSlot(slot) ? [this.#bit(offset), this.#bit(offset + 4)] : [this.#bit(offset)];
      },
    });
  }
}
