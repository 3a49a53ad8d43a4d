import { type ErrorContext, WavewrightError } from './errors.ts';

/**
 * Upper bounds on everything that is counted or measured by input. They are far above what compilers write
 * and small enough that hostile input can neither exhaust memory nor run for minutes.
 */
export const LIMITS = {
  /** Program headers of one ELF file. */
  elfSegments: 4_096,
  /** Section headers of one ELF file (host objects with -ffunction-sections have tens of thousands). */
  elfSections: 1_000_000,
  /** Entries of one ELF symbol table. */
  elfSymbols: 4_000_000,
  /** Entries of one ELF relocation table. */
  elfRelocations: 4_000_000,
  /** Entries of the dynamic section. */
  elfDynamicEntries: 65_536,
  /** Note records of one ELF file. */
  elfNotes: 65_536,
  /** Bytes of the msgpack metadata of one code object. */
  metadataBytes: 32 * 2 ** 20,
  /** Nesting of msgpack maps and arrays in it. */
  metadataDepth: 32,
  /** Kernels of one code object. */
  kernels: 65_536,
  /** Bytes of the arguments of one kernel, hidden ones included. */
  kernargBytes: 2 ** 20,
  /** Arguments of one kernel, hidden ones included. */
  kernelArguments: 4_096,
  /** Entries of one offload bundle. */
  bundleEntries: 4_096,
  /** Bytes of one entry id of an offload bundle. */
  bundleIdBytes: 4_096,
  /** Members of one archive. */
  archiveMembers: 1_000_000,
  /** Bytes of all sections that one file is disassembled in; sections may overlap. */
  disassembledBytes: 2 ** 32,
  /**
   * Characters that macros, repetitions and included files add to an assembler source, a line counting for 16
   * more.
   */
  expandedCharacters: 2 ** 24,
  /** Macros, repetitions and included files within one another. */
  expansionDepth: 64,
  /** Errors that the assembler reports before it gives up. */
  assemblerErrors: 20,
  /** Bytes of an ELF file that is written: sections may ask for any alignment. */
  elfFileBytes: 2 ** 31,
  /** Bytes of the address space that the segments of a lifted code object span, from address 0 on. */
  imageBytes: 2 ** 29,
  /** Characters of one PTX text. */
  ptxCharacters: 2 ** 28,
  /** Levels of blocks, expressions and lists of PTX within one another. */
  ptxDepth: 64,
  /** Registers that one `.reg .b32 %r<N>` declares. */
  ptxRange: 2 ** 22,
  /** Bytes that one compressed offload bundle may expand to. */
  decompressedBytes: 2 ** 30,
  /** Records of one recording of a device (`.ireereplay`). */
  replayRecords: 2 ** 24,
  /** Slots of one command buffer of a recording. */
  replaySlots: 2 ** 16,
  /** Events of one family in the report of a profile. */
  reportEvents: 4_000_000,
  /** Instructions whose listings a report has. */
  reportInstructions: 500_000,
  /** Cases of one run. */
  cases: 10_000_000,
  /** Bytes of one line of a JSON Lines file. */
  jsonLineBytes: 2 ** 20,
} as const;

/** Throws `LIMIT_EXCEEDED` when `value` is above the limit. */
export function checkLimit(limit: keyof typeof LIMITS, value: number, context: ErrorContext): void {
  if (value > LIMITS[limit]) {
    throw new WavewrightError('LIMIT_EXCEEDED', `${value} is above the limit ${limit} = ${LIMITS[limit]}`, context);
  }
}
