/**
 * Loops that lanes leave one by one, and all of them by a condition of the wave, such as a most number of
 * iterations: the condition is asked once, and the masks of lanes that go on need not know of it.
 */
import { assign, operation, sub } from '../../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import { STATE_OFFSETS } from '../../machine/layout.ts';
import { type Graph, isOp } from '../regions/graph.ts';
import { type Node, nodesBehind } from '../regions/node.ts';
import type { Chunk } from './chunk-state.ts';
import type { LoopPlan } from './loop-plan.ts';

const EXEC = STATE_OFFSETS.exec;

/** The same loop; where the wave has a condition of its own, EXEC is right for what goes on. */
export function withWaveExit(plan: LoopPlan): LoopPlan {
  const { again, values } = plan.graph;
  if (again.kind !== 'lanes' || !plan.masks.has(EXEC)) return plan;
  const parts = partsOf(values, again.mask, true);
  const [ofLanes, ofWave] = [parts.filter(({ lane }) => lane), parts.filter(({ lane }) => !lane)];
  if (ofLanes.length === 0 || ofWave.length === 0) return plan;
  const mask = ofLanes.reduce((all, part) => values.op('i1.and', all, part));
  const until = ofWave.map((part) => values.op('i1.not', part)).reduce((all, part) => values.op('i1.or', all, part));
  const own = new Set(plan.nodes);
  const made = [...nodesBehind([mask, until], (node) => !own.has(node))].sort((a, b) => a.id - b.id);
  const variant = new Set(plan.variant);
  for (const node of made) if (node.args.some((arg) => variant.has(arg))) variant.add(node);
  return {
    ...plan,
    graph: { ...plan.graph, again: { kind: 'lanes', mask, until } },
    nodes: [...plan.nodes, ...made],
    variant,
    masks: new Map([...plan.masks].map(([base, next]) => [base, base === EXEC ? mask : next])),
  };
}

/** What must all be true for a mask to be what `isTrue` says. */
function partsOf(graph: Graph, mask: Node, isTrue: boolean): readonly Node[] {
  if (isOp(mask, 'i1.not')) return partsOf(graph, mask.args[0]!, !isTrue);
  if (isOp(mask, isTrue ? 'i1.and' : 'i1.or')) return mask.args.flatMap((arg) => partsOf(graph, arg, isTrue));
  return [isTrue ? mask : graph.op('i1.not', mask)];
}

/** Behind such a loop: no lane is left, unless it `goesOn`. */
export function clearExec(f: FunctionBuilder, chunks: readonly Chunk[], goesOn: Local): void {
  for (const { masks } of chunks) {
    const exec = masks.get(EXEC)!;
    assign(f, exec, operation('v128.and', exec, operation('i32x4.splat', sub(0, goesOn))));
  }
}
