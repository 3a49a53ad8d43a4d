/** Payloads of hooks are made once for places that are alike; no place is asked for more than that takes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import type { HookCode } from '../tool/hook.ts';
import { HookPayloads } from './hook-payloads.ts';

const target = targetFor('gfx1100');

/** Asks for a second variable where the first one has registers. */
function askingHook() {
  let made = 0;
  const code: HookCode = (_, place) => {
    made++;
    if (place?.addressOf?.('first') !== undefined) place.addressOf?.('second');
    return [];
  };
  return { code, madeCount: () => made };
}

function placeWith(registers: Readonly<Record<string, number>>) {
  const asked: string[] = [];
  const addressOf = (symbol: string): number | undefined => {
    asked.push(symbol);
    return registers[symbol];
  };
  return { place: { addressOf }, asked };
}

test('hooks are compiled once for each set of registers and size of waves', () => {
  const { code, madeCount } = askingHook();
  const payloads = new HookPayloads();
  const at = (registers: Readonly<Record<string, number>>, waveSize: 32 | 64 = 32) =>
    payloads.of(code, { target, waveSize }, placeWith(registers).place);
  const one = at({ first: 8, second: 10 });
  assert.equal(at({ first: 8, second: 10 }), one);
  assert.equal(madeCount(), 1);
  for (const other of [at({ first: 8, second: 12 }), at({ first: 8 }), at({}), at({ first: 8, second: 10 }, 64)]) {
    assert.notEqual(other, one);
  }
  assert.equal(madeCount(), 5);
  assert.equal(payloads.of(code, { target, waveSize: 32 }, undefined), at({}));
  assert.equal(madeCount(), 5);
});

test('a place is asked once for each variable that the hook asks for there', () => {
  const { code } = askingHook();
  const payloads = new HookPayloads();
  const asked = (registers: Readonly<Record<string, number>>): readonly string[] => {
    const { place, asked: symbols } = placeWith(registers);
    payloads.of(code, { target, waveSize: 32 }, place);
    return symbols;
  };
  assert.deepEqual(asked({ first: 8, second: 10 }), ['first', 'second']);
  assert.deepEqual(asked({ first: 8, second: 10 }), ['first', 'second']);
  // What was made for the first place says nothing of a second variable here.
  assert.deepEqual(asked({ second: 10 }), ['first']);
  assert.deepEqual(asked({ second: 10 }), ['first']);
});
