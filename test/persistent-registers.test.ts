/** Kernels keep addresses of tools' variables in registers that nothing else has, where there are any. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCodeObject } from '../src/codeobject/code-object.ts';
import { defineTool, hookOf, instrumentImage } from '../src/instrument/index.ts';
import { chooseTool } from '../src/tools/chosen-tool.ts';
import { imageOf, KernelRig, kernelText } from './kernel-rig.test-support.ts';

const [GROUPS, LANES] = [12, 64];

/** Each lane of `name` stores what a register had before a call and what `shared` makes of it. */
const caller = (name: string, register: number): string =>
  kernelText(
    name,
    ` s_load_dwordx2 s[6:7], s[0:1], 0x0
 s_mov_b32 s${register}, s4
 s_getpc_b64 s[10:11]
 s_add_u32 s10, s10, shared@rel32@lo+4
 s_addc_u32 s11, s11, shared@rel32@hi+12
 s_swappc_b64 s[30:31], s[10:11]
 v_add_u32 v1, s${register}, v1
 s_lshl_b32 s5, s4, 6
 v_add_lshl_u32 v2, v0, s5, 2
 s_waitcnt lgkmcnt(0)
 global_store_dword v2, v1, s[6:7]
 s_endpgm`,
  ).replace('next_free_sgpr 64', 'next_free_sgpr 102');

const SHARED = `.text
.globl shared
.hidden shared
.type shared,@function
shared:
 v_lshlrev_b32 v1, 4, v0
 v_add_u32 v1, 5, v1
 s_setpc_b64 s[30:31]
.size shared, .-shared
`;

async function instrumented(bytes: Uint8Array) {
  const chosen = await Promise.all(['instruction-count', 'instruction-count'].map(chooseTool));
  const instructions = { begin: 0, end: Number.POSITIVE_INFINITY };
  const uses = chosen.map(({ tool, values }) => ({ tool, values, kernels: /./, instructions }));
  return instrumentImage({ name: 'kernels.co', bytes }, uses);
}

/** What a kernel stores, and what the variables hold then. */
function run(bytes: Uint8Array, name: string, symbols: readonly string[] = []) {
  using rig = new KernelRig({ executor: 'reference' }, bytes);
  const output = rig.allocate(4 * GROUPS * LANES);
  rig.run(name, output);
  const stored = rig.view(output, 4 * GROUPS * LANES);
  return {
    stored: Array.from({ length: GROUPS * LANES }, (_, i) => stored.getUint32(4 * i, true)),
    first: symbols.map((symbol) => rig.view(rig.address(symbol), 8).getBigUint64(0, true)),
  };
}

/** Literals that the loader fills in. */
const addressCount = (bytes: Uint8Array): number => parseCodeObject(bytes, 'kernels.co').elf.dynamicRelocations.length;

for (const [registers, isKept] of [
  [[8, 60], true],
  [[8, 97], false],
] as const) {
  const what = isKept ? 'find the address in one place' : 'have literals where a kernel leaves few registers';
  test(`kernels that share a function ${what}`, async () => {
    const bytes = imageOf(SHARED, ...registers.map((register, i) => caller(`kernel${i}`, register)));
    const { bytes: changed, coverage, reports, variables } = await instrumented(bytes);
    const symbols = variables.flat().map(({ symbol }) => symbol);
    assert.deepEqual(coverage.refused, {});
    assert.equal(reports.length, 2);
    const perPoint = addressCount(changed) / coverage.requested;
    if (isKept) assert.equal(addressCount(changed), 2 * 2 * registers.length);
    else assert.equal(perPoint, 2);
    for (const [i] of registers.entries()) {
      const found = run(changed, `kernel${i}`, symbols);
      assert.deepEqual(found.stored, run(bytes, `kernel${i}`).stored);
      // The first counter is that of the first instruction of the function.
      assert.deepEqual(found.first, [768n, 768n]);
    }
  });
}

test('what a kernel begins with is there for hooks, though the kernel does not look at it', () => {
  const tool = defineTool({
    name: 'workgroups',
    summary: 'sums of the positions of workgroups, in three variables',
    options: {},
    attach(code) {
      for (const name of ['a', 'b', 'c']) {
        const sums = code.counters(name, 1);
        const add = hookOf((b) => b.atomic('add', b.variable(sums.symbol), b.pack(b.scalar(4), b.constant(0))));
        for (const kernel of code.kernels) code.atEntry(kernel, add);
      }
      return () => ({ summary: {}, tables: [] });
    },
  });
  const bytes = imageOf(kernelText('idle', ' s_nop 0\n s_endpgm'));
  const use = { tool, values: {}, kernels: /./, instructions: { begin: 0, end: Number.POSITIVE_INFINITY } };
  const changed = instrumentImage({ name: 'kernels.co', bytes }, [use]);
  assert.deepEqual(changed.coverage.refused, {});
  const symbols = changed.variables.flat().map(({ symbol }) => symbol);
  assert.deepEqual(run(changed.bytes, 'idle', symbols).first, [66n, 66n, 66n]);
});
