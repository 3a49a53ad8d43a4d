/**
 * Random graphs of blocks as PTX, with any edges: loops within loops and those that are entered at several
 * places. The threads of a warp go their own ways, and have to compute what each of them would alone.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomesOf } from '../src/ptx-host/ptx-runs.test-support.ts';
import { Random } from './fuzz/random.ts';

const THREADS = 32;
/** Blocks that a thread goes through in a graph. */
const FUEL = 60;
const FACTOR = 0x9e3779b1;

interface Block {
  readonly addend: number;
  /** Bits of the state from here on say to which of the targets, one, two or four of them, a thread goes. */
  readonly shift: number;
  readonly targets: readonly number[];
  /** It calls a function with the state. */
  readonly calls: boolean;
}

type Graph = readonly Block[];

function graphOf(random: Random, hasCalls: boolean): Graph {
  const size = random.between(2, 9);
  return Array.from({ length: size }, () => ({
    addend: random.next(),
    shift: random.between(20, 30),
    targets: Array.from({ length: random.pick([1, 2, 2, 4]) }, () => random.below(size)),
    calls: hasCalls && random.chance(40),
  }));
}

const TWIST = `
.func (.reg .b32 to) twist(.reg .b32 from) {
  .reg .b32 %left;
  .reg .pred %q;
  and.b32 %left, from, 3;
  setp.eq.u32 %q, %left, 3;
  @!%q bra again;
  mov.u32 to, 77;
  ret;
again:
  mad.lo.u32 from, from, 5, 1;
  sub.u32 %left, %left, 1;
  setp.ge.s32 %q, %left, 0;
  @%q bra again;
  mov.u32 to, from;
  ret;
}`;

/** What the function makes of a state. */
function twisted(state: number): number {
  const rounds = state & 3;
  if (rounds === 3) return 77;
  let found = state;
  for (let round = 0; round <= rounds; round++) found = (Math.imul(found, 5) + 1) >>> 0;
  return found;
}

/** What becomes of a thread's state in a graph. */
function stateBehind(graph: Graph, start: number): number {
  let state = start;
  for (let [at, fuel] = [0, FUEL]; fuel > 0; fuel--) {
    const { addend, shift, targets, calls } = graph[at]!;
    state = (Math.imul(state, FACTOR) + addend) >>> 0;
    if (calls) state = twisted(state);
    at = targets[(state >>> shift) & (targets.length - 1)]!;
  }
  return state;
}

/** The state is in `%r10`. `work`: what blocks do besides. */
function graphText(graph: Graph, name: string, work: string): string {
  const blocks = graph.map(({ addend, shift, targets, calls }, number) => {
    const labels = targets.map((target) => `${name}_${target}`);
    const choice = `shr.u32 %r13, %r10, ${shift}; and.b32 %r13, %r13, ${targets.length - 1};`;
    const ways: Readonly<Record<number, string>> = {
      2: `${choice} setp.eq.u32 %p3, %r13, 1;\n  @%p3 bra ${labels[1]};`,
      4: `${choice}\n  list_${name}_${number}: .branchtargets ${labels.join(', ')};\n  brx.idx %r13, list_${name}_${number};`,
    };
    return `${name}_${number}:
  mad.lo.u32 %r10, %r10, ${FACTOR}, ${addend};
  ${calls ? 'call (%r10), twist, (%r10);' : ''}
  ${work}
  sub.u32 %r11, %r11, 1; setp.eq.u32 %p2, %r11, 0;
  @%p2 bra ${name}_end;
  ${ways[targets.length] ?? ''}
  ${targets.length === 4 ? '' : `bra ${labels[0]};`}`;
  });
  return `  mov.u32 %r11, ${FUEL};\n${blocks.join('\n')}\n${name}_end:`;
}

const graphsOf = (seed: number, count: number, hasCalls = false): readonly Graph[] => {
  const random = new Random(seed);
  return Array.from({ length: count }, () => graphOf(random, hasCalls));
};

async function statesOf(body: string, declarations = ''): Promise<number[]> {
  const text = `  mov.u32 %r10, %gid;\n${body}\n  cvt.u64.u32 %rd5, %r10;\n  st.global.u64 [%out], %rd5;`;
  return (await outcomesOf(text, { threads: THREADS, declarations })).map(Number);
}

const expectedStates = (behind: (state: number) => number): number[] =>
  Array.from({ length: THREADS }, (_, thread) => behind(thread));

test('threads go through any graph of blocks as if they were alone, and meet behind it', async () => {
  const graphs = graphsOf(1, 10);
  const meet = 'activemask.b32 %r12;\n  popc.b32 %r12, %r12;\n  add.u32 %r10, %r10, %r12;';
  const found = await statesOf(graphs.map((graph, i) => `${graphText(graph, `g${i}`, '')}\n  ${meet}`).join('\n'));
  assert.deepEqual(
    found,
    expectedStates((state) => graphs.reduce((at, graph) => (stateBehind(graph, at) + THREADS) >>> 0, state)),
  );
});

test('so do threads that take turns on the way', async () => {
  const graphs = graphsOf(2, 10);
  const look = 'ld.volatile.global.u32 %r14, [%in];';
  const found = await statesOf(graphs.map((graph, i) => graphText(graph, `g${i}`, look)).join('\n'));
  assert.deepEqual(
    found,
    expectedStates((state) => graphs.reduce((at, graph) => stateBehind(graph, at), state)),
  );
});

test('so do threads that call a function on the way, in which they part', async () => {
  const graphs = graphsOf(3, 4, true);
  const found = await statesOf(graphs.map((graph, i) => graphText(graph, `g${i}`, '')).join('\n'), TWIST);
  assert.deepEqual(
    found,
    expectedStates((state) => graphs.reduce((at, graph) => stateBehind(graph, at), state)),
  );
});

test('loops at whose begin threads join, left by each at its time and by all together', async () => {
  const found = await statesOf(`
  and.b32 %r11, %gid, 1;
  setp.eq.u32 %p1, %r11, 0;
  mov.u32 %r12, 0;
  mov.u32 %r13, 0;
  @%p1 bra own;
  add.u32 %r10, %r10, 3;
own:
  add.u32 %r12, %r12, 256;
  and.b32 %r14, %r10, 2;
  setp.eq.u32 %p2, %r14, 0;
  @%p2 bra meet;
  add.u32 %r10, %r10, 5;
meet:
  add.u32 %r10, %r10, 1;
  setp.lt.u32 %p3, %r10, 40;
  @%p3 bra own;
  add.u32 %r10, %r10, %r12;
  @!%p1 bra common;
  add.u32 %r10, %r10, 7;
common:
  and.b32 %r14, %r10, 4;
  setp.eq.u32 %p2, %r14, 0;
  @%p2 bra again;
  mad.lo.u32 %r10, %r10, 3, %r13;
again:
  add.u32 %r10, %r10, 1;
  add.u32 %r13, %r13, 1;
  setp.lt.u32 %p4, %r13, 5;
  @%p4 bra common;`);
  assert.deepEqual(
    found,
    expectedStates((thread) => {
      let state = thread % 2 === 0 ? thread : thread + 3;
      let rounds = 0;
      do {
        rounds++;
        if (state & 2) state += 5;
        state++;
      } while (state < 40);
      state += 256 * rounds + (thread % 2 === 0 ? 7 : 0);
      for (let round = 0; round < 5; round++) {
        if (state & 4) state = state * 3 + round;
        state++;
      }
      return state;
    }),
  );
});
