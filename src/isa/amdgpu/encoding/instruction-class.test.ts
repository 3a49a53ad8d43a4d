import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allRows } from '../rows/index.ts';
import { INSTRUCTION_CLASSES, instructionClass, runsOncePerWave } from './instruction-class.ts';

test('every class has instructions, and names agree with it where they say what an instruction is', () => {
  const names = new Map(INSTRUCTION_CLASSES.map((name) => [name, new Set<string>()]));
  for (const row of allRows()) names.get(instructionClass(row))!.add(row.name);
  const expected: [RegExp, string][] = [
    [/^v_(mfma|smfmac|wmma|swmmac)/, 'matrix'],
    [/^(global|buffer|tbuffer|image)_/, 'vmem'],
    [/^flat_/, 'flat'],
    [/^scratch_/, 'scratch'],
    [/^(ds|lds)_/, 'lds'],
    [/^s_(cbranch|branch|setpc|swappc|call)/, 'branch'],
    [/^s_sendmsg/, 'message'],
    [/^s_(load|buffer_load|dcache|memtime)/, 'smem'],
    [/^s_(add|mul|mov|cmp|getreg|setreg)/, 'salu'],
    [/^s_(waitcnt(?!_depctr)|wait_(?!alu|event))/, 'wait'],
    [/^s_barrier(_wait)?$/, 'barrier'],
    [/^s_(nop|endpgm|sleep)/, 'other'],
    [/^exp$/, 'export'],
    [/^v_(?!mfma|smfmac|wmma|swmmac)/, 'valu'],
  ];
  for (const [name, all] of names) assert.ok(all.size > 0, name);
  for (const [pattern, name] of expected) {
    for (const [other, all] of names) {
      const found = [...all].filter((each) => pattern.test(each));
      if (other !== name) assert.deepEqual(found, [], `${pattern} in ${other}`);
      else assert.ok(found.length > 0, `${pattern}`);
    }
  }
});

test('scalar instructions and lane accesses run once for a wave, other vector instructions in lanes', () => {
  const names = (once: boolean) =>
    allRows()
      .filter((row) => runsOncePerWave(row) === once)
      .map(({ name }) => name);
  const vector = /^(v_|ds_|lds_|global_|flat_|scratch_|buffer_|tbuffer_|image_|exp$)/;
  const lane = /^v_(readlane|writelane|readfirstlane|s_)/;
  assert.deepEqual(
    names(true).filter((name) => vector.test(name) && !lane.test(name)),
    [],
  );
  assert.deepEqual(
    names(false).filter((name) => !vector.test(name) || lane.test(name)),
    [],
  );
});
