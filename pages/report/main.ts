/** The page of a report: loads what stands in the file, and shows it. */
import { CodeView } from './code/code-view.ts';
import { loadReport, type Report } from './data.ts';
import { button, html } from './dom.ts';
import { countText, durationText, thingsText } from './format.ts';
import { kernelTable } from './kernels.ts';
import { memoryView } from './memory.ts';
import { statisticsTables } from './statistics.ts';
import { Tabs } from './tabs.ts';
import { Theme } from './theme.ts';
import { TimelineView } from './timeline/timeline.ts';

const SHORTCUTS: readonly (readonly [keys: string, what: string])[] = [
  ['/', 'search'],
  ['Enter, Shift Enter', 'in the search: the next, the last event that is found'],
  ['1 … 5', 'the tab'],
  ['T', 'light or dark'],
  ['?', 'this help'],
  ['← → ↑ ↓', 'timeline: events of a track, tracks'],
  ['+ −, W S', 'timeline: zoom'],
  ['A D', 'timeline: move'],
  ['0', 'timeline: all of it'],
  ['Enter', 'timeline: zoom to the selected event; listing: follow a branch'],
  ['↑ ↓, PgUp PgDn', 'listing: instructions'],
  ['Esc', 'timeline: no selection; search: no search'],
];

function helpDialog(): HTMLDialogElement {
  const pairs = SHORTCUTS.flatMap(([keys, what]) => [html('dt', {}, keys), html('dd', {}, what)]);
  const dialog = html('dialog', { 'aria-label': 'Keys' }, html('h2', {}, 'Keys'), html('dl', {}, ...pairs));
  dialog.append(button('Close', {}, () => dialog.close()));
  return dialog;
}

/** What can be searched in a tab; how many things are found. */
type Search = (text: string) => number;

function facts({ header, events }: Report): string {
  const count = Object.values(events).reduce((sum, { rowCount }) => sum + rowCount, 0);
  return [durationText(header.spanNs), thingsText(count, 'event'), thingsText(header.kernels.length, 'kernel')].join(
    ' · ',
  );
}

class Page {
  readonly #tabs: Tabs;
  readonly #timeline: TimelineView;
  readonly #code: CodeView;
  readonly #searches: Readonly<Record<string, Search>>;
  readonly #theme = new Theme();
  readonly #help = helpDialog();
  readonly #input = html('input', {
    type: 'search',
    placeholder: 'Search  ( / )',
    'aria-label': 'Search',
    spellcheck: false,
  });
  readonly #found = html('span', { class: 'muted found', role: 'status' });

  constructor(report: Report) {
    const { header } = report;
    this.#timeline = new TimelineView(report, this.#theme);
    this.#code = new CodeView(report);
    const kernels = kernelTable(report);
    const memory = memoryView(report, this.#theme);
    const statistics = statisticsTables(report);
    this.#tabs = new Tabs([
      { id: 'timeline', title: 'Timeline', element: this.#timeline.element },
      { id: 'kernels', title: 'Kernels', element: kernels.element },
      { id: 'code', title: 'Code', element: this.#code.element },
      { id: 'memory', title: 'Memory', element: memory.element },
      { id: 'statistics', title: 'Statistics', element: html('div', {}, ...statistics.map(({ element }) => element)) },
    ]);
    this.#searches = {
      timeline: (text) => this.#timeline.search(text),
      kernels: (text) => kernels.search(text),
      code: (text) => this.#code.search(text),
      memory: (text) => memory.table.search(text),
      statistics: (text) => statistics.reduce((sum, table) => sum + table.search(text), 0),
    };
    const title = html('h1', {}, header.name.split('/').at(-1)!);
    title.title = header.name;
    document.title = `${title.textContent} · profile`;
    const search = html('div', { class: 'search', role: 'search' }, this.#input, this.#found);
    const keys = button('?', { class: 'icon', 'aria-label': 'Keys', title: 'Keys (?)' }, () => this.#help.showModal());
    document.body.append(
      html(
        'header',
        {},
        html('div', { class: 'title' }, title, html('span', { class: 'muted' }, facts(report))),
        search,
        this.#theme.toggle,
        keys,
      ),
      html('nav', {}, this.#tabs.list),
      ...header.notices.map((notice) => html('p', { class: 'notice', role: 'note' }, notice)),
      html('main', {}, ...this.#tabs.panels),
      html('footer', { class: 'muted' }, `Made by ${header.madeBy}`),
      this.#help,
    );
    this.#listen();
    this.#code.show('');
    this.#tabs.start((id) => {
      if (id === 'code') this.#code.show(this.#tabs.rest);
      this.#search();
    });
  }

  #listen(): void {
    this.#input.addEventListener('input', () => this.#search());
    this.#input.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') {
        this.#input.value = '';
        this.#search();
      } else if (event.key === 'Enter') {
        const searched = { timeline: this.#timeline, code: this.#code }[this.#tabs.current];
        searched?.searchNext(event.shiftKey ? -1 : 1);
      }
    });
    addEventListener('keydown', (event) => {
      if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return;
      if (this.#key(event.key)) event.preventDefault();
    });
  }

  #key(key: string): boolean {
    if (key === '/') this.#input.focus();
    else if (key === '?') this.#help.showModal();
    else if (key === 't') this.#theme.toggle.click();
    else if (/^[1-9]$/.test(key)) document.querySelectorAll<HTMLElement>('[role=tab]')[Number(key) - 1]?.click();
    else return false;
    return true;
  }

  #search(): void {
    const text = this.#input.value.trim();
    const count = this.#searches[this.#tabs.current]?.(text) ?? 0;
    this.#found.textContent = text === '' ? '' : `${countText(count)} found`;
  }
}

const data = document.querySelector('#data')!;
const report = await loadReport(data.textContent);
data.remove();
new Page(report);
requestAnimationFrame(() => {
  document.documentElement.dataset['ready'] = String(Math.round(performance.now()));
});
