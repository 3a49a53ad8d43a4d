/** Stacks of executed instructions, and the profile of pprof that has them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHal } from '../../hal-drivers/index.ts';
import { Profile } from '../profile.ts';
import { kernelImage, MemoryTarget } from '../profile-rig.test-support.ts';
import { ProfileFileSink } from '../session-file.ts';
import { collapsedStacks, pprofProfile } from './stacks.ts';

async function profileOf(countsEachInstruction: boolean): Promise<Profile> {
  await using hal = createHal({ clock: 'counted', countsEachInstruction });
  const device = await hal.open('amdgpu?target=gfx90a');
  const target = new MemoryTarget();
  const session = await device.profile({ sink: new ProfileFileSink(target) });
  using code = device.load(kernelImage('steps', 's_nop 0\n v_mov_b32 v1, 1'));
  await device.queue().dispatch({ entry: code.lookup('steps'), groups: 3, workgroupSize: 64 });
  await session.end();
  return Profile.read(target.bytes);
}

test('a line for each instruction, with its stack and how often waves executed it', async () => {
  const lines = [...collapsedStacks(await profileOf(true))].map((line) => line.replaceAll(/0x[0-9a-f]+ /g, ''));
  assert.deepEqual(lines, [
    'steps;steps;s_nop 0 3\n',
    'steps;steps;v_mov_b32_e32 v1, 1 3\n',
    'steps;steps;s_endpgm 3\n',
  ]);
  await assert.rejects(async () => [...collapsedStacks(await profileOf(false))], /has no counts of instructions/);
});

/** Numbers and bytes of the fields of a message, by number. */
function fieldsOf(bytes: Uint8Array): Map<number, (number | Uint8Array)[]> {
  const fields = new Map<number, (number | Uint8Array)[]>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++]!;
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    let value: number | Uint8Array = varint();
    if (tag % 8 === 2) {
      at += value;
      value = bytes.subarray(at - value, at);
    }
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value]);
  }
  return fields;
}

test('pprof: samples name locations, these functions, these strings', async () => {
  const message = fieldsOf(pprofProfile(await profileOf(true)));
  const bytes = (field: number): Uint8Array[] => (message.get(field) ?? []) as Uint8Array[]; // reason: messages
  const strings = bytes(6).map((each) => new TextDecoder().decode(each));
  assert.equal(strings[0], '');
  const nameOf = new Map(
    bytes(5).map((each) => [fieldsOf(each).get(1)![0], strings[fieldsOf(each).get(2)![0] as number]]),
  );
  const functionOf = new Map(
    bytes(4).map((each) => {
      const fields = fieldsOf(each);
      return [fields.get(1)![0], nameOf.get(fieldsOf(fields.get(4)![0] as Uint8Array).get(1)![0])];
    }),
  );
  const samples = bytes(2).map((each) => {
    const fields = fieldsOf(each);
    const stack = fields.get(1)!.map((id) => functionOf.get(id)!.replace(/^0x[0-9a-f]+ /, ''));
    return [stack.join(' < '), fields.get(2)!.slice(0, 2)];
  });
  assert.deepEqual(samples, [
    ['s_nop 0 < steps < steps', [3, 192]],
    ['v_mov_b32_e32 v1, 1 < steps < steps', [3, 192]],
    ['s_endpgm < steps < steps', [3, 192]],
  ]);
  assert.equal(bytes(1).length, samples[0]!.length + 3);
});
