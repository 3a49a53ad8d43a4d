/** What compiling takes grows with the text, whatever shape its branches have. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compilePtx } from './module.ts';

const kernel = (body: string): string => `.version 7.8\n.target sm_70\n.address_size 64
.visible .entry k(.param .u64 out) {
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<3>;
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %tid.x;
${body}
  end: st.global.u32 [%rd0], %r1;
  ret;
}`;

const lines = (count: number, of: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => of(i)).join('\n');

/** Kernels by the number of their branches. */
const SHAPES: Readonly<Record<string, (branches: number) => string>> = {
  'ways out': (n) => lines(n, (i) => `setp.eq.u32 %p1, %r0, ${i}; @%p1 bra end; add.u32 %r1, %r1, %r0;`),
  'ways back': (n) => `head: ${lines(n, (i) => `setp.eq.u32 %p1, %r0, ${i}; @%p1 bra head; add.u32 %r1, %r1, 1;`)}`,
  'loops in loops': (n) =>
    `${lines(n, (i) => `h${i}: add.u32 %r1, %r1, 1;`)} ${lines(n, (i) => `setp.eq.u32 %p1, %r1, ${i}; @%p1 bra h${n - 1 - i};`)}`,
  'ways past each other': (n) =>
    `${lines(n, (i) => `setp.eq.u32 %p1, %r0, ${i}; @%p1 bra l${i}; add.u32 %r1, %r1, 1;`)} ${lines(n, (i) => `l${i}: add.u32 %r1, %r1, %r0;`)}`,
};

test('16 times the branches take no more than 60 times as long', () => {
  const usedMs = (branches: number, of: (branches: number) => string): number => {
    const text = kernel(of(branches));
    const { user } = process.cpuUsage();
    compilePtx(text, 'k.ptx');
    return (process.cpuUsage().user - user) / 1000;
  };
  for (const [name, of] of Object.entries(SHAPES)) {
    usedMs(250, of);
    const few = Math.max(2, usedMs(250, of));
    const many = usedMs(4000, of);
    assert.ok(many < 60 * few, `${name}: ${few} ms and ${many} ms`);
  }
});
