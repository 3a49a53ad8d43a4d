/** The blocks of a function as a graph: how often each ran, and which ways control took. */
import { select } from 'd3-selection';
import { zoom, zoomIdentity } from 'd3-zoom';
import type { ListedBlock, ListedFunction } from '../../../src/report/report-data.ts';
import { html, svg } from '../dom.ts';
import { countText, thingsText } from '../format.ts';
import { NODE, type PlacedGraph, type PlacedWay, type Point, placeBlocks } from './graph-layout.ts';
import { type CodeMetrics, heatOpacity } from './metrics.ts';

const LINE_HEIGHT = 15;

export class FlowGraphView {
  readonly element = html('figure', { class: 'graph' });
  readonly #metrics: CodeMetrics;
  readonly #onSelect: (row: number) => void;
  #function: ListedFunction | undefined;
  #nodes = new Map<number, SVGGElement>();

  /** `onSelect` is told of the first row of a block that the reader chooses. */
  constructor(metrics: CodeMetrics, onSelect: (row: number) => void) {
    this.#metrics = metrics;
    this.#onSelect = onSelect;
  }

  /** Shows the function that a row belongs to, and marks its block. */
  show(row: number): void {
    const isIn = ({ first, count }: ListedBlock): boolean => row >= first && row < first + count;
    const found = this.#metrics.code.functions.find(({ blocks }) => blocks.some(isIn));
    if (found === undefined) return;
    const block = found.blocks.findIndex(isIn);
    if (found !== this.#function || !this.#nodes.has(block)) {
      this.#function = found;
      this.#draw(found, placeBlocks(found.blocks, block));
    }
    for (const [index, node] of this.#nodes) node.classList.toggle('selected', index === block);
  }

  #draw({ name, blocks }: ListedFunction, { left, top, width, height, ...placed }: PlacedGraph): void {
    const ways = placed.ways.map((way) => this.#way(way, blocks[way.from]!));
    this.#nodes = new Map([...placed.blocks].map(([index, at]) => [index, this.#node(at, blocks[index]!)]));
    const content = svg('g', {}, ...ways, ...this.#nodes.values());
    const label = `Control-flow graph of ${name}: ${thingsText(blocks.length, 'block')}`;
    const viewBox = `${left} ${top} ${width} ${height}`;
    const picture = svg('svg', { role: 'group', 'aria-label': label, viewBox }, arrowHead(), content);
    const zooming = zoom<SVGSVGElement, unknown>()
      .scaleExtent([0.2, 8])
      .on('zoom', ({ transform }) => content.setAttribute('transform', String(transform)));
    select(picture).call(zooming).call(zooming.transform, zoomIdentity).on('dblclick.zoom', null);
    [picture.style.maxWidth, picture.style.maxHeight] = [`${1.2 * width}px`, `${1.2 * height}px`];
    const part = placed.blocks.size < blocks.length ? `, ${placed.blocks.size} of ${blocks.length} blocks` : '';
    this.element.replaceChildren(html('figcaption', {}, `${name}${part}`), picture);
  }

  #node({ x, y }: Point, { first, count, loopDepth }: ListedBlock): SVGGElement {
    const measured = this.#metrics.of([first]);
    const [left, top] = [x - NODE.width / 2, y - NODE.height / 2];
    const lines = [
      `${this.#metrics.code.addresses[first]!.toString(16)}${loopDepth > 0 ? `, loop ${loopDepth}` : ''}`,
      thingsText(count, 'instruction'),
      measured.waves === 0 ? 'never' : `× ${countText(measured.waves)}`,
    ];
    const box = svg('rect', { ...NODE, x: left, y: top, rx: 6, class: 'box' });
    const heat = svg('rect', { ...NODE, x: left, y: top, rx: 6, class: 'heat' });
    heat.style.setProperty('--opacity', heatOpacity(this.#metrics.heatOf(measured.waves)));
    const texts = lines.map((line, i) => svg('text', { x: left + 9, y: top + 16 + i * LINE_HEIGHT }, line));
    const role = { role: 'button', 'aria-label': lines.join(', ') };
    const node = svg('g', { class: 'node', tabindex: 0, ...role }, box, heat, ...texts);
    const choose = (): void => this.#onSelect(first);
    node.addEventListener('click', choose);
    node.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      choose();
    });
    return node;
  }

  #way({ points, isBranch }: PlacedWay, from: ListedBlock): SVGGElement {
    const count = this.#wayCount(from, isBranch);
    const path = svg('path', { d: curve(points), class: isBranch ? 'way branch' : 'way', 'marker-end': 'url(#arrow)' });
    const runs = this.#metrics.code.counts.waves[from.first]!;
    path.classList.toggle('never', count === 0);
    if (count !== undefined && runs > 0) path.style.strokeWidth = String(1 + (2 * count) / runs);
    if (count === undefined || from.ways.length < 2) return svg('g', {}, path);
    const { x, y } = points[Math.floor(points.length / 2)]!;
    return svg('g', {}, path, svg('text', { x: x + 5, y, class: 'way-count' }, countText(count)));
  }

  /** How often control went this way; undefined where that was not counted. */
  #wayCount({ first, count, ways }: ListedBlock, isBranch: boolean): number | undefined {
    const { waves, taken } = this.#metrics.code.counts;
    const last = first + count - 1;
    if (ways.length === 1) return waves[last]!;
    const branched = taken[last];
    if (typeof branched !== 'number') return undefined;
    return isBranch ? branched : waves[last]! - branched;
  }
}

function arrowHead(): SVGDefsElement {
  const size = { viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7 };
  const head = svg('path', { d: 'M0,0 L8,4 L0,8 Z', class: 'arrow' });
  return svg('defs', {}, svg('marker', { id: 'arrow', ...size, orient: 'auto', markerUnits: 'userSpaceOnUse' }, head));
}

/** A smooth line through points. */
function curve([first, ...rest]: readonly Point[]): string {
  let path = `M${first!.x},${first!.y}`;
  for (const [i, { x, y }] of rest.entries()) {
    const next = rest[i + 1];
    path += next === undefined ? ` L${x},${y}` : ` Q${x},${y} ${(x + next.x) / 2},${(y + next.y) / 2}`;
  }
  return path;
}
