/** The state that a wave starts with. */
import type { FrontEnd } from '../code/front-end.ts';
import type { Launch, Triple } from '../machine/launch.ts';
import {
  rowSizeBytes,
  STATE_OFFSETS,
  WAVE_ALONE,
  WAVE_JUMP_CACHE,
  WAVE_LDS_BASE,
  WAVE_LDS_SIZE,
  WAVE_MODE,
  WAVE_PRIVATE_BASE,
  WAVE_PRIVATE_SIZE,
  WAVE_RANGES_OWNER,
  WAVE_RECORD,
  WAVE_TEMPORARY_ROWS,
  WAVE_VGPRS,
  waveAgprs,
} from '../machine/layout.ts';
import type { Memories } from '../machine/memory.ts';

/**
 * Rows that are cleared however few registers the kernel has: front ends keep work-item ids there
 * (ID_REGISTERS).
 */
const MIN_CLEARED_ROWS = 3;

export interface WavePosition {
  /** Of the wave's state. */
  readonly base: number;
  readonly ldsBase: number;
  readonly privateBase: number;
  readonly workgroup: Triple;
  readonly workgroupSize: Triple;
  /** Number of the wave in its workgroup. */
  readonly index: number;
}

/** `start`: the record of the kernel's entry, and the jump cache of its code. */
export function startWave(
  core: Memories & { readonly frontEnd: FrontEnd },
  launch: Launch,
  { base, ldsBase, privateBase, workgroup, workgroupSize, index }: WavePosition,
  start: { readonly record: number; readonly jumpCache: number },
): void {
  const { state } = core;
  const { view } = state;
  const { waveSize } = launch;
  const row = rowSizeBytes(waveSize);
  const [vgprs, agprs] = [base + WAVE_VGPRS, base + waveAgprs(waveSize)];
  state.fill(0, base, base + WAVE_TEMPORARY_ROWS);
  view.setBigUint64(base + WAVE_RANGES_OWNER, 0n, true);
  state.fill(0, vgprs, vgprs + Math.max(launch.vgprCount, MIN_CLEARED_ROWS) * row);
  state.fill(0, agprs, agprs + launch.agprCount * row);
  const firstItem = index * waveSize;
  const items = workgroupSize[0] * workgroupSize[1] * workgroupSize[2];
  const activeLanes = Math.min(waveSize, items - firstItem);
  core.frontEnd.startWave(core, launch, { wave: base, privateBase, workgroup, workgroupSize, firstItem, activeLanes });
  view.setBigUint64(base + STATE_OFFSETS.exec, (1n << BigInt(activeLanes)) - 1n, true);
  view.setUint32(base + WAVE_MODE, launch.mode, true);
  view.setUint32(base + WAVE_RECORD, start.record, true);
  view.setUint32(base + WAVE_JUMP_CACHE, start.jumpCache, true);
  view.setUint32(base + WAVE_ALONE, Number(items <= waveSize), true);
  view.setUint32(base + WAVE_LDS_BASE, ldsBase, true);
  view.setUint32(base + WAVE_LDS_SIZE, launch.ldsSizeBytes, true);
  view.setUint32(base + WAVE_PRIVATE_BASE, privateBase, true);
  view.setUint32(base + WAVE_PRIVATE_SIZE, launch.privateSizeBytes, true);
}
