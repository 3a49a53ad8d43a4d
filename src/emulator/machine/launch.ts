/** A kernel launch as the emulator needs it. */
import { alignUp } from '../../base/align.ts';
import { PAGE_SIZE_BYTES } from './layout.ts';

export type Triple = readonly [number, number, number];

/** It can be cloned, with what the front end adds. */
export interface Launch {
  /** Offset of the first instruction in device memory. */
  readonly entry: number;
  readonly waveSize: 32 | 64;
  readonly workgroupSize: Triple;
  /** In work-items; the last workgroups of a dimension may be smaller. */
  readonly gridSize: Triple;
  readonly ldsSizeBytes: number;
  /** Bytes of each lane. */
  readonly privateSizeBytes: number;
  /** Numbers of the scalars that hold the workgroup's position in each dimension. */
  readonly workgroupIdSgprs: readonly [number | undefined, number | undefined, number | undefined];
  /** Number of the scalar that holds the position in y in its low half and the one in z in its high half. */
  readonly packedWorkgroupIdSgpr?: number | undefined;
  readonly mode: number;
  /** Rows that are zero when a wave starts, unless the front end writes them. */
  readonly vgprCount: number;
  readonly agprCount: number;
}

/** Sizes of the workgroup at `id`, cut at the edge of the grid. */
export function workgroupSizeAt(launch: Launch, id: Triple): Triple {
  const at = (d: 0 | 1 | 2): number =>
    Math.min(launch.workgroupSize[d], launch.gridSize[d] - id[d] * launch.workgroupSize[d]);
  return [at(0), at(1), at(2)];
}

/** The workgroups of a launch, numbered in the order in which they begin: x first. */
export class Grid {
  /** Workgroups in each dimension, and those of them that the edge of the grid does not cut. */
  readonly counts: Triple;
  readonly full: Triple;
  readonly total: number;

  constructor({ gridSize, workgroupSize }: Pick<Launch, 'gridSize' | 'workgroupSize'>) {
    const ratio = (d: 0 | 1 | 2): number => gridSize[d] / workgroupSize[d];
    this.counts = [Math.ceil(ratio(0)), Math.ceil(ratio(1)), Math.ceil(ratio(2))];
    this.full = [Math.floor(ratio(0)), Math.floor(ratio(1)), Math.floor(ratio(2))];
    this.total = this.counts[0] * this.counts[1] * this.counts[2];
  }

  idOf(index: number): Triple {
    const [nx, ny] = this.counts;
    return [index % nx, Math.floor(index / nx) % ny, Math.floor(index / (nx * ny))];
  }
}

/** Private memory of a wave, whole pages. */
export const privateSegmentSizeBytes = (launch: Launch): number =>
  alignUp(launch.privateSizeBytes * launch.waveSize, PAGE_SIZE_BYTES);
