import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REGISTER_PLACES, registerNumber } from '../../flow/steps.ts';
import { decoderFor } from '../../isa/amdgpu/decoder.ts';
import { bytesOf } from '../../isa/amdgpu/encoding/encode.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import { formatInstruction } from '../../isa/amdgpu/text/disassemble.ts';
import { Allocator, type PayloadAllocation, type Refusal } from './allocate.ts';
import type { Payload } from './machine-code.ts';
import { high, low, PayloadBuilder } from './payload-builder.ts';
import { PayloadForms } from './payload-form.ts';
import { NOTHING_IN_FLIGHT, type PointState, type RegisterPlan } from './register-plan.ts';

/** Registers as text: `s0-5 v3 a1`. */
function setOf(text: string): bigint {
  let set = 0n;
  for (const [, letter, first, last] of text.matchAll(/\b([sva])(\d+)(?:-(\d+))?/g)) {
    const file = letter === 's' ? 'scalar' : letter === 'v' ? 'vector' : 'accumulator';
    for (let i = Number(first); i <= Number(last ?? first); i++) set |= 1n << BigInt(registerNumber(file, i));
  }
  return set;
}

/** A point where only some registers are dead: in lanes that are on, and in those that are off. */
const point = (dead: string, deadInOthers = '', more: Partial<PointState> = {}): PointState => ({
  live: {
    active: REGISTER_PLACES.everything & ~setOf(dead),
    inactive: REGISTER_PLACES.rows & ~setOf(deadInOthers),
  },
  ...{ isSccLive: false, inFlight: NOTHING_IN_FLIGHT, unknownInFlight: new Set(), gprIndexing: false },
  ...more,
});

const limits = (used: number, granted = used, growable = granted, most = growable) => ({
  used,
  granted,
  growable,
  most,
});
const plan = (scalar = limits(16), vector = limits(16)): RegisterPlan => ({
  ...{ scalar, vector, accumulator: limits(0), reserved: [] },
});

const builder = (processor = 'gfx90a', waveSize: 32 | 64 = 64) =>
  new PayloadBuilder({ target: targetFor(processor), waveSize });

const pending = (text: string, left: number) => ({
  ...({ counter: 'vmcnt', left, access: 'write' } as const),
  register: setOf(text).toString(2).length - 1,
});

const accessing = (...accesses: readonly ReturnType<typeof pending>[]): PointState['inFlight'] => ({
  accesses,
  leftOf: (access) => accesses.find((each) => each === access)!.left,
});

function listing({ code: { items } }: PayloadAllocation, processor = 'gfx90a', waveSize: 32 | 64 = 64): string[] {
  return items.map((item) => {
    if (item.kind === 'label') return `${item.label.name}:`;
    const code = new DataView(bytesOf(item.words).buffer);
    const instruction = decoderFor(processor, waveSize).decode(code, 0);
    assert.ok(typeof instruction !== 'string');
    return item.kind === 'branch'
      ? `${formatInstruction(instruction).replace(/ .*/, '')} ${item.target.name}`
      : formatInstruction(instruction);
  });
}

function allocated(payload: Payload, state: PointState, registers = plan()): PayloadAllocation {
  const result = new Allocator([payload], registers).allocate(state);
  assert.ok(result.kind === 'allocation', (result as Refusal).reason);
  return result;
}

function refused(payload: Payload, state: PointState, registers = plan()): string {
  const result = new Allocator([payload], registers).allocate(state);
  assert.ok(result.kind === 'refusal');
  return result.reason;
}

/** Adds the number of active lanes to a variable. */
function count(b: PayloadBuilder): Payload {
  const mask = b.mask();
  const address = { symbol: 'count', addend: 8 };
  b.emit`s_mov_${b.maskBits} ${mask}, ${b.exec}`;
  b.emit`s_mov_${b.maskBits} ${b.exec}, 1`;
  b.otherLanes = 'first';
  const value = b.vector();
  const to = b.vector(2);
  b.emit`v_bcnt_u32_b32 ${value}, ${low(mask)}, 0`;
  if (b.maskDwords > 1) b.emit`v_bcnt_u32_b32 ${value}, ${high(mask)}, ${value}`;
  b.emit`v_mov_b32 ${low(to)}, ${{ half: 'low', ...address }}`;
  b.emit`v_mov_b32 ${high(to)}, ${{ half: 'high', ...address }}`;
  b.emit`global_atomic_add ${to}, ${value}, off`;
  b.emit`s_mov_${b.maskBits} ${b.exec}, ${mask}`;
  return b.payload();
}

test('registers that are dead are taken, those of other lanes too where these are switched on', () => {
  const result = allocated(count(builder()), point('s3 s6-9 v1 v4-7', 'v1 v4 v6-15'));
  assert.deepEqual(listing(result), [
    's_mov_b64 s[6:7], exec',
    's_mov_b64 exec, 1',
    'v_bcnt_u32_b32 v1, s6, 0',
    'v_bcnt_u32_b32 v1, s7, v1',
    'v_mov_b32_e32 v6, 0x5eadbeef',
    'v_mov_b32_e32 v7, 0x5eadbeef',
    'global_atomic_add v[6:7], v1, off',
    's_mov_b64 exec, s[6:7]',
  ]);
  assert.deepEqual(result.code.fixups, [
    { at: 28, literal: { half: 'low', symbol: 'count', addend: 8 } },
    { at: 36, literal: { half: 'high', symbol: 'count', addend: 8 } },
  ]);
  assert.deepEqual(result.sources, { dead: 3, granule: 0, grown: 0, borrowed: 0 });
});

test('instructions have the names and masks of the target', () => {
  const result = allocated(count(builder('gfx1100', 32)), point('s3 v1-4', 'v1-4'));
  assert.deepEqual(listing(result, 'gfx1100', 32), [
    's_mov_b32 s3, exec_lo',
    's_mov_b32 exec_lo, 1',
    'v_bcnt_u32_b32 v3, s3, 0',
    'v_mov_b32_e32 v1, 0x5eadbeef',
    'v_mov_b32_e32 v2, 0x5eadbeef',
    'global_atomic_add_u32 v[1:2], v3, off',
    's_mov_b32 exec_lo, s3',
  ]);
});

test('without dead registers those of the granule serve, then those that the kernel may be given', () => {
  const registers = plan(limits(16, 16, 20), limits(14, 16, 20));
  const result = allocated(count(builder()), point('v2-3', 'v2-3'), registers);
  assert.deepEqual(result.sources, { dead: 1, granule: 1, grown: 1, borrowed: 0 });
  assert.deepEqual(result.needs, { scalar: 18, vector: 15, accumulator: 0 });
  const few = plan(limits(1));
  assert.match(refused(count(builder()), point('v2-4', 'v2-4'), few), /^no scalar registers are free for a group of 2/);
  assert.match(refused(count(builder()), point('s2-3 v2-3')), /^no vector registers are free/);
});

test('registers that a load still writes are left alone, or waited for where nothing else is free', () => {
  const inFlight = accessing(pending('v2', 3), pending('v3', 1), pending('v9', 0));
  const dead = point('s2-3 v2-4 v6-7', 'v2-4 v6-7', { inFlight });
  assert.ok(!listing(allocated(count(builder()), dead)).some((line) => /waitcnt|v[23]\b|v\[2/.test(line)));
  const tight = allocated(count(builder()), point('s2-3 v2-4', 'v2-4', { inFlight }));
  assert.equal(listing(tight)[0], 's_waitcnt vmcnt(1)');
  assert.equal(tight.counts.wait, 1);
});

test('where no vector register is free, scalar ones keep what lane 0 has', () => {
  const inFlight = accessing(pending('v0', 0));
  const result = allocated(count(builder('gfx1100', 32)), point('s3-6', 'v1', { inFlight }));
  assert.deepEqual(listing(result, 'gfx1100', 32), [
    'v_readlane_b32 s4, v3, 0',
    'v_readlane_b32 s5, v1, 0',
    'v_readlane_b32 s6, v2, 0',
    's_mov_b32 s3, exec_lo',
    's_mov_b32 exec_lo, 1',
    'v_bcnt_u32_b32 v3, s3, 0',
    'v_mov_b32_e32 v1, 0x5eadbeef',
    'v_mov_b32_e32 v2, 0x5eadbeef',
    'global_atomic_add_u32 v[1:2], v3, off',
    's_mov_b32 exec_lo, s3',
    'v_writelane_b32 v3, s4, 0',
    'v_writelane_b32 v1, s5, 0',
    'v_writelane_b32 v2, s6, 0',
  ]);
  assert.equal(result.sources.borrowed, 2);
});

test('where no scalar register is free, lanes of one more vector register keep what they have', () => {
  const registers = plan(limits(4), limits(4, 4, 4, 5));
  const result = allocated(count(builder('gfx1100', 32)), point(''), registers);
  assert.deepEqual(listing(result, 'gfx1100', 32), [
    'v_writelane_b32 v4, s1, 0',
    'v_writelane_b32 v4, s2, 1',
    'v_writelane_b32 v4, s3, 2',
    'v_writelane_b32 v4, s0, 3',
    'v_readlane_b32 s1, v2, 0',
    'v_readlane_b32 s2, v0, 0',
    'v_readlane_b32 s3, v1, 0',
    's_mov_b32 s0, exec_lo',
    's_mov_b32 exec_lo, 1',
    'v_bcnt_u32_b32 v2, s0, 0',
    'v_mov_b32_e32 v0, 0x5eadbeef',
    'v_mov_b32_e32 v1, 0x5eadbeef',
    'global_atomic_add_u32 v[0:1], v2, off',
    's_mov_b32 exec_lo, s0',
    'v_writelane_b32 v2, s1, 0',
    'v_writelane_b32 v0, s2, 0',
    'v_writelane_b32 v1, s3, 0',
    'v_readlane_b32 s1, v4, 0',
    'v_readlane_b32 s2, v4, 1',
    'v_readlane_b32 s3, v4, 2',
    'v_readlane_b32 s0, v4, 3',
  ]);
  assert.deepEqual(result.needs, { scalar: 4, vector: 5, accumulator: 0 });
});

test('dead registers are taken before live ones, which alone are kept', () => {
  const one = allocated(count(builder('gfx1100', 32)), point('s3-5 v7', 'v7'));
  const kept = listing(one, 'gfx1100', 32).filter((text) => /lane/.test(text));
  assert.deepEqual(kept, [
    'v_readlane_b32 s4, v0, 0',
    'v_readlane_b32 s5, v1, 0',
    'v_writelane_b32 v0, s4, 0',
    'v_writelane_b32 v1, s5, 0',
  ]);
  const registers = plan(limits(6), limits(4, 4, 4, 5));
  const two = allocated(count(builder('gfx1100', 32)), point('s4-5'), registers);
  const lines = listing(two, 'gfx1100', 32);
  assert.deepEqual(lines.filter((text) => /^v_writelane_b32 v4/.test(text)).length, 2, 'two of four');
  const memory = { kind: 'memory', startBytes: 16, flatScratch: undefined } as const;
  const three = (() => {
    const b = builder();
    const [x, y, z] = [b.vector(), b.vector(), b.vector()];
    for (const each of [x, y, z]) b.emit`v_mov_b32_e32 ${each}, 0`;
    b.emit`v_add3_u32 ${x}, ${x}, ${y}, ${z}`;
    return b.payload();
  })();
  const state = point('s0-5 v3 v9', 'v3');
  const result = new Allocator([three], { ...plan(), memory }).allocate(state) as PayloadAllocation;
  assert.equal(result.home, 'memory');
  const stored = listing(result).filter((text) => /^scratch/.test(text));
  assert.deepEqual(stored, ['scratch_store_dword off, v0, s0', 'scratch_load_dword v0, off, s0']);
});

test('which registers are borrowed is found without a form for each of them', () => {
  const b = builder();
  const values = Array.from({ length: 24 }, () => b.vector());
  for (const value of values) b.emit`v_mov_b32 ${value}, 1`;
  for (const value of values) b.emit`v_add_u32 ${values[0]!}, ${values[0]!}, ${value}`;
  const payload = b.payload();
  const memory = { kind: 'memory', startBytes: 0, flatScratch: undefined } as const;
  const pointCount = 20;
  const allocator = new Allocator([payload], { ...plan(limits(16), limits(64)), memory });
  for (let dead = 0; dead < pointCount; dead++) {
    const result = allocator.allocate(point(`s0-5 v0-${dead}`)) as PayloadAllocation;
    assert.equal(result.home, 'memory');
  }
  const { count } = PayloadForms.of(payload);
  assert.ok(count <= 2 * pointCount, `${count} forms`);
});

test('where all may be in flight, registers that are live are kept behind a wait', () => {
  const unknownInFlight = new Set(['vmcnt', 'lgkmcnt', 'expcnt'] as const);
  const result = allocated(count(builder()), point('s2-9', '', { unknownInFlight }), plan(limits(16), limits(4)));
  assert.deepEqual(listing(result).slice(0, 3), [
    's_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)',
    'v_readlane_b32 s4, v2, 0',
    'v_readlane_b32 s5, v0, 0',
  ]);
  assert.equal(result.sources.borrowed, 2);
});

test('a payload waits for registers of the application that it reads', () => {
  const b = builder();
  b.emit`v_mov_b32 ${b.vector()}, v9`;
  const result = allocated(b.payload(), point('v1', '', { inFlight: accessing(pending('v9', 2), pending('v8', 0)) }));
  assert.deepEqual(listing(result), ['s_waitcnt vmcnt(2)', 'v_mov_b32_e32 v1, v9']);
});

test('the results of loads are waited for before they are used', () => {
  const b = builder();
  const [address, value] = [b.scalar(2), b.scalar(2)];
  b.emit`s_getpc_b64 ${address}`;
  b.emit`s_load_dwordx2 ${value}, ${address}, 0x0`;
  b.emit`s_mov_b64 ${address}, 5`;
  b.emit`s_add_u32 ${low(value)}, ${low(value)}, 1`;
  assert.deepEqual(listing(allocated(b.payload(), point('s0-7'))), [
    's_getpc_b64 s[0:1]',
    's_load_dwordx2 s[2:3], s[0:1], 0x0',
    's_mov_b64 s[0:1], 5',
    's_waitcnt lgkmcnt(0)',
    's_add_u32 s2, s2, 1',
  ]);
});

test('SCC, VCC and M0 are saved where the application needs them and the payload changes them', () => {
  const b = builder();
  const value = b.scalar();
  b.emit`s_add_u32 ${value}, s5, 1`;
  b.emit`s_mov_b32 m0, ${value}`;
  b.emit`v_cmp_eq_u32 vcc, s5, v0`;
  const payload = b.payload();
  const dead = setOf('s106-107 s124');
  const free = point('s0-7');
  assert.equal(
    listing(allocated(payload, { ...free, live: { ...free.live, active: free.live.active & ~dead } })).length,
    3,
  );
  const result = allocated(payload, { ...free, isSccLive: true });
  assert.deepEqual(listing(result), [
    's_cselect_b32 s3, 1, 0',
    's_mov_b64 s[0:1], vcc',
    's_mov_b32 s4, m0',
    's_add_u32 s2, s5, 1',
    's_mov_b32 m0, s2',
    'v_cmp_eq_u32_e32 vcc, s5, v0',
    's_mov_b32 m0, s4',
    's_mov_b64 vcc, s[0:1]',
    's_cmp_lg_u32 s3, 0',
  ]);
  assert.deepEqual(result.counts, { body: 3, save: 6, wait: 0 });
});

test('values share a register where they are not needed at once', () => {
  const b = builder();
  const [first, second, third] = [b.vector(), b.vector(), b.vector()];
  b.emit`v_mov_b32 ${first}, s0`;
  b.emit`v_mov_b32 ${second}, s1`;
  b.emit`v_add_u32 ${second}, ${first}, ${second}`;
  b.emit`v_add_u32 ${third}, 1, ${second}`;
  assert.deepEqual(listing(allocated(b.payload(), point('v7-9'))).slice(2), [
    'v_add_u32_e32 v8, v7, v8',
    'v_add_u32_e32 v7, 1, v8',
  ]);
});

test('a loop keeps the registers that its next turn needs', () => {
  const b = builder();
  const [sum, rest, other] = [b.scalar(), b.scalar(), b.scalar()];
  const again = { name: 'again' };
  b.emit`s_mov_b32 ${sum}, 0`;
  b.emit`s_mov_b32 ${rest}, 4`;
  b.place(again);
  b.emit`s_mov_b32 ${other}, 7`;
  b.emit`s_add_u32 ${sum}, ${sum}, ${other}`;
  b.emit`s_sub_u32 ${rest}, ${rest}, 1`;
  b.emit`s_cmp_lg_u32 ${rest}, 0`;
  b.emit`s_cbranch_scc1 ${again}`;
  const result = allocated(b.payload(), point('s7-9'));
  assert.deepEqual(listing(result).slice(3, 5), ['s_mov_b32 s9, 7', 's_add_u32 s7, s7, s9']);
  assert.equal(listing(result).at(-1), 's_cbranch_scc1 again');
  // From behind the branch, which is the last dword, back to the label.
  const { bytes } = result.code;
  const displacement = new DataView(bytes.buffer).getInt16(bytes.length - 4, true);
  assert.equal(bytes.length + displacement * 4, 8);
});

test('points where the same registers are free share their code', () => {
  const b = builder();
  b.emit`s_mov_b32 ${b.scalar()}, ${{ pointLiteral: 0 }}`;
  const allocator = new Allocator([b.payload()], plan());
  const [one, two, other] = ['s1', 's1-2', 's2'].map((free) => {
    const result = allocator.allocate(point(free));
    assert.ok(result.kind === 'allocation');
    return result.code;
  });
  assert.equal(one, two);
  assert.notEqual(one, other);
  assert.deepEqual(one!.fixups, [{ at: 4, literal: { pointLiteral: 0 } }]);
});

test('a point keeps what it must, though the one before had the same registers', () => {
  const b = builder();
  b.emit`s_add_u32 ${b.scalar()}, 1, 2`;
  const allocator = new Allocator([b.payload()], plan());
  const [free, kept, again] = [false, true, false].map((isSccLive) => {
    const result = allocator.allocate(point('s1-3', '', { isSccLive }));
    assert.ok(result.kind === 'allocation');
    return result.code;
  });
  assert.equal(free!.items.length, 1);
  assert.ok(kept!.items.length > 1);
  assert.equal(again, free);
});

test('registers that are kept for a whole kernel are never taken, dead or not', () => {
  const b = builder();
  b.emit`s_mov_b32 ${b.scalar()}, 0`;
  const reserved = [{ file: 'scalar', first: 1, dwords: 2 } as const, { file: 'vector', first: 3, dwords: 1 } as const];
  assert.deepEqual(listing(allocated(b.payload(), point('s1-3'), { ...plan(), reserved })), ['s_mov_b32 s3, 0']);
  const granule = { ...plan(limits(1, 4)), reserved };
  assert.deepEqual(listing(allocated(b.payload(), point(''), granule)), ['s_mov_b32 s3, 0']);
});

test('where registers have other numbers, vector code leaves that mode', () => {
  const b = builder();
  b.emit`v_mov_b32 ${b.vector()}, 0`;
  assert.deepEqual(listing(allocated(b.payload(), point('v1', '', { gprIndexing: true }))), [
    's_set_gpr_idx_off',
    'v_mov_b32_e32 v1, 0',
    's_setreg_imm32_b32 hwreg(HW_REG_MODE, 27, 1), 1',
  ]);
});

test('payloads say what they change of the application', () => {
  const b = builder();
  b.emit`v_mov_b32 v3, 0`;
  assert.throws(() => new Allocator([b.payload()], plan()), /writes vector register 3 without saying/);
  b.changes({ file: 'vector', first: 3, dwords: 1 });
  assert.deepEqual(listing(allocated(b.payload(), point(''))), ['v_mov_b32_e32 v3, 0']);
});

test('private memory keeps as many registers as there is room for', () => {
  const allocated = (count: number): PayloadAllocation | Refusal => {
    const b = builder();
    for (let i = 0; i < count; i++) b.emit`v_mov_b32_e32 ${b.vector()}, 0`;
    const memory = { kind: 'memory', startBytes: 16, flatScratch: undefined } as const;
    return new Allocator([b.payload()], { ...plan(), memory }).allocate(point('s0-5'));
  };
  const served = allocated(128);
  assert.equal(served.kind === 'allocation' && served.home, 'memory');
  const refused = allocated(129);
  assert.match(
    `${refused.kind === 'refusal' && refused.reason}`,
    /129 vector registers are more than memory is kept for/,
  );
});

test('what costs waves is taken where nothing else is free, not before', () => {
  const b = builder();
  const [count, other] = [b.scalar(), b.vector()];
  b.emit`s_mov_b32 ${count}, 5`;
  b.emit`v_mov_b32_e32 ${other}, ${count}`;
  const scarce = plan(limits(16, 16, 16, 18), limits(16, 16, 16, 20));
  const allocation = new Allocator([b.payload()], scarce).allocate(point(''));
  assert.ok(allocation.kind === 'allocation', 'it is served');
  assert.deepEqual(allocation.needs, { scalar: 17, vector: 17, accumulator: 0 });
  const refused = new Allocator([b.payload()], plan()).allocate(point(''));
  assert.equal(refused.kind, 'refusal');
});

test('registers that a point names are read, and not taken', () => {
  const b = builder();
  const [copy, named] = [b.vector(), b.pointRegister('vector', 0)];
  b.emit`v_add_u32 ${copy}, ${named}, ${named}`;
  b.emit`v_add_u32 ${copy}, ${copy}, ${named}`;
  const allocator = new Allocator([b.payload()], plan());
  const at = (first: number, more: Partial<PointState> = {}): string[] => {
    const result = allocator.allocate(point('v3 v5', 'v3 v5', more), [{ file: 'vector', first, dwords: 1 }]);
    assert.ok(result.kind === 'allocation');
    return listing(result);
  };
  assert.deepEqual(at(9), ['v_add_u32_e32 v3, v9, v9', 'v_add_u32_e32 v3, v3, v9']);
  assert.deepEqual(at(3), ['v_add_u32_e32 v5, v3, v3', 'v_add_u32_e32 v5, v5, v3']);
  assert.deepEqual(at(9), ['v_add_u32_e32 v3, v9, v9', 'v_add_u32_e32 v3, v3, v9']);
  const inFlight = accessing(pending('v9', 2));
  assert.equal(at(9, { inFlight })[0], 's_waitcnt vmcnt(2)');
  assert.equal(at(8, { inFlight })[0], 'v_add_u32_e32 v3, v8, v8');
});

test('a register that a point names is none that is borrowed', () => {
  const b = builder();
  const [value, named] = [b.scalar(), b.pointRegister('scalar', 0)];
  b.emit`s_add_u32 ${value}, ${named}, 1`;
  b.emit`s_add_u32 ${value}, ${named}, ${value}`;
  const state = point('v0', 'v0');
  const result = new Allocator([b.payload()], plan()).allocate(state, [{ file: 'scalar', first: 0, dwords: 1 }]);
  assert.ok(result.kind === 'allocation');
  assert.deepEqual(listing(result), [
    'v_writelane_b32 v0, s1, 0',
    's_add_u32 s1, s0, 1',
    's_add_u32 s1, s0, s1',
    'v_readlane_b32 s1, v0, 0',
  ]);
});

test('what a payload changes is none of the registers that a point names', () => {
  const b = builder();
  b.changes({ file: 'vector', first: 2, dwords: 1 });
  b.emit`v_mov_b32 v2, ${b.pointRegister('vector', 0)}`;
  const allocator = new Allocator([b.payload()], plan());
  assert.throws(
    () => allocator.allocate(point(''), [{ file: 'vector', first: 2, dwords: 1 }]),
    /none of the registers/,
  );
  assert.equal(allocator.allocate(point(''), [{ file: 'vector', first: 3, dwords: 1 }]).kind, 'allocation');
});
