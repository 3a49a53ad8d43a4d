/** Programs of random values, effects and accesses. */
import { Builder } from './builder.ts';
import type { FloatMode } from './float-builder.ts';
import { OP_NAMES, OPS } from './ops.ts';
import type { MemorySpace, Program, StateSlot, Type, Value } from './types.ts';

export const KEEP_DENORMALS: FloatMode = {
  round32: 0,
  round64: 0,
  flush32: { inputs: false, results: false },
  flush64: { inputs: false, results: false },
  ieee: true,
  dx10Clamp: true,
};

const SPACES: readonly MemorySpace[] = ['global', 'flat', 'lds', 'private'];
const SLOTS: readonly StateSlot[] = ['scc', 'exec', 'vcc', 'm0', 'mode'];

/** `random` gives whole numbers from 0 on. */
export function randomProgram(random: () => number, size: number): Program {
  const b = new Builder(random() % 2 ? 32 : 64, KEEP_DENORMALS);
  /**
   * What was made so far; of the wave alone, and in lanes. Ballots and what depends on them are in no list of
   * lanes.
   */
  const uniform: Value[] = [b.i1(true), b.i32(7), b.i64(1n << 40n), b.state('scc')];
  const early = [...uniform, b.laneId(), b.operand({ operand: 1, dword: 0 }, true)];
  const pick = <T>(list: readonly T[]): T => list[random() % list.length]!;
  const of = (type: Type, list: readonly Value[]): Value => pick(list.filter((value) => value.type === type));
  const lane = (type: Type): Value => of(type, early);
  const add = (...values: Value[]): void => {
    early.push(...values);
    uniform.push(...values.filter((value) => !value.lane));
  };
  const address = (space: MemorySpace): Value => lane(space === 'global' || space === 'flat' ? 'i64' : 'i32');
  const predicate = (): Value | undefined => (random() % 2 ? lane('i1') : undefined);
  const alignment = (): number => pick([1, 1, 4, 16]);
  const condition = () => {
    const mask = predicate();
    return { predicate: mask, isRare: mask && random() % 2 === 0, alignmentBytes: alignment() };
  };
  const at = () => ({ operand: random() % 4, dword: random() % 2 });
  const steps: (() => void)[] = [
    () => {
      const name = pick(OP_NAMES);
      add(b.op(name, ...OPS[name].params.map((type) => lane(type))));
    },
    () => add(b.i32(random()), b.i64(BigInt(random()) << 20n)),
    () => add(b.operand(at(), random() % 2 === 0)),
    () => add(b.state(pick(SLOTS)), b.pc(), b.nextPc(), b.clock(), b.laneTable(random() % 3)),
    () =>
      add(
        b.laneMask(
          of(
            'i64',
            early.filter((value) => !value.lane),
          ),
        ),
        b.gather(at(), lane('i32')),
        b.readLane(at(), of('i32', uniform)),
      ),
    () => void uniform.push(b.ballot(lane('i1'))),
    () => {
      const space = pick(SPACES);
      add(...b.load(space, pick([1, 2, 4, 8, 12, 16]), address(space), condition()));
    },
    () => {
      const space = pick(SPACES);
      const data = Array.from({ length: 1 + (random() % 4) }, () => lane('i32'));
      b.store(space, data.length * 4, address(space), data, condition());
    },
    () => {
      const space = pick(SPACES);
      const type = pick(['i32', 'i64'] as const);
      const data = random() % 2 ? [lane(type)] : [lane(type), lane(type)];
      const update = (inner: Builder, old: Value, first: Value, second = first): Value =>
        inner.select(inner.eq(old, second), inner.add(first, old), old);
      add(b.atomic(space, address(space), data, update, { predicate: predicate(), alignmentBytes: alignment() }));
    },
    () => b.setOperand(at(), lane('i32'), true, predicate()),
    () => b.setOperand(at(), of('i32', uniform), false),
    () => b.setState('vcc', of('i64', uniform)),
    () => b.writeLane(at(), of('i32', uniform), of('i32', uniform)),
    () => b.fence(),
  ];
  for (let i = 0; i < size; i++) pick(steps)();
  const ends = [
    () => b.branch(of('i1', uniform)),
    () => b.jump(of('i64', uniform)),
    () => b.exit(pick(['end', 'barrier', 'gws-init'])),
  ];
  pick(ends)();
  return b.finish();
}
