/** Memory that is open over time, and the largest allocations. */
import uPlot from 'uplot';
import type { AllocationRow, OpenMemory } from '../../src/report/report-data.ts';
import { lowerBound, type Report, type Table } from './data.ts';
import { DataTable } from './data-table.ts';
import { button, html } from './dom.ts';
import { axisText, bytesText, durationText } from './format.ts';
import type { Theme } from './theme.ts';

const CHART_HEIGHT = 240;
/** Between two lines of the chart. */
const BYTE_STEPS = Array.from({ length: 50 }, (_, power) => 2 ** power);
/** Points of a curve that are drawn; more are summed up by their highest. */
const MAX_POINTS = 2_000;

const KIND_LABELS: Readonly<Record<string, string>> = {
  slab: 'slabs of pools',
  pool_reserved: 'reserved in pools',
  pool_materialized: 'materialized in pools',
  queue_inflight: 'allocated by queues',
  buffer: 'buffers',
  imported_buffer: 'imported buffers',
};

type Curves = [number[], ...number[][]];

/** The highest bytes of each kind in each of many spans of `[first, last]`, and the value at its begin. */
function sampled(table: Table, kinds: readonly string[], first: number, last: number): Curves {
  const times = table.numbers('time');
  const begin = Math.max(lowerBound(times, first, 0, times.length) - 1, 0);
  const end = Math.min(lowerBound(times, last, 0, times.length) + 1, times.length);
  const stride = Math.max(1, Math.ceil((end - begin) / MAX_POINTS));
  const curves: Curves = [[], ...kinds.map(() => [])];
  const columns = kinds.map((kind) => table.numbers(kind));
  for (let at = begin; at < end; at += stride) {
    curves[0].push(times[at]!);
    const stop = Math.min(at + stride, end);
    for (const [i, column] of columns.entries()) {
      let most = column[at]!;
      for (let row = at + 1; row < stop; row++) most = Math.max(most, column[row]!);
      curves[i + 1]!.push(most);
    }
  }
  return curves;
}

/** One device's chart; a drag over it zooms. */
class MemoryChart {
  readonly element = html('figure', { class: 'chart' });
  readonly #table: Table;
  readonly #memory: OpenMemory;
  readonly #theme: Theme;
  readonly #spanNs: number;
  #chart: uPlot | undefined;

  constructor(report: Report, memory: OpenMemory, theme: Theme) {
    this.#memory = memory;
    this.#theme = theme;
    this.#spanNs = Math.max(report.header.spanNs, 1);
    this.#table = report.table(memory.table);
    theme.onChange(() => this.#draw());
    new ResizeObserver(() => this.#resize()).observe(this.element);
  }

  #resize(): void {
    const width = this.element.clientWidth;
    if (width === 0) return;
    if (this.#chart === undefined) this.#draw();
    else if (this.#chart.width !== width) this.#chart.setSize({ width, height: CHART_HEIGHT });
  }

  #draw(): void {
    const width = this.element.clientWidth;
    if (width === 0) return;
    const { kinds, device } = this.#memory;
    const axis = {
      stroke: this.#theme.colour('muted'),
      grid: { stroke: this.#theme.colour('line'), width: 1 },
      ticks: { stroke: this.#theme.colour('line') },
    };
    const stepped = uPlot.paths.stepped!({ align: 1 });
    const plot = html('div');
    this.element.replaceChildren(
      html(
        'figcaption',
        {},
        `Device ${device}: open memory`,
        button('All', { title: 'Show all of the time' }, () => this.#show(0, this.#spanNs)),
      ),
      plot,
    );
    this.#chart = new uPlot(
      {
        ...{ width, height: CHART_HEIGHT },
        scales: { x: { time: false, range: (_, first, last) => [first ?? 0, last ?? this.#spanNs] } },
        axes: [
          {
            ...axis,
            values: (_, ticks) => ticks.map((tick) => axisText(tick, (ticks[1] ?? 1) - ticks[0]! || 1, this.#spanNs)),
            space: 90,
          },
          { ...axis, values: (_, ticks) => ticks.map(bytesText), size: 76, incrs: BYTE_STEPS },
        ],
        series: [
          { label: 'time', value: (_, value) => (value === null ? '' : durationText(value)) },
          ...kinds.map((kind, i) => ({
            label: KIND_LABELS[kind] ?? kind,
            stroke: this.#theme.category(i),
            fill: `${this.#theme.category(i)}33`,
            width: 1.5,
            paths: stepped,
            points: { show: false },
            value: (_: uPlot, value: number | null) => (value === null ? '' : bytesText(value)),
          })),
        ],
        hooks: { setSelect: [(chart) => this.#zoomTo(chart)] },
        cursor: { drag: { setScale: false } },
      },
      sampled(this.#table, kinds, 0, this.#spanNs),
      plot,
    );
  }

  #zoomTo(chart: uPlot): void {
    const { left, width } = chart.select;
    if (width > 4) this.#show(chart.posToVal(left, 'x'), chart.posToVal(left + width, 'x'));
    chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  #show(first: number, last: number): void {
    this.#chart?.setData(sampled(this.#table, this.#memory.kinds, first, last), false);
    this.#chart?.setScale('x', { min: first, max: last });
  }
}

export function memoryView(report: Report, theme: Theme): { element: HTMLElement; table: DataTable<AllocationRow> } {
  const { openMemory, allocations, allocationCount } = report.header;
  const charts = openMemory.filter(({ kinds }) => kinds.length > 0).map((each) => new MemoryChart(report, each, theme));
  const end = (row: AllocationRow): number => row.endNs ?? report.header.spanNs;
  const table = new DataTable<AllocationRow>({
    caption:
      allocationCount > allocations.length
        ? `The largest ${allocations.length} of ${allocationCount} allocations`
        : 'Allocations',
    columns: [
      { title: 'kind', value: ({ kind }) => kind },
      { title: 'device', value: ({ device }) => device },
      { title: 'id', value: ({ id }) => Number(id), text: ({ id }) => id },
      { title: 'pool', value: ({ pool }) => Number(pool), text: ({ pool }) => pool },
      { title: 'bytes', value: ({ bytes }) => bytes, text: ({ bytes }) => bytesText(bytes) },
      { title: 'from', value: ({ startNs }) => startNs, text: ({ startNs }) => durationText(startNs) },
      {
        title: 'to',
        value: ({ endNs }) => endNs,
        text: ({ endNs }) => (endNs === undefined ? 'not freed' : durationText(endNs)),
      },
      {
        title: 'lifetime',
        value: (row) => end(row) - row.startNs,
        text: (row) => durationText(end(row) - row.startNs),
      },
      { title: 'events', value: ({ events }) => events },
    ],
    rows: allocations,
    sortedBy: 4,
  });
  const none = charts.length === 0 ? [html('p', { class: 'muted' }, 'The profile has no memory events.')] : [];
  return { element: html('div', {}, ...none, ...charts.map(({ element }) => element), table.element), table };
}
