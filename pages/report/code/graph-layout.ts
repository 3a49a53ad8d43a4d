/** Where the blocks of a function and the ways between them are drawn. */
import { Graph, layout } from '@dagrejs/dagre';
import type { ListedBlock } from '../../../src/report/report-data.ts';

export const NODE = { width: 150, height: 52 };
/** Of a larger function the blocks around one are laid out. */
const MAX_BLOCKS = 150;
const MARGIN = 14;
/** How far a way from a block to itself reaches out, and the number at it. */
const LOOP_PX = 22;
const LOOP_LABEL_PX = 44;

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface PlacedWay {
  readonly from: number;
  readonly isBranch: boolean;
  readonly points: readonly Point[];
}

export interface PlacedGraph {
  /** Centres, by the index of the block. */
  readonly blocks: ReadonlyMap<number, Point>;
  readonly ways: readonly PlacedWay[];
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Around the block `middle` where there are too many. */
export function placeBlocks(blocks: readonly ListedBlock[], middle: number): PlacedGraph {
  const shown = around(blocks, middle);
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'TB', nodesep: 2 * LOOP_PX, ranksep: 34 });
  for (const index of shown) graph.setNode(String(index), { ...NODE });
  const all = [...shown].flatMap((from) => blocks[from]!.ways.map((way) => ({ from, ...way })));
  const ways = all.filter(({ to }) => shown.has(to));
  const kindOf = (isBranch: boolean): string => (isBranch ? 'branch' : 'next');
  for (const { from, to, isBranch } of ways) {
    if (from !== to) graph.setEdge(String(from), String(to), {}, kindOf(isBranch));
  }
  layout(graph);
  const centreOf = (index: number): Point => graph.node(String(index)) as Point; // reason: `layout` has set it
  const placed = ways.map(({ from, to, isBranch }): PlacedWay => {
    if (from === to) return { from, isBranch, points: loopAt(centreOf(from)) };
    const edge = graph.edge(String(from), String(to), kindOf(isBranch)) as { points: Point[] }; // reason: as above
    return { from, isBranch, points: edge.points };
  });
  const centres = [...shown].map((index) => [index, centreOf(index)] as const);
  const corners = centres.flatMap(([, { x, y }]) =>
    [-1, 1].map((side) => ({ x: x + (side * NODE.width) / 2, y: y + (side * NODE.height) / 2 })),
  );
  const labels = ways.filter(({ from, to }) => from === to).map(({ from }) => besideLoop(centreOf(from)));
  const points = [...corners, ...labels, ...placed.flatMap((way) => way.points)];
  const [left, top] = [Math.min(...points.map(({ x }) => x)) - MARGIN, Math.min(...points.map(({ y }) => y)) - MARGIN];
  const width = Math.max(...points.map(({ x }) => x)) + MARGIN - left;
  const height = Math.max(...points.map(({ y }) => y)) + MARGIN - top;
  return { blocks: new Map(centres), ways: placed, left, top, width, height };
}

/** dagre's own points of such a way lie across the block. */
function loopAt({ x, y }: Point): Point[] {
  const right = x + NODE.width / 2;
  const out = right + LOOP_PX;
  const [above, below] = [y + NODE.height / 4, y - NODE.height / 4];
  return [
    { x: right, y: above },
    { x: out, y: above },
    { x: out, y: below },
    { x: right, y: below },
  ];
}

const besideLoop = ({ x, y }: Point): Point => ({ x: x + NODE.width / 2 + LOOP_PX + LOOP_LABEL_PX, y });

/** The blocks nearest to one, along ways in either direction. */
function around(blocks: readonly ListedBlock[], middle: number): ReadonlySet<number> {
  if (blocks.length <= MAX_BLOCKS) return new Set(blocks.keys());
  const comesFrom = Map.groupBy(
    blocks.flatMap(({ ways }, at) => ways.map(({ to }) => ({ at, to }))),
    ({ to }) => to,
  );
  const found = new Set([middle]);
  for (const at of found) {
    const next = [...blocks[at]!.ways.map(({ to }) => to), ...(comesFrom.get(at) ?? []).map((each) => each.at)];
    for (const each of next) if (found.size < MAX_BLOCKS) found.add(each);
  }
  return found;
}
