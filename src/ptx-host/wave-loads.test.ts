/** Loads whose address is the same for all lanes, which the wave makes once: not where no lane makes them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { numbers, outcomesOf } from './ptx-runs.test-support.ts';

/** `%rd9` is an address of nothing, the same for all lanes. */
const NOWHERE = 'ld.param.u32 %r9, [n]; mul.wide.u32 %rd9, %r9, 0;';

test('a load under a guard that is off in all lanes is none', async () => {
  for (const [guard, off] of [
    ['setp.gt.u32 %p1, %gid, 1000;', '@%p1'],
    ['setp.le.u32 %p1, %gid, 1000;', '@!%p1'],
    ['setp.eq.u32 %p1, %r9, 7;', '@%p1'],
  ] as const) {
    const body = `${NOWHERE} ${guard} mov.u32 %r5, 7; ${off} ld.global.u32 %r5, [%rd9+16]; st.global.u32 [%out], %r5;`;
    const found = await outcomesOf(body);
    assert.deepEqual(
      found,
      numbers(64, () => 7),
      guard,
    );
  }
});

test('a load under a guard that is on in one lane is made for that', async () => {
  const found = await outcomesOf(
    `ld.param.u64 %rd9, [in];
    setp.eq.u32 %p1, %gid, 5;
    mov.u64 %rd5, 1;
    @%p1 ld.global.u64 %rd5, [%rd9+8];
    st.global.u64 [%out], %rd5;`,
    { input: [3n, 4n] },
  );
  assert.deepEqual(
    found,
    numbers(64, (i) => (i === 5 ? 4 : 1)),
  );
});

test('lanes that have all left a loop load nothing in what is left of it', async () => {
  const found = await outcomesOf(
    `${NOWHERE}
    and.b32 %r10, %gid, 0;
    mov.u32 %r3, 0;
    mov.u32 %r5, 9;
  next:
    setp.ge.u32 %p1, %r3, %r10;
    @%p1 bra out;
    ld.global.u32 %r4, [%rd9];
    add.u32 %r5, %r5, %r4;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 1000;
    @%p2 bra next;
  out:
    st.global.u32 [%out], %r5;`,
  );
  assert.deepEqual(
    found,
    numbers(64, () => 9),
  );
});
