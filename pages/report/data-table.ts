/** A table that sorts by a click on the head of a column, and shows the first of many rows. */
import { button, html } from './dom.ts';

export type CellValue = string | number | undefined;

export interface Column<Row> {
  readonly title: string;
  /** What it sorts by and, without `text`, shows. */
  value(row: Row): CellValue;
  text?(row: Row): string;
  /** A share of 1 that a bar behind the number shows. */
  share?(row: Row): number;
  /** Where a click on the cell leads to; undefined: nowhere. */
  href?(row: Row): string | undefined;
  /** How strong the heat of the cell is, as an opacity. */
  opacity?(row: Row): string;
  readonly isCode?: boolean;
  readonly hint?: string;
}

export interface TableOptions<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Of the column that it is sorted by first, the largest first. */
  readonly sortedBy?: number;
}

const SHOWN_ROWS = 200;

export class DataTable<Row> {
  readonly element: HTMLElement;
  readonly #options: TableOptions<Row>;
  readonly #body = html('tbody');
  readonly #more: HTMLButtonElement;
  readonly #heads: readonly HTMLTableCellElement[];
  readonly #isNumber: readonly boolean[];
  #sort: { readonly column: number; readonly isRising: boolean } | undefined;
  #isChosen: (row: Row) => boolean = () => true;
  #limit = SHOWN_ROWS;

  constructor(options: TableOptions<Row>) {
    this.#options = options;
    const { columns, rows, caption, sortedBy } = options;
    this.#isNumber = columns.map(({ value }) => rows.every((row) => typeof value(row) !== 'string'));
    this.#heads = columns.map(({ title, hint }, i) => {
      const head = button(title, { title: hint }, () => this.#sortBy(i));
      return html('th', { scope: 'col', class: this.#isNumber[i] ? 'number' : undefined }, head);
    });
    if (sortedBy !== undefined) this.#sort = { column: sortedBy, isRising: false };
    this.#more = button('', { class: 'more' }, () => {
      this.#limit *= 10;
      this.#fill();
    });
    const table = html('table', {}, html('caption', {}, caption), html('thead', {}, html('tr', {}, ...this.#heads)));
    table.append(this.#body);
    // What scrolls is reached by keyboard.
    const frame = html('div', { class: 'table-frame', tabindex: 0, role: 'region', 'aria-label': caption }, table);
    this.element = html('div', { class: 'data-table' }, frame, this.#more);
    this.#fill();
  }

  /** Shows the rows that have a text, and how many these are. */
  search(text: string): number {
    const lowered = text.toLowerCase();
    const { columns, rows } = this.#options;
    const isFound = (row: Row): boolean =>
      columns.some(({ value }) => String(value(row)).toLowerCase().includes(lowered));
    this.#isChosen = lowered === '' ? () => true : isFound;
    this.#fill();
    return rows.filter(this.#isChosen).length;
  }

  #sortBy(column: number): void {
    const isSame = this.#sort?.column === column;
    this.#sort = { column, isRising: isSame ? !this.#sort!.isRising : !this.#isNumber[column] };
    this.#fill();
  }

  #fill(): void {
    const { columns, rows } = this.#options;
    const chosen = rows.filter(this.#isChosen);
    if (this.#sort !== undefined) {
      const { column, isRising } = this.#sort;
      const { value } = columns[column]!;
      chosen.sort((one, other) => (isRising ? 1 : -1) * compare(value(one), value(other)));
    }
    for (const [i, head] of this.#heads.entries()) {
      const isSorted = this.#sort?.column === i;
      head.setAttribute('aria-sort', isSorted ? (this.#sort!.isRising ? 'ascending' : 'descending') : 'none');
    }
    this.#body.replaceChildren(...chosen.slice(0, this.#limit).map((row) => this.#row(row)));
    if (chosen.length === 0) {
      this.#body.append(html('tr', {}, html('td', { colspan: columns.length, class: 'none' }, 'no rows')));
    }
    this.#more.hidden = chosen.length <= this.#limit;
    this.#more.textContent = `${chosen.length - this.#limit} more rows`;
  }

  #row(row: Row): HTMLTableRowElement {
    const cells = this.#options.columns.map(({ value, text, share, href, opacity, isCode }, i) => {
      const shown = text?.(row) ?? String(value(row) ?? '');
      const target = href?.(row);
      const content = target === undefined ? shown : html('a', { href: target }, shown);
      const cell = html('td', { class: this.#isNumber[i] ? 'number' : undefined }, content);
      cell.classList.toggle('code', isCode === true);
      if (opacity !== undefined) {
        cell.classList.add('warm');
        cell.style.setProperty('--opacity', opacity(row));
      }
      if (share !== undefined) {
        cell.classList.add('share');
        cell.style.setProperty('--share', `${100 * share(row)}%`);
      }
      return cell;
    });
    return html('tr', {}, ...cells);
  }
}

const isNone = (value: CellValue): boolean => value === undefined || Number.isNaN(value);

/** What has no value, or NaN, comes last when the largest come first. */
function compare(one: CellValue, other: CellValue): number {
  if (isNone(one) || isNone(other)) return Number(isNone(other)) - Number(isNone(one));
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return String(one).localeCompare(String(other), 'en', { numeric: true });
}
