/**
 * Kernels that share functions with one that leaves no registers count in their own, where it does not come.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCodeObject } from '../src/codeobject/code-object.ts';
import { instrumentImage, type ResultTable } from '../src/instrument/index.ts';
import { liftCodeObject } from '../src/lift/lifted-code.ts';
import { type ChosenTool, chooseTool } from '../src/tools/chosen-tool.ts';
import { imageOf, KernelRig, kernelText } from './kernel-rig.test-support.ts';

const OUTPUT_BYTES = 4 * 12 * 64;

const goTo = (name: string, how: 's_swappc_b64 s[30:31],' | 's_setpc_b64'): string => ` s_getpc_b64 s[10:11]
 s_add_u32 s10, s10, ${name}@rel32@lo+4
 s_addc_u32 s11, s11, ${name}@rel32@hi+12
 ${how} s[10:11]`;

/** Adds s[register] to v1 in each turn of a loop that calls functions; `end` ends its waves. */
const kernel = (name: string, callees: readonly string[], register: number, end: string): string =>
  kernelText(
    name,
    ` s_load_dwordx2 s[6:7], s[0:1], 0x0
 s_mov_b32 s${register}, s4
 v_mov_b32_e32 v1, v0
 s_mov_b32 s12, 3
${name}_again:
${callees.map((callee) => goTo(callee, 's_swappc_b64 s[30:31],')).join('\n')}
 v_add_u32_e32 v1, s${register}, v1
 s_sub_u32 s12, s12, 1
 s_cmp_lg_u32 s12, 0
 s_cbranch_scc1 ${name}_again
 s_lshl_b32 s5, s4, 6
 v_add_lshl_u32 v2, v0, s5, 2
 s_waitcnt lgkmcnt(0)
 global_store_dword v2, v1, s[6:7]
${end}`,
  ).replace('next_free_sgpr 64', 'next_free_sgpr 102');

/** Adds in some lanes. */
const callee = (name: string, mask: number): string => `.text
.type ${name},@function
${name}:
 v_and_b32_e32 v2, ${mask}, v0
 v_cmp_eq_u32_e32 vcc, 0, v2
 s_and_saveexec_b64 s[14:15], vcc
 s_cbranch_execz ${name}_none
 v_add_u32_e32 v1, 5, v1
${name}_none:
 s_or_b64 exec, exec, s[14:15]
 s_setpc_b64 s[30:31]
.size ${name}, .-${name}
`;

const ENDING = `.text
.type ending,@function
ending:
 s_nop 1
 s_cbranch_execz ending_more
 s_nop 2
ending_more:
 s_endpgm
.size ending, .-ending
`;

/** `few` and `also` have a function for themselves; `all` leaves no scalar register. */
const imageWith = (endOf: (kernel: string) => string): Uint8Array =>
  imageOf(
    kernel('few', ['pair', 'common'], 16, endOf('few')),
    kernel('also', ['pair', 'common'], 17, endOf('also')),
    kernel('all', ['common'], 101, endOf('all')),
    ...[callee('pair', 1), callee('common', 3), ENDING],
  );

const KERNELS = ['few', 'also', 'all'];

/** What each kernel stores. */
function outputs(rig: KernelRig): readonly (readonly number[])[] {
  return KERNELS.map((name) => {
    const output = rig.allocate(OUTPUT_BYTES);
    rig.run(name, output);
    const view = rig.view(output, OUTPUT_BYTES);
    return Array.from({ length: OUTPUT_BYTES / 4 }, (_, i) => view.getUint32(4 * i, true));
  });
}

function counted(bytes: Uint8Array, use: ChosenTool) {
  const made = instrumentImage({ name: 'kernels.co', bytes }, [use]);
  using rig = new KernelRig({ executor: 'handlers' }, made.bytes);
  const stored = outputs(rig);
  const read = (symbol: string, sizeBytes: number): Uint8Array => {
    const { buffer, byteOffset } = rig.view(rig.address(symbol), sizeBytes);
    return new Uint8Array(buffer, byteOffset, sizeBytes);
  };
  const { tables, summary } = made.reports[0]!({ memory: { read, write: () => assert.fail() }, launches: [] });
  const rows = (tables as readonly ResultTable[]).find(({ name }) => name === 'instructions')!.rows;
  return { made, stored, rows, summary };
}

const sgprsOf = (bytes: Uint8Array, name: string): number => {
  const code = liftCodeObject(parseCodeObject(bytes, 'kernels.co'));
  return code.codeObject.kernels.find((each) => each.name === name)!.metadata?.sgprCount ?? 0;
};

for (const [what, endOf, share] of [
  ['each in its own end', () => ' s_endpgm', 'some'],
  ['two in an end of theirs', (name: string) => (name === 'all' ? ' s_endpgm' : goTo('ending', 's_setpc_b64')), 'some'],
  ['all in one end', () => goTo('ending', 's_setpc_b64'), 'none'],
] as const) {
  test(`what kernels have for themselves is counted in registers: waves end ${what}`, async () => {
    const bytes = imageWith(endOf);
    using rig = new KernelRig({ executor: 'handlers' }, bytes);
    const native = outputs(rig);
    for (const level of ['thread', 'wave']) {
      const each = counted(bytes, await chooseTool(`instruction-count:level=${level}`));
      const few = counted(bytes, await chooseTool(`block-count:level=${level}`));
      assert.deepEqual(few.stored, native);
      assert.deepEqual(few.made.coverage.refused, {});
      assert.deepEqual(few.rows, each.rows);
      assert.equal(few.made.coverage.served.resident > 0, share === 'some');
      assert.ok(Number(few.summary['counters in registers']) < Number(few.summary['counters']));
      // Numbers that only one of them uses are in nobody's way.
      assert.equal(sgprsOf(few.made.bytes, 'all'), sgprsOf(bytes, 'all'));
    }
  });
}
