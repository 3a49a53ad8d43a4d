/**
 * Hooks that choose their lanes themselves. Compilers know nothing of that: what they compute before, or keep
 * for several places, is there only in the lanes that were on. Values that need no other lane's data are
 * computed in all lanes instead; where that cannot be, the hook is rejected.
 */
import { registerNumber } from '../../flow/steps.ts';
import type { HookDefinitions } from './definitions.ts';
import type { ExecMasks } from './exec-masks.ts';
import type { CompiledCode, HookNode, Rejected } from './hook-code.ts';

export interface WideValues {
  /** Nodes that run in all lanes. */
  readonly nodes: ReadonlySet<HookNode>;
  /** Whether arguments are needed in all lanes. */
  readonly hasArguments: boolean;
}

const FIRST_VECTOR = registerNumber('vector', 0);
/** Markers that copy registers, which have values in all lanes. */
const COPIES = new Set(['read_reg', 'operand']);

export function findWideValues(
  code: CompiledCode,
  needed: ReadonlySet<HookNode>,
  definitions: HookDefinitions,
  masks: ExecMasks,
): WideValues | Rejected {
  const regions = regionsOf(code, masks);
  const nodes = new Set<HookNode>();
  let hasArguments = false;
  const isWide = (node: HookNode): boolean => masks.before(node) === 'any';
  const choosesLanes = [...needed].some(isWide);
  const users = choosesLanes ? [...needed].filter((node) => isWide(node) || readsFirstLane(node)) : [];
  for (let user = users.pop(); user !== undefined; user = users.pop()) {
    for (const read of user.reads) {
      if (read.unit < FIRST_VECTOR || (read.isCrossLane && !readsFirstLane(user))) continue;
      const { nodes: writers, fromOutside } = definitions.of(user, read);
      hasArguments ||= fromOutside;
      for (const writer of writers) {
        const isThere = isWide(user) && !nodes.has(user) && regions.get(writer) === regions.get(user);
        if (isThere || nodes.has(writer)) continue;
        if (isCopied(writer)) {
          nodes.add(writer);
          users.push(writer);
        } else if (!isWide(writer) || nodes.has(user)) {
          const text = writer.marker ? writer.marker.name : writer.step.text();
          return { rejected: `needs a value in lanes that were off when it was computed ('${text}')` };
        }
      }
    }
  }
  return { nodes, hasArguments };
}

/**
 * Whether it takes the value of the first lane that is on: one that the hook switched on, or lane 0 where the
 * application has none.
 */
const readsFirstLane = ({ step: { effects }, marker, reads }: HookNode): boolean =>
  !marker && effects.readsState.has('exec') && reads.some(({ isCrossLane }) => isCrossLane);

/** Whether it may run in other lanes, too. */
function isCopied({ step, marker, reads, writes }: HookNode): boolean {
  if (marker) return COPIES.has(marker.name);
  const { effects, instruction } = step;
  const isVector = /^VOP/.test(instruction.format.name);
  const readsState = [...effects.readsState].some((slot) => slot !== 'exec' && slot !== 'mode');
  const isPlain = writes.every(
    ({ unit, isPartial, lanes }) => unit >= FIRST_VECTOR && !isPartial && lanes === 'active',
  );
  return isVector && !readsState && isPlain && reads.every(({ isCrossLane }) => !isCrossLane);
}

/** Numbers for stretches of a block between two changes of EXEC. */
function regionsOf({ blocks }: CompiledCode, masks: ExecMasks): Map<HookNode, number> {
  const regions = new Map<HookNode, number>();
  let region = 0;
  for (const { nodes } of blocks) {
    region++;
    for (const node of nodes) {
      regions.set(node, region);
      if (masks.change(node) !== 'none') region++;
    }
  }
  return regions;
}
