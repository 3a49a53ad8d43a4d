/**
 * Instructions that move values between lanes or to scalar registers: CDNA3 ISA 12.8 and 12.11, RDNA3 ISA
 * 16.8 and 16.12.
 */
import type { Job } from './jobs.ts';
import { modeOf } from './lane-context.ts';
import { Arithmetic, converted, NEAREST, TOWARD_ZERO } from './numbers.ts';
import type { RegisterFile } from './register-file.ts';

export type WaveModel = (job: Job, before: RegisterFile, after: RegisterFile) => void;

const register = (job: Job, field: string): string => {
  const { file, first } = job.operands.find(({ spec }) => spec.field === field)!;
  return `${file}${first}`;
};

const isOn = (mask: bigint, lane: number): boolean => ((mask >> BigInt(lane)) & 1n) === 1n;

/**
 * A row of 16 lanes reads lanes of itself, or of the other row of the pair, as the 16 four-bit numbers in S1
 * and S2 say.
 */
const permlane =
  (crosses: boolean): WaveModel =>
  (job, before, after) => {
    const { waveSize } = job.recording;
    const table = before.get(register(job, 'src1')) | (before.get(register(job, 'src2')) << 32n);
    // op_sel 0: fetch inactive; op_sel 1: bound_ctrl.
    const opSel = job.fields['op_sel'] ?? 0;
    for (let lane = 0; lane < waveSize; lane++) {
      if (!isOn(before.exec, lane)) continue;
      const row = (lane & ~15) ^ (crosses ? 16 : 0);
      const source = row + Number((table >> BigInt(4 * (lane & 15))) & 15n);
      const reads = (opSel & 1) === 1 || isOn(before.exec, source);
      if (!reads && (opSel & 2) === 0) continue;
      after.set(register(job, 'vdst'), lane, reads ? before.get(register(job, 'src0'), source) : 0n);
    }
  };

const readLane: WaveModel = (job, before, after) => {
  const lane = Number(before.get(register(job, 'src1'))) % job.recording.waveSize;
  after.set(register(job, 'vdst'), 0, before.get(register(job, 'src0'), lane));
};

const INTERPOLATIONS = ['f32', 'f16_f32', 'rtz_f16_f32'].flatMap((type) => [
  `v_interp_p10_${type}`,
  `v_interp_p2_${type}`,
]);

/**
 * Sources of VINTERP stand in the lanes of a quad: P0 in the first, P10 in the second, P20 in the third
 * (RDNA3 ISA 12.3).
 */
function interpolation(name: string): WaveModel {
  const [, pass, rtz, type] = /^v_interp_(p10|p2)_(rtz_)?(f16|f32)/.exec(name)!;
  return (job, before, after) => {
    const mode = modeOf(job.recording.mode);
    const rounding = rtz ? TOWARD_ZERO : undefined;
    const f32 = new Arithmetic('f32', rounding ?? mode.round32, mode.flush32);
    const f16 = new Arithmetic('f16', rounding ?? mode.round64, mode.flush64);
    const wide = (field: string, lane: number): bigint => {
      const value = before.get(register(job, field), lane);
      return type === 'f16' ? converted('f16', 'f32', NEAREST, f16.input(value & 0xffffn)) : value;
    };
    for (let lane = 0; lane < job.recording.waveSize; lane++) {
      if (!isOn(before.exec, lane)) continue;
      const quad = lane & ~3;
      const factor = before.get(register(job, 'src1'), lane);
      const result = register(job, 'vdst');
      if (pass === 'p10') {
        after.set(result, lane, f32.fma(wide('src0', quad + 1), factor, wide('src2', quad)));
        continue;
      }
      const sum = f32.fma(wide('src0', quad + 2), factor, before.get(register(job, 'src2'), lane));
      const old = before.get(result, lane);
      after.set(
        result,
        lane,
        type === 'f16' ? (old & 0xffff0000n) | f16.result(converted('f32', 'f16', f16.rounding, sum)) : sum,
      );
    }
  };
}

export const WAVE_MODELS: Readonly<Record<string, WaveModel>> = {
  v_readfirstlane_b32: (job, before, after) => {
    const { exec } = before;
    const lanes = Array.from({ length: job.recording.waveSize }, (_, lane) => lane);
    const first = lanes.find((lane) => isOn(exec, lane)) ?? 0;
    after.set(register(job, 'vdst'), 0, before.get(register(job, 'src0'), first));
  },
  v_readlane_b32: readLane,
  v_writelane_b32: (job, before, after) => {
    const lane = Number(before.get(register(job, 'src1'))) % job.recording.waveSize;
    after.set(register(job, 'vdst'), lane, before.get(register(job, 'src0')));
  },
  ...Object.fromEntries(INTERPOLATIONS.map((name) => [name, interpolation(name)])),
  v_permlane16_b32: permlane(false),
  v_permlanex16_b32: permlane(true),
  // Nothing in wave32.
  v_permlane64_b32: (job, before, after) => {
    if (job.recording.waveSize === 32) return;
    for (let lane = 0; lane < 64; lane++) {
      if (isOn(before.exec, lane)) after.set(register(job, 'vdst'), lane, before.get(register(job, 'src0'), lane ^ 32));
    }
  },
};
