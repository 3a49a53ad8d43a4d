/** What of a plan is computed in each iteration. */
import { isAccess } from '../regions/access-group.ts';
import { type Node, nodesBehind } from '../regions/node.ts';
import type { LoopPlan } from './loop-plan.ts';

/** What the emission of a node reads. */
type Uses = (node: Node) => readonly Node[];

/** What an iteration leaves for the next one and for what is noted of it. */
export function loopResults({ rows, masks, tests, graph }: LoopPlan, countsLanes: boolean): readonly Node[] {
  const { again, skips, counted } = graph;
  const ofLanes = [...tests.values(), ...skips].map(({ mask }) => mask);
  if (again.kind === 'lanes') ofLanes.push(again.mask);
  return [...rows.values(), ...masks.values(), ...ofLanes, ...(countsLanes ? counted : [])];
}

/** Values of lanes that accesses and results are computed from, in order. */
export function neededLanes(plan: LoopPlan, results: readonly Node[], uses: Uses): readonly Node[] {
  const needed = new Set([...results, ...plan.rare, plan.graph.exec]);
  for (const node of plan.nodes.toReversed()) {
    if (!node.lane || (!needed.has(node) && !isAccess(node))) continue;
    needed.add(node);
    for (const arg of uses(node)) needed.add(arg);
  }
  return plan.nodes.filter((node) => node.lane && needed.has(node));
}

/** Values of the wave that neither `roots` nor `lanes` are computed from, nor what it goes on with. */
export function rareValues(
  { nodes, scalars, variant, graph: { again } }: LoopPlan,
  lanes: readonly Node[],
  uses: Uses,
  roots: readonly Node[],
): ReadonlySet<Node> {
  const ofLanes = lanes.flatMap((node) => (isAccess(node) ? uses(node) : node.args));
  const accesses = nodes.filter((node) => !node.lane && isAccess(node));
  const condition = again.kind === 'wave' ? [again.condition] : [];
  const needed = nodesBehind([...roots, ...ofLanes, ...scalars.values(), ...accesses, ...condition]);
  return new Set(nodes.filter((node) => !node.lane && variant.has(node) && !needed.has(node)));
}
