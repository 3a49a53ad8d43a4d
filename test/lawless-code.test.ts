/**
 * Hand-written code that keeps no calling convention, with tools in it: it computes the same, each
 * instruction is counted as it runs or refused with the reason, registers that are said to be dead may hold
 * anything, and nothing is used before it has arrived. Each case runs on one target, which `WAVEWRIGHT_SEED`
 * changes, with one tool; `WAVEWRIGHT_SCALE=full` takes all targets, and more tools.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../src/assembler/assemble-file.ts';
import { parseCodeObject } from '../src/codeobject/code-object.ts';
import type { PcCount } from '../src/device/statistics.ts';
import type { MissedWait } from '../src/emulator/reference/wait-check.ts';
import { liftCodeObject } from '../src/lift/lifted-code.ts';
import { linkCodeObject } from '../src/linker/link.ts';
import { chooseTool } from '../src/tools/chosen-tool.ts';
import { ToolSession } from '../src/tools/tool-session.ts';
import { type ExecutorOptions, KernelRig } from './kernel-rig.test-support.ts';
import { LAWLESS_CODE, LAWLESS_TARGETS, type LawlessCode, lawlessSource } from './lawless-code.test-support.ts';
import { RegisterPoison } from './register-poison.ts';
import { IS_FULL_SCALE, SEED } from './scale.ts';
import { isVector } from './tool-runs.test-support.ts';

const RESULT_BYTES = 0x1000;
const TOOLS = [
  'instruction-count',
  ...(IS_FULL_SCALE ? ['block-count', 'memory-trace', 'opcode-histogram:level=wave'] : []),
];

interface Run {
  readonly output: Buffer;
  /** By image address. */
  readonly counts: ReadonlyMap<number, PcCount>;
}

function run(
  { kernels = ['main'] }: LawlessCode,
  bytes: Uint8Array,
  options: ExecutorOptions,
  { loaded, session }: { readonly loaded?: (delta: number) => void; readonly session?: ToolSession } = {},
): Run {
  using rig = new KernelRig({ executor: 'reference', ...options }, bytes);
  const delta = rig.executable.loadedCodeObjects[0]!.loadDelta;
  loaded?.(Number(BigInt.asUintN(32, delta)));
  session?.onLoaded(rig.runtime, rig.agent, rig.executable);
  const results = rig.allocate(RESULT_BYTES);
  for (const kernel of kernels) rig.run(kernel, results);
  session?.onFinished();
  const { pcCounts = new Map() } = rig.queue.statistics;
  return {
    output: Buffer.from(rig.runtime.view(results, RESULT_BYTES)),
    counts: new Map(Array.from(pcCounts, ([pc, each]) => [Number(pc - delta), each])),
  };
}

/** What the code computes when what it is said not to need is overwritten. */
function poisonedOutput(code: LawlessCode, bytes: Uint8Array, processor: string): Buffer {
  const lifted = liftCodeObject(parseCodeObject(bytes, 'k.co'));
  let delta = 0;
  const poison = new RegisterPoison(
    (offset) => {
      const step = lifted.stepAt(offset - delta);
      return step && lifted.functionOf(step)?.liveBefore(step);
    },
    { seed: SEED },
  );
  const loaded = (by: number): void => {
    delta = by;
  };
  return run(code, bytes, { processor, observer: poison }, { loaded }).output;
}

function missedWaits(code: LawlessCode, bytes: Uint8Array, processor: string): readonly string[] {
  const found: MissedWait[] = [];
  run(code, bytes, { processor, checkWaits: {}, onMissedWait: (each) => found.push(each) });
  return found.map((each) => JSON.stringify(each, (_, value) => (typeof value === 'bigint' ? `${value}` : value)));
}

function assertCounts({ refused, isUnresolved = false }: LawlessCode, session: ToolSession, native: Run): void {
  const [{ coverage, result } = assert.fail('no report')] = session.reports;
  const reasons = Object.keys(coverage.refused);
  assert.deepEqual(
    reasons.filter((reason) => !refused?.test(reason)),
    [],
  );
  assert.equal(coverage.unresolvedSites.length > 0, isUnresolved, 'unresolved sites');
  const rows = result.tables.find(({ name }) => name === 'instructions')!.rows;
  for (const [address, , , text, found] of rows) {
    const { waves, lanes } = native.counts.get(Number(address)) ?? { waves: 0, lanes: 0 };
    const expected = BigInt(isVector(text!) ? lanes : waves);
    assert.ok(BigInt(`${found}`) <= expected, `${address} ${text}: ${found} of ${expected}`);
    if (!(isUnresolved || refused)) assert.equal(found, expected, `${address} ${text}`);
  }
}

for (const [i, code] of LAWLESS_CODE.entries()) {
  const targets = LAWLESS_TARGETS.filter((each) => code.targets?.test(each) ?? true);
  for (const processor of IS_FULL_SCALE ? targets : [targets[(i + SEED) % targets.length]!]) {
    test(`${processor}: ${code.name}`, async () => {
      const object = assembleFile(lawlessSource(code, processor), { processor, file: 'k.s' });
      const bytes = linkCodeObject([{ bytes: object, name: 'k.o' }]);
      const native = run(code, bytes, { processor, countsPcs: true });
      assert.ok(native.output.some((byte) => byte !== 0));
      assert.deepEqual(poisonedOutput(code, bytes, processor), native.output, 'with poison');
      assert.deepEqual(missedWaits(code, bytes, processor), []);
      for (const tool of TOOLS) {
        const session = new ToolSession([await chooseTool(tool)]);
        const { bytes: rewritten } = session.instrument({ bytes, name: 'k.co' });
        const { output } = run(code, rewritten, { processor }, { session });
        assert.deepEqual(output, native.output, tool);
        if (tool === 'instruction-count') assertCounts(code, session, native);
        assert.deepEqual(poisonedOutput(code, rewritten, processor), native.output, `${tool} with poison`);
        assert.deepEqual(missedWaits(code, rewritten, processor), [], tool);
      }
    });
  }
}
