/** Parts of regions in which some lanes of the wave go through the fast body before the others. */
import type { Push } from '../../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import type { FunctionState } from '../function/function-state.ts';
import type { AccessGroup } from './access-group.ts';
import type { BodyValues } from './body-values.ts';
import { ChunkBody, type ChunkEnvironment } from './chunk-body.ts';
import { Hoisted } from './hoisted.ts';
import type { Node } from './node.ts';
import { PermittedRanges } from './permitted-ranges.ts';
import { RegionPart } from './region-part.ts';

/** Lanes of EXEC that go through a part before the others, if that is worth it. */
export interface ApartLanes {
  readonly lanes: (exec: Local) => Push;
  readonly ifWorth: (f: FunctionBuilder, lanes: Local, body: () => void) => void;
  /** Emits a call for lanes, which leaves on the stack those that are to go another way. */
  readonly call: (lanes: Local) => void;
}

/** What a part for lanes is made of. */
export interface LanesPartContents {
  readonly state: FunctionState;
  /** Those that go through it. */
  readonly lanes: Local;
  /** Its fast body. */
  readonly body: ChunkBody;
}

/** `emit` leaves on the stack those of the lanes that are to go another way. */
export function lanesPart(
  name: string,
  caller: ChunkEnvironment,
  values: BodyValues,
  groups: ReadonlyMap<Node, AccessGroup>,
  emit: (contents: LanesPartContents) => void,
): ApartLanes['call'] {
  const options = { name, isFast: true, parameters: ['i64'], results: ['i64'] } as const;
  const part = new RegionPart(caller, values, options, ({ state, environment, values, parameters }) => {
    const hoisted = new Hoisted(state.f);
    hoisted.emit(state, new Set(groups.values()));
    const ranges = new PermittedRanges(state, environment.ranges);
    const body = new ChunkBody(environment, values, { hoisted, groups, ranges, linear: undefined });
    emit({ state, lanes: parameters[0]!, body });
  });
  return (lanes) => part.call([lanes]);
}
