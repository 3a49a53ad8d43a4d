/** Which places of the wave state anything still reads: what is dead need not be stored. */
import { type LaneEffects, LaneLiveness, type MaskChange } from '../../flow/lane-liveness.ts';
import { isMaskSlot, isMatrixProgram, type StateSlot, type Value } from '../../ir/types.ts';
import { STATE_OFFSETS, VGPR_COUNT, WAVE_VGPRS } from '../machine/layout.ts';
import type { Block } from './control-flow.ts';
import { type Decoded, isRelative } from './decoded.ts';

interface Effects extends LaneEffects {
  /** Also in some of the active lanes only. */
  readonly writesRows: boolean;
}

/** What a wave that enters a block may read before it writes it, at least: where it starts there, nothing else need be set up. */
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
  readonly #effects = new Map<Decoded, Effects>();
  readonly #live: LaneLiveness<Decoded>;

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
   * Whether what a region leaves in a place is read. `own`: the region's instructions; its lane values are of the EXEC of the first of them
   * that writes a row.
   */
  isLive(offset: number, own: readonly Decoded[]): boolean {
    const bit = this.#bits.get(offset);
    const { active, inactive } = this.#live.after(own.at(-1)!);
    if (bit === undefined) return true;
    if (offset < WAVE_VGPRS || this.#changesOnlyBy('grows', own)) return (active & bit) !== 0n;
    return ((active | inactive) & bit) !== 0n;
  }

  /** Whether a row is read in a lane that is off while the region runs: else the region may write all of it. */
  isLiveWhereOff(offset: number, own: readonly Decoded[]): boolean {
    const bit = this.#bits.get(offset);
    const { active, inactive } = this.#live.after(own.at(-1)!);
    if (bit === undefined) return true;
    return ((this.#changesOnlyBy('shrinks', own) ? inactive : active | inactive) & bit) !== 0n;
  }

  /** Whether EXEC, from the first write of a row on, changes in one way only: then lanes that were active or off, respectively, still are. */
  #changesOnlyBy(change: 'grows' | 'shrinks', own: readonly Decoded[]): boolean {
    const effects = own.map((instruction) => this.#effects.get(instruction)!);
    const first = effects.findIndex(({ writesRows }) => writesRows);
    return first >= 0 && effects.slice(first).every(({ maskChange }) => maskChange === 'none' || maskChange === change);
  }

  liveIn(block: Block): LiveIn {
    const { active } = this.#live.before(block);
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
    const { active, inactive } = this.#live.before(block);
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

  #effectsOf(instruction: Decoded): Effects {
    const { shape, parameter } = instruction;
    const { program, live, operands } = shape;
    const isMatrix = isMatrixProgram(program);
    let [reads, crossReads, scalarWrites, rowWrites, partial] = [0n, 0n, 0n, 0n, 0n];
    const place = (operand: number, dword: number): number =>
      parameter(operand, 0) + dword * (operands[operand]!.kind === 'scalar' ? 4 : this.#rowSizeBytes);
    const slot = (name: StateSlot): bigint => {
      const offset = STATE_OFFSETS[name];
      const high = isMaskSlot(name) ? this.#bit(offset + 4) : 0n;
      return this.#bit(offset) | high;
    };
    for (const { leaf, lane, args } of live) {
      if (lane || leaf.kind === 'ballot') reads |= slot('exec');
      // Which register it is only running it tells: `isOpaque` stands for what is read, and what is written counts as kept.
      if ('at' in leaf && isRelative(operands[leaf.at.operand]!)) continue;
      switch (leaf.kind) {
        case 'operand':
          if (operands[leaf.at.operand]!.kind === 'constant') break;
          reads |= this.#bit(place(leaf.at.operand, leaf.at.dword));
          if (isMatrix) crossReads |= this.#bit(place(leaf.at.operand, leaf.at.dword));
          break;
        case 'gather':
        case 'readLane':
          crossReads |= this.#bit(place(leaf.at.operand, leaf.at.dword));
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
    }
    return {
      reads: reads | partial,
      crossReads,
      scalarWrites,
      rowWrites,
      writesRows: (rowWrites | partial) !== 0n,
      maskChange: (scalarWrites & slot('exec')) === 0n ? 'none' : maskChangeOf(instruction),
      isOpaque: operands.some(isRelative),
      ends: live.some(({ leaf }) => leaf.kind === 'exit' && leaf.reason === 'end'),
    };
  }
}

const EXEC = STATE_OFFSETS.exec;

/** What an instruction that writes EXEC does to it. */
function maskChangeOf({ shape, parameter }: Decoded): MaskChange {
  const { live, operands } = shape;
  const offsetOf = (at: { readonly operand: number; readonly dword: number }): number | undefined =>
    operands[at.operand]!.kind === 'scalar' ? parameter(at.operand, 0) + at.dword * 4 : undefined;
  const isExec = ({ leaf }: Value, high: boolean): boolean =>
    leaf.kind === 'state'
      ? leaf.slot === 'exec'
      : leaf.kind === 'operand' && offsetOf(leaf.at) === (high ? EXEC + 4 : EXEC);
  /** Whether the bits of a value are a part of those of EXEC, or hold all of them; `high`: of its high dword. */
  const compares = (value: Value, grows: boolean, high: boolean): boolean => {
    const { leaf, args } = value;
    const inner = (arg: Value | undefined, part = high): boolean => arg !== undefined && compares(arg, grows, part);
    if (isExec(value, high)) return true;
    if (leaf.kind === 'const') return leaf.value === (grows ? -1n : 0n);
    if (leaf.kind === 'operand' && operands[leaf.at.operand]!.kind === 'constant')
      return parameter(leaf.at.operand, leaf.at.dword) === (grows ? -1 : 0);
    if (leaf.kind === 'ballot') return !grows;
    if (leaf.kind !== 'pure') return false;
    switch (leaf.op) {
      case 'i64.low':
        return inner(args[0], false);
      case 'i64.high':
        return inner(args[0], true);
      case 'i64.pack':
        return inner(args[0], false) && inner(args[1], true);
      case 'i32.and':
      case 'i64.and':
        return grows ? inner(args[0]) && inner(args[1]) : inner(args[0]) || inner(args[1]);
      case 'i32.or':
      case 'i64.or':
        return grows ? inner(args[0]) || inner(args[1]) : inner(args[0]) && inner(args[1]);
      default:
        return false;
    }
  };
  const writes = live.flatMap(({ leaf, lane, args }) => {
    if (leaf.kind === 'setState' && leaf.slot === 'exec') return [{ value: args[0]!, high: false }];
    const at = leaf.kind === 'setOperand' && !lane ? offsetOf(leaf.at) : undefined;
    return at === EXEC || at === EXEC + 4 ? [{ value: args[0]!, high: at > EXEC }] : [];
  });
  const all = (grows: boolean): boolean => writes.every(({ value, high }) => compares(value, grows, high));
  return all(false) ? 'shrinks' : all(true) ? 'grows' : 'any';
}
