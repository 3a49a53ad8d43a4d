/**
 * Estimates of the cycles that a chunk takes for an iteration, region by region (T1) and with a group of
 * chunks in registers. Constants fit measurements on one machine (bench/HISTORY.md); what counts is on which
 * side of each other the estimates are.
 */
import { isAccess } from '../regions/access-group.ts';
import { constantOf, isOp } from '../regions/graph.ts';
import type { Node } from '../regions/node.ts';
import type { LaneProgram } from './lane-program.ts';
import type { LoopPlan } from './loop-plan.ts';
import type { SteadyWay } from './side-by-side.ts';

/** Groups of so many chunks are tried. */
const CHUNK_COUNTS: readonly number[] = [1, 2, 4];
const VECTOR_OPERATIONS_PER_CYCLE = 2.2;
const MEMORY_OPERATIONS_PER_CYCLE = 1.8;
const SCALAR_OPERATIONS_PER_CYCLE = 3;
/** An access with its checks, for lanes and for the wave. */
const ACCESS_OPERATIONS = 15;
const UNIFORM_ACCESS_OPERATIONS = 12;
/** An access of lanes that keep their distances, and what is asked of the guide's address. */
const OF_STEADY_ACCESS = { sideBySide: 3, apart: 11 };
const GUIDE_OPERATIONS = 14;
/** What T1 saves where 16 lanes at equal distances are looked at together. */
const LINEAR_ACCESS_SAVING = 11;
/** For each value that is carried on in memory. */
const SPILL_CYCLES = 2;
const CARRIED_REGISTERS = 12;
/** Of an iteration, beside its own operations. */
const LOOP_CYCLES = 2;
/**
 * Lanes that wait for others, masks, and further regions cost region by region about this much more in loops
 * that lanes leave.
 */
const DIVERGENCE = 1.5;
/** How much of its time each further chunk of a group waits for others, in loops that lanes leave. */
const WAITING = 0.1;
/** How much cheaper a loop must be to be taken out of T1. */
const GAIN = 0.9;
/** Lanes that run one after the other: scalar operations per cycle, and what a lane takes beside its own. */
const ALONE_OPERATIONS_PER_CYCLE = 4.5;
const ALONE_CYCLES = 2;
/** A check of an address. */
const ALONE_CHECK_OPERATIONS = 4;
/** How many lanes of a chunk are on, where they leave one by one. */
const LANES_ON = 2.7;
/** Iterations that are followed to find what one adds. */
const ITERATIONS = 8;

const operation = ({ leaf }: Node): string => (leaf.kind === 'pure' ? leaf.op : leaf.kind);

/** Vector instructions, and cycles until the result is there. */
function costOf(node: Node): readonly [operations: number, latency: number] {
  const op = operation(node);
  const wide = op.startsWith('i64.') || op.startsWith('f64.') ? 2 : 1;
  if (/^f\d\d\.(add|sub|mul|fma|fromI32.|toI32.)$/.test(op)) return [wide, 4];
  if (/\.(div|sqrt)$/.test(op)) return [5 * wide, 14];
  if (/F16$|f16/.test(op)) return [14, 12];
  if (/mulHi|^i64\.mul$/.test(op)) return [7, 8];
  if (op === 'i32.mul') return [1, 4];
  if (/\.(shl|shrU|shrS)$/.test(op) && node.args[1]!.lane) return [14 * wide, 8];
  if (/clz|ctz|popcnt/.test(op)) return [12, 10];
  if (op === 'load') return [ACCESS_OPERATIONS, 10];
  return /^(loaded|row|laneMask|laneId|f32\.canonical|i1\.rare)$/.test(op) ? [0, 0] : [wide, 1.25];
}

/** Cycles by which an iteration ends later than the one before when nothing but dependences count. */
function dependenceCycles({ nodes, rows, masks, graph, variant }: LoopPlan): number {
  const carried = new Map<Node, Node>();
  for (const node of nodes) {
    const next = node.leaf.kind === 'row' ? rows.get(node.leaf.offset) : undefined;
    if (next) carried.set(node, next);
  }
  for (const [base, node] of graph.entryMasks) {
    const next = masks.get(base);
    if (next) carried.set(node, next);
  }
  let ends = new Map<Node, number>();
  const times: number[] = [];
  for (let i = 0; i <= ITERATIONS; i++) {
    const at = new Map<Node, number>();
    for (const node of nodes) {
      if (!node.lane || !variant.has(node)) continue;
      const next = carried.get(node);
      const start = next ? (ends.get(next) ?? 0) : Math.max(0, ...node.args.map((arg) => at.get(arg) ?? 0));
      at.set(node, start + costOf(node)[1]);
    }
    ends = at;
    times.push(Math.max(0, ...[...carried.values()].map((node) => at.get(node) ?? 0)));
  }
  return (times[ITERATIONS]! - times[ITERATIONS / 2]!) / (ITERATIONS / 2);
}

/**
 * Bytes by which a value of lanes grows with each iteration, all lanes alike; infinite by an unknown number.
 */
function stepOf(node: Node, plan: LoopPlan): number | undefined {
  if (!plan.variant.has(node)) return 0;
  if (!node.lane) return Infinity;
  const [a, b] = node.args;
  if (node.leaf.kind === 'row') {
    let next = plan.rows.get(node.leaf.offset)!;
    while (isOp(next, 'i32.select')) next = next.args[1]!;
    const by = isOp(next, 'i32.add') && next.args.includes(node) && next.args.find((arg) => arg !== node);
    if (!by || by.lane) return undefined;
    return Number(constantOf(by) ?? Infinity);
  }
  if (isOp(node, 'i32.add')) {
    const [x, y] = [stepOf(a!, plan), stepOf(b!, plan)];
    return x === undefined || y === undefined ? undefined : x + y;
  }
  const shift = isOp(node, 'i32.shl') ? constantOf(b!) : undefined;
  const step = shift === undefined ? undefined : stepOf(a!, plan);
  return step === undefined ? undefined : step * 2 ** Number(shift);
}

/**
 * Whether the lanes of a load are side by side, as far as code tells: such lanes go on by what all of them
 * read at least. Those that go on by less read something of their own, as those do whose addresses were
 * loaded.
 */
function isLinear({ leaf, address }: Node, plan: LoopPlan, waveSize: number): boolean {
  if (leaf.kind !== 'load' || !address) return false;
  const step = stepOf(address.low, plan);
  return step !== undefined && Math.abs(step) >= waveSize * leaf.sizeBytes;
}

export interface LoopEstimate {
  /** How many chunks to run at once. */
  readonly chunkCount: number;
  /** Whether that is faster than T1. */
  readonly pays: boolean;
  /** Cycles of a chunk for an iteration, and what it must take less than. */
  readonly cycles: number;
  readonly limit: number;
}

/** `plan`: all of the loop; `way`: for lanes that keep their distances. */
export function estimate(plan: LoopPlan, waveSize: 32 | 64, way?: SteadyWay): LoopEstimate {
  const found = way?.found;
  const { nodes, rows, masks, graph, variant } = plan;
  const lanes = nodes.filter((node) => node.lane && variant.has(node));
  // Behind the loop a store costs next to nothing.
  const stored = plan.store ? ACCESS_OPERATIONS : 0;
  const operations = lanes.reduce((sum, node) => sum + costOf(node)[0], stored);
  const floats = lanes.filter((node) => costOf(node)[1] === 4 && operation(node).startsWith('f')).length;
  const rowReads = nodes.filter(({ leaf }) => leaf.kind === 'row').length;
  const uniform = nodes.filter((node) => !node.lane && variant.has(node));
  const scalarOperations = uniform.reduce(
    (sum, { leaf }) => sum + (leaf.kind === 'load' ? UNIFORM_ACCESS_OPERATIONS : 1),
    0,
  );
  const scalarCycles = scalarOperations / SCALAR_OPERATIONS_PER_CYCLE;
  const lanesLeave = graph.again.kind === 'lanes' || graph.writesExec;
  // T1 looks at the sum of all float results for NaNs.
  const linear = lanes.filter((node) => node.active && isLinear(node, plan, waveSize)).length;
  const regions =
    Math.max(
      (operations + floats - linear * LINEAR_ACCESS_SAVING) / VECTOR_OPERATIONS_PER_CYCLE,
      (rowReads + rows.size) / MEMORY_OPERATIONS_PER_CYCLE,
    ) *
      (lanesLeave ? DIVERGENCE : 1) +
    (scalarCycles * 4) / waveSize;
  const own = found?.plan ?? plan;
  const dependences = dependenceCycles(own);
  // Rows that are written only are not carried from one iteration to the next.
  const carriedRows = own.nodes.filter((node) => node.leaf.kind === 'row' && own.variant.has(node)).length;
  const ownRowReads = own.nodes.filter(({ leaf }) => leaf.kind === 'row').length;
  const carried = carriedRows + masks.size;
  const ownLanes = own.nodes.filter((node) => node.lane && own.variant.has(node));
  const costOfOwn = (node: Node): number =>
    way && isAccess(node) ? OF_STEADY_ACCESS[way.isApart ? 'apart' : 'sideBySide'] : costOf(node)[0];
  const ownOperations = ownLanes.reduce((sum, node) => sum + costOfOwn(node), 0);
  const wave = (each: LoopPlan): number => each.nodes.filter(({ lane }) => !lane).length;
  const guideOperations = found ? wave(own) - wave(plan) + found.addresses.size * GUIDE_OPERATIONS : 0;
  const ownScalarCycles = scalarCycles + guideOperations / SCALAR_OPERATIONS_PER_CYCLE;
  const cyclesOf = (chunkCount: number): number => {
    const spilled = Math.max(0, carried * chunkCount - CARRIED_REGISTERS);
    const bound = Math.max(
      dependences / chunkCount,
      ownOperations / VECTOR_OPERATIONS_PER_CYCLE,
      (ownRowReads - carriedRows) / MEMORY_OPERATIONS_PER_CYCLE,
    );
    return bound + (spilled * SPILL_CYCLES + ownScalarCycles + LOOP_CYCLES) / chunkCount;
  };
  // Loads lane by lane keep a processor busy with one chunk, and chunks of a group wait for each other.
  const counts = !found && lanes.some(({ active }) => active) ? CHUNK_COUNTS.slice(0, 1) : CHUNK_COUNTS;
  const inGroup = (count: number): number =>
    cyclesOf(count) * (graph.again.kind === 'lanes' ? 1 + (count - 1) * WAITING : 1);
  const chunkCount = counts.reduce((best, count) => (inGroup(count) < inGroup(best) ? count : best));
  const [cycles, limit] = [cyclesOf(chunkCount), regions * GAIN];
  return { chunkCount, pays: cycles < limit, cycles, limit };
}

/**
 * Whether lanes should go through a loop one after the other. Without loads four of them are better together,
 * and those whose loads are side by side mostly leave it together.
 */
export function laneWayPays(plan: LoopPlan, waveSize: 32 | 64, { values, groups, pointers }: LaneProgram): boolean {
  if (groups.size === 0 || plan.nodes.some((node) => node.lane && isLinear(node, plan, waveSize))) return false;
  const checks = new Set(groups.values()).size - pointers.reduce((sum, { groups }) => sum + groups.length, 0);
  const operations = values.filter(({ isVariant }) => isVariant).length + checks * ALONE_CHECK_OPERATIONS;
  const own = Math.max(dependenceCycles(plan), operations / ALONE_OPERATIONS_PER_CYCLE) + ALONE_CYCLES;
  const { cycles, limit } = estimate(plan, waveSize);
  return own * LANES_ON < Math.min(cycles, limit);
}
