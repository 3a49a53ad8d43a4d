/** The emulator runs a language that it does not know: the interface of front ends says all that it needs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Emulator, type EmulatorOptions } from '../src/emulator/emulator.ts';
import { MAY_READ } from '../src/emulator/machine/layout.ts';
import { ToyFrontEnd, type ToyLaunch, toyCode } from './toy-front-end.test-support.ts';

const ITEMS = 200;

/** Twelve times: acc = acc * 3 + 5 in all lanes, and 7 more in those that are odd then. */
const KERNEL = `
  const 3
  save 1
  const 5
  save 2
  const 7
  save 3
  count 12
  item
  mul 1
  add 2
  odd
  add 3
  all
  loop -5
  put 0
  end
`;

function model(item: number): number {
  let value = item;
  for (let i = 0; i < 12; i++) {
    value = (Math.imul(value, 3) + 5) | 0;
    if (value & 1) value = (value + 7) | 0;
  }
  return value;
}

function run(text: string, waveSize: 32 | 64, options: EmulatorOptions) {
  const emulator = new Emulator(new ToyFrontEnd(), { memorySizeBytes: 2 ** 26, countsClasses: true, ...options });
  const { memory } = emulator;
  const bytes = toyCode(text);
  const entry = memory.allocate(bytes.length, { label: 'code', permissions: MAY_READ });
  memory.bytes.set(bytes, entry);
  emulator.publishCode(entry, () => [{ name: 'kernel', offset: entry, sizeBytes: bytes.length }]);
  const output = memory.allocate(ITEMS * 4, { label: 'output' });
  const launch: ToyLaunch = {
    ...{ entry, waveSize, mode: 0, ldsSizeBytes: 0, privateSizeBytes: 0, vgprCount: 12, agprCount: 0 },
    ...{ gridSize: [ITEMS, 1, 1], workgroupSize: [100, 1, 1], workgroupIdSgprs: [1, undefined, undefined] },
    output: memory.address(output),
  };
  const dispatch = emulator.dispatch(launch);
  while (emulator.advance(5) !== 'idle');
  const results = Array.from({ length: ITEMS }, (_, i) => memory.view.getInt32(output + i * 4, true));
  emulator.close();
  const { state, fault, instructions, classes, tiers } = dispatch;
  return { state, fault, results, instructions, classes, tiers };
}

const WAYS = [
  ['reference', { executor: 'reference' }, 'reference'],
  ['T0', { executor: 'handlers' }, 'handlers'],
  ['T1', { executor: 'jit', compileThreshold: 0, vertical: 'never' }, 'regions'],
  ['T2', { executor: 'jit', compileThreshold: 0, vertical: 'always' }, 'loops'],
] as const satisfies readonly (readonly [string, EmulatorOptions, string])[];

for (const waveSize of [32, 64] as const) {
  for (const [name, options, tier] of WAYS) {
    test(`a kernel in a language of its own, waves of ${waveSize}, ${name}`, () => {
      const { state, results, instructions, classes, tiers } = run(KERNEL, waveSize, options);
      assert.equal(state, 'complete');
      assert.deepEqual(
        results,
        Array.from({ length: ITEMS }, (_, item) => model(item)),
      );
      const waves = 2 * Math.ceil(100 / waveSize);
      assert.equal(instructions, waves * (8 + 12 * 6 + 2));
      assert.deepEqual(classes, { arithmetic: waves * (7 + 12 * 3), control: waves * (2 + 12 * 3), memory: waves });
      assert.ok(tiers[tier] > instructions / 2, JSON.stringify(tiers));
    });
  }
}

test('its faults say what the language calls things', () => {
  const messageOf = (text: string) => run(text, 64, {}).fault?.message ?? '';
  assert.match(
    messageOf('item\nfly 3\nend'),
    /^illegal instruction: 'fly 3' is no instruction at pc 0x[0-9a-f]+ in kernel\+0x10/,
  );
  assert.match(messageOf('load 10\nend'), /^illegal instruction: row 10 of 'load 10'/);
  assert.match(
    messageOf('item\nput 4096\nend'),
    /^invalid write of address 0x[0-9a-f]+ by 'put 4096' at pc .*, lane 0/,
  );
});
