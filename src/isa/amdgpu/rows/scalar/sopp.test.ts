import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../../../base/errors.ts';
import { TestWave } from '../../semantics/machine.test-support.ts';
import { M0, sopp } from '../scalar.test-support.ts';

/** Condition holds and does not hold: opcode, and what to set. */
const BRANCHES: readonly (readonly [string, number, (wave: TestWave) => void, boolean])[] = [
  ['s_branch', 2, () => {}, true],
  ['s_cbranch_scc0', 4, (wave) => (wave.scc = 0), true],
  ['s_cbranch_scc0', 4, (wave) => (wave.scc = 1), false],
  ['s_cbranch_scc1', 5, (wave) => (wave.scc = 1), true],
  ['s_cbranch_scc1', 5, (wave) => (wave.scc = 0), false],
  ['s_cbranch_vccz', 6, (wave) => (wave.vcc = 0n), true],
  ['s_cbranch_vccz', 6, (wave) => (wave.vcc = 1n << 63n), false],
  ['s_cbranch_vccnz', 7, (wave) => (wave.vcc = 1n), true],
  ['s_cbranch_vccnz', 7, (wave) => (wave.vcc = 0n), false],
  ['s_cbranch_execz', 8, (wave) => (wave.exec = 0n), true],
  ['s_cbranch_execz', 8, (wave) => (wave.exec = 1n << 32n), false],
  ['s_cbranch_execnz', 9, (wave) => (wave.exec = 1n << 63n), true],
  ['s_cbranch_execnz', 9, (wave) => (wave.exec = 0n), false],
  ['s_cbranch_cdbgsys', 23, (wave) => (wave.status = 1 << 21), true],
  ['s_cbranch_cdbgsys', 23, (wave) => (wave.status = ~(1 << 21)), false],
  ['s_cbranch_cdbguser', 24, (wave) => (wave.status = 1 << 20), true],
  ['s_cbranch_cdbguser', 24, (wave) => (wave.status = ~(1 << 20)), false],
  ['s_cbranch_cdbgsys_or_user', 25, (wave) => (wave.status = 1 << 20), true],
  ['s_cbranch_cdbgsys_or_user', 25, (wave) => (wave.status = 1 << 21), true],
  ['s_cbranch_cdbgsys_or_user', 25, (wave) => (wave.status = 0), false],
  ['s_cbranch_cdbgsys_and_user', 26, (wave) => (wave.status = 3 << 20), true],
  ['s_cbranch_cdbgsys_and_user', 26, (wave) => (wave.status = 1 << 20), false],
  ['s_cbranch_cdbgsys_and_user', 26, (wave) => (wave.status = 1 << 21), false],
];

BRANCHES.forEach(([name, opcode, setUp, taken], i) => {
  test(`${name} ${taken ? 'branches' : 'does not branch'} (${i})`, () => {
    const wave = new TestWave();
    wave.sgprs[M0] = 7;
    setUp(wave);
    const instruction = wave.run([sopp(opcode, 0xfffe)]);
    assert.equal(instruction.row.name, name);
    assert.equal(instruction.row.flags.terminator, name === 's_branch' ? 'branch' : 'conditional');
    assert.equal(instruction.immediate(instruction.row.operands[0]!), -8);
    assert.equal(wave.branched, taken);
  });
});

test('exits', () => {
  for (const [opcode, simm16, name, reason] of [
    [1, 0, 's_endpgm', 'end'],
    [10, 0, 's_barrier', 'barrier'],
    [14, 5, 's_sleep', 'sleep'],
    [16, 1, 's_sendmsg', 'interrupt'],
    [18, 2, 's_trap', 'trap'],
  ] as const) {
    const wave = new TestWave();
    const { row } = wave.run([sopp(opcode, simm16)]);
    assert.deepEqual([row.name, wave.exited], [name, reason]);
    assert.equal(row.flags.terminator, name === 's_endpgm' ? 'end' : undefined);
  }
});

test('no effect', () => {
  for (const [opcode, name] of [
    [0, 's_nop'],
    [3, 's_wakeup'],
    [12, 's_waitcnt'],
    [15, 's_setprio'],
    [19, 's_icache_inv'],
    [20, 's_incperflevel'],
    [21, 's_decperflevel'],
    [22, 's_ttracedata'],
  ] as const) {
    const wave = new TestWave();
    const before = structuredClone([wave.sgprs, wave.scc, wave.mode, wave.status]);
    assert.equal(wave.run([sopp(opcode, /wakeup|icache|ttrace/.test(name) ? 0 : 3)]).row.name, name);
    assert.deepEqual([wave.sgprs, wave.scc, wave.mode, wave.status], before);
    assert.deepEqual([wave.branched, wave.jumpedTo, wave.exited], [false, undefined, undefined]);
  }
});

test('what cannot run is refused by name', () => {
  for (const [opcode, simm16, message] of [
    [11, 0, /^unsupported instruction 's_setkill'$/],
    [13, 1, /^unsupported instruction 's_sethalt'$/],
    [16, 10, /^unsupported instruction 's_sendmsg' with message 10, expected 1 \(interrupt\)$/],
    [17, 1, /^unsupported instruction 's_sendmsghalt'$/],
    [27, 0, /^unsupported instruction 's_endpgm_saved'$/],
    [30, 0, /^unsupported instruction 's_endpgm_ordered_ps_done'$/],
  ] as const) {
    assert.throws(
      () => new TestWave().run([sopp(opcode, simm16)]),
      (error) => error instanceof WavewrightError && error.code === 'UNSUPPORTED' && message.test(error.message),
    );
  }
});
