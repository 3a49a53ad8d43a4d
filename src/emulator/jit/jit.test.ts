/**
 * The parts of the region compiler: folding, addresses, liveness. What whole programs compute is in
 * test/lockstep.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fromConstant } from '../../ir/folding.ts';
import type { Evaluated } from '../../ir/op.ts';
import { OPS } from '../../ir/ops.ts';
import { EmulatorRig } from '../emulator-rig.test-support.ts';
import { JitExecutor } from './jit-executor.ts';
import { addressParts } from './regions/address-parts.ts';
import { Graph } from './regions/graph.ts';
import type { Node } from './regions/node.ts';

/** What a node is when the rows hold these values. */
function evaluate(node: Node, rows: ReadonlyMap<number, number>): Evaluated {
  const { leaf } = node;
  if (leaf.kind === 'const') return fromConstant(leaf.value, node.type);
  if (leaf.kind === 'row') return rows.get(leaf.offset)!;
  assert.equal(leaf.kind, 'pure');
  const { op } = leaf as { op: keyof typeof OPS };
  const compute = OPS[op].evaluate as (...args: readonly Evaluated[]) => Evaluated;
  return compute(...node.args.map((arg) => evaluate(arg, rows)));
}

const row = (graph: Graph, offset: number): Node => graph.share({ kind: 'row', offset }, 'i32', true);

test('halves of shifted, added and multiplied pairs are what the 64-bit operation gives', () => {
  const word = fc.oneof(fc.integer(), fc.constantFrom(0, -1, 1, -0x80000000, 0x7fffffff));
  fc.assert(
    fc.property(word, word, word, word, fc.nat({ max: 63 }), (a, b, c, d, amount) => {
      const graph = new Graph(64);
      const rows = new Map([a, b, c, d].map((value, i) => [i, value]));
      const x = graph.op('i64.pack', row(graph, 0), row(graph, 1));
      const y = graph.op('i64.pack', row(graph, 2), row(graph, 3));
      const zext = (offset: number): Node => graph.op('i64.zext32', row(graph, offset));
      const by = graph.constant(BigInt(amount), 'i32');
      for (const wide of [
        graph.op('i64.add', x, y),
        graph.op('i64.shl', x, by),
        graph.op('i64.shrU', x, by),
        graph.op('i64.shrS', x, by),
        graph.op('i64.mul', zext(0), zext(2)),
        graph.op('i64.add', graph.op('i64.mul', zext(0), graph.constant(0xfffffffdn, 'i64')), y),
      ]) {
        const value = BigInt(evaluate(wide, rows));
        assert.equal(evaluate(graph.op('i64.low', wide), rows), Number(BigInt.asIntN(32, value)));
        assert.equal(evaluate(graph.op('i64.high', wide), rows), Number(BigInt.asIntN(32, value >> 32n)));
      }
    }),
  );
});

test('halves of other 64-bit values are taken from them', () => {
  const graph = new Graph(64);
  const converted = graph.op('f64.fromF32', row(graph, 0));
  const sum = graph.op('i64.add', converted, graph.op('i64.zext32', row(graph, 4)));
  const low = graph.op('i64.low', sum);
  assert.deepEqual([low.leaf, low.args], [{ kind: 'pure', op: 'i64.low' }, [sum]]);
});

test('what a region does not take is taken back', () => {
  const graph = new Graph(64);
  const kept = graph.op('i32.add', row(graph, 0), row(graph, 4));
  const { mark } = graph.journal;
  const lost = graph.op('i32.mul', kept, row(graph, 8));
  graph.journal.rollback(mark);
  assert.equal(graph.nodes.length, 3);
  assert.notEqual(graph.op('i32.mul', kept, row(graph, 8)), lost);
  assert.equal(graph.op('i32.add', row(graph, 0), row(graph, 4)), kept);
});

test('addresses that differ by a constant have the same base', () => {
  const graph = new Graph(64);
  const base = graph.op('i64.pack', row(graph, 0), row(graph, 256));
  const [near, far] = [16n, 4096n].map((n) =>
    addressParts(graph, graph.op('i64.add', base, graph.constant(n, 'i64')), true),
  );
  assert.equal(near!.low, row(graph, 0));
  assert.equal(near!.high, row(graph, 256));
  assert.deepEqual([near!.low, near!.offset, far!.low, far!.offset], [far!.low, 16, near!.low, 4096]);

  const scalar = graph.share({ kind: 'scalar', offset: 8 }, 'i64', false);
  const index = graph.op('i64.zext32', row(graph, 0));
  const parts = addressParts(
    graph,
    graph.op('i64.add', graph.op('i64.add', scalar, graph.constant(8n, 'i64')), index),
    true,
  );
  assert.equal(parts.offset, 8);
  assert.equal(parts.floor, graph.op('i64.low', scalar));
  assert.equal(parts.high, graph.op('i64.high', scalar));

  // What is the same for all lanes is no index: nothing is to be looked at lane by lane.
  const uniform = graph.op('i64.zext32', graph.share({ kind: 'scalar', offset: 24 }, 'i32', false));
  assert.equal(addressParts(graph, graph.op('i64.add', scalar, uniform), true).indexed, undefined);

  // A constant that could carry into permitted memory stays in the address.
  const large = graph.op('i64.add', base, graph.constant(0x20000n, 'i64'));
  assert.equal(addressParts(graph, large, true).offset, 0);
});

const LOOP = `
  s_mov_b32 s4, 3
.Lloop:
  v_add_u32 v1, 1, v1
  v_mov_b32 v2, v1
  s_sub_u32 s4, s4, 1
  s_cmp_lg_u32 s4, 0
  s_cbranch_scc1 .Lloop
  s_sleep 0
  v_lshlrev_b32 v0, 2, v0
  global_store_dword v0, v1, s[0:1]
  s_endpgm`;

function run(rig: EmulatorRig): { instructions: number; first: number } {
  rig.setDword(0, 0);
  const { fault, instructions } = rig.run(LOOP, { gridSize: [64 * 40, 1, 1] });
  assert.equal(fault?.message, undefined);
  return { instructions, first: rig.dword(0) };
}

for (const [name, compileThreshold] of [
  ['at once', 0],
  ['after a while', 20],
  ['never', 1e9],
] as const) {
  test(`compiled ${name}: the same result from the same number of instructions`, () => {
    using rig = new EmulatorRig({ compileThreshold });
    assert.ok(rig.emulator.executor(64) instanceof JitExecutor);
    assert.deepEqual(run(rig), { instructions: 40 * (1 + 3 * 5 + 4), first: 3 });
    rig.emulator.withdrawCode(0);
    assert.equal(run(rig).first, 3, 'after all code was forgotten');
  });
}
