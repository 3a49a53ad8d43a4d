import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseProgram } from '../ir/text.ts';
import type { StateSlot } from '../ir/types.ts';
import { type OperandPlaces, programEffects } from './lane-effects.ts';

/** Bits that are given names; EXEC is register 126. */
class Places implements OperandPlaces {
  readonly #operands: readonly string[];
  readonly #names: string[] = [];

  constructor(operands: readonly string[]) {
    this.#operands = operands;
  }

  #bit(name: string): bigint {
    if (!this.#names.includes(name)) this.#names.push(name);
    return 1n << BigInt(this.#names.indexOf(name));
  }

  register({ operand, dword }: { operand: number; dword: number }): bigint | undefined {
    const [, file, number] = /^([sv])(\d+)$/.exec(this.#operands[operand]!) ?? [];
    if (file === undefined) return undefined;
    const name = `${file}${Number(number) + dword}`;
    return this.#bit({ s126: 'exec', s127: 'execHigh' }[name] ?? name);
  }

  constant({ operand, dword }: { operand: number; dword: number }): number | undefined {
    const [, value] = /^=(-?\d+)$/.exec(this.#operands[operand]!) ?? [];
    return value === undefined ? undefined : Number(BigInt.asIntN(32, BigInt(value) >> BigInt(32 * dword)));
  }

  isRelative(operand: number): boolean {
    return this.#operands[operand] === 'relative';
  }

  state(slot: StateSlot): readonly bigint[] {
    return slot === 'exec' || slot === 'vcc' ? [this.#bit(slot), this.#bit(`${slot}High`)] : [this.#bit(slot)];
  }

  list(set: bigint): string {
    return this.#names.filter((_, i) => (set >> BigInt(i)) & 1n).join(' ');
  }
}

/** What an instruction does, as text; `operands`: `s4`, `v0`, `=-1` or `relative` for each. */
function effects(operands: string, lines: string, waveSize = 64): string {
  const program = parseProgram(`wave${waveSize}\n${lines}`);
  const places = new Places(operands.split(' '));
  const found = programEffects(program, program.values, places);
  const { reads, crossReads, scalarWrites, rowWrites, maskChange, ...is } = found;
  const sets = { reads, cross: crossReads, scalars: scalarWrites, rows: rowWrites };
  return [
    ...Object.entries(sets).map(([name, set]) => set !== 0n && `${name} ${places.list(set)}`),
    maskChange !== 'none' && maskChange,
    is.isOpaque && 'opaque',
    is.ends && 'ends',
  ]
    .filter(Boolean)
    .join(', ');
}

test('scalars and rows are told apart; rows are written where EXEC says', () => {
  assert.equal(effects('s0 s4', 'v0:i32 = op1[0]\nop0[0] = v0'), 'reads s4, scalars s0');
  assert.equal(effects('v0 v1', 'v0:i32.lane = op1[0]\nop0[0].lane = v0'), 'reads exec execHigh v1, rows v0');
  assert.equal(
    effects('v0 v1', 'v0:i32.lane = op1[0]\nv1:i1.lane = i32.eq v0, v0\nop0[0].lane = v0 if v1'),
    'reads exec execHigh v1 v0',
  );
});

test('other lanes, masks and state', () => {
  assert.equal(effects('s0 v1', 'v0:i32 = 3\nv1:i32 = readLane.op1[0] v0\nop0[0] = v1'), 'cross v1, scalars s0');
  assert.equal(effects('s0', 'v0:i64 = exec\nvcc = v0'), 'reads exec execHigh, scalars vcc vccHigh');
  assert.equal(effects('s0', 'v0:i64 = exec\nvcc = v0', 32), 'reads exec execHigh, scalars vcc');
  assert.equal(effects('s0 relative', 'v0:i32 = op1[0]\nop0[0] = v0'), 'scalars s0, opaque');
  assert.equal(effects('s0', 'exit.end'), 'ends');
});

/** How EXEC changes. */
const change = (operands: string, lines: string, waveSize = 64): string =>
  /shrinks|grows|any/.exec(effects(operands, lines, waveSize))?.[0] ?? 'none';

test('EXEC shrinks by and, grows by or, and may do anything else', () => {
  const combine = (op: string) => `v0:i64 = exec\nv1:i64 = vcc\nv2:i64 = i64.${op} v0, v1\nexec = v2`;
  assert.deepEqual(
    ['and', 'or', 'xor'].map((op) => change('s0', combine(op))),
    ['shrinks', 'grows', 'any'],
  );
  assert.equal(change('s0', 'v0:i64 = vcc\nvcc = v0'), 'none');
});

test('EXEC as an operand, in halves, and constants', () => {
  const halves = (op: string) =>
    `v0:i32 = op0[0]\nv1:i32 = op1[0]\nv2:i32 = i32.${op} v0, v1\nv3:i32 = op0[1]\nv4:i32 = op1[1]\nv5:i32 = i32.${op} v3, v4
op0[0] = v2\nop0[1] = v5`;
  assert.equal(change('s126 s4', halves('and')), 'shrinks');
  assert.equal(change('s126 s4', halves('or')), 'grows');
  const move = 'v0:i32 = op1[0]\nv1:i32 = op1[1]\nop0[0] = v0\nop0[1] = v1';
  assert.deepEqual(
    ['=-1', '=0', '=1', 's126', 's4'].map((from) => change(`s126 ${from}`, move)),
    ['grows', 'shrinks', 'any', 'shrinks', 'any'],
  );
});
