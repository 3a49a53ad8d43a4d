/**
 * What the emulator needs of a language of machine code. It knows no language by itself: a front end tells it
 * what the bytes mean and how a wave starts, in terms of what all languages share: steps with programs (ir),
 * and a wave's scalars and rows of lanes (machine/layout.ts). A language with registers of its own kind, or
 * without a mask of active lanes, places its registers on scalars and rows, and keeps the mask by programs.
 */
import type { Step } from '../../ir/step.ts';
import type { Launch, Triple } from '../machine/launch.ts';
import type { Memories } from '../machine/memory.ts';

/** Reads the steps of code that runs in waves of one size, with one MODE. */
export interface StepReader {
  /** The step at byte `offset` of the code; where there is none, why. */
  step(code: DataView, offset: number): Step | string;
  /**
   * Both or neither: what was decoded since the last call, as values that JSON can hold, and what takes it
   * over in another process. It depends on nothing but the processor, the wave size and MODE.
   */
  takeDecoded?(): readonly unknown[];
  recall?(decoded: readonly unknown[]): void;
}

/** Where a wave is, and which part of its workgroup it runs. */
export interface WaveStart {
  /**
   * Base of the wave's state: the scalars and the rows that the launch counts are zero, and the emulator
   * writes its own part (WAVE_MODE, WAVE_RECORD and so on) afterwards.
   */
  readonly wave: number;
  readonly privateBase: number;
  readonly workgroup: Triple;
  /** Work-items of the workgroup in each dimension: fewer than the launch says at the edge of the grid. */
  readonly workgroupSize: Triple;
  /** Number of the work-item in lane 0, counted x first, and how many lanes have one. */
  readonly firstItem: number;
  readonly activeLanes: number;
}

export interface FrontEnd {
  /** The processor that runs the code; the front end of another thread is made by this name. */
  readonly processor: string;
  /** What the instructions that a dispatch runs are counted by. */
  readonly classes: readonly string[];
  /**
   * Bits of the state `mode` that programs are specialised on: code is decoded anew for each value of them.
   * And bits that no program may set: a wave that sets one stops with a fault.
   */
  readonly modeKeyBits: number;
  readonly modeRefusedBits: number;
  /** High dwords of the flat addresses of LDS and of private memory. */
  readonly sharedApertureHi: number;
  readonly privateApertureHi: number;
  /**
   * Size of the instructions that wait or sleep: a wave that does so has gone past one, and reports of where
   * waves stand name the instruction before.
   */
  readonly waitSizeBytes: number;
  /** Pieces of global memory that accesses are counted by: bytes of a cache line. Without, they are not. */
  readonly segmentBytes?: number;
  /** `mode`: the bits of `modeKeyBits`. */
  reader(waveSize: 32 | 64, mode: number): StepReader;
  /**
   * Writes the registers that a wave starts with, but for the mask of its active lanes, which the emulator
   * writes. Not every workgroup of a launch comes here: many start as copies of an earlier one, wave by wave
   * (`saveTemplates`). A copy has all scalars and the first ID_REGISTERS rows; all other rows are
   * zero, and the emulator writes the workgroup's position into `workgroupIdSgprs` of the launch. So nothing
   * else may depend on the position of the workgroup, and no other row may be written.
   */
  startWave(memories: Memories, launch: Launch, start: WaveStart): void;
  /** For languages whose programs have the exit `turn`. */
  readonly turns?: LaneTurns;
}

/**
 * Why lanes of a wave may have to give way to others. `left`: the wave left with the exit `turn`; `ended`:
 * the active lanes ended while others are stopped; otherwise the wave used its budget up, and stands at
 * this offset of device memory.
 */
export type TurnCause = 'left' | 'ended' | { readonly offset: number };

/** Lanes that are at one place, and what they do there. */
export interface LanePlace {
  readonly lanes: bigint;
  /** Of the instruction: an offset of device memory. */
  readonly offset: number;
  /** Empty where they run; else what they wait for: `waits for lanes 0xff`. */
  readonly note: string;
}

/** How lanes of one wave that parted go on in turns. */
export interface LaneTurns {
  /**
   * Number of a scalar: a mask of lanes that go on only when they get their turn, and maybe of others. It is
   * 0 when a wave starts; compiled code that takes no account of such lanes asks for it, and a wave ends only
   * while it is 0.
   */
  readonly stoppedScalar: number;
  /**
   * Whether lanes of the launch may wait for others of their wave in a loop: then their turns are shorter.
   */
  areShort(launch: Launch): boolean;
  /**
   * Makes some lanes active; where they go on, as an offset of device memory. `same`: the wave goes on as it
   * is, with the lanes that it has, or ends where it has none; `deadlock`: all lanes wait for each other.
   */
  next(memories: Memories, wave: number, cause: TurnCause): number | 'same' | 'deadlock';
  /** Where all lanes are that have not ended; `offset`: where the wave is. */
  places(memories: Memories, wave: number, offset: number): readonly LanePlace[];
}
