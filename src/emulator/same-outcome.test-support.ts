/** Whether a program leaves the same in memory on all executors. */
import assert from 'node:assert/strict';
import type { AmdgpuLaunch } from '../devices/emulated/amdgpu/initial-registers.ts';
import { EmulatorRig, type RigOptions } from './emulator-rig.test-support.ts';

const SIZE_BYTES = 2 ** 13;
const EXECUTORS = {
  T0: { executor: 'handlers' },
  T1: { executor: 'jit', compileThreshold: 0, vertical: 'never' },
} as const;
const NANS = [0x7f800001, 0xffc00123, 0x7fc00000, 0xff812345];

interface Outcome {
  readonly dwords: readonly number[];
  readonly fault: string | undefined;
  /** Executed by all waves, where none faulted. */
  readonly instructions: number | undefined;
}

function outcomeOf(program: string, options: RigOptions, launch: Partial<AmdgpuLaunch>): Outcome {
  using rig = new EmulatorRig({ ...options, bufferSizeBytes: SIZE_BYTES });
  for (let i = 0; i < SIZE_BYTES / 4; i++) rig.setDword(i, Math.imul(i, 0x9e3779b1));
  for (let i = 5; i < SIZE_BYTES / 4; i += 13) rig.setDword(i, NANS[i % NANS.length]!);
  const dispatch = rig.run(`${program}\n s_endpgm`, { ldsSizeBytes: 1024, ...launch });
  const dwords = Array.from({ length: SIZE_BYTES / 4 }, (_, i) => rig.dword(i));
  const fault = dispatch.fault?.message;
  return { dwords, fault, instructions: fault === undefined ? dispatch.instructions : undefined };
}

/** The same instructions as RDNA names them, for a wave of 32. */
const NAMES: Readonly<Record<string, string>> = {
  dwordx4: 'b128',
  dwordx3: 'b96',
  dwordx2: 'b64',
  dword: 'b32',
  ubyte: 'u8',
  ushort: 'u16',
  byte: 'b8',
  short: 'b16',
};
export const ofWave32 = (program: string): string =>
  program
    .replaceAll(/(global_(?:load|store))_(\w+)/g, (_, access: string, unit: string) => `${access}_${NAMES[unit]!}`)
    .replaceAll('ds_read', 'ds_load')
    .replaceAll('ds_write', 'ds_store')
    .replaceAll(/v_(add|sub|subrev)_u32/g, 'v_$1_nc_u32')
    .replaceAll('v_addc_co_u32', 'v_add_co_ci_u32')
    .replaceAll(/\bvcc\b/g, 'vcc_lo');

/**
 * Runs a program on all executors, of one wave unless `shape` says more, in a buffer of numbers and NaNs: the
 * same is in it then, or the same fault is reported.
 */
export function compareOutcomes(
  program: string,
  mayFault: boolean,
  options: RigOptions,
  waveSize: 32 | 64,
  shape: Partial<AmdgpuLaunch> = {},
): void {
  const launch = { ...shape, waveSize };
  const expected = outcomeOf(program, { ...options, executor: 'reference' }, launch);
  assert.equal(expected.fault !== undefined, mayFault, expected.fault ?? 'no fault');
  for (const [name, executor] of Object.entries(EXECUTORS))
    assert.deepEqual(outcomeOf(program, { ...executor, ...options }, launch), expected, name);
}
