/** `profile executable`: code, its exports, and how long these ran on each device. */
import { matchesGlob } from '../../base/glob.ts';
import type { Profile } from '../profile.ts';
import { HOST_TIMING, kernelCells } from './dispatch.ts';
import {
  DEVICE_DISPATCHES,
  groupDispatches,
  HOST_DISPATCHES,
  kernelKey,
  matchDispatches,
  type ReportFilter,
} from './groups.ts';
import type { Columns, ReportRow } from './rows.ts';
import { hostCells, tickCells } from './totals.ts';

export const EXECUTABLE_COLUMNS: Columns = {
  executable_export: ['export_ordinal', 'key', 'constant_count', 'binding_count', 'parameter_count', 'workgroup_size'],
  executable_export_dispatch_group: [
    'key',
    'physical_device_ordinal',
    'dispatches',
    'min_ns',
    'avg_ns',
    'max_ns',
    'total_ns',
  ],
};

export function executableRows(profile: Profile, filter: ReportFilter): ReportRow[] {
  const { id, glob } = filter;
  const onDevice = matchDispatches(profile, DEVICE_DISPATCHES, filter, 'executableId');
  const onHost = matchDispatches(profile, HOST_DISPATCHES, filter, 'executableId');
  const groups = groupDispatches(DEVICE_DISPATCHES, onDevice.matched, kernelKey);
  const hostGroups = groupDispatches(HOST_DISPATCHES, onHost.matched, kernelKey);
  const executables = [...profile.executables.values()].filter(
    ({ executableId }) => id === undefined || executableId === id,
  );
  const exportsOf = (executableId: bigint) =>
    [...profile.exports.values()].filter(
      (each) =>
        each.executableId === executableId && matchesGlob(profile.keyOf(executableId, each.exportOrdinal), glob),
    );
  const summary: ReportRow = {
    type: 'executable_summary',
    filter: glob,
    executables: executables.length,
    exports: executables.flatMap(({ executableId }) => exportsOf(executableId)).length,
    matched_dispatches: onDevice.matched.length,
    valid_dispatches: onDevice.valid,
    invalid_dispatches: onDevice.invalid,
    matched_host_dispatches: onHost.matched.length,
    valid_host_dispatches: onHost.valid,
    invalid_host_dispatches: onHost.invalid,
  };
  const rows: ReportRow[] = executables.flatMap(({ executableId, flags, exportCount, codeObjectHash }) => [
    {
      type: 'executable',
      executable_id: executableId,
      flags,
      export_count: exportCount,
      ...hashCells('code_object_hash', flags, codeObjectHash),
    },
    ...exportsOf(executableId).flatMap((each): ReportRow[] => {
      const isOf = (of: { readonly executableId: bigint; readonly exportOrdinal: number }): boolean =>
        of.executableId === executableId && of.exportOrdinal === each.exportOrdinal;
      return [
        {
          type: 'executable_export',
          executable_id: executableId,
          export_ordinal: each.exportOrdinal,
          flags: each.flags,
          key: profile.keyOf(executableId, each.exportOrdinal),
          constant_count: each.constantCount,
          binding_count: each.bindingCount,
          parameter_count: each.parameterCount,
          workgroup_size: each.workgroupSize,
          ...hashCells('pipeline_hash', each.flags, each.pipelineHash),
        },
        ...groups
          .filter(({ first }) => isOf(first))
          .map(({ first, totals }) => ({
            type: 'executable_export_dispatch_group',
            ...kernelCells(profile, first),
            ...countCells(totals),
            ...tickCells(totals, profile.clockFit(first.physicalDeviceOrdinal), false),
          })),
        ...hostGroups
          .filter(({ first }) => isOf(first))
          .map(({ first, totals, tileCount, tileDurationNs }) => ({
            type: 'executable_export_host_dispatch_group',
            ...HOST_TIMING,
            ...kernelCells(profile, first),
            ...countCells(totals),
            ...hostCells(totals),
            total_tile_count: tileCount,
            total_tile_duration_sum_ns: tileDurationNs,
          })),
      ];
    }),
  ]);
  return [summary, ...rows];
}

const countCells = ({
  count,
  valid,
  invalid,
}: {
  readonly count: number;
  readonly valid: number;
  readonly invalid: number;
}) => ({
  dispatches: count,
  valid,
  invalid,
});

/** Bit 0 of the flags says whether there is a hash. */
export const hashCells = (name: string, flags: number, hash: readonly bigint[]) => ({
  [`${name}_present`]: (flags & 1) !== 0,
  [name]: (flags & 1) === 0 ? null : hash.map((word) => word.toString(16).padStart(16, '0')).join(''),
});
