/** The instructions of a kernel with what was counted of them; only what is seen is in the document. */
import { html } from '../dom.ts';
import { type CodeMetrics, heatOpacity, type MetricColumn } from './metrics.ts';

const ITEM_HEIGHT = 20;
/** Items above and below those that are seen. */
const MARGIN_ITEMS = 20;
/** On paper there are the first so many. */
const PRINTED_ITEMS = 1_500;

/** A line of the listing: the head of a function, or an instruction. */
interface Item {
  readonly title?: string;
  readonly row: number;
  /** The number of the block that begins here. */
  readonly block?: number;
}

export class Listing {
  readonly element: HTMLElement;
  readonly #metrics: CodeMetrics;
  readonly #columns: readonly MetricColumn[];
  readonly #items: readonly Item[];
  readonly #itemOfRow: readonly number[];
  readonly #scroller: HTMLElement;
  readonly #lines = html('div', { class: 'lines', role: 'rowgroup' });
  readonly #onSelect: (row: number) => void;
  /** The file that most instructions are from: its lines need no name. */
  readonly #mainFile: number;
  #selected = -1;
  #found: ReadonlySet<number> = new Set();
  #isPrinted = matchMedia('print').matches;

  /** `onSelect` is told of rows that the reader chooses here. */
  constructor(metrics: CodeMetrics, onSelect: (row: number) => void) {
    this.#metrics = metrics;
    this.#onSelect = onSelect;
    this.#columns = metrics.columns;
    const { fileOf, files } = metrics.code;
    const sizes = files.map((_, file) => fileOf.filter((each) => each === file).length);
    this.#mainFile = sizes.indexOf(Math.max(...sizes));
    const items: Item[] = [];
    const itemOfRow: number[] = [];
    for (const { name, blocks } of metrics.code.functions) {
      items.push({ title: name, row: blocks[0]?.first ?? 0 });
      for (const [block, { first, count }] of blocks.entries()) {
        for (let row = first; row < first + count; row++) {
          itemOfRow[row] = items.length;
          items.push(row === first ? { row, block } : { row });
        }
      }
    }
    this.#items = items;
    this.#itemOfRow = itemOfRow;
    const label = 'Listing. Up and Down go through the instructions, Enter follows a branch.';
    this.#scroller = html(
      'div',
      { class: 'listing-scroller', tabindex: 0, role: 'grid', 'aria-label': label },
      this.#lines,
    );
    this.#scroller.setAttribute('aria-rowcount', String(items.length));
    this.#lines.style.height = `${items.length * ITEM_HEIGHT}px`;
    this.element = html('div', { class: 'listing' }, this.#head(), this.#scroller);
    const widths = this.#columns.map(({ width }) => `${width}px`).join(' ');
    this.element.style.setProperty('--metrics', widths);
    this.#scroller.addEventListener('scroll', () => this.#fill());
    this.#scroller.addEventListener('keydown', (event) => {
      if (!event.ctrlKey && !event.metaKey && this.#key(event.key)) event.preventDefault();
    });
    this.#lines.addEventListener('click', ({ target }) => {
      const row = target instanceof Element ? target.closest<HTMLElement>('[data-row]')?.dataset['row'] : undefined;
      if (row !== undefined) this.#choose(Number(row));
    });
    new ResizeObserver(() => this.#fill()).observe(this.#scroller);
    matchMedia('print').addEventListener('change', ({ matches }) => {
      this.#isPrinted = matches;
      this.#fill();
    });
  }

  /** Shows a row, in the middle if it is not seen. */
  show(row: number): void {
    this.#selected = row;
    const top = this.#itemOfRow[row]! * ITEM_HEIGHT;
    const { scrollTop, clientHeight } = this.#scroller;
    if (top < scrollTop || top + ITEM_HEIGHT > scrollTop + clientHeight) {
      this.#scroller.scrollTop = top - clientHeight / 2;
    }
    this.#fill();
    this.#scroller.setAttribute('aria-activedescendant', `row-${row}`);
  }

  /** Marks the rows that a search found. */
  mark(rows: ReadonlySet<number>): void {
    this.#found = rows;
    this.#fill();
  }

  #choose(row: number): void {
    this.show(row);
    this.#onSelect(row);
  }

  #key(key: string): boolean {
    const page = Math.max(1, Math.floor(this.#scroller.clientHeight / ITEM_HEIGHT) - 1);
    const last = this.#itemOfRow.length - 1;
    const targets: Readonly<Record<string, number>> = {
      ArrowDown: this.#selected + 1,
      ArrowUp: this.#selected - 1,
      PageDown: this.#selected + page,
      PageUp: this.#selected - page,
      Home: 0,
      End: last,
      Enter: this.#branchTarget(),
    };
    const target = targets[key];
    if (target === undefined) return false;
    this.#choose(Math.max(0, Math.min(last, target)));
    return true;
  }

  /** Where the branch at the selected row leads to; the row itself without one. */
  #branchTarget(): number {
    for (const { blocks } of this.#metrics.code.functions) {
      const block = blocks.find(({ first, count }) => first + count - 1 === this.#selected);
      const way = block?.ways.find(({ isBranch }) => isBranch);
      if (way !== undefined) return blocks[way.to]!.first;
    }
    return this.#selected;
  }

  #head(): HTMLElement {
    const titles = this.#columns.map(({ title, hint }) => html('span', { class: 'metric', title: hint }, title));
    return html(
      'div',
      { class: 'item head' },
      html('span', {}, 'source'),
      ...titles,
      html('span', { class: 'metric' }, 'address'),
      html('span', {}, 'instruction'),
    );
  }

  #fill(): void {
    const { scrollTop, clientHeight } = this.#scroller;
    const first = this.#isPrinted ? 0 : Math.max(0, Math.floor(scrollTop / ITEM_HEIGHT) - MARGIN_ITEMS);
    const count = this.#isPrinted ? PRINTED_ITEMS : Math.ceil(clientHeight / ITEM_HEIGHT) + 2 * MARGIN_ITEMS;
    const end = Math.min(this.#items.length, first + count);
    const shown = this.#items.slice(first, end).map((item, i) => this.#item(item, first + i));
    this.#lines.replaceChildren(...shown);
  }

  #item(item: Item, index: number): HTMLElement {
    const { row, title, block } = item;
    const line = html('div', { class: 'item', role: 'row', 'aria-rowindex': index + 1 });
    line.style.top = `${index * ITEM_HEIGHT}px`;
    if (title !== undefined) {
      line.classList.add('function');
      line.append(html('span', { role: 'gridcell' }, title));
      return line;
    }
    const { code } = this.#metrics;
    line.id = `row-${row}`;
    line.dataset['row'] = String(row);
    line.classList.toggle('block', block !== undefined);
    line.classList.toggle('selected', row === this.#selected);
    line.classList.toggle('found-row', this.#found.has(row));
    line.setAttribute('aria-selected', String(row === this.#selected));
    line.append(
      html('span', { class: 'source', role: 'gridcell' }, ...this.#source(row, block !== undefined)),
      ...this.#cells(row),
      html('span', { class: 'metric address', role: 'gridcell' }, code.addresses[row]!.toString(16)),
      html('span', { class: 'text', role: 'gridcell' }, code.texts[row]!),
    );
    return line;
  }

  /** The line of source where it is another one than that of the row before. */
  #source(row: number, isFirst: boolean): (Node | string)[] {
    const { lineOf, fileOf, files } = this.#metrics.code;
    const [line, file] = [lineOf[row]!, fileOf[row]!];
    if (line === 0 || (!isFirst && lineOf[row - 1] === line && fileOf[row - 1] === file)) return [];
    const { name, lines } = files[file]!;
    const text = lines[line];
    const isNamed = text === undefined || file !== this.#mainFile;
    const place = isNamed ? `${name.split('/').at(-1)}:${line}` : String(line);
    const number = html('span', { class: 'line-number' }, place);
    number.title = `${name}:${line}`;
    return text === undefined ? [number] : [number, text.trim()];
  }

  #cells(row: number): HTMLElement[] {
    const measured = this.#metrics.of([row]);
    return this.#columns.map(({ text, heat }) => {
      const cell = html('span', { class: 'metric', role: 'gridcell' }, text(measured));
      cell.style.setProperty('--opacity', heatOpacity(measured.waves === 0 ? 0 : heat(measured, this.#metrics)));
      return cell;
    });
  }
}
