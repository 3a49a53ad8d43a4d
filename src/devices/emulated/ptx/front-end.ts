/** PTX, compiled to machine code of its own, as the emulator runs it. */
import type { FrontEnd, LaneTurns, StepReader, WaveStart } from '../../../emulator/code/front-end.ts';
import type { Launch } from '../../../emulator/machine/launch.ts';
import { WAVE_VGPRS } from '../../../emulator/machine/layout.ts';
import type { Memories } from '../../../emulator/machine/memory.ts';
import { PLACES } from '../../../ptx/machine/places.ts';
import { LOCAL_HIGH, SHARED_HIGH } from '../../../ptx/rows/memory.ts';
import { PTX_CLASSES } from '../../../ptx/rows/row.ts';
import { PtxStepReader } from '../../../ptx/step.ts';
import { PTX_TURNS } from './turns.ts';

/** Bytes of the instructions that wait and sleep: a header and eight letters. */
const WAIT_SIZE_BYTES = 12;

/** A launch with what the scalars of its waves hold. */
export interface PtxLaunch extends Launch {
  /** Address of the kernel's parameters. */
  readonly parameters: bigint;
  /** Shared memory that the launch added to the kernel's own. */
  readonly dynamicSharedBytes: number;
  /** Whether lanes of a wave that parted go on in turns, each for a while. */
  readonly givesWay: boolean;
}

export class PtxFrontEnd implements FrontEnd {
  readonly processor: string;
  readonly classes = PTX_CLASSES;
  readonly modeKeyBits = 0;
  readonly modeRefusedBits = -1;
  readonly sharedApertureHi = SHARED_HIGH;
  readonly privateApertureHi = LOCAL_HIGH;
  readonly waitSizeBytes = WAIT_SIZE_BYTES;
  readonly turns: LaneTurns = {
    ...PTX_TURNS,
    areShort: (launch) => (launch as PtxLaunch).givesWay, // reason: its launches are its own
  };

  constructor(processor: string) {
    this.processor = processor;
  }

  reader(): StepReader {
    return new PtxStepReader();
  }

  /** PTX ISA chapter 10: sizes count threads and CTAs, here the work-items and workgroups of the launch. */
  startWave({ state }: Memories, launch: PtxLaunch, start: WaveStart): void {
    const { words, view } = state;
    const { wave, workgroup, firstItem, activeLanes } = start;
    const first = wave >> 2;
    const { workgroupSize: size, gridSize } = launch;
    for (const d of [0, 1, 2] as const) {
      words[first + PLACES.ctaid[d].first] = workgroup[d];
      words[first + PLACES.ntid[d].first] = size[d];
      words[first + PLACES.nctaid[d].first] = Math.ceil(gridSize[d] / size[d]);
    }
    words[first + PLACES.warpid.first] = firstItem / launch.waveSize;
    words[first + PLACES.nwarpid.first] = Math.ceil((size[0] * size[1] * size[2]) / launch.waveSize);
    words[first + PLACES.totalShared.first] = launch.ldsSizeBytes;
    words[first + PLACES.dynamicShared.first] = launch.dynamicSharedBytes;
    words[first + PLACES.givesWay.first] = Number(launch.givesWay);
    view.setBigUint64((first + PLACES.parameters.first) * 4, launch.parameters, true);
    const rows = (wave + WAVE_VGPRS) >> 2;
    for (let lane = 0; lane < activeLanes; lane++) {
      const item = firstItem + lane;
      words[rows + lane] = item % size[0];
      words[rows + launch.waveSize + lane] = Math.floor(item / size[0]) % size[1];
      words[rows + 2 * launch.waveSize + lane] = Math.floor(item / (size[0] * size[1]));
    }
  }
}
