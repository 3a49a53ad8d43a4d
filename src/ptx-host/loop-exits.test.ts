/** Loops that lanes leave in the middle, each in an iteration of its own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_WAYS, kernelText, numbers, outcomesOf, output, runOn, u32, WAYS } from './ptx-runs.test-support.ts';

/** Adds the number of the thread until the sum is 100 or more, at most `%r9` times; `%r10` counts. */
const loopOf = (rest: string): string => `
  ld.param.u32 %r9, [n];
  mov.u32 %r10, 0;
  mov.u32 %r11, 0;
again:
  add.u32 %r11, %r11, %r2;
  setp.ge.u32 %p1, %r11, 100;
  @%p1 bra left;
${rest}
  add.u32 %r10, %r10, 1;
  setp.lt.u32 %p2, %r10, %r9;
  @%p2 bra again;
left:
  mad.lo.u32 %r10, %r11, 1000, %r10;
  cvt.u64.u32 %rd2, %r10;
  st.global.u64 [%out], %rd2;`;

const REST: Readonly<Record<string, string>> = {
  'nothing in between': '',
  'an addition that some do': `
  and.b32 %r12, %r2, 1;
  setp.eq.u32 %p3, %r12, 0;
  @%p3 bra even;
  add.u32 %r11, %r11, 2;
even:`,
  'a second way out': '  setp.eq.u32 %p3, %r11, 60;\n  @%p3 bra left;',
  'a look at what others do': '  atom.global.add.u32 %r12, [count], 1;',
};

function expected(name: string, thread: number, most: number): number {
  let [sum, count] = [0, 0];
  do {
    sum += thread;
    if (sum >= 100 || (name === 'a second way out' && sum === 60)) break;
    if (name === 'an addition that some do' && thread % 2 === 1) sum += 2;
    count++;
  } while (count < most);
  return sum * 1000 + count;
}

for (const [name, rest] of Object.entries(REST)) {
  test(`lanes leave a loop in the middle, with ${name}`, async () => {
    for (const most of [1, 7, 200]) {
      assert.deepEqual(
        await outcomesOf(loopOf(rest), { declarations: '.global .u32 count;', n: most, block: 32, ways: ALL_WAYS }),
        numbers(64, (i) => expected(name, i % 32, most)),
        `${most}`,
      );
    }
  });
}

test('a loop that lanes leave in the middle runs chunk by chunk', async () => {
  const texts = [{ text: kernelText(loopOf('')), name: 'k.ptx' }];
  const args = [output(256), output(256), u32(500)];
  const { statistics } = await runOn(WAYS['T2']!, { texts, grid: [32], workgroup: [32], args });
  assert.ok(statistics.tiers.loops > 1000, `${statistics.tiers.loops} instructions`);
});
