/** Addresses that hooks are given, on the reference executor, against formulas of the manuals. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WAVE_VGPRS } from '../src/emulator/machine/layout.ts';
import { compileHook } from '../src/instrument/dsl/compile-hook.ts';
import { accessesOf, type CodeAccess, placeIn } from '../src/instrument/dsl/memory-accesses.ts';
import { Allocator } from '../src/instrument/machine/allocate.ts';
import { NOTHING_IN_FLIGHT, type PointState } from '../src/instrument/machine/register-plan.ts';
import { targetFor } from '../src/isa/amdgpu/encoding/targets.ts';
import { assembleInstruction } from '../src/isa/amdgpu/text/assembler/assemble.ts';
import { Lockstep, randomGenerator } from './lockstep/lockstep.test-support.ts';
import { wordsOf } from './payload-words.test-support.ts';

const BASE = 60;
const NOTHING_LIVE: PointState = {
  live: { active: 0n, inactive: 0n },
  ...{ isSccLive: false, inFlight: NOTHING_IN_FLIGHT, unknownInFlight: new Set(), gprIndexing: false },
};
const FILE = { used: 40, granted: 60, growable: 60, most: 60 };
const PLAN = { scalar: FILE, vector: FILE, accumulator: { used: 0, granted: 0, growable: 0, most: 0 }, reserved: [] };

/** Registers of one lane, as numbers. */
interface Lane {
  s(register: number): bigint;
  v(register: number): bigint;
}

interface Found {
  readonly accesses: readonly CodeAccess[];
  /** The addresses of the accesses, by lane. */
  readonly addresses: readonly (readonly bigint[])[];
  readonly lanes: readonly Lane[];
}

/**
 * What a hook at the instruction finds out, in lanes that are on: all but lane 3. `isShared`: of the first
 * access, by code that serves others with its place, too.
 */
function found([text, processor, , , prepare]: Case, isShared: boolean): Found {
  const waveSize = 64;
  const code = { target: targetFor(processor), waveSize } as const;
  const { instruction } = assembleInstruction(text, code);
  const accesses = accessesOf(instruction).slice(0, isShared ? 1 : undefined);
  const [{ literals, registers }] = accesses as [CodeAccess];
  const [payload] = compileHook(
    {
      build: (b) => {
        for (const [index, access] of accesses.entries()) {
          const { address, condition } = placeIn(b, access, isShared ? 0 : undefined);
          const lane = b.shift('shl', b.laneId(), b.constant(3));
          const place = b.binary('add', b.variable('tool', 512 * index), b.pack(lane, b.constant(0)));
          const store = (): void => b.store(place, address);
          if (condition) b.when(condition, store);
          else store();
        }
      },
    },
    code,
    { addressOf: () => BASE },
  );
  const result = new Allocator([payload!], PLAN).allocate(NOTHING_LIVE, registers);
  assert.ok(result.kind === 'allocation', 'reason' in result ? result.reason : '');
  const machine = new Lockstep(processor, waveSize);
  machine.randomize(randomGenerator(5), 'random', ~8n, 0x3f0);
  machine.setWindow(BASE);
  prepare?.(machine.initial);
  const state = machine.initial.slice();
  const words = wordsOf(result.code.items, pair(BigInt(state[BASE]!), BigInt(state[BASE + 1]!)), literals);
  const { memory, fault } = machine.run(machine.place(words), 'reference');
  assert.equal(fault, undefined);
  const dword = (index: number): bigint => BigInt(memory[index]!);
  const row = (register: number, lane: number): number => WAVE_VGPRS / 4 + register * waveSize + lane;
  return {
    accesses,
    addresses: accesses.map((_, access) =>
      Array.from({ length: waveSize }, (__, lane) => {
        const at = access * 128 + lane * 2;
        return dword(at) | (dword(at + 1) << 32n);
      }),
    ),
    lanes: Array.from({ length: waveSize }, (_, lane) => ({
      s: (register) => BigInt(state[register]!),
      v: (register) => BigInt(state[row(register, lane)]!),
    })),
  };
}

const pair = (low: bigint, high: bigint): bigint => low | (high << 32n);
const wrap = (bits: number, value: bigint): bigint => BigInt.asUintN(bits, value);

/** A buffer of 0xffffffff bytes, or of as many records of 48 bytes. */
const buffer = (first: number, stride: number) => (state: Uint32Array) => {
  state.set([0x1000, stride << 16, 0xffffffff, 0], first);
  // Indices and offsets stay small.
  for (let at = WAVE_VGPRS / 4; at < state.length; at++) state[at] = at & 0xfff;
};

type Case = readonly [
  text: string,
  processor: string,
  access: string,
  addresses: readonly ((lane: Lane) => bigint)[],
  prepare?: (state: Uint32Array) => void,
];

const CASES: readonly Case[] = [
  [
    'global_load_dword v1, v2, s[4:5] offset:16',
    'gfx90a',
    'load global 4',
    [({ s, v }) => pair(s(4), s(5)) + v(2) + 16n],
  ],
  ['global_store_b64 v[2:3], v[4:5], off offset:-8', 'gfx1100', 'store global 8', [({ v }) => pair(v(2), v(3)) - 8n]],
  ['flat_atomic_add v[2:3], v4', 'gfx942', 'atomic flat 4', [({ v }) => pair(v(2), v(3))]],
  ['ds_read_b32 v1, v2 offset:20', 'gfx90a', 'load lds 4', [({ v }) => wrap(32, v(2) + 20n)]],
  [
    'ds_read2st64_b64 v[0:3], v5 offset0:1 offset1:3',
    ...(['gfx90a', 'load lds 8'] as const),
    [({ v }) => wrap(32, v(5) + 512n), ({ v }) => wrap(32, v(5) + 1536n)],
  ],
  ['scratch_load_dword v1, v2, off offset:8', 'gfx90a', 'load private 4', [({ v }) => wrap(32, v(2) + 8n)]],
  [
    'buffer_load_dword v1, v2, s[4:7], s8 offen offset:4',
    ...(['gfx90a', 'load global 4'] as const),
    [({ s, v }) => 0x1000n + s(8) + (v(2) & ~3n) + 4n],
    (state) => {
      buffer(4, 0)(state);
      for (let lane = 0; lane < 64; lane++) state[WAVE_VGPRS / 4 + 2 * 64 + lane] = lane * 8;
    },
  ],
  [
    'buffer_store_b32 v1, v2, s[4:7], 0 idxen',
    ...(['gfx1100', 'store global 4'] as const),
    [({ v }) => 0x1000n + v(2) * 48n],
    buffer(4, 48),
  ],
  ['s_load_dwordx4 s[8:11], s[4:5], 0x30', 'gfx90a', 'load global 16', [({ s }) => (pair(s(4), s(5)) & ~3n) + 0x30n]],
  [
    's_load_b32 s8, s[4:5], s12 offset:-0x8',
    'gfx1100',
    'load global 4',
    [({ s }) => (pair(s(4), s(5)) & ~3n) + (s(12) & ~3n) - 8n],
  ],
  ['s_store_dwordx2 s[8:9], s[4:5], 0x10', 'gfx90a', 'store global 8', [({ s }) => (pair(s(4), s(5)) & ~3n) + 0x10n]],
  ['s_atomic_add s8, s[4:5], 0x4', 'gfx90a', 'atomic global 4', [({ s }) => (pair(s(4), s(5)) & ~3n) + 4n]],
  [
    's_buffer_load_dwordx2 s[8:9], s[4:7], s12',
    ...(['gfx942', 'load global 4'] as const),
    [({ s }) => 0x1000n + (s(12) & ~3n), ({ s }) => 0x1004n + (s(12) & ~3n)],
    (state) => {
      buffer(4, 48)(state);
      state[12] = 0x123;
    },
  ],
];

for (const each of CASES) {
  const [text, processor, access, addresses] = each;
  test(`the address of '${text}' on ${processor}`, () => {
    for (const isShared of [false, true]) {
      const result = found(each, isShared);
      const expected = addresses.slice(0, isShared ? 1 : undefined);
      const kinds = result.accesses.map(({ kind, space, sizeBytes }) => `${kind} ${space} ${sizeBytes}`);
      assert.deepEqual(
        kinds,
        expected.map(() => access),
      );
      for (const [index, addressOf] of expected.entries()) {
        for (const [lane, registers] of result.lanes.entries()) {
          if (lane === 3) continue;
          assert.equal(result.addresses[index]![lane], wrap(64, addressOf(registers)), `lane ${lane}`);
        }
      }
    }
  });
}

test('accesses whose addresses are computed alike have one place, whatever their registers and literals', () => {
  const accessOf = (text: string): CodeAccess => {
    const { instruction } = assembleInstruction(text, { target: targetFor('gfx90a'), waveSize: 64 });
    return accessesOf(instruction)[0]!;
  };
  const first = accessOf('global_load_dword v1, v2, s[4:5] offset:128');
  const alike = accessOf('global_load_dword v9, v3, s[8:9] offset:256');
  assert.equal(alike.place, first.place);
  const named = alike.registers.map(({ file, first: number }) => `${file} ${number}`);
  assert.deepEqual(named.sort(), ['scalar 8', 'scalar 9', 'vector 3']);
  assert.deepEqual(alike.literals, [256]);
  // VCC is none that points name, and one register in the place of two is another place.
  assert.notEqual(accessOf('global_load_dword v1, v2, vcc offset:128').place, first.place);
  const twice = accessOf('buffer_load_dword v1, v[2:3], s[4:7], s4 idxen offen');
  assert.notEqual(twice.place, accessOf('buffer_load_dword v1, v[2:3], s[4:7], s8 idxen offen').place);
});
