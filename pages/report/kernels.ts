/** Kernels: how long they took, how often they ran, what they counted. */
import type { KernelListing, KernelRow } from '../../src/report/report-data.ts';
import type { Report } from './data.ts';
import { type Column, DataTable } from './data-table.ts';
import { countText, durationText, shareText } from './format.ts';

const timeText = ({ unit }: KernelRow, value: number): string =>
  unit === 'ns' ? durationText(value) : `${countText(Math.round(value))} ticks`;

export function kernelTable({ header }: Report): DataTable<KernelRow> {
  const total = header.kernels.reduce((sum, each) => sum + each.total, 0) || 1;
  const time = (
    title: string,
    of: keyof KernelRow & ('total' | 'mean' | 'min' | 'max' | 'deviation'),
    hint: string,
  ) => ({
    ...{ title, hint },
    value: (row: KernelRow) => row[of],
    text: (row: KernelRow) => timeText(row, row[of]),
  });
  const codeOf = (row: KernelRow): string | undefined => {
    const isIts = ({ executable, exportOrdinal }: KernelListing): boolean =>
      executable === row.executable && exportOrdinal === row.exportOrdinal;
    const index = header.code.findIndex(isIts);
    return index < 0 ? undefined : `#code/${index}`;
  };
  const columns: Column<KernelRow>[] = [
    { title: 'kernel', value: ({ name }) => name, href: codeOf },
    { title: 'where', value: ({ where }) => where },
    { title: 'launches', value: ({ launches }) => launches, text: ({ launches }) => countText(launches) },
    time('total', 'total', 'All launches together'),
    {
      title: 'share',
      hint: 'Of the time of all kernels',
      value: (row) => row.total / total,
      text: (row) => shareText(row.total / total),
      share: (row) => row.total / total,
    },
    time('mean', 'mean', 'Of a launch'),
    time('min', 'min', 'The shortest launch'),
    time('max', 'max', 'The longest launch'),
    time('σ', 'deviation', 'Standard deviation of launches'),
    { title: 'workgroups', value: ({ workgroups }) => workgroups, text: ({ workgroups }) => countText(workgroups) },
    ...header.counters.map(
      ({ name, description }, i): Column<KernelRow> => ({
        title: name,
        hint: description,
        value: ({ counters }) => counters[i],
        text: ({ counters }) => (counters[i] === undefined ? '' : countText(counters[i])),
      }),
    ),
  ];
  return new DataTable({ caption: 'Kernels', columns, rows: header.kernels, sortedBy: 3 });
}
