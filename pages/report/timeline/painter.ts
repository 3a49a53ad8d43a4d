/**
 * Draws a timeline. Its time grows with the pixels, not with the events: what is narrower than a pixel is
 * drawn together with all that begins in that pixel, as dark as it fills it.
 */
import type { ScaleLinear } from 'd3-scale';
import type { Track } from '../../../src/report/report-data.ts';
import { lowerBound, type Report } from '../data.ts';
import { axisText } from '../format.ts';
import type { Theme } from '../theme.ts';
import type { Flow } from './flows.ts';
import type { Matches } from './matches.ts';
import type { EventRef, TimelineRow, TimelineRows } from './rows.ts';

/** Left of the plot: names of tracks. */
export const GUTTER = 148;
export const AXIS_HEIGHT = 26;
const MIN_SLICE_PX = 2;
const MIN_LABEL_PX = 28;
/** Of the text of a slice. */
const CHARACTER_PX = 6.3;
const PADDING = 2;

export interface Scene {
  /** Of time to pixels, as it is zoomed. */
  readonly x: ScaleLinear<number, number>;
  readonly width: number;
  readonly height: number;
  readonly scrollTop: number;
  readonly selected: EventRef | undefined;
  readonly hovered: EventRef | undefined;
  readonly flows: readonly Flow[];
  readonly matches: Matches | undefined;
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly y: number;
  readonly height: number;
}

export class Painter {
  readonly #context: CanvasRenderingContext2D;
  readonly #report: Report;
  readonly #rows: TimelineRows;
  readonly #theme: Theme;

  constructor(context: CanvasRenderingContext2D, report: Report, rows: TimelineRows, theme: Theme) {
    this.#context = context;
    this.#report = report;
    this.#rows = rows;
    this.#theme = theme;
  }

  paint(scene: Scene): void {
    const context = this.#context;
    const { width, height, scrollTop } = scene;
    context.fillStyle = this.#theme.colour('panel');
    context.fillRect(0, 0, width, height);
    context.textBaseline = 'middle';
    context.font = `11px ${this.#theme.colour('text-font')}`;
    this.#grid(scene);
    context.save();
    context.beginPath();
    context.rect(0, AXIS_HEIGHT, width, height - AXIS_HEIGHT);
    context.clip();
    for (const row of this.#rows.rows) {
      const y = AXIS_HEIGHT + row.y - scrollTop;
      if (y + row.height < AXIS_HEIGHT || y > height) continue;
      if (row.track === undefined) this.#head(row, y, width);
      else this.#track(scene, row.track, y, row.height);
    }
    this.#gutter(scene);
    for (const flow of scene.flows) this.#flow(scene, flow);
    if (scene.hovered) this.#outline(scene, scene.hovered, 1);
    if (scene.selected) this.#outline(scene, scene.selected, 2);
    context.restore();
  }

  /** Where an event is drawn; undefined in a track that is not there. */
  #boxOf({ x, scrollTop }: Scene, { family, row }: EventRef): Box | undefined {
    const line = this.#rows.of({ family, row });
    if (line === undefined) return undefined;
    const { starts, durations } = this.#report.events[family];
    const left = x(starts[row]!);
    const right = Math.max(x(starts[row]! + durations[row]!), left + MIN_SLICE_PX);
    return { left, right, y: AXIS_HEIGHT + line.y - scrollTop + 1, height: line.height - PADDING };
  }

  #grid({ x, width, height }: Scene): void {
    const context = this.#context;
    const ticks = x.ticks(Math.max(2, Math.floor((width - GUTTER) / 110)));
    const step = ticks.length > 1 ? ticks[1]! - ticks[0]! : 1;
    const [first, last] = x.domain() as [number, number]; // reason: the scale has two ends
    context.fillStyle = this.#theme.colour('muted');
    context.strokeStyle = this.#theme.colour('line');
    context.lineWidth = 1;
    context.beginPath();
    for (const tick of ticks) {
      const at = Math.round(x(tick)) + 0.5;
      context.moveTo(at, AXIS_HEIGHT - 6);
      context.lineTo(at, height);
      const text = axisText(tick, step, Math.max(last - first, 1));
      if (at + text.length * CHARACTER_PX < width) context.fillText(text, at + 4, AXIS_HEIGHT / 2);
    }
    context.moveTo(0, AXIS_HEIGHT - 0.5);
    context.lineTo(width, AXIS_HEIGHT - 0.5);
    context.stroke();
  }

  #head({ label }: TimelineRow, y: number, width: number): void {
    const context = this.#context;
    context.fillStyle = this.#theme.colour('raised');
    context.fillRect(0, y + 4, width, 20);
    context.fillStyle = this.#theme.colour('text');
    context.font = `600 11px ${this.#theme.colour('text-font')}`;
    context.fillText(label, 8, y + 14.5);
    context.font = `11px ${this.#theme.colour('text-font')}`;
  }

  /** Names of tracks, over what is drawn left of the plot. */
  #gutter({ scrollTop, height }: Scene): void {
    const context = this.#context;
    for (const row of this.#rows.rows) {
      const y = AXIS_HEIGHT + row.y - scrollTop;
      if (row.track === undefined || y + row.height < AXIS_HEIGHT || y > height) continue;
      context.fillStyle = this.#theme.colour('panel');
      context.fillRect(0, y, GUTTER, row.height);
      context.fillStyle = this.#theme.colour('muted');
      context.fillText(row.label, 16, y + row.height / 2 + 0.5);
    }
  }

  #track(scene: Scene, track: Track, y: number, height: number): void {
    const { x } = scene;
    const { starts, durations } = this.#report.events[track.family];
    const [first, end] = [track.first, track.first + track.count];
    const lastNs = x.invert(scene.width);
    let row = Math.max(first, lowerBound(starts, x.invert(GUTTER), first, end) - 1);
    while (row < end && starts[row]! <= lastNs) {
      const left = x(starts[row]!);
      const right = x(starts[row]! + durations[row]!);
      if (right - left >= MIN_SLICE_PX) {
        if (right > GUTTER) this.#slice(scene, track, row, { left, right, y: y + 1, height: height - PADDING });
        row++;
        continue;
      }
      const pixel = Math.floor(left);
      let next = lowerBound(starts, x.invert(pixel + 1), row + 1, end);
      // The last one may reach out of the pixel, and is drawn by itself then.
      if (next - row > 1 && x(starts[next - 1]! + durations[next - 1]!) - pixel > MIN_SLICE_PX) next--;
      if (pixel >= GUTTER)
        this.#pixel(scene, track, [row, next], { left: pixel, right: pixel + 1, y: y + 1, height: height - PADDING });
      row = next;
    }
  }

  /** All of `[first, end)`, in one pixel. */
  #pixel({ x, matches }: Scene, { family }: Track, [first, end]: readonly [number, number], box: Box): void {
    const context = this.#context;
    const { durationSums, names } = this.#report.events[family];
    const pixelNs = x.invert(1) - x.invert(0);
    const filled = (durationSums[end]! - durationSums[first]!) / pixelNs;
    const crowd = end - first;
    // A single event is always well seen, and so are moments, which fill nothing.
    const least = crowd === 1 ? 0.9 : filled > 0 ? 0.3 : 0.45 + crowd / 20;
    context.globalAlpha = Math.min(1, Math.max(filled, least));
    context.fillStyle = this.#theme.category(names[first]!);
    if (matches !== undefined) {
      const isFound = matches.among(family, first, end) > 0;
      if (isFound) context.globalAlpha = 1;
      context.fillStyle = this.#theme.colour(isFound ? 'found' : 'unfound');
    }
    context.fillRect(box.left, box.y, crowd === 1 ? MIN_SLICE_PX : 1, box.height);
    context.globalAlpha = 1;
  }

  #slice({ matches, width }: Scene, { family }: Track, row: number, box: Box): void {
    const context = this.#context;
    const name = this.#report.events[family].names[row]!;
    const isFound = matches === undefined || matches.among(family, row, row + 1) > 0;
    context.fillStyle = isFound ? this.#theme.category(name) : this.#theme.colour('unfound');
    // Queue events are waits: nothing runs.
    context.globalAlpha = family === 'queue' && isFound ? 0.45 : 1;
    const [left, right] = [Math.max(box.left, GUTTER), Math.min(box.right, width)];
    context.fillRect(left, box.y, Math.max(right - left - 0.5, 1), box.height);
    context.globalAlpha = 1;
    if (isFound && matches !== undefined) {
      context.fillStyle = this.#theme.colour('found');
      context.fillRect(left, box.y + box.height - 3, Math.max(right - left - 0.5, 1), 3);
    }
    if (right - left < MIN_LABEL_PX) return;
    const text = this.#report.header.names[name]!;
    const room = Math.floor((right - left - 8) / CHARACTER_PX);
    context.fillStyle = isFound ? this.#theme.colour('on-category') : this.#theme.colour('muted');
    context.fillText(
      text.length > room ? `${text.slice(0, Math.max(room - 1, 1))}…` : text,
      left + 4,
      box.y + box.height / 2 + 0.5,
    );
  }

  #outline(scene: Scene, event: EventRef, lineWidth: number): void {
    const box = this.#boxOf(scene, event);
    if (box === undefined || box.right < GUTTER) return;
    const left = Math.max(box.left, GUTTER);
    this.#context.strokeStyle = this.#theme.colour('text');
    this.#context.lineWidth = lineWidth;
    this.#context.strokeRect(left - 1, box.y - 1, Math.min(box.right, scene.width) - left + 2, box.height + 2);
  }

  /** An arrow from the end of the waiting to the begin of the execution. */
  #flow(scene: Scene, { from, to }: Flow): void {
    const [source, target] = [this.#boxOf(scene, from), this.#boxOf(scene, to)];
    if (source === undefined || target === undefined) return;
    const context = this.#context;
    const [startX, startY] = [source.right, source.y + source.height / 2];
    const [endX, endY] = [target.left, target.y + target.height / 2];
    const bend = Math.max(20, Math.min(120, Math.abs(endX - startX) / 2));
    context.save();
    context.beginPath();
    context.rect(GUTTER, AXIS_HEIGHT, scene.width - GUTTER, scene.height - AXIS_HEIGHT);
    context.clip();
    context.strokeStyle = this.#theme.colour('accent');
    context.fillStyle = this.#theme.colour('accent');
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(startX, startY);
    context.bezierCurveTo(startX + bend, startY, endX - bend, endY, endX, endY);
    context.stroke();
    context.beginPath();
    context.moveTo(endX, endY);
    context.lineTo(endX - 7, endY - 4);
    context.lineTo(endX - 7, endY + 4);
    context.fill();
    context.restore();
  }
}
