import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepCode } from '../../base/kept-code.ts';
import { EmulatorRig } from '../emulator-rig.test-support.ts';

/** Each lane writes its number, times three and one more. */
const KERNEL = `
  v_mov_b32 v1, 3
  v_mul_lo_u32 v1, v0, v1
  v_add_u32 v1, 1, v1
  v_lshlrev_b32 v0, 2, v0
  global_store_dword v0, v1, s[0:1]
  s_endpgm`;

test('code that was decoded by another emulator is not decoded again', () => {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const written: string[] = [];
  keepCode({
    read: (key) => files.get(key),
    write(key, bytes) {
      written.push(key);
      files.set(key, bytes);
    },
  });
  const run = (): number[] => {
    written.length = 0;
    using rig = new EmulatorRig({ executor: 'handlers' });
    rig.run(KERNEL);
    return Array.from({ length: 64 }, (_, i) => rig.dword(i));
  };
  const expected = Array.from({ length: 64 }, (_, i) => 3 * i + 1);
  const isNotes = (key: string): boolean => key.startsWith('T0 notes gfx90a 64 ');

  assert.deepEqual(run(), expected);
  assert.equal(written.filter(isNotes).length, 1);
  assert.deepEqual(run(), expected);
  assert.deepEqual(written, [], 'nothing is new');

  // Without the modules, handlers are built from steps that are decoded when they are asked for.
  for (const key of files.keys()) if (!isNotes(key)) files.delete(key);
  assert.deepEqual(run(), expected);
  assert.ok(written.length > 0);
  assert.ok(!written.some(isNotes), 'nothing is decoded anew');

  // What is noted of other code of the same beginning does no harm.
  const [[key, notes]] = [...files].filter(([each]) => isNotes(each)) as [[string, Uint8Array<ArrayBuffer>]];
  const { steps, handlers } = JSON.parse(new TextDecoder().decode(notes));
  files.set(key, new TextEncoder().encode(JSON.stringify({ steps: steps.slice(0, 2), handlers })));
  assert.deepEqual(run(), expected);
  assert.deepEqual(written.filter(isNotes), [key]);
});
