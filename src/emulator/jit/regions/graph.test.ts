/** Values of 64 bits, as the dwords that they are made of. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OpName } from '../../../ir/ops.ts';
import { addressParts } from './address-parts.ts';
import { Graph } from './graph.ts';
import type { Node } from './node.ts';

class CountingGraph extends Graph {
  count = 0;

  override op(op: OpName, ...args: Node[]): Node {
    this.count++;
    return super.op(op, ...args);
  }
}

test('halves of a chain of sums cost as much as it is long', () => {
  const countOf = (length: number): number => {
    const graph = new CountingGraph(64);
    const row = (offset: number): Node => graph.share({ kind: 'row', offset }, 'i32', true);
    const wide = (i: number): Node => graph.op('i64.pack', row(512 * i), row(512 * i + 256));
    let sum = wide(0);
    for (let i = 1; i <= length; i++) sum = graph.op('i64.add', sum, wide(i));
    graph.op('i64.low', sum);
    graph.op('i64.high', sum);
    return graph.count;
  };
  const [few, many] = [countOf(4), countOf(8)];
  assert.ok(many < 3 * few, `${few} operations for 4 sums, ${many} for 8`);
});

test('words of addresses that lanes compute take few vector operations', () => {
  const graph = new Graph(64);
  const index = graph.share({ kind: 'row', offset: 0 }, 'i32', true);
  const base = graph.share({ kind: 'scalar', offset: 0 }, 'i64', false);
  const wide = graph.op('i64.shl', graph.op('i64.sext32', index), graph.constant(2n, 'i32'));
  const sum = graph.op('i64.add', wide, base);
  const namesOf = ({ lane, leaf, args }: Node): string =>
    !lane ? 'wave' : leaf.kind === 'pure' ? `${leaf.op}(${args.map(namesOf).join(', ')})` : leaf.kind;
  const low = 'i32.add(i32.shl(row, wave), wave)';
  assert.equal(namesOf(graph.op('i64.low', sum)), low);
  const carry = `i1.toMask(i32.ltS(${low}, wave))`;
  assert.equal(namesOf(graph.op('i64.high', sum)), `i32.sub(i32.add(i32.shrS(row, wave), wave), ${carry})`);
  const [first, last] = [graph.op('i64.low', sum), graph.op('i64.high', sum)];
  const { indexed } = addressParts(graph, graph.op('i64.pack', first, last), true);
  assert.deepEqual(
    { ...indexed, index: indexed?.index.id },
    {
      baseLow: graph.op('i64.low', base),
      baseHigh: graph.op('i64.high', base),
      ...{ index: index.id, shift: 2, isSigned: true, summands: [] },
    },
  );
});
