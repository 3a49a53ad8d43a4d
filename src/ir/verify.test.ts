import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseProgram } from './text.ts';
import { problemsOf } from './verify.ts';

const product = (results: number): string => `v2:i32.lane = matrixProduct ${Array(2 + results)
  .fill('v0')
  .join(', ')} {
  i32: left 1, right 1, results ${results}, steps 1
  left results:${' 0'.repeat(results)}
  left lanes: 0 0 4 8 16 32
  left steps: 0
  right results:${' 0'.repeat(results)}
  right lanes: 1 2 0 0 0 0
  right steps: 0
}`;

const faults = (lines: string): string[] => problemsOf(parseProgram(`wave64\n${lines}`));

for (const [what, lines, ...expected] of [
  ['an operation of wrong types', 'v0:i64 = pc\nv1:i32 = i32.clz v0', 'v1: argument 0 has type i64, not i32'],
  ['a wrong result', 'v0:i32 = 1\nv1:i64 = i32.clz v0', 'v1: pure has type i32, not i64'],
  ['too few arguments', 'v0:i32 = 1\nv1:i32 = i32.add v0', 'v1: pure takes 2 arguments, not 1'],
  ['a constant that is too large', 'v0:i1 = 2', 'v0: 2 is no i1'],
  [
    'a uniform value of lanes',
    'v0:i32.lane = laneId\nv1:i32 = i32.clz v0',
    'v1: pure is one for each lane',
    'v1: a uniform value of what lanes have',
  ],
  ['a lane value of the wave', 'v0:i64.lane = pc', 'v0: pc is uniform'],
  ['an access of the wave to LDS', 'v0:i32 = 4\nv1:i32 = load.lds.4 v0', 'v1: load is one for each lane'],
  [
    'an index of lanes',
    'v0:i32.lane = laneId\nv1:i32 = readLane.op1[0] v0',
    'v1: argument 0 is one for each lane',
    'v1: a uniform value of what lanes have',
  ],
  [
    'a mask of a uniform register',
    'v0:i1 = scc\nv1:i32 = 1\nop0[0] = v1 if v0',
    'v2: a mask for op0[0], which is uniform',
  ],
  ['a state of another type', 'v0:i32 = 1\nscc = v0', 'v1: argument 0 has type i32, not uniform i1'],
  [
    'lanes that need all lanes',
    'v0:i1 = scc\nv1:i1 = i1.not v0\nv2:i64 = ballot v1\nv3:i1.lane = laneMask v2',
    'v3: a value of lanes that needs v2, which all lanes must have made',
  ],
  [
    'a dword that a load lacks',
    'v0:i32.lane = laneId\nv1:i32.lane = load.lds.4 v0\nv2:i32.lane = loaded.1 v1',
    'v2: result 1 of 1',
  ],
  ['a dword of no load', 'v0:i32.lane = laneId\nv1:i32.lane = loaded.1 v0', 'v1: a result of laneId, not of load'],
  ['a parameter', 'v0:i32 = param.0', 'v0: a parameter outside of an atomic'],
  [
    'two products',
    `v0:i32.lane = laneId\n${product(1)}\n${product(1).replace('v2', 'v3')}`,
    'v2: a second product of matrices, after v1',
  ],
  [
    'a product without its elements',
    `v0:i32.lane = laneId\n${product(2).replace('v0, ', '')}`,
    'v1: matrixProduct takes 4 arguments, not 3',
  ],
  [
    'an update of lanes and of other types',
    `v0:i32.lane = laneId\nv1:i32.lane = atomic.lds.4 v0, v0 {
       v0:i64 = param.1
       v1:i64 = clock
       return v1
     }`,
    'v1: update: v0: a parameter of an atomic on 4 bytes',
    'v1: update: v1: clock is no operation',
    'v1: update: the result has type i64, not i32',
  ],
] as const) {
  test(`finds ${what}`, () => {
    assert.deepEqual(faults(lines), expected);
  });
}

test('finds numbers out of order and foreign values', () => {
  const { values, waveSize } = parseProgram('wave64\nv0:i32 = 1\nv1:i32 = i32.clz v0');
  const [first, second] = values;
  assert.deepEqual(problemsOf({ values: [second!, first!], waveSize }), [
    'v0: its number is 1',
    'v0: an argument is not one of the values before',
    'v1: its number is 0',
  ]);
  assert.deepEqual(problemsOf({ values: [{ ...first! }, second!], waveSize }), [
    'v1: an argument is not one of the values before',
  ]);
});
