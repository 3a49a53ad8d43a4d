/** The source lines of a kernel with what was counted of their instructions. */
import { type Column, DataTable } from '../data-table.ts';
import { shareText } from '../format.ts';
import { type CodeMetrics, heatOpacity, type Measured } from './metrics.ts';

interface SourceRow {
  readonly place: string;
  readonly text: string;
  readonly rows: readonly number[];
  readonly measured: Measured;
}

/** `hrefOf`: where a row of the listing is shown. Undefined without source lines. */
export function lineTable(metrics: CodeMetrics, hrefOf: (row: number) => string): DataTable<SourceRow> | undefined {
  const { code } = metrics;
  if (code.files.length === 0) return undefined;
  const groups = Map.groupBy(code.lineOf.keys(), (row) => `${code.fileOf[row]}:${code.lineOf[row]}`);
  const rows = [...groups.values()].flatMap((of): SourceRow[] => {
    const [line, file] = [code.lineOf[of[0]!]!, code.fileOf[of[0]!]!];
    const measured = metrics.of(of);
    if (line === 0 || measured.waves === 0) return [];
    const { name, lines } = code.files[file]!;
    return [{ place: `${name.split('/').at(-1)}:${line}`, text: lines[line]?.trim() ?? '', rows: of, measured }];
  });
  const hasText = rows.some(({ text }) => text !== '');
  const columns: Column<SourceRow>[] = [
    { title: 'line', value: ({ place }) => place, href: ({ rows: [first] }) => hrefOf(first!) },
    ...(hasText ? [{ title: 'text', value: ({ text }: SourceRow) => text, isCode: true }] : []),
    {
      title: 'share',
      hint: 'Of all executed instructions of the kernel',
      value: ({ measured }) => measured.share,
      text: ({ measured }) => shareText(measured.share),
      share: ({ measured }) => measured.share,
    },
    ...metrics.columns.map(
      ({ title, hint, value, text, heat }): Column<SourceRow> => ({
        ...{ title, hint },
        value: ({ measured }) => value(measured) ?? Number.NaN,
        text: ({ measured }) => text(measured),
        opacity: ({ measured }) => (title === 'executed' ? '0' : heatOpacity(heat(measured, metrics))),
      }),
    ),
  ];
  return new DataTable({
    caption: 'Source lines',
    columns,
    rows,
    sortedBy: columns.findIndex(({ title }) => title === 'share'),
  });
}
