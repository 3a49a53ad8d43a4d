/**
 * Records of instructions and of what was counted of them. Files of IREE have none: these are content types
 * of our own, `application/vnd.wavewright.profile.` and a name, which its tools pass over. Counts are those
 * since the chunk before: who reads a file adds them up.
 */
import { INSTRUCTION_CONTROLS } from './names.ts';
import { namedNumber, ordinal, RecordLayout, text, u32, u64 } from './record-layout.ts';

const PREFIX = 'application/vnd.wavewright.profile.';

/** Of an instruction that names no place to go to. */
export const NO_ADDRESS = 2n ** 64n - 1n;

/**
 * What stands at an address of a code object: written once, when something of its function was counted first,
 * for all instructions of that function.
 */
export const INSTRUCTIONS = new RecordLayout(`${PREFIX}instructions`, 'instruction', 88, {
  flags: u32(4),
  executableId: u64(8),
  /** `codeObjectId` of `executable-code-objects`; 0 where the code is in none. */
  codeObjectId: u64(16),
  /** As disassemblers print it: where the code object is linked to. */
  address: u64(24),
  /** Where a branch or a call of a fixed place leads to, else `NO_ADDRESS`. */
  targetAddress: u64(32),
  sizeBytes: u32(40),
  control: namedNumber(44, INSTRUCTION_CONTROLS, 'control'),
  /** From the start of its function. */
  functionOffset: u64(48),
  /** From 1 on; 0: not known. */
  sourceLine: u32(56),
  sourceColumn: u32(60),
  functionName: text(64),
  sourceFile: text(68),
  text: text(72),
  /** What kind of unit executes it, in the words of `hal-drivers`: `valu`, `lds`. */
  className: text(76),
});

/** A kernel whose instructions were counted. */
export const COUNTED_KERNELS = new RecordLayout(`${PREFIX}counted-kernels`, 'counted_kernel', 56, {
  flags: u32(4),
  executableId: u64(8),
  exportOrdinal: ordinal(16),
  physicalDeviceOrdinal: ordinal(20),
  /** Lanes of a wave: 32 or 64. */
  waveSize: u32(24),
  /** What global accesses are cut into when segments are counted: bytes of a cache line. */
  segmentBytes: u32(28),
  dispatchCount: u64(32),
  waveCount: u64(40),
});

/** `taken`: taken branches are counted, `memory`: accesses to memory are. */
export const INSTRUCTION_COUNT_FLAG = { taken: 1, memory: 2 } as const;

/** Of an instruction in dispatches of a kernel, which may be in a function that it calls. */
export const INSTRUCTION_COUNTS = new RecordLayout(`${PREFIX}instruction-counts`, 'instruction_count', 112, {
  flags: u32(4),
  executableId: u64(8),
  exportOrdinal: ordinal(16),
  physicalDeviceOrdinal: ordinal(20),
  codeObjectId: u64(24),
  address: u64(32),
  /** Executions by waves, and by their lanes that were active. */
  waveCount: u64(40),
  laneCount: u64(48),
  takenCount: u64(56),
  /** Executions that reached memory; bytes that lanes asked for, and segments that they touched. */
  accessCount: u64(64),
  byteCount: u64(72),
  segmentCount: u64(80),
  /** Of accesses to the LDS: cycles that they take, and those of them that their bank conflicts cost. */
  cycleCount: u64(88),
  conflictCount: u64(96),
});

/** By content type. */
export const INSTRUCTION_LAYOUTS: ReadonlyMap<string, RecordLayout> = new Map(
  [INSTRUCTIONS, COUNTED_KERNELS, INSTRUCTION_COUNTS].map((layout) => [layout.contentType, layout]),
);
