import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CounterHooks } from './counter-payloads.ts';

test('what counts the same in the same registers has one code, everything else its own', () => {
  const hooks = new CounterHooks();
  const each = () => [
    hooks.scalar({ first: 8, dwords: 1 }, 'waves'),
    hooks.scalar({ first: 10, dwords: 1 }, 'waves'),
    hooks.scalar({ first: 8, dwords: 2 }, 'waves'),
    hooks.scalar({ first: 8, dwords: 2 }, 'lanes'),
    hooks.inLane({ row: 8, lane: 1, dwords: 2 }, 'waves', 4),
    hooks.inLane({ row: 9, lane: 1, dwords: 2 }, 'waves', 4),
    hooks.inLane({ row: 8, lane: 2, dwords: 2 }, 'waves', 4),
    hooks.inLane({ row: 8, lane: 1, dwords: 1 }, 'waves', 4),
    hooks.inLane({ row: 8, lane: 1, dwords: 2 }, 'lanes', 4),
    hooks.inLane({ row: 8, lane: 1, dwords: 2 }, 'waves', 6),
    hooks.inAllLanes(8, 1),
    hooks.inAllLanes(8, 2),
    hooks.inAllLanes(10, 1),
  ];
  const codes = each().flatMap((hook) => hook.codes);
  assert.equal(new Set(codes).size, codes.length);
  assert.deepEqual(
    each().flatMap((hook) => hook.codes),
    codes,
  );
});
