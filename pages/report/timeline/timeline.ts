/** The timeline of queues: zoomed and moved by mouse, touch and keyboard. */
import { type ScaleLinear, scaleLinear } from 'd3-scale';
import { select } from 'd3-selection';
import { type D3ZoomEvent, type ZoomBehavior, type ZoomTransform, zoom, zoomIdentity } from 'd3-zoom';
import { lowerBound, type Report } from '../data.ts';
import { button, html } from '../dom.ts';
import { countText, durationText } from '../format.ts';
import type { Theme } from '../theme.ts';
import { eventDetails, eventSummary } from './details.ts';
import { flowsOf } from './flows.ts';
import { Matches } from './matches.ts';
import { AXIS_HEIGHT, GUTTER, Painter } from './painter.ts';
import { type EventRef, type TimelineRow, TimelineRows } from './rows.ts';

/** At the deepest zoom this much is seen. */
const MIN_VISIBLE_NS = 20;
/** How far beside a slice the pointer may be. */
const NEAR_PX = 4;
const ZOOM_STEP = 1.6;
const KEYS_HELP = 'Arrows select events, plus and minus zoom, A and D move, 0 shows all, Enter zooms to the selection.';

export class TimelineView {
  readonly element: HTMLElement;
  readonly #report: Report;
  readonly #rows: TimelineRows;
  readonly #painter: Painter;
  readonly #canvas = html('canvas');
  readonly #scroller: HTMLElement;
  readonly #details = html('aside', { class: 'details', 'aria-label': 'Selected event' });
  readonly #tooltip = html('div', { class: 'tooltip', hidden: true });
  /** Which time is seen. */
  readonly #range = html('output', { class: 'muted range' });
  readonly #said = html('div', { class: 'unseen', 'aria-live': 'polite' });
  readonly #zoom: ZoomBehavior<HTMLCanvasElement, unknown>;
  #transform: ZoomTransform = zoomIdentity;
  #matches: Matches | undefined;
  #selected: EventRef | undefined;
  #hovered: EventRef | undefined;
  #isAsked = false;
  #size = { width: 0, height: 0 };

  constructor(report: Report, theme: Theme) {
    this.#report = report;
    this.#rows = new TimelineRows(report);
    this.#painter = new Painter(this.#canvas.getContext('2d')!, report, this.#rows, theme);
    this.#canvas.setAttribute('role', 'img');
    this.#canvas.setAttribute(
      'aria-label',
      `${countText(this.#eventCount)} events on ${report.header.queues.length} queues`,
    );
    const spacer = html('div', { class: 'spacer' }, this.#canvas);
    spacer.style.height = `${this.#rows.height + AXIS_HEIGHT + 8}px`;
    const role = { role: 'application', 'aria-roledescription': 'timeline', 'aria-label': `Timeline. ${KEYS_HELP}` };
    this.#scroller = html('div', { class: 'timeline', tabindex: 0, ...role }, spacer);
    this.#zoom = zoom<HTMLCanvasElement, unknown>()
      .filter((event: MouseEvent) => event.button === 0 && !(event.type === 'wheel' && this.#scrolls(event)))
      .on('zoom', (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => this.#zoomed(event));
    select(this.#canvas).call(this.#zoom).on('dblclick.zoom', null);
    this.#details.append(html('p', { class: 'muted' }, 'Select an event to see what its record says.'));
    this.element = html(
      'div',
      { class: 'timeline-view' },
      this.#toolbar(),
      html('div', { class: 'beside' }, this.#scroller, this.#details),
      this.#tooltip,
      this.#said,
    );
    this.#listen();
    theme.onChange(() => this.#ask());
    new ResizeObserver(() => this.#resize()).observe(this.#scroller);
  }

  get #eventCount(): number {
    return Object.values(this.#report.events).reduce((sum, { rowCount }) => sum + rowCount, 0);
  }

  /** Highlights what a text finds; how many events that are. */
  search(text: string): number {
    this.#matches = text === '' ? undefined : new Matches(this.#report, text);
    this.#ask();
    return this.#matches?.count ?? 0;
  }

  /** Goes to what the search finds next. */
  searchNext(step: 1 | -1): void {
    const found = this.#matches?.next(this.#selected, step);
    if (found) this.#select(found);
  }

  #toolbar(): HTMLElement {
    const by = (factor: number) => () => select(this.#canvas).call(this.#zoom.scaleBy, factor);
    return html(
      'div',
      { class: 'toolbar', role: 'toolbar', 'aria-label': 'Zoom' },
      button('+', { 'aria-label': 'Zoom in', title: 'Zoom in (+)' }, by(ZOOM_STEP)),
      button('−', { 'aria-label': 'Zoom out', title: 'Zoom out (−)' }, by(1 / ZOOM_STEP)),
      button('All', { title: 'Show the whole profile (0)' }, () => this.#showAll()),
      button('Selection', { title: 'Zoom to the selected event (Enter)' }, () => this.#showSelected()),
      this.#range,
      html('span', { class: 'muted hint' }, 'Wheel zooms, drag or Shift with the wheel moves, click selects.'),
    );
  }

  #listen(): void {
    this.#scroller.addEventListener('scroll', () => this.#ask());
    this.#scroller.addEventListener('keydown', (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && this.#key(event.key)) event.preventDefault();
    });
    this.#canvas.addEventListener('pointermove', (event) => this.#hover(event));
    this.#canvas.addEventListener('pointerleave', () => this.#hover(undefined));
    this.#canvas.addEventListener('click', (event) => {
      const { offsetX, offsetY } = event;
      this.#select(this.#eventAt(offsetX, offsetY), false);
    });
    this.#canvas.addEventListener('dblclick', () => this.#showSelected());
    const moves = (event: WheelEvent): void => {
      if (!this.#moves(event)) return;
      event.preventDefault();
      this.#move(-(Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : event.deltaY));
    };
    this.#canvas.addEventListener('wheel', moves, { passive: false });
  }

  /** Wheels to the side and with Shift move the plot; over the names of tracks they scroll. */
  #moves(event: MouseEvent): event is WheelEvent {
    if (!(event instanceof WheelEvent) || event.offsetX < GUTTER) return false;
    return event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
  }

  #scrolls(event: MouseEvent): boolean {
    return event.offsetX < GUTTER || this.#moves(event);
  }

  #zoomed({ transform, sourceEvent }: D3ZoomEvent<HTMLCanvasElement, unknown>): void {
    this.#transform = transform;
    if (sourceEvent instanceof MouseEvent && sourceEvent.type === 'mousemove') {
      this.#scroller.scrollTop -= sourceEvent.movementY;
    }
    this.#ask();
  }

  /** Time to pixels with everything in view. */
  get #base(): ScaleLinear<number, number> {
    const span = Math.max(this.#report.header.spanNs, 1);
    return scaleLinear()
      .domain([0, span])
      .range([GUTTER, this.#size.width - 8]);
  }

  get #x(): ScaleLinear<number, number> {
    return this.#transform.rescaleX(this.#base);
  }

  #resize(): void {
    const { clientWidth: width, clientHeight: height } = this.#scroller;
    if (width === 0) return;
    const [first, last] = this.#size.width > 0 ? this.#x.range().map((px) => this.#x.invert(px)) : [];
    this.#size = { width, height };
    const plot: [[number, number], [number, number]] = [
      [GUTTER, 0],
      [width - 8, height],
    ];
    const deepest = Math.max(1, this.#report.header.spanNs / MIN_VISIBLE_NS);
    this.#zoom.extent(plot).translateExtent(plot).scaleExtent([1, deepest]);
    const ratio = devicePixelRatio;
    [this.#canvas.width, this.#canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    [this.#canvas.style.width, this.#canvas.style.height] = [`${width}px`, `${height}px`];
    this.#canvas.getContext('2d')!.setTransform(ratio, 0, 0, ratio, 0, 0);
    const isZoomed = this.#transform.k !== 1;
    if (isZoomed && first !== undefined && last !== undefined) this.#show(first, last);
    this.#paint();
  }

  /** Zooms to a range of time. */
  #show(first: number, last: number): void {
    const base = this.#base;
    const [left, right] = base.range() as [number, number]; // reason: the scale has two ends
    const scale = Math.min((right - left) / (base(last) - base(first)), this.#zoom.scaleExtent()[1]);
    const middle = base((first + last) / 2);
    const transform = zoomIdentity.translate((left + right) / 2 - scale * middle, 0).scale(scale);
    select(this.#canvas).call(this.#zoom.transform, transform);
  }

  #showAll(): void {
    select(this.#canvas).call(this.#zoom.transform, zoomIdentity);
  }

  #showSelected(): void {
    if (this.#selected === undefined) return;
    const { starts, durations } = this.#report.events[this.#selected.family];
    const start = starts[this.#selected.row]!;
    const room = Math.max(durations[this.#selected.row]!, MIN_VISIBLE_NS) * 0.6;
    this.#show(start - room, start + durations[this.#selected.row]! + room);
  }

  #move(byPx: number): void {
    select(this.#canvas).call(this.#zoom.translateBy, byPx / this.#transform.k, 0);
  }

  /** Whether the key means something here. */
  #key(key: string): boolean {
    const width = this.#size.width / 4;
    const actions: Readonly<Record<string, () => void>> = {
      '+': () => select(this.#canvas).call(this.#zoom.scaleBy, ZOOM_STEP),
      '=': () => select(this.#canvas).call(this.#zoom.scaleBy, ZOOM_STEP),
      w: () => select(this.#canvas).call(this.#zoom.scaleBy, ZOOM_STEP),
      '-': () => select(this.#canvas).call(this.#zoom.scaleBy, 1 / ZOOM_STEP),
      s: () => select(this.#canvas).call(this.#zoom.scaleBy, 1 / ZOOM_STEP),
      a: () => this.#move(width),
      d: () => this.#move(-width),
      '0': () => this.#showAll(),
      Home: () => this.#showAll(),
      Enter: () => this.#showSelected(),
      Escape: () => this.#select(undefined),
      ArrowLeft: () => this.#step(-1),
      ArrowRight: () => this.#step(1),
      ArrowUp: () => this.#stepRow(-1),
      ArrowDown: () => this.#stepRow(1),
    };
    actions[key]?.();
    return key in actions;
  }

  /** Selects the event before or behind the selected one in its track. */
  #step(by: 1 | -1): void {
    const row = this.#selected && this.#rows.of(this.#selected);
    if (row?.track === undefined || this.#selected === undefined) {
      this.#stepRow(1);
      return;
    }
    const next = this.#selected.row + by;
    const { first, count, family } = row.track;
    if (next >= first && next < first + count) this.#select({ family, row: next });
  }

  /** Selects what is nearest in the next track, or in the first one. */
  #stepRow(by: 1 | -1): void {
    const at = this.#selected && this.#rows.of(this.#selected);
    const row = at ? this.#rows.neighbour(at, by) : this.#rows.rows.find(({ track }) => track !== undefined);
    if (row?.track === undefined) return;
    const { family, first, count } = row.track;
    const { starts } = this.#report.events[family];
    const [left] = this.#x.domain() as [number, number]; // reason: the scale has two ends
    const time = this.#selected ? this.#report.events[this.#selected.family].starts[this.#selected.row]! : left;
    this.#select({ family, row: Math.min(lowerBound(starts, time, first, first + count), first + count - 1) });
  }

  #eventAt(px: number, py: number): EventRef | undefined {
    if (px < GUTTER || py < AXIS_HEIGHT) return undefined;
    const row = this.#rows.at(py - AXIS_HEIGHT + this.#scroller.scrollTop);
    return row?.track && this.#nearest(row, px);
  }

  #nearest({ track }: TimelineRow, px: number): EventRef | undefined {
    const { family, first, count } = track!;
    const { starts, durations } = this.#report.events[family];
    const x = this.#x;
    const after = lowerBound(starts, x.invert(px), first, first + count);
    const distance = (row: number): number => Math.max(x(starts[row]!) - px, px - x(starts[row]! + durations[row]!), 0);
    const [nearest] = [after - 1, after]
      .filter((row) => row >= first && row < first + count && distance(row) <= NEAR_PX)
      .sort((one, other) => distance(one) - distance(other));
    return nearest === undefined ? undefined : { family, row: nearest };
  }

  #hover(event: PointerEvent | undefined): void {
    this.#hovered = event && this.#eventAt(event.offsetX, event.offsetY);
    this.#tooltip.hidden = this.#hovered === undefined;
    if (event && this.#hovered) {
      this.#tooltip.textContent = eventSummary(this.#report, this.#hovered);
      const left = Math.min(event.clientX + 14, innerWidth - this.#tooltip.offsetWidth - 8);
      this.#tooltip.style.left = `${left}px`;
      this.#tooltip.style.top = `${event.clientY + 18}px`;
    }
    this.#ask();
  }

  /** `isShown`: moves the plot so that the event is seen. */
  #select(event: EventRef | undefined, isShown = true): void {
    this.#selected = event;
    if (event === undefined) {
      this.#details.replaceChildren(html('p', { class: 'muted' }, 'No event is selected.'));
    } else {
      this.#details.replaceChildren(eventDetails(this.#report, event));
      this.#said.textContent = eventSummary(this.#report, event);
      if (isShown) this.#reveal(event);
    }
    this.#ask();
  }

  #reveal(event: EventRef): void {
    const { starts, durations } = this.#report.events[event.family];
    const [start, end] = [starts[event.row]!, starts[event.row]! + durations[event.row]!];
    const [first, last] = this.#x.domain() as [number, number]; // reason: the scale has two ends
    if (end < first || start > last) this.#show(start - (last - first) / 2, start + (last - first) / 2);
    const row = this.#rows.of(event);
    if (row === undefined) return;
    const room = this.#size.height - AXIS_HEIGHT - row.height;
    const { scrollTop } = this.#scroller;
    if (row.y < scrollTop) this.#scroller.scrollTop = row.y;
    else if (row.y > scrollTop + room) this.#scroller.scrollTop = row.y - room;
  }

  /** Draws before the next frame, once. */
  #ask(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    requestAnimationFrame(() => {
      this.#isAsked = false;
      this.#paint();
    });
  }

  #paint(): void {
    if (this.#size.width === 0) return;
    const shown = this.#selected ?? this.#hovered;
    const [first, last] = this.#x.domain() as [number, number]; // reason: the scale has two ends
    this.#range.textContent = `${durationText(Math.round(first))} – ${durationText(Math.round(last))}`;
    this.#painter.paint({
      x: this.#x,
      ...this.#size,
      scrollTop: this.#scroller.scrollTop,
      selected: this.#selected,
      hovered: this.#hovered,
      flows: shown ? flowsOf(this.#report, shown) : [],
      matches: this.#matches,
    });
  }
}
