/**
 * Which registers anything still reads: what is dead need not be stored. Scalar registers as usual. A row of a VGPR that is overwritten is
 * dead only for the lanes that are active then, so that the overwriting counts for earlier writes only as long as EXEC is the same:
 * spec/jit.md section 1. Where a wave leaves the function, everything is live, unless it ends.
 */
import { isMaskSlot, type StateSlot } from '../../ir/types.ts';
import { STATE_OFFSETS } from '../layout.ts';
import type { Block } from './control-flow.ts';
import type { Decoded } from './decoded.ts';

/** Sets of places in the wave state, as bits. */
interface Live {
  /** Read later, rows also after they were overwritten. */
  readonly any: bigint;
  /** Read before they are overwritten in the lanes that are active here. */
  readonly active: bigint;
}

interface Effects {
  readonly reads: bigint;
  readonly scalarWrites: bigint;
  readonly rowWrites: bigint;
  readonly writesExec: boolean;
  /** Reads what it likes. */
  readonly isOpaque: boolean;
  readonly ends: boolean;
}

export class Liveness {
  readonly #rowSizeBytes: number;
  readonly #bits = new Map<number, bigint>();
  readonly #effects = new Map<Decoded, Effects>();
  readonly #before = new Map<Block, Live>();
  readonly #after = new Map<Decoded, Live>();
  #everything = 0n;

  constructor(blocks: readonly Block[], waveSize: 32 | 64) {
    this.#rowSizeBytes = waveSize * 4;
    for (const { instructions } of blocks)
      for (const instruction of instructions) this.#effects.set(instruction, this.#effectsOf(instruction));
    this.#everything = (1n << BigInt(this.#bits.size)) - 1n;
    const nothing = { any: 0n, active: 0n };
    for (const block of blocks) this.#before.set(block, nothing);
    for (let changed = true; changed; ) {
      changed = false;
      for (const block of blocks.toReversed()) {
        const live = this.#blockEntry(block);
        const old = this.#before.get(block)!;
        changed ||= live.any !== old.any || live.active !== old.active;
        this.#before.set(block, live);
      }
    }
  }

  /** Whether a place of the wave state is live after an instruction; `sameExec`: in the lanes that are active there. */
  isLive(offset: number, after: Decoded, sameExec: boolean): boolean {
    const bit = this.#bits.get(offset);
    const live = this.#after.get(after)!;
    return bit === undefined || ((sameExec ? live.active : live.any) & bit) !== 0n;
  }

  writesExec(instruction: Decoded): boolean {
    return this.#effects.get(instruction)!.writesExec;
  }

  #blockEntry(block: Block): Live {
    const { control, resumes } = block.instructions.at(-1)!.shape;
    const everything = { any: this.#everything, active: this.#everything };
    const of = (successor: Block | undefined): Live => (successor ? this.#before.get(successor)! : everything);
    let live = control === 'leave' && !resumes ? everything : of(control === 'branch' ? block.target : block.next);
    if (control === 'conditional') {
      const other = of(block.target);
      live = { any: live.any | other.any, active: live.active | other.active };
    }
    for (const instruction of block.instructions.toReversed()) {
      this.#after.set(instruction, live);
      live = this.#through(this.#effects.get(instruction)!, live);
    }
    return live;
  }

  #through(effects: Effects, { any, active }: Live): Live {
    if (effects.ends) return { any: 0n, active: 0n };
    if (effects.isOpaque) return { any: this.#everything, active: this.#everything };
    const { reads, scalarWrites, rowWrites, writesExec } = effects;
    const later = writesExec ? any : active;
    return { any: (any & ~scalarWrites) | reads, active: (later & ~(scalarWrites | rowWrites)) | reads };
  }

  #bit(offset: number): bigint {
    let bit = this.#bits.get(offset);
    if (bit === undefined) {
      bit = 1n << BigInt(this.#bits.size);
      this.#bits.set(offset, bit);
    }
    return bit;
  }

  #effectsOf({ shape, parameter }: Decoded): Effects {
    const { live, operandKinds, compiles } = shape;
    let [reads, scalarWrites, rowWrites, partial] = [0n, 0n, 0n, 0n];
    const place = (operand: number, dword: number): number =>
      parameter(operand, 0) + dword * (operandKinds[operand] === 'scalar' ? 4 : this.#rowSizeBytes);
    const slot = (name: StateSlot): bigint => {
      const offset = STATE_OFFSETS[name];
      const high = isMaskSlot(name) ? this.#bit(offset + 4) : 0n;
      return this.#bit(offset) | high;
    };
    for (const { leaf, lane, args } of live) {
      switch (leaf.kind) {
        case 'operand':
          if (operandKinds[leaf.at.operand] !== 'constant') reads |= this.#bit(place(leaf.at.operand, leaf.at.dword));
          break;
        case 'gather':
        case 'readLane':
          reads |= this.#bit(place(leaf.at.operand, leaf.at.dword));
          break;
        case 'state':
          reads |= slot(leaf.slot);
          break;
        case 'setState':
          // Waves of 32 lanes write one dword of a mask.
          scalarWrites |= this.#rowSizeBytes === 128 ? this.#bit(STATE_OFFSETS[leaf.slot]) : slot(leaf.slot);
          break;
        case 'setOperand': {
          const bit = this.#bit(place(leaf.at.operand, leaf.at.dword));
          if (!lane) scalarWrites |= bit;
          else if (args.length > 1) partial |= bit;
          else rowWrites |= bit;
          break;
        }
      }
      if (lane || leaf.kind === 'ballot') reads |= slot('exec');
    }
    const writesExec = (scalarWrites & slot('exec')) !== 0n;
    const ends = live.some(({ leaf }) => leaf.kind === 'exit' && leaf.reason === 'end');
    return {
      reads: reads | partial,
      scalarWrites,
      rowWrites,
      writesExec,
      isOpaque: !compiles,
      ends,
    };
  }
}
