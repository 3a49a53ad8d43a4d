/** Every place that a hook can stand at: what runs there, how often and in which order is counted by hand. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hookOf, type ToolCode, type ToolFunction } from '../src/instrument/index.ts';
import { type Attach, at, type KernelSource, PROCESSORS, runWithMarks } from './tool-points.test-support.ts';

/** Three times round; each round comes to `s_nop 2` and, but for the second one, to `s_nop 3`. */
const LOOP: KernelSource = {
  body: `
  v_mov_b32_e32 v1, 5
  s_mov_b32 s4, 0
again:
  s_nop 2
  s_cmp_eq_u32 s4, 1
  s_cbranch_scc1 skip
  s_nop 3
skip:
  s_add_i32 s4, s4, 1
  s_cmp_lt_u32 s4, 3
  s_cbranch_scc1 again
  s_nop 4
  store
  end`,
};

/**
 * The first instruction is branched to, once. A function is called twice, returns in two places, and goes
 * back to its first instruction when it is called again.
 */
const CALLS: KernelSource = {
  body: `
  s_add_i32 s6, s6, 1
  s_cmp_eq_u32 s7, 77
  s_mov_b32 s7, 77
  s_cbranch_scc0 k
  v_mov_b32_e32 v1, 9
  s_mov_b32 s5, 0
  s_mov_b32 s20, 0
  s_getpc_b64 s[10:11]
  s_add_u32 s10, s10, f@rel32@lo+4
  s_addc_u32 s11, s11, f@rel32@hi+12
  s_swappc_b64 s[30:31], s[10:11]
  s_mov_b32 s5, 1
  s_swappc_b64 s[30:31], s[10:11]
  s_nop 5
  store
  s_cmp_eq_u32 s5, 0
  s_cbranch_scc1 other
  s_nop 6
  end
other:
  s_nop 7
  end`,
  more: `

.p2align 8
.type f,@function
f:
  s_add_i32 s20, s20, 1
  s_cmp_eq_u32 s20, 2
  s_cbranch_scc1 f
  s_cmp_eq_u32 s5, 0
  s_cbranch_scc1 early
  s_nop 8
  s_setpc_b64 s[30:31]
early:
  s_nop 9
  s_setpc_b64 s[30:31]
.size f, .-f`,
};

const functionOf = ({ functions }: ToolCode, name: string): ToolFunction =>
  functions.find((each) => each.name === name)!;
interface Case {
  readonly name: string;
  readonly source: KernelSource;
  readonly attach: Attach;
  readonly letters: string;
}

const CASES: readonly Case[] = [
  {
    name: 'before an instruction, by hand and by branches',
    source: LOOP,
    attach: (code, mark) => code.before(at(code, 's_add_i32'), mark('a')),
    letters: 'aaa',
  },
  {
    name: 'after an instruction, and before the next one',
    source: LOOP,
    attach: (code, mark) => {
      code.before(at(code, 's_cmp_eq_u32'), mark('b'));
      code.after(at(code, 's_nop 2'), mark('a'));
    },
    letters: 'ababab',
  },
  {
    name: 'behind an instruction, not where a branch comes to the next one',
    source: LOOP,
    attach: (code, mark) => code.after(at(code, 's_nop 3'), mark('a')),
    letters: 'aa',
  },
  {
    name: 'both ways of branches',
    source: LOOP,
    attach: (code, mark) => {
      const [skip, again] = code.instructions.filter(({ step }) => step.control === 'conditional');
      code.after(skip!, mark('s'));
      code.whenTaken(skip!, mark('S'));
      code.after(again!, mark('r'));
      code.whenTaken(again!, mark('R'));
    },
    letters: 'sRSRsr',
  },
  {
    name: 'entries of blocks',
    source: LOOP,
    attach: (code, mark) => {
      for (const block of code.blocks) code.atBlockEntry(block, mark(`${block.index}`));
    },
    letters: '0123131234',
  },
  {
    name: 'edges between blocks',
    source: LOOP,
    attach: (code, mark) => {
      const [, head, middle, tail, end] = code.blocks;
      code.onEdge(head!, middle!, mark('m'));
      code.onEdge(head!, tail!, mark('t'));
      code.onEdge(middle!, tail!, mark('u'));
      code.onEdge(tail!, head!, mark('h'));
      code.onEdge(tail!, end!, mark('e'));
    },
    letters: 'muhthmue',
  },
  {
    name: 'ways back to the head of a loop',
    source: LOOP,
    attach: (code, mark) => {
      for (const loop of code.loops) code.atBackEdges(loop, mark('b'));
      code.before(at(code, 's_nop 2'), mark('h'));
    },
    letters: 'hbhbh',
  },
  {
    name: 'ways back from several places, with a branch and without',
    source: {
      body: `
  s_mov_b32 s4, 0
again:
  s_add_i32 s4, s4, 1
  s_cmp_eq_u32 s4, 1
  s_cbranch_scc1 again
  s_cmp_eq_u32 s4, 2
  s_cbranch_scc1 behind
  s_cmp_eq_u32 s4, 4
  s_cbranch_scc0 again
  s_branch out
behind:
  s_nop 2
  s_branch again
out:
  end`,
    },
    attach: (code, mark) => {
      for (const loop of code.loops) code.atBackEdges(loop, mark('b'));
      code.before(at(code, 's_add_i32'), mark('h'));
      code.before(at(code, 's_nop 2'), mark('n'));
    },
    letters: 'hbhnbhbh',
  },
  {
    name: 'a loop in a loop, each for itself',
    source: {
      body: `
  s_mov_b32 s4, 0
outer:
  s_mov_b32 s5, 0
inner:
  s_add_i32 s5, s5, 1
  s_cmp_lt_u32 s5, 3
  s_cbranch_scc1 inner
  s_add_i32 s4, s4, 1
  s_cmp_lt_u32 s4, 2
  s_cbranch_scc1 outer
  end`,
    },
    attach: (code, mark) => {
      assert.deepEqual(
        code.loops.map(({ depth }) => depth),
        [1, 2],
      );
      for (const loop of code.loops) code.atBackEdges(loop, mark(`${loop.depth}`));
    },
    letters: '22122',
  },
  {
    name: 'two branches to one target',
    source: {
      body: `
  s_mov_b32 s4, 0
again:
  s_cmp_eq_u32 s4, 0
  s_cbranch_scc1 both
  s_cmp_eq_u32 s4, 1
  s_cbranch_scc1 both
  s_nop 2
  end
both:
  s_add_i32 s4, s4, 1
  s_branch again`,
    },
    attach: (code, mark) => {
      const [first, second] = code.instructions.filter(({ step }) => step.control === 'conditional');
      code.whenTaken(first!, mark('1'));
      code.whenTaken(second!, mark('2'));
      code.whenTaken(at(code, 's_branch'), mark('b'));
      code.before(at(code, 's_add_i32'), mark('t'));
    },
    letters: '1tb2tb',
  },
  {
    name: 'the entry of a kernel, which is branched to',
    source: CALLS,
    attach: (code, mark) => {
      code.atEntry(functionOf(code, 'k'), mark('e'));
      code.before(at(code, 's_add_i32 s6'), mark('b'));
    },
    letters: 'ebb',
  },
  {
    name: 'entries and exits of functions',
    source: CALLS,
    attach: (code, mark) => {
      code.atEntry(functionOf(code, 'k'), mark('k'));
      code.atExit(functionOf(code, 'k'), mark('K'));
      code.atEntry(functionOf(code, 'f'), mark('f'));
      code.atExit(functionOf(code, 'f'), mark('F'));
      for (const n of [5, 6, 7, 8, 9]) code.before(at(code, `s_nop ${n}`), mark(`${n}`));
    },
    letters: 'kf9Ff8F56K',
  },
  {
    name: 'behind calls, when they come back',
    source: CALLS,
    attach: (code, mark) => {
      const calls = code.instructions.filter(({ step }) => step.control === 'call');
      code.before(calls[0]!, mark('('));
      code.after(calls[0]!, mark(')'));
      code.before(calls[1]!, mark('['));
      code.after(calls[1]!, mark(']'));
      code.atEntry(functionOf(code, 'f'), mark('f'));
      code.before(at(code, 's_add_i32 s20'), mark('b'));
    },
    letters: '(fb)[fbb]',
  },
  {
    name: 'several hooks at one point, in the order in which they were inserted',
    source: LOOP,
    attach: (code, mark) => {
      const end = code.instructions.filter(({ step }) => step.control === 'conditional').at(-1)!;
      for (const letter of 'abc') code.before(at(code, 's_nop 4'), mark(letter));
      for (const letter of 'xyz') code.after(end, mark(letter));
    },
    letters: 'xyzabc',
  },
];

for (const processor of PROCESSORS) {
  for (const { name, source, attach, letters } of CASES) {
    test(`${processor}: ${name}`, () => {
      const native = runWithMarks(processor, source, () => undefined);
      const run = runWithMarks(processor, source, attach);
      assert.deepEqual(run.coverage.refused, {});
      assert.equal(run.letters, letters);
      assert.deepEqual(run.output, native.output);
    });
  }
}

/** What each lane stores where something stands in place of instructions of a kernel. */
const rewritten = (processor: string, body: string, attach: (code: ToolCode) => void) => {
  const { output, coverage } = runWithMarks(processor, { body: `${body}\nstore\nend` }, attach);
  return { output: [...new Set(output)], refused: Object.keys(coverage.refused) };
};

/** Reads v1, and uses registers that it finds free in between. */
const busy = hookOf((b) => {
  const squares = b.multiply(b.laneId(), b.multiply(b.laneId(), b.laneId()));
  b.when(b.compare('eq', squares, b.constant(1234)), () => b.setVector(3, squares));
});

for (const processor of PROCESSORS) {
  test(`${processor}: without an instruction registers have what they had`, () => {
    // What v1 and s4 held is needed by nothing until the instructions are gone.
    const body =
      'v_mov_b32_e32 v1, 5\ns_mov_b32 s4, 6\ns_nop 2\nv_mov_b32_e32 v1, 7\ns_mov_b32 s4, 8\nv_add_u32_e32 v1, s4, v1';
    const text = processor === 'gfx1100' ? body.replace('v_add_u32', 'v_add_nc_u32') : body;
    const { output, refused } = rewritten(processor, text, (code) => {
      code.remove(at(code, 'v_mov_b32_e32 v1, 7'));
      code.remove(at(code, 's_mov_b32 s4, 8'));
      for (let i = 0; i < 4; i++) code.before(at(code, 's_nop 2'), busy);
    });
    assert.deepEqual([output, refused], [[11], []]);
  });

  test(`${processor}: an instruction gives way to a hook, between the hooks around it`, () => {
    const body = 'v_mov_b32_e32 v1, 5\nv_mov_b32_e32 v1, 7';
    const add = (amount: number) => hookOf((b) => b.setVector(1, b.binary('add', b.vector(1), b.constant(amount))));
    const { output, refused } = rewritten(processor, body, (code) => {
      const second = at(code, 'v_mov_b32_e32 v1, 7');
      code.replace(
        second,
        hookOf((b) => b.setVector(1, b.multiply(b.vector(1), b.constant(10)))),
      );
      code.before(second, add(1));
      code.after(second, add(2));
    });
    assert.deepEqual([output, refused], [[62], []]);
  });

  test(`${processor}: what others count on stays, and the account says why`, () => {
    const scalar = processor === 'gfx1100' ? 's_load_b32' : 's_load_dword';
    const body = `s_cmp_eq_u32 s4, s4
  s_cbranch_scc1 on
on:
  s_mov_b64 exec, -1
  s_mov_b32 m0, -1
  ${scalar} s20, s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_getpc_b64 s[20:21]
  v_mov_b32_e32 v1, 3`;
    const reasons = new Map([
      ['s_cmp_eq', 'others need what it leaves in SCC, VCC, EXEC or M0'],
      ['s_cbranch_scc1', 'it says where control goes on'],
      ['s_endpgm', 'it says where control goes on'],
      ['s_mov_b64 exec', 'others need what it leaves in SCC, VCC, EXEC or M0'],
      [`${scalar} s20`, 'waits behind it count its accesses'],
      ['s_getpc', 'others count from its address'],
    ]);
    for (const [text, why] of reasons) {
      for (const change of ['remove', 'replace'] as const) {
        const { output, refused } = rewritten(processor, body, (code) => {
          if (change === 'remove') code.remove(at(code, text));
          else
            code.replace(
              at(code, text),
              hookOf((b) => b.setScalar(20, b.constant(1))),
            );
        });
        assert.deepEqual([output, refused], [[3], [`an instruction is not taken out: ${why}`]], text);
      }
    }
    const wait = rewritten(processor, body, (code) =>
      code.remove(code.instructions.find(({ step }) => step.text().startsWith('s_waitcnt'))!),
    );
    assert.deepEqual(wait, {
      output: [3],
      refused: ['an instruction is not taken out: others need what it waits for'],
    });
  });
}
