/**
 * Programs of command buffers, ABI version 0: blocks of commands, little-endian and aligned to 8 bytes. A
 * block is a header, commands that grow up from it, read-only data, and binding sources at its end. Offsets
 * and numbers are those of IREE's AQL programs; opcodes from 64 on are ours.
 */

export const BLOCK_MAGIC = 0x444d_4342;
export const ABI_VERSION = 0;

/** Offsets in the header of a block, in bytes. */
export const BLOCK = {
  sizeBytes: 64,
  magic: 0,
  version: 4,
  headerBytes: 6,
  ordinal: 8,
  branchTarget: 12,
  lengthBytes: 16,
  commandOffset: 20,
  commandBytes: 24,
  sourceOffset: 28,
  commandCount: 32,
  sourceCount: 34,
  /** Packets and bytes of arguments that the block takes at most. */
  maxPackets: 36,
  maxKernargBytes: 40,
  /** Packets up to and with the first that waits for those before it. */
  initialPackets: 44,
  dataOffset: 48,
  dataBytes: 52,
  dispatchCount: 56,
  indirectDispatchCount: 58,
  markerCount: 60,
  terminator: 62,
  flags: 63,
} as const;

/** The first 8 bytes of a command. */
export const COMMAND = { opcode: 0, flags: 1, qwords: 2, index: 4 } as const;
/** Arguments lie in the ring of the queue; the command waits for all before it. */
export const COMMAND_FLAG = { usesKernargs: 1, barrier: 2 } as const;
/** Scopes of fences, from these bits of the flags on: 0 none, 1 agent, 2 system. */
export const ACQUIRE_SHIFT = 2;
export const RELEASE_SHIFT = 4;
export const FENCE_SCOPE = { none: 0, agent: 1, system: 2 } as const;

export const OPCODE = {
  barrier: 1,
  dispatch: 2,
  fill: 3,
  copy: 4,
  update: 5,
  profileMarker: 6,
  branch: 7,
  conditionalBranch: 8,
  return: 9,
  /** Ours: each ends its block, as the host does it when all before has ended, and goes on with `target`. */
  execute: 64,
  setEvent: 65,
  resetEvent: 66,
  waitEvents: 67,
} as const;
export type CommandOpcode = (typeof OPCODE)[keyof typeof OPCODE];

/** Sizes in bytes. */
export const COMMAND_BYTES: Readonly<Record<CommandOpcode, number>> = {
  [OPCODE.barrier]: 16,
  [OPCODE.dispatch]: 80,
  [OPCODE.fill]: 40,
  [OPCODE.copy]: 48,
  [OPCODE.update]: 40,
  [OPCODE.profileMarker]: 16,
  [OPCODE.branch]: 16,
  [OPCODE.conditionalBranch]: 24,
  [OPCODE.return]: 8,
  [OPCODE.execute]: 16,
  [OPCODE.setEvent]: 16,
  [OPCODE.resetEvent]: 16,
  [OPCODE.waitEvents]: 16,
};

export const BARRIER = { acquire: 8, release: 9, flags: 10 } as const;

export const DISPATCH = {
  kernelObject: 8,
  sourceOffset: 16,
  payload: 20,
  bindingCount: 24,
  kernargQwords: 26,
  /** Qwords behind the bindings (`dynamicBindings`), or sources to patch (other strategies). */
  tailQwords: 28,
  strategy: 30,
  flags: 31,
  setup: 32,
  exportOrdinal: 36,
  workgroupSize: 40,
  implicitQwords: 46,
  grid: 48,
  privateBytes: 60,
  groupBytes: 64,
  executableId: 72,
} as const;
/** The grid is made of workgroups that memory holds when the dispatch begins. */
export const DISPATCH_INDIRECT = 1;
export const NO_IMPLICIT = 0xffff;
/** Of a payload: it is an ordinal of the program's data, and no offset in that of the block. */
export const PROGRAM_DATA = 0x8000_0000;

/** How the arguments of a dispatch come about. */
export const STRATEGY = {
  /** From a template, of which all bindings are filled in. */
  hal: 0,
  custom: 1,
  indirect: 2,
  /** They lie in memory already. */
  prepublished: 3,
  /** From a template, of which some qwords are filled in. */
  patchedTemplate: 4,
  /** All bindings come first and from slots; behind them comes what the payload holds. */
  dynamicBindings: 5,
  /** Ours: the host dispatches it, because its arguments are no qwords or too many. */
  host: 64,
} as const;

export const FILL = { targetOffset: 8, length: 16, pattern: 24, target: 32, targetKind: 36, patternBytes: 37 } as const;
export const COPY = {
  length: 8,
  sourceOffset: 16,
  targetOffset: 24,
  source: 32,
  target: 36,
  sourceKind: 40,
  targetKind: 41,
} as const;
export const UPDATE = { data: 8, targetOffset: 16, length: 24, target: 28, targetKind: 32 } as const;
/** A length up to the end of what is in the slot. */
export const WHOLE_LENGTH = 0xffff_ffff_ffff_ffffn;

export const BRANCH = { target: 8 } as const;
/** `source`: the offset of the binding source with the 32-bit word that is looked at. */
export const CONDITIONAL_BRANCH = { whenTrue: 8, whenFalse: 12, source: 16, widthBytes: 20 } as const;
/** `ordinal`: of the program's nested programs or lists of events. */
export const HOST_STEP = { target: 8, ordinal: 12 } as const;

export const SOURCE = { sizeBytes: 16, pointer: 0, slot: 8, qword: 12, flags: 14 } as const;
/** No flag: an address. `queue` is ours: the address of the queue that executes. */
export const SOURCE_FLAG = { dynamic: 1, indirect: 2, static: 4, queue: 8 } as const;
export const BINDING_KIND = { static: 1, dynamic: 2 } as const;
