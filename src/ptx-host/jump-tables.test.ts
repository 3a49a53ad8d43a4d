/** Branches by number: `brx.idx` with its list of labels. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../base/errors.ts';
import { kernelText, outcomesOf, output, runOn, u32 } from './ptx-runs.test-support.ts';

/** Adds to %r4 what the label says; `%r3` chooses one. */
const switchOn = (guard = ''): string => `
  ts: .branchtargets one, two, two, three, done;
    ${guard} brx.idx %r3, ts;
    add.u32 %r4, %r4, 7;
    bra done;
  one:
    add.u32 %r4, %r4, 1;
    bra done;
  two:
    add.u32 %r4, %r4, 20;
  three:
    add.u32 %r4, %r4, 300;
  done:
    activemask.b32 %r5;
    popc.b32 %r5, %r5;
    shl.b32 %r5, %r5, 16;
    add.u32 %r4, %r4, %r5;`;

const SUMS = [1, 320, 320, 300, 0];

test('each lane goes to the label with its number, and all meet behind', async () => {
  const body = `mov.u32 %r4, 0; rem.u32 %r3, %gid, 5; ${switchOn()} st.global.u32 [%out], %r4;`;
  const found = await outcomesOf(body, { threads: 40 });
  const meeting = (i: number): number => (i < 32 ? 32 : 8) << 16;
  assert.deepEqual(
    found,
    Array.from({ length: 40 }, (_, i) => BigInt(SUMS[i % 5]! + meeting(i))),
  );
});

test('lanes whose guard is off go on; a number may be the same for all, or a constant', async () => {
  const odd = 'and.b32 %r6, %gid, 1; setp.eq.u32 %p1, %r6, 1;';
  const body = `${odd} mov.u32 %r4, 0; mov.u32 %r3, 3; ${switchOn('@%p1')} st.global.u32 [%out], %r4;`;
  const found = await outcomesOf(body, { threads: 32 });
  assert.deepEqual(
    found,
    Array.from({ length: 32 }, (_, i) => BigInt((i % 2 ? 300 : 7) + (32 << 16))),
  );
  const fixed = await outcomesOf(`mov.u32 %r4, 0; ${switchOn().replace('%r3', '1')} st.global.u32 [%out], %r4;`);
  assert.deepEqual(new Set(fixed), new Set([BigInt(320 + (32 << 16))]));
});

test('a loop with a table, as interpreters have', async () => {
  const body = `
    mov.u32 %r3, %gid;
    mov.u32 %r4, 0;
    mov.u32 %r5, 0;
  next:
    add.u32 %r5, %r5, 1;
    and.b32 %r6, %r3, 3;
    shr.u32 %r3, %r3, 2;
    { ts: .branchtargets end, add, twice, next;
      brx.idx.uni %r6, ts; }
  add:
    add.u32 %r4, %r4, 5;
    bra next;
  twice:
    shl.b32 %r4, %r4, 1;
    bra next;
  end:
    mad.lo.u32 %r4, %r5, 1000, %r4;
    st.global.u32 [%out], %r4;`;
  const found = await outcomesOf(body, { threads: 256, block: 64 });
  const model = (program: number): number => {
    let [left, sum, steps] = [program, 0, 0];
    for (; ; left >>= 2) {
      steps++;
      if ((left & 3) === 0) return steps * 1000 + sum;
      if ((left & 3) === 1) sum += 5;
      if ((left & 3) === 2) sum *= 2;
    }
  };
  assert.deepEqual(
    found,
    Array.from({ length: 256 }, (_, i) => BigInt(model(i))),
  );
});

test('a table of 200 labels', async () => {
  const names = Array.from({ length: 200 }, (_, i) => `l${i}`);
  const places = names.map((name, i) => `${name}: mov.u32 %r4, ${i * i}; bra done;`).join('\n');
  const body = `mad.lo.u32 %r3, %gid, 22, 1; ts: .branchtargets ${names.join(', ')}; brx.idx %r3, ts; ${places}
    done: st.global.u32 [%out], %r4;`;
  const found = await outcomesOf(body, { threads: 9 });
  assert.deepEqual(
    found,
    Array.from({ length: 9 }, (_, i) => BigInt((i * 22 + 1) ** 2)),
  );
});

test('what is no list of labels is refused with its line', async () => {
  for (const body of [
    'brx.idx %r3, %r4;',
    'brx.idx %r3;',
    'ts: .calltargets k; brx.idx %r3, ts;',
    'l: brx.idx %r3, l;',
  ]) {
    await assert.rejects(
      runOn(
        {},
        {
          texts: [{ text: kernelText(`\n${body}`), name: 'k.ptx' }],
          args: [output(8), output(8), u32(1)],
          grid: [1],
          workgroup: [1],
        },
      ),
      (error) => error instanceof WavewrightError && error.code === 'BAD_INPUT' && /k\.ptx:\d+/.test(error.message),
      body,
    );
  }
});
