/** The code of kernels: source lines, listing and graph, which show the same place. */
import type { KernelListing } from '../../../src/report/report-data.ts';
import type { Report } from '../data.ts';
import { button, html } from '../dom.ts';
import { thingsText } from '../format.ts';
import { FlowGraphView } from './graph.ts';
import { lineTable } from './lines.ts';
import { Listing } from './listing.ts';
import { CodeMetrics } from './metrics.ts';

const NO_CODE =
  'The profile has no counts of instructions: --device_profiling_mode=instruction-counts,access-counts makes some.';

export class CodeView {
  readonly element = html('div', { class: 'code-view' });
  readonly #report: Report;
  #code: KernelListing | undefined;
  #metrics: CodeMetrics | undefined;
  #listing: Listing | undefined;
  #graph: FlowGraphView | undefined;
  #row = 0;
  #found: readonly number[] = [];
  #search = '';

  constructor(report: Report) {
    this.#report = report;
    if (report.header.code.length === 0) {
      this.element.append(html('p', { class: 'muted' }, NO_CODE));
    }
  }

  /** `place`: `CODE` or `CODE/ROW`, as the address has it; `CODE` counts the kernels that have some. */
  show(place: string): void {
    const [index, row] = place === '' ? [] : place.split('/').map(Number);
    const { code } = this.#report.header;
    const chosen = code[index ?? -1] ?? this.#code ?? code[0];
    if (chosen === undefined) return;
    const isNew = chosen !== this.#code;
    if (isNew) this.#open(chosen);
    if (row !== undefined && row >= 0 && row < chosen.addresses.length) this.#goTo(row);
    else this.#goTo(isNew ? (this.#metrics!.hottest[0] ?? 0) : this.#row);
  }

  /** Marks the instructions and source lines that have a text; how many they are. */
  search(text: string): number {
    this.#search = text.toLowerCase();
    const code = this.#code;
    if (code === undefined) return 0;
    const sourceOf = (row: number): string => code.files[code.fileOf[row]!]?.lines[code.lineOf[row]!] ?? '';
    const isFound = (row: number): boolean =>
      `${code.texts[row]}\n${sourceOf(row)}`.toLowerCase().includes(this.#search);
    this.#found = this.#search === '' ? [] : [...code.texts.keys()].filter(isFound);
    this.#listing?.mark(new Set(this.#found));
    return this.#found.length;
  }

  searchNext(step: 1 | -1): void {
    const next =
      step === 1 ? this.#found.find((row) => row > this.#row) : this.#found.findLast((row) => row < this.#row);
    const row = next ?? this.#found.at(step === 1 ? 0 : -1);
    if (row !== undefined) this.#goTo(row);
  }

  #goTo(row: number): void {
    this.#row = row;
    this.#listing?.show(row);
    this.#graph?.show(row);
  }

  #open(code: KernelListing): void {
    this.#code = code;
    const metrics = new CodeMetrics(code);
    this.#metrics = metrics;
    this.#listing = new Listing(metrics, (row) => this.#goTo(row));
    this.#graph = new FlowGraphView(metrics, (row) => this.#goTo(row));
    const index = this.#report.header.code.indexOf(code);
    const lines = lineTable(metrics, (row) => `#code/${index}/${row}`);
    this.element.replaceChildren(
      this.#toolbar(code, metrics),
      lines?.element ?? html('p', { class: 'muted' }, 'The code has no source lines: it was compiled without -g.'),
      html('div', { class: 'listing-and-graph' }, this.#listing.element, this.#graph.element),
    );
    this.search(this.#search);
  }

  #toolbar(code: KernelListing, metrics: CodeMetrics): HTMLElement {
    const { header } = this.#report;
    const chooser = html('select', { 'aria-label': 'Kernel' });
    for (const [i, each] of header.code.entries()) {
      chooser.append(html('option', { value: i, selected: each === code }, each.name));
    }
    chooser.addEventListener('change', () => {
      location.hash = `code/${chooser.value}`;
    });
    const through = (rows: readonly number[], label: string, title: string): HTMLElement[] => {
      let at = -1;
      if (rows.length === 0) return [];
      const goOn = (): void => {
        at = (at + 1) % rows.length;
        this.#goTo(rows[at]!);
      };
      return [button(label, { title }, goOn)];
    };
    return html(
      'div',
      { class: 'toolbar', role: 'toolbar', 'aria-label': 'Code' },
      chooser,
      html(
        'span',
        { class: 'muted' },
        `${thingsText(code.dispatches, 'launch', 'launches')}, waves of ${code.waveSize} lanes`,
      ),
      ...through(metrics.hottest, 'Hottest', 'The instruction that was executed most; once more: the next one'),
      ...through(
        metrics.mostWasteful,
        'Uncoalesced',
        'The access that touches most cache lines without need; once more: the next one',
      ),
    );
  }
}
