/**
 * What an agent knows of the code that frozen executables have on it: what its packets and its faults need.
 */
import type { SourceLine } from '../../codeobject/line-table.ts';
import type { Occupancy } from '../../codeobject/occupancy.ts';

export interface ResidentKernel {
  /** Ends in `.kd`. */
  readonly name: string;
  readonly groupSegmentSizeBytes: number;
  /** The largest workgroup that a compute unit has registers for; undefined where that is not known. */
  readonly maxWorkgroupSize: number | undefined;
  /**
   * Private memory of a lane for a dispatch whose packet asks for `packetBytes`: enough for what is called.
   */
  privateBytesFor(packetBytes: number): number;
  /** For workgroups of so many work-items and bytes of LDS; undefined where that is not known. */
  occupancy(workgroupSize: number, ldsSizeBytes: number): Occupancy | undefined;
}

export interface ResidentCode {
  readonly address: bigint;
  readonly sizeBytes: number;
  /** Where the instruction at a loaded address comes from; undefined where no line table says so. */
  sourceLine(address: bigint): SourceLine | undefined;
}
