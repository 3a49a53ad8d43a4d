import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import { AmdgpuStepReader } from '../../isa/amdgpu/step.ts';
import { assembleInstruction } from '../../isa/amdgpu/text/assembler/assemble.ts';
import { type CodeItem, Label } from './code-item.ts';
import { type LaidOutCode, layOutCode } from './lay-out.ts';
import { layoutCodeFor } from './layout-code.ts';

const PROCESSOR = 'gfx1100';
const code = layoutCodeFor(PROCESSOR);
const context = { target: targetFor(PROCESSOR), waveSize: 32 } as const;
const words = (text: string): readonly number[] => assembleInstruction(text, context).words;

const instruction = (text: string, more: Partial<Extract<CodeItem, { kind: 'instruction' }>> = {}): CodeItem => ({
  kind: 'instruction',
  words: words(text),
  ...more,
});
const branch = (
  text: string,
  target: Label | number,
  more: Partial<Extract<CodeItem, { kind: 'branch' }>> = {},
): CodeItem => ({
  ...{ kind: 'branch', words: words(`${text} 0`), target },
  ...more,
});
const label = (of: Label, origin?: number): CodeItem => ({
  kind: 'label',
  label: of,
  ...(origin !== undefined && { origin }),
});

const read = ({ bytes, address }: LaidOutCode, at: number) => {
  const step = new AmdgpuStepReader(PROCESSOR, 32, 0).step(new DataView(bytes.buffer), at - address);
  assert.ok(typeof step !== 'string', String(step));
  return step;
};

/** Where a branch goes in the end. */
function destination(laidOut: LaidOutCode, at: number): number {
  for (let [place, hops] = [at, 0]; ; hops++) {
    assert.ok(hops < 100, 'islands lead somewhere');
    const target = read(laidOut, place).target! + laidOut.address;
    const isIsland = target < laidOut.address + laidOut.bytes.length && laidOut.map.rowAt(target)?.kind === 'island';
    if (!isIsland) return target;
    place = target;
  }
}

test('branches lead to labels, to original addresses that moved, and to code that stayed', () => {
  const [start, end] = [new Label('start'), new Label('end')];
  const laidOut = layOutCode(
    [
      ...[label(start, 16), instruction('s_nop 0', { origin: 16 }), branch('s_cbranch_scc0', end, { origin: 20 })],
      ...[branch('s_branch', 16), branch('s_branch', 0x900), label(end), instruction('s_endpgm')],
    ],
    0x1000,
    code,
  );
  assert.deepEqual(
    [0x1004, 0x1008, 0x100c].map((at) => destination(laidOut, at)),
    [0x1010, 0x1000, 0x900],
  );
  assert.deepEqual(
    laidOut.map.rows.map(({ address, origin, kind }) => [address, origin, kind]),
    [
      [0x1000, 16, 'original'],
      [0x1004, 20, 'original'],
      ...[0x1008, 0x100c, 0x1010].map((address) => [address, undefined, 'filler']),
    ],
  );
});

test('literals: halves of symbols, and distances from labels', () => {
  const [base, there] = [new Label(), new Label()];
  const literal = (fixup: Extract<CodeItem, { kind: 'instruction' }>['fixup']) =>
    instruction('s_mov_b32 s0, 0x12345678', { ...(fixup && { fixup }) });
  const laidOut = layOutCode(
    [
      ...[label(base), literal({ kind: 'relative', half: 'low', from: base, target: there })],
      ...[literal({ kind: 'relative', half: 'high', from: base, target: 0x10 }), label(there)],
      literal({ kind: 'absolute', half: 'high', symbol: 'x', addend: 8 }),
    ],
    0x1000,
    code,
  );
  const view = new DataView(laidOut.bytes.buffer);
  assert.deepEqual([view.getUint32(4, true), view.getUint32(12, true)], [16, 0xffff_ffff]);
  assert.deepEqual(laidOut.relocations, [{ address: 0x1014, half: 'high', symbol: 'x', addend: 8 }]);
});

/** Straight code of so many bytes, with an end of the program in it where `everyBytes` says. */
function stretch(sizeBytes: number, everyBytes = Number.POSITIVE_INFINITY): CodeItem[] {
  return Array.from({ length: sizeBytes / 4 }, (_, i) =>
    i > 0 && i % (everyBytes / 4) === 0
      ? instruction('s_endpgm', { origin: 8, endsFlow: true })
      : instruction('s_nop 0', { origin: 8 }),
  );
}

for (const [name, everyBytes, isPassed] of [
  ['behind unconditional ends', 4096, false],
  ['in straight code, with a branch around them', Number.POSITIVE_INFINITY, true],
] as const) {
  test(`far branches go through islands ${name}`, () => {
    const [first, last] = [new Label('first'), new Label('last')];
    const items = [
      ...[label(first), branch('s_cbranch_scc1', last, { origin: 4 }), branch('s_cbranch_vccz', last, { origin: 5 })],
      ...[...stretch(1_000_000, everyBytes), branch('s_branch', first, { origin: 12, endsFlow: true }), label(last)],
      instruction('s_endpgm', { origin: 16, endsFlow: true }),
    ];
    const laidOut = layOutCode(items, 0, code);
    assert.equal(destination(laidOut, 0), laidOut.addressOf(last));
    assert.equal(destination(laidOut, 4), laidOut.addressOf(last));
    assert.equal(destination(laidOut, laidOut.map.newAddressOf(12)!), 0);
    assert.ok(laidOut.islandCount >= 16 && laidOut.islandCount < 40, String(laidOut.islandCount));
    // What runs on through straight code never runs into an island.
    const [size] = [laidOut.bytes.length];
    for (let at = 8, control = ''; at < size - 4; ) {
      const step = read(laidOut, at);
      assert.ok(control !== 'next' || laidOut.map.rowAt(at)?.kind !== 'island', 'islands are passed by');
      const jumps = step.control === 'branch' && laidOut.map.rowAt(at)?.kind === 'branch';
      assert.ok(!jumps || isPassed);
      control = step.control;
      at = jumps ? step.target! : at + step.sizeBytes;
    }
  });
}

for (const way of ['back', 'forth']) {
  for (const ends of [[40_000], [70_000], [40_000, 90_000], []]) {
    test(`a far branch ${way} comes to its target, with ends of the program behind ${ends.join(', ') || 'nothing'}`, () => {
      // Islands stand preferably where no branch around them is needed; none must lead to itself.
      const [first, last] = [new Label('first'), new Label('last')];
      const straight = stretch(600_000);
      for (const at of ends) straight[at] = instruction('s_endpgm', { origin: 8, endsFlow: true });
      const items = [label(first), branch('s_cbranch_scc1', last, { origin: 4 }), ...straight];
      items.push(branch('s_cbranch_scc1', first, { origin: 12 }), label(last), instruction('s_endpgm'));
      const laidOut = layOutCode(items, 0, code);
      const [from, to] = way === 'back' ? [laidOut.map.newAddressOf(12)!, first] : [0, last];
      assert.equal(destination(laidOut, from), laidOut.addressOf(to));
    });
  }
}

test('a thousand branches over half a million bytes: rounds are few', () => {
  const targets = Array.from({ length: 1000 }, (_, i) => new Label(String(i)));
  const items = [
    ...targets.map((target) => branch('s_cbranch_scc0', target)),
    ...stretch(500_000, 1024),
    ...targets.flatMap((target) => [label(target), instruction('s_endpgm', { endsFlow: true })]),
  ];
  const laidOut = layOutCode(items, 0, code);
  for (const [i, target] of targets.entries()) {
    let at = i * 4;
    for (let hops = 0; at !== laidOut.addressOf(target); hops++) {
      assert.ok(hops < 20);
      at = read(laidOut, at).target!;
    }
  }
});
