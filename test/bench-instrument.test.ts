/** What `bench/instrument.ts` measures: its checks hold for all variants, and find what is wrong. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measure } from '../bench/instrument/measure.ts';
import { report } from '../bench/instrument/report.ts';
import { type Rewritten, VARIANTS, type Variant } from '../bench/instrument/variants.ts';
import { exampleWorkloads, type Workload } from '../bench/instrument/workloads.ts';
import { instrumentCodeObject } from '../src/instrument/instrument.ts';
import type { ToolReport } from '../src/tools/tool-session.ts';

const workload = (name: string, processor: string): Workload =>
  exampleWorkloads(processor).find((each) => each.name === name)!;

for (const [name, processor] of [
  ['histogram', 'gfx90a'],
  ['gather', 'gfx1100'],
  ['collatz', 'gfx942'],
] as const) {
  test(`${name} on ${processor}: all variants compute the same and count what is executed`, async () => {
    const measured = await measure(workload(name, processor));
    assert.deepEqual(measured.failures, []);
    const of = (variant: string) => measured.variants.find((each) => each.variant === variant)!;
    assert.equal(of('empty payload').instructions, of('relayout').instructions);
    assert.ok(of('preamble').instructions > measured.native.instructions);
    const count = of('instruction-count:level=thread');
    assert.ok(count.perPoint.median > 0 && count.perPoint.median <= 10);
    for (const { variant, coverage } of measured.variants) {
      if (!coverage) continue;
      assert.deepEqual(coverage.refused, {}, variant);
      assert.equal(coverage.served.envelope, variant.endsWith(' called') ? coverage.requested : 0, variant);
    }
    assert.ok(of('full save').ratio - 1 >= 5 * (count.ratio - 1), 'dead registers save four fifths of the cost');
    assert.match(report([measured]), new RegExp(`\\| ${name} \\| ${processor} \\|`));
  });
}

test('counts and addresses that are wrong are found, in each table', async () => {
  const own = workload('vadd', 'gfx90a');
  const chosen = VARIANTS.filter(({ name }) => /level=wave|opcode|block-count|memory-trace/.test(name));
  const broken = chosen.map(
    ({ name, rewrite }): Variant => ({ name, rewrite: async (each) => spoiled(await rewrite(each)) }),
  );
  const { failures } = await measure(own, broken);
  for (const { name } of chosen)
    assert.ok(
      failures.some((each) => each.startsWith(`vadd gfx90a, ${name}: `)),
      name,
    );
});

/** Counts once more, or traces one access less. */
function spoiled(rewritten: Rewritten | undefined): Rewritten | undefined {
  const spoil = ({ result, ...report }: ToolReport): ToolReport => {
    const tables = result.tables.map((table) => {
      const [first, ...others] = table.rows;
      const rows = first ? [[...first.slice(0, -1), BigInt(first.at(-1)!) + 1n], ...others] : [];
      return { ...table, rows };
    });
    const files = result.files?.map(({ name, bytes }) => ({ name, bytes: bytes.subarray(0, bytes.length - 16) }));
    return { ...report, result: { ...result, tables, ...(files && { files }) } };
  };
  return (
    rewritten && {
      ...rewritten,
      get reports() {
        return rewritten.reports?.map(spoil) ?? [];
      },
    }
  );
}

test('an instruction that is left out is found', async () => {
  const own = workload('vadd', 'gfx90a');
  const broken: Variant = {
    name: 'broken',
    rewrite: async ({ image }) => ({
      bytes: instrumentCodeObject(image.bytes, {
        edit: ({ instruction }) => (instruction.name.startsWith('global_store') ? { instead: [] } : undefined),
      }).bytes,
    }),
  };
  const { failures } = await measure(own, [broken]);
  assert.match(failures[0]!, /^vadd gfx90a, broken: the output is another one/);
  assert.match(failures[1]!, /is executed 0 times, natively 16$/);
});
