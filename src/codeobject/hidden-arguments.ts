import { alignUp } from '../base/align.ts';
import { WavewrightError } from '../base/errors.ts';
import type { KernelArgument, KernelMetadata } from './metadata.ts';

/**
 * What the hidden arguments of a dispatch are filled from. Pointers are GPU addresses; a missing one is
 * written as 0.
 */
export interface HiddenArgumentValues {
  /** Work-items x, y, z; partial last workgroups are allowed. */
  gridSize: readonly [number, number, number];
  /** Work-items of a workgroup x, y, z: 1 to 65535 each. */
  workgroupSize: readonly [number, number, number];
  /** Dimensions of the grid, as in the dispatch packet. */
  dims: 1 | 2 | 3;
  /** OpenCL's global work offset x, y, z, in work-items. */
  globalOffset?: readonly [bigint, bigint, bigint];
  dynamicLdsSizeBytes?: number;
  /** High 32 bits of the private and the shared aperture (used by gfx8 and older). */
  privateBase?: number;
  sharedBase?: number;
  /** `amd_queue_t` of the dispatch. */
  queuePtr?: bigint;
  printfBuffer?: bigint;
  hostcallBuffer?: bigint;
  multigridSyncArg?: bigint;
  heapV1?: bigint;
  defaultQueue?: bigint;
  completionAction?: bigint;
}

type Row = readonly [sizeBytes: 2 | 4 | 8, value: (launch: HiddenArgumentValues) => number | bigint];

/**
 * Size and value of every hidden argument. Source: LLVM AMDGPU usage, tables "Kernel Argument Metadata Map"
 * for code object version 3 and 5; version 4 and 6 add none. A block count counts whole workgroups only; the
 * remainder is the partial one.
 */
const ROWS: Readonly<Record<string, Row>> = {
  hidden_global_offset_x: [8, (launch) => launch.globalOffset?.[0] ?? 0n],
  hidden_global_offset_y: [8, (launch) => launch.globalOffset?.[1] ?? 0n],
  hidden_global_offset_z: [8, (launch) => launch.globalOffset?.[2] ?? 0n],
  hidden_block_count_x: [4, (launch) => Math.floor(launch.gridSize[0] / launch.workgroupSize[0])],
  hidden_block_count_y: [4, (launch) => Math.floor(launch.gridSize[1] / launch.workgroupSize[1])],
  hidden_block_count_z: [4, (launch) => Math.floor(launch.gridSize[2] / launch.workgroupSize[2])],
  hidden_group_size_x: [2, (launch) => launch.workgroupSize[0]],
  hidden_group_size_y: [2, (launch) => launch.workgroupSize[1]],
  hidden_group_size_z: [2, (launch) => launch.workgroupSize[2]],
  hidden_remainder_x: [2, (launch) => launch.gridSize[0] % launch.workgroupSize[0]],
  hidden_remainder_y: [2, (launch) => launch.gridSize[1] % launch.workgroupSize[1]],
  hidden_remainder_z: [2, (launch) => launch.gridSize[2] % launch.workgroupSize[2]],
  hidden_grid_dims: [2, (launch) => launch.dims],
  hidden_printf_buffer: [8, (launch) => launch.printfBuffer ?? 0n],
  hidden_hostcall_buffer: [8, (launch) => launch.hostcallBuffer ?? 0n],
  hidden_multigrid_sync_arg: [8, (launch) => launch.multigridSyncArg ?? 0n],
  hidden_heap_v1: [8, (launch) => launch.heapV1 ?? 0n],
  hidden_default_queue: [8, (launch) => launch.defaultQueue ?? 0n],
  hidden_completion_action: [8, (launch) => launch.completionAction ?? 0n],
  hidden_dynamic_lds_size: [4, (launch) => launch.dynamicLdsSizeBytes ?? 0],
  hidden_private_base: [4, (launch) => launch.privateBase ?? 0],
  hidden_shared_base: [4, (launch) => launch.sharedBase ?? 0],
  hidden_queue_ptr: [8, (launch) => launch.queuePtr ?? 0n],
};

/** Whether the runtime, not the program, fills the argument. */
export function isHiddenArgument(argument: KernelArgument): boolean {
  return argument.valueKind.startsWith('hidden_');
}

/** Where the hidden arguments may begin: the end of the explicit ones rounded up to 8, in bytes. */
export function explicitArgumentsEnd(kernel: KernelMetadata): number {
  let end = 0;
  for (const argument of kernel.args) {
    if (!isHiddenArgument(argument)) end = Math.max(end, argument.offsetBytes + argument.sizeBytes);
  }
  return alignUp(end, 8);
}

/**
 * Writes the hidden arguments that the kernel's metadata lists into its kernarg segment. An argument that
 * does not end within `kernargSegmentSizeBytes` is not written: compilers cut off the tail that the kernel
 * does not read. `hidden_none` stays as it is.
 *
 * Errors: `USAGE` for a view shorter than the segment or launch values out of range, `BAD_INPUT` for metadata
 * with a wrong size, `UNSUPPORTED` for a hidden argument that is not in the table.
 */
export function writeHiddenArguments(view: DataView, kernel: KernelMetadata, launch: HiddenArgumentValues): void {
  const segmentSizeBytes = kernel.kernargSegmentSizeBytes;
  if (view.byteLength < segmentSizeBytes) {
    const what = `the kernarg buffer has ${view.byteLength} bytes, ${kernel.name} needs ${segmentSizeBytes}`;
    throw new WavewrightError('USAGE', what);
  }
  checkLaunch(launch);
  for (const argument of kernel.args) {
    if (!isHiddenArgument(argument) || argument.valueKind === 'hidden_none') continue;
    const { valueKind, offsetBytes, sizeBytes } = argument;
    const row = ROWS[valueKind];
    if (row === undefined) {
      throw new WavewrightError('UNSUPPORTED', `${kernel.name}: hidden argument '${valueKind}' is not known`);
    }
    const [expectedSizeBytes, value] = row;
    if (sizeBytes !== expectedSizeBytes) {
      const what = `${kernel.name}: ${valueKind} has ${sizeBytes} bytes, expected ${expectedSizeBytes}`;
      throw new WavewrightError('BAD_INPUT', what);
    }
    if (offsetBytes + sizeBytes > segmentSizeBytes) continue;
    if (sizeBytes === 2) view.setUint16(offsetBytes, Number(value(launch)), true);
    else if (sizeBytes === 4) view.setUint32(offsetBytes, Number(value(launch)), true);
    else view.setBigUint64(offsetBytes, BigInt(value(launch)), true);
  }
}

function checkLaunch(launch: HiddenArgumentValues): void {
  const inRange = (name: string, value: number, low: number, high: number) => {
    if (Number.isInteger(value) && value >= low && value <= high) return;
    throw new WavewrightError('USAGE', `${name} is ${value}, expected an integer from ${low} to ${high}`);
  };
  for (const size of launch.gridSize) inRange('gridSize', size, 1, 2 ** 32 - 1);
  for (const size of launch.workgroupSize) inRange('workgroupSize', size, 1, 2 ** 16 - 1);
  inRange('dims', launch.dims, 1, 3);
  inRange('dynamicLdsSizeBytes', launch.dynamicLdsSizeBytes ?? 0, 0, 2 ** 32 - 1);
  inRange('privateBase', launch.privateBase ?? 0, 0, 2 ** 32 - 1);
  inRange('sharedBase', launch.sharedBase ?? 0, 0, 2 ** 32 - 1);
}
