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

test('new code says what it is, and whose', () => {
  const end = new Label('end');
  const laidOut = layOutCode(
    [
      ...[instruction('s_nop 0', { point: 16 }), instruction('s_nop 1', { origin: 16 }), instruction('s_nop 2')],
      ...[branch('s_branch', end, { point: 20, keepsWay: true }), branch('s_cbranch_scc0', end, { point: 24 })],
      ...[{ kind: 'align', sizeBytes: 32 } as const, label(end), instruction('s_endpgm', { origin: 28 })],
    ],
    0,
    code,
  );
  assert.deepEqual(
    laidOut.map.rows.map(({ sizeBytes, kind, origin }) => [sizeBytes, kind, origin]),
    [
      ...[
        [4, 'payload', 16],
        [4, 'original', 16],
        [4, 'filler', undefined],
      ],
      ...[
        [4, 'branch', 20],
        [4, 'payload', 24],
        [12, 'filler', undefined],
        [4, 'original', 28],
      ],
    ],
  );
  const passed = over(stretch(140_000)).map.rows.filter(({ kind }) => kind === 'branch');
  assert.deepEqual(
    passed.map(({ origin }) => origin),
    [8],
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
  const end = instruction('s_endpgm', { origin: 8, endsFlow: true });
  const straight = instruction('s_nop 0', { origin: 8 });
  return Array.from({ length: sizeBytes / 4 }, (_, i) => (i > 0 && i % (everyBytes / 4) === 0 ? end : straight));
}

for (const [name, everyBytes, isPassed] of [
  ['behind unconditional ends', 4096, false],
  ['in straight code, with a branch around them', Number.POSITIVE_INFINITY, true],
] as const) {
  test(`far branches go through islands ${name}`, () => {
    const [first, last] = [new Label('first'), new Label('last')];
    const items = [
      ...[label(first), branch('s_cbranch_scc1', last, { origin: 4 }), branch('s_cbranch_vccz', last, { origin: 5 })],
      ...[...stretch(500_000, everyBytes), branch('s_branch', first, { origin: 12, endsFlow: true }), label(last)],
      instruction('s_endpgm', { origin: 16, endsFlow: true }),
    ];
    const laidOut = layOutCode(items, 0, code);
    assert.equal(destination(laidOut, 0), laidOut.addressOf(last));
    assert.equal(destination(laidOut, 4), laidOut.addressOf(last));
    assert.equal(destination(laidOut, laidOut.map.newAddressOf(12)!), 0);
    assert.ok(laidOut.islandCount >= 8 && laidOut.islandCount <= 10, String(laidOut.islandCount));
    // What runs on through straight code never runs into an island.
    const [size] = [laidOut.bytes.length];
    for (let at = 8, control = ''; at < size - 4; ) {
      const step = read(laidOut, at);
      const kind = laidOut.map.rowAt(at)?.kind;
      assert.ok(control !== 'next' || kind !== 'island', 'islands are passed by');
      const jumps = step.control === 'branch' && kind === 'branch';
      assert.ok(!jumps || isPassed);
      control = jumps ? 'next' : step.control;
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

/** Lays out a branch over items. */
function over(items: readonly CodeItem[], more: Partial<Extract<CodeItem, { kind: 'branch' }>> = {}): LaidOutCode {
  const far = new Label('far');
  const first = branch('s_cbranch_scc1', far, { origin: 4, ...more });
  return layOutCode([first, ...items, label(far), instruction('s_endpgm', { endsFlow: true })], 0, code);
}

const rowsOf = ({ map }: LaidOutCode, kind: string) => map.rows.filter((row) => row.kind === kind);

test('no island stands between an instruction that reads the address behind it and the label of this one', () => {
  const getpc = instruction('s_getpc_b64 s[0:1]');
  const sums = ['s_add_u32 s0, s0, 0x12345678', 's_addc_u32 s1, s1, 0x12345678'].map((text) => instruction(text));
  // One of these shifts has an island's place there.
  for (const shift of [0, 1, 2, 3, 4]) {
    const reads = Array.from({ length: 8000 }, (_, i) => ({ origin: 1000 + i, base: new Label('base') }));
    const laidOut = over([
      ...stretch(shift * 4),
      ...reads.flatMap(({ origin, base }) => [{ ...getpc, origin }, label(base), ...sums]),
    ]);
    assert.ok(rowsOf(laidOut, 'branch').length > 0, 'islands are passed by');
    for (const { origin, base } of reads) {
      assert.equal(laidOut.addressOf(base), laidOut.map.newAddressOf(origin)! + 4);
    }
  }
});

for (const [size, count] of [
  [3, 15_000],
  [100, 500],
  [5000, 10],
] as const) {
  test(`no island stands among ${size} instructions that are glued together`, () => {
    const nop = instruction('s_nop 0');
    const group = Array.from({ length: size }, (_, origin) => ({ ...nop, origin, isGlued: origin < size - 1 }));
    const laidOut = over(new Array<CodeItem[]>(count).fill(group).flat());
    assert.ok(laidOut.islandCount > 0);
    let behind = size - 1;
    for (const { kind, origin } of laidOut.map.rows.slice(1)) {
      if (kind === 'original') assert.equal(origin, (behind + 1) % size);
      else assert.equal(behind, size - 1, kind);
      if (origin !== undefined && kind === 'original') behind = origin;
    }
  });
}

test('instructions that are glued together for longer than a branch reaches are refused', () => {
  const glued = instruction('s_nop 0', { isGlued: true });
  assert.throws(() => over(new Array<CodeItem>(40_000).fill(glued)), { code: 'UNSUPPORTED', message: /no place/ });
});

test('islands stand where no branch around them is needed, though a place nearer to the target would do', () => {
  const straight = stretch(180_000);
  straight[15_000] = instruction('s_endpgm', { origin: 8, endsFlow: true });
  const laidOut = over(straight);
  assert.deepEqual(
    rowsOf(laidOut, 'island').map(({ address }) => address),
    [60_008],
  );
  assert.deepEqual(rowsOf(laidOut, 'branch'), []);
});

test('branches to one target share its islands, those to another have their own', () => {
  const [one, other] = [new Label('one'), new Label('other')];
  const targets = [one, other, one, one, other];
  const laidOut = layOutCode(
    [
      ...targets.map((target, i) => branch('s_cbranch_scc1', target, { origin: i })),
      ...[...stretch(200_000), label(one), instruction('s_nop 1')],
      ...[label(other), instruction('s_endpgm', { endsFlow: true })],
    ],
    0,
    code,
  );
  assert.equal(laidOut.islandCount, 2);
  for (const [i, target] of targets.entries()) assert.equal(destination(laidOut, i * 4), laidOut.addressOf(target));
});

test('an island belongs to the instruction whose branch first needed it, or that such a branch serves', () => {
  const pointsOf = (more: Partial<Extract<CodeItem, { kind: 'branch' }>>) =>
    rowsOf(over(stretch(300_000), more), 'island').map(({ origin }) => origin);
  assert.deepEqual(pointsOf({ origin: 40 }), [40, 40]);
  const far = new Label('far');
  const keeps = branch('s_branch', far, { point: 44, keepsWay: true });
  const laidOut = layOutCode([keeps, ...stretch(300_000), label(far), instruction('s_endpgm')], 0, code);
  assert.deepEqual(
    rowsOf(laidOut, 'island').map(({ origin }) => origin),
    [44, 44],
  );
});

test('control from outside comes to what is said to be outside, branches to the place itself', () => {
  const [inside, outside, base] = [new Label('inside'), new Label('outside'), new Label('base')];
  const address = instruction('s_add_u32 s0, s0, 0x12345678', {
    fixup: { kind: 'relative', half: 'low', from: base, target: { origin: 16 } },
  });
  const literalOf = (items: readonly CodeItem[]): number => {
    const laidOut = layOutCode([label(base), address, branch('s_cbranch_scc1', 16), ...items], 0x1000, code);
    assert.equal(destination(laidOut, 0x1008), laidOut.addressOf(inside));
    return new DataView(laidOut.bytes.buffer).getUint32(4, true);
  };
  const [place, end] = [label(inside, 16), instruction('s_endpgm')];
  assert.equal(literalOf([place, end]), 12);
  const entry: CodeItem = { kind: 'label', label: outside, outsideOf: 16 };
  assert.equal(literalOf([entry, instruction('s_nop 0'), place, end]), 12);
  assert.equal(literalOf([place, end, entry]), 16);
});

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
