/** Records of the instructions of a made-up kernel: a loop that loads well and stores badly. */
import {
  COUNTED_KERNELS,
  INSTRUCTION_COUNT_FLAG,
  INSTRUCTION_COUNTS,
  INSTRUCTIONS,
  NO_ADDRESS,
} from '../profile/format/instruction-records.ts';
import { INSTRUCTION_CONTROLS, numberOf } from '../profile/format/names.ts';

const WAVE_SIZE = 64;
const SEGMENT_BYTES = 64;
const WAVES = 16;
const ROUNDS = 10;
const FIRST_ADDRESS = 0x1900n;
const FILE = '/src/<b>kernels</b>/transpose.cl';

/** Its line of source, its text, and what it does; the loop is from `v_add` to the branch. */
const CODE = [
  { line: 2, text: 's_load_dwordx4 s[0:3], s[4:5], 0x0', runs: 1 },
  { line: 2, text: 'v_mov_b32_e32 v1, 0', runs: 1 },
  { line: 4, text: 'v_add_u32_e32 v1, 1, v1', runs: ROUNDS },
  { line: 5, text: 'global_load_dword v2, v0, s[2:3]', runs: ROUNDS, segments: 4 },
  { line: 5, text: 's_waitcnt vmcnt(0)', runs: ROUNDS },
  { line: 5, text: 'global_store_dword v3, v2, s[0:1]', runs: ROUNDS, segments: 16 },
  { line: 4, text: 's_cmp_lt_i32 s6, 10', runs: ROUNDS },
  { line: 4, text: 's_cbranch_scc1 65529', runs: ROUNDS, target: 2 },
  { line: 7, text: 's_endpgm', runs: 1 },
] as const satisfies readonly SampleInstruction[];

/** In `CODE`, with a quarter of its lanes. */
const STORE = 5;

interface SampleInstruction {
  readonly line: number;
  readonly text: string;
  /** How often each wave executes it. */
  readonly runs: number;
  /** Cache lines that an access touches. */
  readonly segments?: number;
  /** Where it branches to. */
  readonly target?: number;
}

/** Of the kernel with this number of executable 1. */
export function sampleCode(exportOrdinal: number): Readonly<Record<string, readonly Uint8Array[]>> {
  const kernel = { executableId: 1n, exportOrdinal, physicalDeviceOrdinal: 0 };
  const addressOf = (index: number): bigint => FIRST_ADDRESS + 4n * BigInt(index);
  const instructions = CODE.map(({ line, text, target }: SampleInstruction, i) => {
    return INSTRUCTIONS.encode({
      ...{ executableId: 1n, address: addressOf(i), sizeBytes: 4, text, functionOffset: 4n * BigInt(i) },
      ...{ functionName: 'transpose', sourceFile: FILE, sourceLine: line, className: 'valu' },
      targetAddress: target === undefined ? NO_ADDRESS : addressOf(target),
      control: numberOf(
        INSTRUCTION_CONTROLS,
        target !== undefined ? 'conditional' : text === 's_endpgm' ? 'end' : 'next',
      ),
    });
  });
  const counts = CODE.map(({ runs, target, segments }: SampleInstruction, i) => {
    const waveCount = BigInt(WAVES * runs);
    const lanes = BigInt(i === STORE ? WAVE_SIZE / 4 : WAVE_SIZE);
    const takenCount = target === undefined ? 0n : BigInt(WAVES * (ROUNDS - 1));
    const access = segments && {
      ...{ flags: INSTRUCTION_COUNT_FLAG.memory, accessCount: waveCount, byteCount: waveCount * lanes * 4n },
      segmentCount: waveCount * BigInt(segments),
    };
    const counts = { waveCount, laneCount: waveCount * lanes, takenCount, ...access };
    return INSTRUCTION_COUNTS.encode({ ...kernel, address: addressOf(i), ...counts });
  });
  const counted = {
    ...kernel,
    waveSize: WAVE_SIZE,
    segmentBytes: SEGMENT_BYTES,
    dispatchCount: 1n,
    waveCount: BigInt(WAVES),
  };
  return {
    [INSTRUCTIONS.contentType]: instructions,
    [COUNTED_KERNELS.contentType]: [COUNTED_KERNELS.encode(counted)],
    [INSTRUCTION_COUNTS.contentType]: counts,
  };
}
