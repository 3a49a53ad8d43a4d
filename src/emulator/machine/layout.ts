/**
 * Where things are in the emulator's two linear memories. Device memory holds what the GPU may reach:
 * allocations, scratch and LDS. State memory holds the emulator's own: the validity map, constant tables,
 * wave states and decoded code; no address of a GPU leads there. Every executor works on this layout, so that
 * a wave can change executors between any two instructions.
 */
import type { ExitReason, StateSlot } from '../../ir/types.ts';

/**
 * Indices of the memories in every module. The engine keeps the base of memory 0 at hand, and registers of
 * waves are what code touches most.
 */
export const STATE_MEMORY = 0;
export const DEVICE_MEMORY = 1;

// Device memory.

/** Allocations begin at multiples of this. */
export const PAGE_SIZE_BYTES = 4096;

/**
 * Never permitted, behind every region that the GPU may access: an access, and a group of accesses that is
 * checked at its first and its last byte, is smaller.
 */
export const HOLE_BYTES = PAGE_SIZE_BYTES;

/** A workgroup has no more LDS on any target; sums of offsets that are below a size do not wrap. */
export const MAX_LDS_BYTES = 65_536;
/** Behind it is as much as a vector load of one place reads too much, to throw it away. */
export const LDS_SLACK_BYTES = 12;

/**
 * First byte of device memory that is handed out: what is below is never permitted, so that sums that wrap
 * end there.
 */
export const DEVICE_START = 0x10000;
/**
 * Below, where compiled code writes for lanes that are off: not in the first page, in which `exec` shares
 * words with native programs (exec/protocol.ts).
 */
export const UNUSED_START = PAGE_SIZE_BYTES;
export const UNUSED_BYTES = 1024;

// State memory.

/** Counts of what stands for no instruction (RECORD_COUNTS): nobody reads them. */
export const NO_COUNTS = 0;

/** A word: whether several threads run waves, so that atomics must lock. */
export const THREADS_RUN = 64;

/**
 * A word that counts what makes wrong what code has learned of permitted ranges: the GPU may do less with
 * some memory, or a function is new, whose ranges are others.
 */
export const RANGES_EPOCH = 68;

/** What waves of all workgroups meet at (global-wave-sync.ts): a word of 64 bits for each resource. */
export const GLOBAL_WAVE_SYNC = 1024;
export const GLOBAL_WAVE_SYNC_COUNT = 64;

/** One byte for each granule of the 4 GiB of device memory: what the GPU may do there. */
export const VALIDITY_MAP = 0x10000;
/** A smaller granule costs nothing but memory: the check takes as long with pages. */
export const GRANULE_LOG2 = 6;
export const GRANULE_SIZE_BYTES = 1 << GRANULE_LOG2;
const VALIDITY_MAP_SIZE_BYTES = 2 ** 32 / GRANULE_SIZE_BYTES;
export const MAY_READ = 1;
export const MAY_WRITE = 2;

/** 16 vectors: all ones in 32-bit lane i where bit i of the index is set. */
export const NIBBLE_MASKS = VALIDITY_MAP + VALIDITY_MAP_SIZE_BYTES;

/**
 * 16 vectors of byte numbers, for a swizzle: a lane whose bit is not set gets what the next lower lane with a
 * set bit has, without one what the lowest such lane has.
 */
export const NIBBLE_SPREADS = NIBBLE_MASKS + 256;

/**
 * For each page of device memory two words: where the allocation begins that it is in, and how many bytes of
 * it, in granules, the GPU may access, with what it may do there in the lowest bits; 0 where that is not the
 * same for all of them. No two allocations have bytes in one page. The first word is written before the
 * second one, which alone becomes 0 when memory is freed: so they belong together, whenever they are read at
 * once.
 */
export const PAGE_EXTENTS = NIBBLE_MASKS + PAGE_SIZE_BYTES;
const PAGE_EXTENTS_SIZE_BYTES = (2 ** 32 / PAGE_SIZE_BYTES) * 8;

/** First byte that state memory's allocator hands out. */
export const STATE_START = PAGE_EXTENTS + PAGE_EXTENTS_SIZE_BYTES;

// Wave state. Offsets from the wave's base.

export const SCALAR_COUNT = 128;
/**
 * SCALAR_COUNT dwords: SGPRs and the other scalar registers at their operand encoding (VCC 106, M0 124, EXEC
 * 126).
 */
export const WAVE_SGPRS = 0;
export const WAVE_SCC = 512;
export const WAVE_MODE = 516;
export const WAVE_STATUS = 520;
export const WAVE_TRAPSTS = 524;
/** Why the executor returned: a number of EXIT_CODES. */
export const WAVE_EXIT = 528;
/** Record to continue with. */
export const WAVE_RECORD = 532;
export const WAVE_LDS_BASE = 536;
export const WAVE_LDS_SIZE = 540;
/** Private segment: lane-interleaved dwords; bytes of each lane. */
export const WAVE_PRIVATE_BASE = 544;
export const WAVE_PRIVATE_SIZE = 548;
/** Target of a jump whose record is not known yet. */
export const WAVE_JUMP_PC = 552;
/** Table that maps jump targets to records: see JUMP_CACHE_ENTRIES. */
export const WAVE_JUMP_CACHE = 560;
/** What the wave wants of the host when it leaves. */
export const WAVE_REQUEST = 564;
/** 64-bit device clock, refreshed by the scheduler whenever it runs the wave. */
export const WAVE_CLOCK = 568;
/** Record of the header of the loop that runs chunk by chunk (T2) and may fault; 0 when none does. */
export const WAVE_LOOP = 576;
/** Whether the wave is the only one of its workgroup, and so waits for nobody at barriers. */
export const WAVE_ALONE = 580;
/** Two dwords that are always 0. */
export const WAVE_ZEROS = 584;
/** Two dwords of FLAT_SCRATCH, where it is hardware registers. */
export const WAVE_FLAT_SCRATCH = 592;
/**
 * 1: all registers are as the runner of the workgroup began the wave with, which has not run; 2: they are
 * still the same, but it has run; 0: anything else.
 */
export const WAVE_FRESHNESS = 600;
export const FRESH = 1;
export const STILL_FRESH = 2;
/**
 * Of the first wave of a workgroup, which the runner has begun: how many workgroups behind this one may be
 * done with it (regions/series.ts), and where the runner's part is (group-layout.ts).
 */
export const WAVE_SERIES = 608;
export const WAVE_GROUP = 612;
/** Workgroups that are done with another, at most. */
export const MAX_SERIES = 31;
/** Of each wave in a series, for each group of its accesses: bytes from the first wave's rows to its own. */
export const WAVE_SERIES_ROWS = 616;
export const SERIES_ROW_COUNT = 6;
/**
 * What compiled code knows of the work-item ids that waves begin with in this place (FirstLook in
 * regions/first-look.ts): a word that says whose it is, and vectors behind it. The next wave finds it there.
 */
export const WAVE_FIRST_LOOK = 640;
export const FIRST_LOOK_VECTORS = 3;
/** Instructions that the wave may still run in its turn; kept here by executors whose functions run many. */
export const WAVE_BUDGET = 704;
/** What the turn began with. */
export const WAVE_TURN = 604;
/**
 * Instructions that compiled code ran since the wave's turn began, and of these the ones that ran in loops
 * compiled as a whole (T2).
 */
export const WAVE_COMPILED = 708;
export const WAVE_LOOPED = 712;
/**
 * Where instructions are counted by class: record that the block begins with which compiled code runs, 0 in
 * handlers; and the counts.
 */
export const WAVE_BLOCK = 716;
export const WAVE_CLASS_COUNTS = 720;
export const WAVE_TEMPORARY_ROWS = 1024;
export const MAX_CLASSES = (WAVE_TEMPORARY_ROWS - WAVE_CLASS_COUNTS) / 4;
export const classCountOffset = (index: number): number => WAVE_CLASS_COUNTS + index * 4;
export const TEMPORARY_ROW_COUNT = 8;
/**
 * What compiled code knows of where accesses are permitted (jit/function/range-places.ts): address of the
 * literals of the function that knows it, and RANGES_EPOCH then; a bit for each range, 64 bits; and the
 * ranges.
 */
export const WAVE_RANGES_OWNER = WAVE_TEMPORARY_ROWS + TEMPORARY_ROW_COUNT * 256;
export const WAVE_RANGES_KNOWN = WAVE_RANGES_OWNER + 8;
export const WAVE_RANGES = WAVE_RANGES_OWNER + 32;
export const RANGE_COUNT = 31;
export const RANGE_SIZE_BYTES = 48;
/**
 * Elements of a product of matrices, each a row of dwords, or of pairs of dwords. The size of a wave's state
 * is no multiple of 4 KiB: else the same registers of all waves would be in the same few lines of a cache.
 */
export const WAVE_MATRIX_ROWS = WAVE_RANGES_OWNER + 1536;
export const MATRIX_ROW_COUNT = 48;
/** Masks that lanes are making (regions/ballots.ts): no region has products of matrices. */
export const WAVE_BALLOTS = WAVE_MATRIX_ROWS;
export const BALLOTS_SIZE_BYTES = MATRIX_ROW_COUNT * 256;
export const WAVE_VGPRS = WAVE_MATRIX_ROWS + MATRIX_ROW_COUNT * 256;
export const VGPR_COUNT = 256;

/** Rows are register-major: one dword for each lane. */
export const rowSizeBytes = (waveSize: 32 | 64): number => waveSize * 4;
export const waveAgprs = (waveSize: 32 | 64): number => WAVE_VGPRS + VGPR_COUNT * rowSizeBytes(waveSize);
export const waveSizeBytes = (waveSize: 32 | 64): number => waveAgprs(waveSize) + VGPR_COUNT * rowSizeBytes(waveSize);

export const STATE_OFFSETS: Readonly<Record<StateSlot, number>> = {
  scc: WAVE_SCC,
  mode: WAVE_MODE,
  status: WAVE_STATUS,
  trapsts: WAVE_TRAPSTS,
  flatScratchLow: WAVE_FLAT_SCRATCH,
  flatScratchHigh: WAVE_FLAT_SCRATCH + 4,
  request: WAVE_REQUEST,
  m0: 124 * 4,
  exec: 126 * 4,
  vcc: 106 * 4,
};

// Decoded instructions.

export const RECORD_SIZE_BYTES = 96;
/** Table slot of the handler. */
export const RECORD_HANDLER = 0;
/** Record of the branch target. */
export const RECORD_TARGET = 4;
/** Low 32 bits of the address of this and of the next instruction; the high bits are the device's window. */
export const RECORD_PC = 8;
export const RECORD_NEXT_PC = 12;
/**
 * Operands, 8 bytes each: offset of the register from the wave's base, or the constant, or the address of a
 * lane table.
 */
export const RECORD_OPERANDS = 16;
export const RECORD_OPERAND_COUNT = 10;
/**
 * Of an instruction that changes MODE, in place of operands that it does not have: the MODE that it left
 * last, the record to go on with then, and the jump cache of the code for that MODE.
 */
export const RECORD_NEW_MODE = RECORD_OPERANDS + 64;
export const RECORD_NEW_MODE_NEXT = RECORD_OPERANDS + 68;
export const RECORD_NEW_MODE_JUMP_CACHE = RECORD_OPERANDS + 72;
/**
 * Where executions are counted by pc: address of the counts of the instruction, words of 64 bits for waves,
 * lanes and taken branches. It is the high dword of the last operand, which only a constant would have.
 */
export const RECORD_COUNTS = RECORD_OPERANDS + RECORD_OPERAND_COUNT * 8 - 4;
export const COUNT_WAVES = 0;
export const COUNT_LANES = 8;
export const COUNT_TAKEN = 16;
export const COUNTS_SIZE_BYTES = 24;
/** No MODE that code runs with. */
export const NO_MODE = 0xffffffff;

// A leader is a record without an instruction, before the instruction at RECORD_TARGET: branches to that go
// to the leader.

/** How often it is reached until its code is compiled. */
export const LEADER_COUNT = RECORD_OPERANDS;
/** Once compiled: number of its block in the function, and address of the function's literals. */
export const LEADER_BLOCK = RECORD_OPERANDS + 4;
export const LEADER_LITERALS = RECORD_OPERANDS + 8;
/**
 * How many VGPRs, AGPRs and SGPRs below VCC, from the first on, a wave that starts here may read before it
 * writes them.
 */
export const LEADER_VGPRS = RECORD_OPERANDS + 12;
export const LEADER_AGPRS = RECORD_OPERANDS + 16;
export const LEADER_SGPRS = RECORD_OPERANDS + 20;
/** Whether workgroups whose waves start here may be done with others (regions/series.ts). */
export const LEADER_SERIES = RECORD_OPERANDS + 24;

/** Direct-mapped by bits 2.. of the address: pairs of (low 32 bits of the address, record). */
export const JUMP_CACHE_ENTRIES = 1024;

/** Exits that a program asks for, and those of the executor. */
export const EXIT_CODES: Readonly<Record<ExitReason, number>> = {
  end: 1,
  barrier: 2,
  sleep: 3,
  trap: 4,
  interrupt: 5,
  'gws-init': 10,
  'gws-barrier': 11,
  turn: 12,
  'named-barrier': 13,
};
/** The instruction budget ran out. */
export const EXIT_BUDGET = 0;
/** A jump to WAVE_JUMP_PC, which is not in the jump cache. */
export const EXIT_JUMP = 6;
/** MODE changed, to one that the instruction's record does not know: code is specialised on it. */
export const EXIT_MODE = 7;
/** The record is not translated: bad bytes or an unsupported instruction. */
export const EXIT_UNTRANSLATED = 8;
/** A leader was reached so often that its code is worth compiling. */
export const EXIT_COMPILE = 9;
