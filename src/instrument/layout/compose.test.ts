/** What runs where control comes from outside. What else becomes of code: test/examples.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepBlocks } from '../../flow/steps.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import { AmdgpuStepReader } from '../../isa/amdgpu/step.ts';
import { assembleInstruction } from '../../isa/amdgpu/text/assembler/assemble.ts';
import type { CodeItem } from './code-item.ts';
import { type CodeEntry, compose } from './compose.ts';
import { type LaidOutCode, layOutCode } from './lay-out.ts';
import { layoutCodeFor } from './layout-code.ts';

const PROCESSOR = 'gfx90a';
const context = { target: targetFor(PROCESSOR), waveSize: 64 } as const;
const words = (text: string): readonly number[] => assembleInstruction(text, context).words;
const OUTSIDE: CodeItem = { kind: 'instruction', words: words('s_nop 7') };

/** As many times as a stub has no room for. */
const many = (count: number): CodeItem[] => new Array<CodeItem>(count).fill(OUTSIDE);

const entry = (address: number, hasSecondEntry = false): CodeEntry => ({ address, alignmentBytes: 4, hasSecondEntry });

interface Composed {
  readonly laidOut: LaidOutCode;
  /** Where control from outside comes to an original address. */
  readonly entryOf: (address: number) => number;
}

/** Lays out code that stands at 0; `outside`: what runs from outside, by address. */
function composed(
  texts: readonly string[],
  entries: readonly CodeEntry[],
  outside: Record<number, CodeItem[]>,
): Composed {
  const view = new DataView(Uint32Array.from(texts.flatMap(words)).buffer);
  const reader = new AmdgpuStepReader(PROCESSOR, 64, 0);
  const read = (offset: number) => (offset < view.byteLength ? reader.step(view, offset) : undefined);
  const { items, entryLabels } = compose({
    blocks: stepBlocks(
      read,
      entries.map(({ address }) => address),
    ),
    ...{ entries, code: layoutCodeFor(PROCESSOR), pcUse: () => undefined },
    edit: ({ offset }) => (outside[offset] ? { entry: outside[offset] } : undefined),
  });
  const laidOut = layOutCode(items, 0x1000, layoutCodeFor(PROCESSOR));
  return { laidOut, entryOf: (address) => laidOut.addressOf(entryLabels.get(address)!) };
}

/** Runs from an address as long as control is known: the texts without branches. */
function run({ laidOut }: Composed, from: number, max = 100): string[] {
  const reader = new AmdgpuStepReader(PROCESSOR, 64, 0);
  const said: string[] = [];
  for (let at = from - 0x1000; said.length < max; ) {
    const step = reader.step(new DataView(laidOut.bytes.buffer), at);
    assert.ok(typeof step !== 'string', String(step));
    if (step.control === 'branch') at = step.target!;
    else {
      said.push(step.text());
      if (step.control === 'end') return said;
      at += step.sizeBytes;
    }
  }
  return said;
}

test('a branch back to an entry, and code that runs into it, do not come from outside', () => {
  const texts = ['s_nop 0', 's_nop 1', 's_cbranch_scc0 65534', 's_endpgm'];
  const made = composed(texts, [entry(0), entry(4)], { 4: [OUTSIDE] });
  const rest = ['s_nop 1', 's_cbranch_scc0 65534', 's_endpgm'];
  assert.deepEqual(run(made, made.entryOf(4)), ['s_nop 7', ...rest]);
  assert.deepEqual(run(made, made.entryOf(0)), ['s_nop 0', ...rest]);
  const branch = made.entryOf(4) + 8 - 0x1000;
  const step = new AmdgpuStepReader(PROCESSOR, 64, 0).step(new DataView(made.laidOut.bytes.buffer), branch);
  assert.ok(typeof step !== 'string');
  assert.equal(step.target! + 0x1000, made.entryOf(4) + 4);
});

test('where code ends without an end, so it does elsewhere', () => {
  const { laidOut } = composed(['s_nop 0', 's_nop 1'], [entry(0)], {});
  const stop = new DataView(laidOut.bytes.buffer).getUint32(8, true);
  assert.deepEqual([laidOut.bytes.length, stop], [12, layoutCodeFor(PROCESSOR).stop]);
  assert.deepEqual(laidOut.map.rows.at(-1), { address: 0x1008, sizeBytes: 4, origin: 4, kind: 'branch' });
});

for (const count of [0, 1, 63, 64, 200]) {
  test(`two entries 256 bytes apart, each with ${count} instructions for who comes from outside`, () => {
    const texts = [...new Array<string>(64).fill('s_nop 2'), 's_nop 3', 's_endpgm'];
    const made = composed(texts, [entry(0, true), entry(256)], { 0: many(count), 256: many(count) });
    const nops = new Array<string>(count).fill('s_nop 7');
    const first = made.entryOf(0);
    assert.deepEqual(run(made, first, 1000), [
      ...nops,
      ...new Array<string>(64).fill('s_nop 2'),
      's_nop 3',
      's_endpgm',
    ]);
    assert.deepEqual(run(made, first + 256, 1000), [...nops, 's_nop 3', 's_endpgm']);
  });
}
