/** CUDA knows no workgroups that are cut at the edge of the grid. */
import { WavewrightError } from '../base/errors.ts';
import type { Device } from '../device/device.ts';
import type { KernelLaunch } from '../device/launch.ts';

const MAX_GRID_SIZE = 2 ** 32 - 1;

/** Throws USAGE for a grid of parts of blocks, and for a block of more threads than the device takes. */
export function checkWholeBlocks(
  { name, properties }: Pick<Device, 'name' | 'properties'>,
  { workgroupSize, gridSize }: Pick<KernelLaunch, 'workgroupSize' | 'gridSize'>,
): void {
  const isWhole = (size: number): boolean => Number.isInteger(size) && size >= 1 && size <= MAX_GRID_SIZE;
  const items = workgroupSize[0] * workgroupSize[1] * workgroupSize[2];
  const isEven = gridSize.every((size, d) => size % workgroupSize[d as 0 | 1 | 2] === 0);
  const isPlaced = items <= properties.maxWorkgroupSize;
  if (workgroupSize.every(isWhole) && gridSize.every(isWhole) && isPlaced && isEven) return;
  const what = `a grid of ${gridSize.join(' x ')} threads in blocks of ${workgroupSize.join(' x ')}`;
  throw new WavewrightError('USAGE', `${what}; ${name} takes whole blocks of up to ${properties.maxWorkgroupSize}`);
}
