/**
 * Code that compilers seldom make computes the same when it stands elsewhere, with instructions between its
 * own and with a tool in it, and is counted as it is executed; where it cannot be, that is said.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../src/assembler/assemble-file.ts';
import { instrumentCodeObject } from '../src/instrument/instrument.ts';
import type { CodeItem } from '../src/instrument/layout/code-item.ts';
import { linkCodeObject } from '../src/linker/link.ts';
import { chooseTool } from '../src/tools/chosen-tool.ts';
import { ToolSession } from '../src/tools/tool-session.ts';
import { EXECUTORS, type ExecutorOptions, KernelRig } from './kernel-rig.test-support.ts';
import { ODD_CODE, type OddCode, sourceOf } from './odd-code.test-support.ts';

const RESULT_BYTES = 0x8000;
const S_NOP = 0xbf80_0000;
const NOP: readonly CodeItem[] = [{ kind: 'instruction', words: [S_NOP] }];

interface Run {
  readonly output: Buffer;
  /** By image address. */
  readonly counts: ReadonlyMap<number, { readonly waves: number; readonly lanes: number }>;
}

function run(
  { processor = 'gfx90a', kernels = ['main'] }: OddCode,
  bytes: Uint8Array,
  options: ExecutorOptions,
  session?: ToolSession,
): Run {
  using rig = new KernelRig({ processor, ...options }, bytes);
  session?.onLoaded(rig.runtime, rig.agent, rig.executable);
  const results = rig.allocate(RESULT_BYTES);
  for (const kernel of kernels) rig.run(kernel, results);
  session?.onFinished();
  const delta = rig.executable.loadedCodeObjects[0]!.loadDelta;
  const { pcCounts = new Map() } = rig.queue.statistics;
  return {
    output: Buffer.from(rig.runtime.view(results, RESULT_BYTES)),
    counts: new Map(Array.from(pcCounts, ([pc, count]) => [Number(pc - delta), count])),
  };
}

const runsOnce = (text: string): boolean =>
  !/^(v_|global_)/.test(text) || /^v_(readlane|writelane|readfirstlane)/.test(text);

for (const odd of ODD_CODE) {
  const { name, processor = 'gfx90a', kept, refused } = odd;
  const [isUnresolved, isPinned] = [odd.isUnresolved === true, odd.isPinned === true];
  const isWhole = odd.isWholeCounted ?? !(isUnresolved || kept);
  const made = () =>
    linkCodeObject([{ bytes: assembleFile(sourceOf(odd), { processor, file: 'odd.s' }), name: 'odd.o' }]);

  test(`${name}: it computes the same elsewhere`, () => {
    const bytes = made();
    const native = run(odd, bytes, { executor: 'reference' });
    assert.ok(native.output.some((byte) => byte !== 0));
    const moved = instrumentCodeObject(bytes);
    const filled = instrumentCodeObject(moved.bytes, {
      edit: () => ({ before: NOP, after: NOP, taken: NOP }),
    });
    assert.equal(moved.pinned.length > 0, isPinned);
    assert.equal(moved.kept.length > 0, kept !== undefined);
    for (const each of [moved, filled]) {
      for (const { reason } of each.kept) assert.match(reason, kept!);
      for (const executor of ['reference', 'T1, regions']) {
        assert.deepEqual(run(odd, each.bytes, EXECUTORS[executor]!).output, native.output, executor);
      }
    }
  });

  test(`${name}: instructions are counted as they are executed`, async () => {
    const bytes = made();
    const native = run(odd, bytes, { executor: 'reference', countsPcs: true });
    for (const executor of ['reference', 'T1, regions']) {
      const session = new ToolSession([await chooseTool('instruction-count')]);
      const image = session.instrument({ bytes, name: 'odd.co' });
      const { output } = run(odd, image.bytes, EXECUTORS[executor]!, session);
      assert.deepEqual(output, native.output, executor);
      const { result, coverage } = session.reports[0]!;
      const reasons = Object.keys(coverage.refused);
      assert.ok((kept ?? refused) || reasons.length === 0, reasons.join());
      assert.ok(
        reasons.every((reason) => kept?.test(reason) || refused?.test(reason)),
        reasons.join(),
      );
      assert.equal(coverage.unresolvedSites.length > 0, isUnresolved);
      assert.equal(coverage.pinned.length > 0, isPinned);
      if (refused) continue;
      const rows = result.tables.find((table) => table.name === 'instructions')!.rows;
      let [total, executed] = [0n, 0n];
      for (const [address, , , text, count] of rows) {
        const { waves, lanes } = native.counts.get(Number(address)) ?? { waves: 0, lanes: 0 };
        const expected = BigInt(runsOnce(`${text}`) ? waves : lanes);
        if (isWhole) assert.equal(count, expected, `${address} ${text}`);
        total += BigInt(`${count}`);
        executed += expected;
      }
      assert.equal(total === executed, isWhole);
      // All that was executed has a row.
      const known = new Set(rows.map(([address]) => Number(address)));
      assert.ok([...native.counts.keys()].every((address) => known.has(address)));
    }
  });
}

test('islands lead over code with hooks that is larger than a branch reaches', async () => {
  const odd = ODD_CODE.find(({ isFar }) => isFar)!;
  const bytes = linkCodeObject([{ bytes: assembleFile(sourceOf(odd), { processor: 'gfx90a' }), name: 'odd.o' }]);
  const many: CodeItem[] = new Array<CodeItem>(20).fill(NOP[0]!);
  const { islandCount, bytes: result } = instrumentCodeObject(bytes, { edit: () => ({ before: many }) });
  assert.ok(islandCount >= 4, String(islandCount));
  const executor = EXECUTORS['T1, regions']!;
  assert.deepEqual(run(odd, result, executor).output, run(odd, bytes, executor).output);
});
