import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../../../base/errors.ts';
import { TestWave } from '../../semantics/machine.test-support.ts';
import { M0 } from '../scalar.test-support.ts';

/** Condition holds and does not hold: what to set. */
const BRANCHES: readonly (readonly [string, (wave: TestWave) => void, boolean])[] = [
  ['s_branch', () => {}, true],
  ['s_cbranch_scc0', (wave) => (wave.scc = 0), true],
  ['s_cbranch_scc0', (wave) => (wave.scc = 1), false],
  ['s_cbranch_scc1', (wave) => (wave.scc = 1), true],
  ['s_cbranch_scc1', (wave) => (wave.scc = 0), false],
  ['s_cbranch_vccz', (wave) => (wave.vcc = 0n), true],
  ['s_cbranch_vccz', (wave) => (wave.vcc = 1n << 63n), false],
  ['s_cbranch_vccnz', (wave) => (wave.vcc = 1n), true],
  ['s_cbranch_vccnz', (wave) => (wave.vcc = 0n), false],
  ['s_cbranch_execz', (wave) => (wave.exec = 0n), true],
  ['s_cbranch_execz', (wave) => (wave.exec = 1n << 32n), false],
  ['s_cbranch_execnz', (wave) => (wave.exec = 1n << 63n), true],
  ['s_cbranch_execnz', (wave) => (wave.exec = 0n), false],
  ['s_cbranch_cdbgsys', (wave) => (wave.status = 1 << 21), true],
  ['s_cbranch_cdbgsys', (wave) => (wave.status = ~(1 << 21)), false],
  ['s_cbranch_cdbguser', (wave) => (wave.status = 1 << 20), true],
  ['s_cbranch_cdbguser', (wave) => (wave.status = ~(1 << 20)), false],
  ['s_cbranch_cdbgsys_or_user', (wave) => (wave.status = 1 << 20), true],
  ['s_cbranch_cdbgsys_or_user', (wave) => (wave.status = 1 << 21), true],
  ['s_cbranch_cdbgsys_or_user', (wave) => (wave.status = 0), false],
  ['s_cbranch_cdbgsys_and_user', (wave) => (wave.status = 3 << 20), true],
  ['s_cbranch_cdbgsys_and_user', (wave) => (wave.status = 1 << 20), false],
  ['s_cbranch_cdbgsys_and_user', (wave) => (wave.status = 1 << 21), false],
];

BRANCHES.forEach(([name, setUp, taken], i) => {
  test(`${name} ${taken ? 'branches' : 'does not branch'} (${i})`, () => {
    const wave = new TestWave();
    wave.sgprs[M0] = 7;
    setUp(wave);
    const instruction = wave.run(`${name} -2`);
    assert.equal(instruction.row.name, name);
    assert.equal(instruction.row.flags.terminator, name === 's_branch' ? 'branch' : 'conditional');
    assert.equal(instruction.immediate(instruction.row.operands[0]!), -8);
    assert.equal(wave.branched, taken);
  });
});

test('exits', () => {
  for (const [text, reason] of [
    ['s_endpgm', 'end'],
    ['s_barrier', 'barrier'],
    ['s_sleep 5', 'sleep'],
    ['s_sendmsg sendmsg(MSG_INTERRUPT)', 'interrupt'],
    ['s_trap 2', 'trap'],
  ] as const) {
    const wave = new TestWave();
    const { row } = wave.run(text);
    assert.deepEqual([row.name, wave.exited], [text.split(' ')[0], reason]);
    assert.equal(row.flags.terminator, text === 's_endpgm' ? 'end' : undefined);
  }
});

test('no effect', () => {
  for (const text of [
    's_nop 3',
    's_wakeup',
    's_waitcnt 3',
    's_setprio 3',
    's_icache_inv',
    's_incperflevel 3',
    's_decperflevel 3',
    's_ttracedata',
  ]) {
    const wave = new TestWave();
    const before = structuredClone([wave.sgprs, wave.scc, wave.mode, wave.status]);
    assert.equal(wave.run(text).row.name, text.split(' ')[0]);
    assert.deepEqual([wave.sgprs, wave.scc, wave.mode, wave.status], before);
    assert.deepEqual([wave.branched, wave.jumpedTo, wave.exited], [false, undefined, undefined]);
  }
});

test('what cannot run is refused by name', () => {
  for (const [text, message] of [
    ['s_setkill 0', /^unsupported instruction 's_setkill'$/],
    ['s_sethalt 1', /^unsupported instruction 's_sethalt'$/],
    ['s_sendmsg 10', /^unsupported instruction 's_sendmsg' with message 10, expected 1 \(interrupt\)$/],
    ['s_sendmsghalt 1', /^unsupported instruction 's_sendmsghalt'$/],
    ['s_endpgm_saved', /^unsupported instruction 's_endpgm_saved'$/],
    ['s_endpgm_ordered_ps_done', /^unsupported instruction 's_endpgm_ordered_ps_done'$/],
  ] as const) {
    assert.throws(
      () => new TestWave().run(text),
      (error) => error instanceof WavewrightError && error.code === 'UNSUPPORTED' && message.test(error.message),
    );
  }
});
