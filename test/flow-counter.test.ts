/** Counts that are worked out from few counters are those of a counter at each instruction. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineTool, type ResultTable, type ToolCode } from '../src/instrument/index.ts';
import { blockCount } from '../src/tools/block-count.ts';
import { instructionCount } from '../src/tools/instruction-count.ts';
import { type KernelSource, PROCESSORS, runWithTool } from './tool-points.test-support.ts';

/** Each is a kernel; `EXEC` and the like stand for what masks are called on the target. */
const SOURCES: Readonly<Record<string, KernelSource>> = {
  'more counters than the offset of an instruction reaches': {
    body: `
  v_mov_b32_e32 v1, 1
  s_mov_b32 s4, 0x5a3c96f1
${Array.from({ length: 300 }, (_, i) => `  s_bitcmp1_b32 s4, ${i % 32}\n  s_cbranch_scc0 skip${i}\n  v_add_u32_e32 v1, 1, v1\nskip${i}:`).join('\n')}
  store
  end`,
  },
  'a loop whose turns end in two places': {
    body: `
  s_mov_b32 s4, 0
again:
  v_mov_b32_e32 v1, s4
  s_add_i32 s4, s4, 1
  s_cmp_lt_u32 s4, 4
  s_cbranch_scc1 again
  v_add_u32_e32 v1, 1, v1
  s_cmp_lt_u32 s4, 7
  s_cbranch_scc1 again
  store
  end`,
  },
  'lanes that leave a loop one after the other': {
    body: `
  v_and_b32_e32 v3, 7, v0
  v_mov_b32_e32 v1, 0
  s_mov_bMASK MASK(4), EXEC
again:
  v_cmp_lt_u32_e32 VCC, v1, v3
  s_and_bMASK EXEC, EXEC, VCC
  s_cbranch_execz done
  v_add_u32_e32 v1, 1, v1
  s_branch again
done:
  s_mov_bMASK EXEC, MASK(4)
  v_add_u32_e32 v1, 1, v1
  store
  end`,
  },
  'masks in masks, some without lanes': {
    body: `
  v_mov_b32_e32 v1, 1
  s_mov_b32 s12, 3
again:
  v_cmp_lt_u32_e32 VCC, s12, v0
  s_and_saveexec_bMASK MASK(4), VCC
  v_add_u32_e32 v1, 1, v1
  v_cmp_eq_u32_e32 VCC, 0, v0
  s_and_saveexec_bMASK MASK(6), VCC
  s_cbranch_execz inner
  v_add_u32_e32 v1, 3, v1
inner:
  v_add_u32_e32 v1, 5, v1
  s_or_bMASK EXEC, EXEC, MASK(6)
  v_add_u32_e32 v1, 7, v1
  s_mov_bMASK EXEC, MASK(4)
  s_sub_u32 s12, s12, 1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 again
  store
  end`,
  },
  'loops with the lanes of a mask, of none, and of all': {
    body: `
  v_mov_b32_e32 v1, 1
  v_cmp_lt_u32_e32 VCC, 20, v0
  s_and_saveexec_bMASK MASK(4), VCC
  s_cbranch_execz none
  s_mov_b32 s12, 3
some:
  v_add_u32_e32 v1, 1, v1
  s_sub_u32 s12, s12, 1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 some
none:
  s_mov_bMASK EXEC, 0
  s_mov_b32 s12, 4
empty:
  v_add_u32_e32 v1, 1, v1
  s_sub_u32 s12, s12, 1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 empty
  s_mov_bMASK EXEC, MASK(4)
  s_mov_b32 s12, 5
all:
  v_add_u32_e32 v1, 1, v1
  s_sub_u32 s12, s12, 1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 all
  store
  end`,
  },
  'lanes that are put back behind one part, behind both, and in two places': {
    body: `
  v_mov_b32_e32 v1, 1
  s_mov_b32 s12, 6
again:
  v_cmp_lt_u32_e32 VCC, s12, v0
  s_and_saveexec_bMASK MASK(4), VCC
  v_add_u32_e32 v1, 1, v1
  s_or_bMASK EXEC, EXEC, MASK(4)
  v_add_u32_e32 v1, 2, v1
  v_and_b32_e32 v3, s12, v0
  v_cmp_eq_u32_e32 VCC, 0, v3
  s_and_saveexec_bMASK MASK(4), VCC
  s_xor_bMASK MASK(4), EXEC, MASK(4)
  s_cbranch_execz other
  v_add_u32_e32 v1, 3, v1
other:
  s_or_saveexec_bMASK MASK(4), MASK(4)
  s_xor_bMASK EXEC, EXEC, MASK(4)
  s_cbranch_execz none
  v_add_u32_e32 v1, 5, v1
  s_bitcmp1_b32 s12, 1
  s_cbranch_scc1 none
  s_or_bMASK EXEC, EXEC, MASK(4)
  v_add_u32_e32 v1, 7, v1
  s_branch both
none:
  s_or_bMASK EXEC, EXEC, MASK(4)
  v_add_u32_e32 v1, 11, v1
both:
  s_sub_u32 s12, s12, 1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 again
  store
  end`,
  },
  'lanes that are put back at the end of a block, or in another': {
    body: `
  v_mov_b32_e32 v1, 1
  s_mov_b32 s12, 5
again:
  v_cmp_lt_u32_e32 VCC, s12, v0
  s_and_saveexec_bMASK MASK(4), VCC
  v_add_u32_e32 v1, 1, v1
  s_bitcmp1_b32 s12, 0
  s_cbranch_scc1 second
  v_add_u32_e32 v1, 5, v1
  s_or_bMASK EXEC, EXEC, MASK(4)
both:
  v_add_u32_e32 v1, 7, v1
  s_sub_u32 s12, s12, 1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 again
  s_branch out
second:
  s_or_bMASK EXEC, EXEC, MASK(4)
  v_add_u32_e32 v1, 3, v1
  s_branch both
out:
  store
  end`,
  },
  'masks of the turn before, and the same condition with other lanes': {
    body: `
  v_mov_b32_e32 v1, 1
  s_mov_b32 s12, 5
  s_mov_bMASK MASK(4), EXEC
  s_mov_bMASK MASK(8), EXEC
again:
  v_cmp_lt_u32_e32 VCC, s12, v0
  s_mov_bMASK EXEC, MASK(4)
  v_add_u32_e32 v1, 1, v1
  s_and_bMASK EXEC, MASK(8), VCC
  v_add_u32_e32 v1, 3, v1
  s_mov_bMASK MASK(4), EXEC
  s_mov_bMASK EXEC, MASK(8)
  v_add_u32_e32 v1, 5, v1
  s_sub_u32 s12, s12, 1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 again
  store
  end`,
  },
  'lanes that are put back in each turn of a loop, and behind it': {
    body: `
  v_mov_b32_e32 v1, 1
  s_mov_b32 s12, 5
  v_cmp_lt_u32_e32 VCC, 9, v0
  s_and_saveexec_bMASK MASK(4), VCC
again:
  v_add_u32_e32 v1, 1, v1
  s_mov_bMASK EXEC, MASK(4)
  v_add_u32_e32 v1, 3, v1
  v_cmp_lt_u32_e32 VCC, s12, v0
  s_and_bMASK EXEC, EXEC, VCC
  v_add_u32_e32 v1, 5, v1
  s_sub_u32 s12, s12, 1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 again
  s_or_bMASK EXEC, EXEC, MASK(4)
  store
  end`,
  },
  'a mask of which a part is another one, and lanes that are not put back in the last turn': {
    body: `
  v_mov_b32_e32 v1, 1
  s_mov_b32 s12, 4
again:
  v_cmp_lt_u32_e32 VCC, s12, v0
  s_and_saveexec_bMASK MASK(4), VCC
  v_add_u32_e32 v1, 1, v1
  s_mov_b32 s4, 0xf0f0ff
  s_mov_bMASK EXEC, MASK(4)
  v_add_u32_e32 v1, 3, v1
  v_cmp_lt_u32_e32 VCC, 3, v0
  s_and_saveexec_bMASK MASK(4), VCC
  v_add_u32_e32 v1, 5, v1
  s_cmp_eq_u32 s12, 1
  s_cbranch_scc1 out
  s_mov_bMASK EXEC, MASK(4)
  v_add_u32_e32 v1, 7, v1
  s_sub_u32 s12, s12, 1
  s_branch again
out:
  v_add_u32_e32 v1, 9, v1
  store
  end`,
  },
  'SCC that is needed everywhere': {
    body: `
  s_mov_b32 s4, 0
again:
  s_add_u32 s4, s4, 1
  s_cmp_lt_u32 s4, 5
  s_cbranch_scc1 more
  s_nop 1
  s_cbranch_scc0 out
more:
  v_mov_b32_e32 v1, s4
  s_cbranch_scc1 again
out:
  s_cselect_b32 s5, 7, 9
  v_mov_b32_e32 v1, s5
  store
  end`,
  },
  'a circle with two ways in': {
    body: `
  s_mov_b32 s4, 0
  v_mov_b32_e32 v1, 2
  s_cmp_eq_u32 s4, 0
  s_cbranch_scc1 second
first:
  v_add_u32_e32 v1, 1, v1
  s_add_u32 s4, s4, 1
second:
  v_add_u32_e32 v1, 2, v1
  s_add_u32 s4, s4, 2
  s_cmp_lt_u32 s4, 20
  s_cbranch_scc1 first
  store
  end`,
  },
  'a beginning that is branched to, and a function that ends waves': {
    body: `
  s_add_i32 s6, s6, 1
  s_cmp_eq_u32 s7, 77
  s_mov_b32 s7, 77
  s_cbranch_scc0 k
  v_mov_b32_e32 v1, 9
  s_mov_b32 s20, 0
  s_getpc_b64 s[10:11]
  s_add_u32 s10, s10, f@rel32@lo+4
  s_addc_u32 s11, s11, f@rel32@hi+12
turn:
  v_add_u32_e32 v1, 1, v1
  s_swappc_b64 s[30:31], s[10:11]
  v_add_u32_e32 v1, 1, v1
  s_branch turn`,
    more: `

.p2align 8
.type f,@function
f:
  s_add_i32 s20, s20, 1
  s_cmp_lt_u32 s20, 5
  s_cbranch_scc0 over
  v_mov_b32_e32 v1, s20
  s_setpc_b64 s[30:31]
over:
  store
  end`,
  },
  'functions that SCC and a place in a table choose': {
    body: `
  v_mov_b32_e32 v1, 0
  s_mov_b32 s20, 0
turn:
  s_getpc_b64 s[10:11]
  s_add_u32 s10, s10, f@rel32@lo+4
  s_addc_u32 s11, s11, f@rel32@hi+12
  s_getpc_b64 s[12:13]
  s_add_u32 s12, s12, g@rel32@lo+4
  s_addc_u32 s13, s13, g@rel32@hi+12
  s_cmp_lt_u32 s20, 2
  s_cselect_b32 s14, s10, s12
  s_cselect_b32 s15, s11, s13
  s_swappc_b64 s[30:31], s[14:15]
  s_getpc_b64 s[10:11]
  s_add_u32 s10, s10, table@rel32@lo+4
  s_addc_u32 s11, s11, table@rel32@hi+12
  s_and_b32 s12, s20, 1
  s_lshl_b32 s12, s12, 3
  s_add_u32 s10, s12, s10
  s_addc_u32 s11, 0, s11
  s_load_bTWO s[14:15], s[10:11], 0x0
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[14:15]
  s_add_u32 s20, s20, 1
  s_cmp_lt_u32 s20, 7
  s_cbranch_scc1 turn
  store
  end`,
    more: `
.p2align 8
.type f,@function
f:
  v_add_u32_e32 v1, 1, v1
  s_setpc_b64 s[30:31]
.p2align 8
.type g,@function
g:
  v_add_u32_e32 v1, 64, v1
  v_add_u32_e32 v1, 7, v1
  s_setpc_b64 s[30:31]
.section .data.rel.ro,"aw",@progbits
.p2align 3
table:
.quad f
.quad g
.text
`,
  },
};

/** For the target's waves. */
function sourceFor(processor: string, { body, more = '' }: KernelSource): KernelSource {
  const isNarrow = processor === 'gfx1100';
  const written = (text: string): string =>
    text
      .replace(/MASK\((\d+)\)/g, (_, first) => (isNarrow ? `s${first}` : `s[${first}:${Number(first) + 1}]`))
      .replaceAll('MASK', isNarrow ? '32' : '64')
      .replace(/\b(EXEC|VCC)\b/g, (_, name: string) => name.toLowerCase() + (isNarrow ? '_lo' : ''))
      .replaceAll('s_load_bTWO', isNarrow ? 's_load_b64' : 's_load_dwordx2')
      .replaceAll('v_add_u32', isNarrow ? 'v_add_nc_u32' : 'v_add_u32');
  return { body: written(body), more: written(more) };
}

const withLevel = (tool: typeof blockCount | typeof instructionCount, level: 'thread' | 'wave') =>
  defineTool({ ...tool, options: {}, attach: (code: ToolCode) => tool.attach(code, { level }) });

const instructionsOf = (tables: readonly ResultTable[]) => tables.find(({ name }) => name === 'instructions')!.rows;

for (const processor of PROCESSORS) {
  for (const [what, text] of Object.entries(SOURCES)) {
    test(`${processor}: ${what}`, () => {
      const source = sourceFor(processor, text);
      for (const level of ['thread', 'wave'] as const) {
        const each = runWithTool(processor, source, withLevel(instructionCount, level));
        const few = runWithTool(processor, source, withLevel(blockCount, level));
        const inMemory = withLevel(blockCount, level);
        const attach = (code: ToolCode) => inMemory.attach(withoutRegisters(code), {});
        const withMemory = runWithTool(processor, source, defineTool({ ...inMemory, attach }));
        for (const run of [few, withMemory]) {
          assert.deepEqual(instructionsOf(run.result.tables), instructionsOf(each.result.tables));
          assert.deepEqual(run.output, each.output);
          assert.deepEqual(run.coverage.refused, {});
        }
        const { summary } = few.result;
        const { served } = few.coverage;
        assert.ok(served.resident > 0 && withMemory.coverage.served.resident === 0);
        assert.ok(served.resident <= Number(summary.counters));
        assert.equal(summary['counters in registers'], summary.counters);
        assert.ok(Number(summary.counters) <= Number(withMemory.result.summary.counters) + 1);
        assert.equal(withMemory.result.summary['counters in registers'], 0);
      }
    });
  }
}

test('lanes that are put back need no counter: those before and those of the part tell them', () => {
  const part = `
  v_cmp_lt_u32_e32 VCC, 9, v0
  s_and_saveexec_bMASK MASK(4), VCC
  v_add_u32_e32 v1, 1, v1
  s_or_bMASK EXEC, EXEC, MASK(4)
  v_add_u32_e32 v1, 3, v1`;
  const countersOf = (parts: number): number => {
    const source = sourceFor('gfx90a', { body: `\n  v_mov_b32_e32 v1, 1${part.repeat(parts)}\n  store\n  end` });
    return Number(runWithTool('gfx90a', source, withLevel(blockCount, 'thread')).result.summary['counters']);
  };
  // One more for each part, beside the waves and the lanes of the whole.
  assert.deepEqual([1, 2, 5].map(countersOf), [3, 4, 7]);
});

/** The code as it is where kernels leave no registers. */
function withoutRegisters(code: ToolCode): ToolCode {
  return new Proxy(code, {
    get(target, name) {
      if (name === 'residentsOf') return () => undefined;
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
