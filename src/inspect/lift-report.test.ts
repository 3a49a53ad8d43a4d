import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTestFile } from '../../test/data/codeobjects/load.ts';
import { parseCodeObject } from '../codeobject/code-object.ts';
import { registerNumber, stateNumber } from '../flow/steps.ts';
import { functionText, kernelText, liftText } from '../lift/lift-text.test-support.ts';
import { liftCodeObject } from '../lift/lifted-code.ts';
import { describeLift, dotOfLift, formatLift } from './lift-report.ts';
import { placesText } from './places-text.ts';

const SOURCE = `${kernelText('k', 'back:\n v_add_u32 v0, v0, v1\n s_cbranch_scc0 back\n s_swappc_b64 s[30:31], s[4:5]\n s_endpgm')}
  ${functionText('other', 's_nop 0\n s_setpc_b64 s[30:31]')}`;

test('text: blocks with what is live, loops, and sites of which not all is known', () => {
  const text = formatLift(describeLift(liftText(SOURCE), 'k'));
  assert.match(
    text,
    /^test.co: amdgcn-amd-amdhsa--gfx90a, 1 functions\n\nk: kernel k, 0x\w+ to 0x\w+, wave64, 3 blocks\n/,
  );
  assert.match(
    text,
    /\n {2}reaches what is not known\n {2}loop at 0x\w+, depth 1, back from 0x\w+\n {2}call at 0x\w+ to what is not known\n/,
  );
  assert.match(text, /loop depth 1; next 0x\w+, branch 0x\w+\n {4}live in: everything but s\[30:31\]; off: everything/);
  assert.match(text, / {6}s_endpgm\n {4}live out: \n\nUnresolved sites: 1\n {2}0x\w+ in k: s_swappc_b64/);
});

test('JSON has all functions, each block with its source line where there is a line table', () => {
  const { schema, version, functions } = describeLift(liftText(SOURCE));
  assert.deepEqual([schema, version, functions.map(({ name }) => name)], ['wavewright.lift', 1, ['k', 'other']]);
  const file = 'kernels.gfx90a.v5.co';
  const report = describeLift(liftCodeObject(parseCodeObject(readTestFile(file), file)));
  assert.ok(report.functions.every(({ blocks }) => blocks.every(({ liveIn }) => typeof liveIn.active === 'string')));
});

test('a graph has a box for each function, and an edge for each way', () => {
  const graph = dotOfLift(describeLift(liftText(SOURCE)));
  assert.match(graph, /^digraph lift \{\n/);
  assert.match(graph, /label="k";[\s\S]*"(0x\w+)" -> "\1";[\s\S]*label="other";/);
});

test('a kernel that is not there is an error that names those that are', () => {
  assert.throws(() => describeLift(liftText(SOURCE), 'x'), { code: 'BAD_INPUT', message: /no kernel 'x'/ });
});

test('sets of registers are ranges and names', () => {
  const numbers = [
    ...[0, 1, 2, 5, 106, 107, 124, 126].map((index) => registerNumber('scalar', index)),
    ...[stateNumber('scc'), registerNumber('vector', 3), registerNumber('vector', 4), registerNumber('accumulator', 0)],
  ];
  const places = numbers.reduce((sum, number) => sum | (1n << BigInt(number)), 0n);
  assert.equal(placesText(places), 's[0:2] s5 vcc m0 exec_lo scc v[3:4] a0');
});
