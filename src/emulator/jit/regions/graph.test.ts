/** Values of 64 bits, as the dwords that they are made of. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OpName } from '../../../ir/ops.ts';
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
