/**
 * Where things of a wave are that instructions do not name: scalars and rows of the emulator's wave state.
 * Registers of a function have the other rows, 512 dwords in each lane.
 */
import type { RegisterOperand } from '../../ir/step.ts';

const scalar = (first: number, dwords = 1): RegisterOperand => ({
  ...{ kind: 'register', file: 'scalar', first, dwords, isHighHalf: false },
});
const row = (first: number): RegisterOperand => ({
  ...{ kind: 'register', file: 'vector', first, dwords: 1, isHighHalf: false },
});

/** Scalars. What stands here is the same for all lanes. */
export const PLACES = {
  ctaid: [scalar(0), scalar(1), scalar(2)],
  ntid: [scalar(3), scalar(4), scalar(5)],
  nctaid: [scalar(6), scalar(7), scalar(8)],
  warpid: scalar(9),
  /** Address of the kernel's parameters. */
  parameters: scalar(10, 2),
  nwarpid: scalar(12),
  totalShared: scalar(13),
  dynamicShared: scalar(14),
  /** Number of the activation of a function that runs; each call of the wave makes a new one. */
  activation: scalar(15),
  /** Lanes that have not ended. */
  live: scalar(16),
  /** How many activations there were. */
  activations: scalar(17),
  gridid: scalar(18, 2),
  /** What a vote came to. */
  vote: scalar(20),
  /** Lanes that were not chosen when the host chose last: they may need a turn of their own. */
  stopped: scalar(21),
  /** How often lanes had to give way, and the first of those that had their turn by its number. */
  turns: scalar(22),
  lastTurn: scalar(23),
  /** Whether lanes may look for what others do, so that they have to give way to these: not 0. */
  givesWay: scalar(24),
  /**
   * What waits at joins, as a number; how often lanes gave way since that changed; and how soon that is
   * enough.
   */
  joined: scalar(25),
  gaveWay: scalar(26),
  impatience: scalar(27),

  /** The work-item's position in its workgroup: the rows that the emulator copies to further workgroups. */
  tid: [row(0), row(1), row(2)],
  /** Low half of the address at which the lane waits, or waited last, and for what: `WAITS`. */
  join: row(3),
  /** Where the frame of the current activation begins in the lane's private memory. */
  frame: row(4),
  /** Low half of the address to return to. */
  link: row(5),
  /** Number of the activation that the lane is in. */
  ownActivation: row(6),
  /** What the last instruction with `.cc` carried or borrowed: 0 or 1. */
  carry: row(7),
  /** Lanes that the lane waits for, or gives way to; of one that was stopped, the number of that stop. */
  meeting: row(8),
  /** How far bytes are copied around a call: where they are, and where they go. */
  copied: [row(9), row(10)],
} as const;

/** What a lane waits for, in the lowest bits of its row of joins: instructions stand at multiples of 4. */
export const WAITS = {
  /** At a join for others that come there, or at a call. */
  join: 0,
  /** For its turn. */
  turn: 1,
  /** For others at the same instruction, of whatever activations. */
  here: 2,
  /** For others at instructions of the same kind, wherever these are. */
  anywhere: 3,
} as const;
export const WAITS_MASK = 3;
/** Scalars that a kernel may use for registers of its own. */
export const OWN_SCALARS = { first: 32, end: 100 } as const;

/** The first row that functions may use for their own registers. */
export const FIRST_OWN_ROW = 11;
/** Rows of the vector file, then those of the accumulator file. */
export const ROWS_PER_FILE = 256;
export const ROW_COUNT = 2 * ROWS_PER_FILE;
