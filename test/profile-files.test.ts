/** A sample of what test/fuzz/profile-files.ts does a million times. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mutateProfiles } from './fuzz/profile-files.ts';

test('damaged profiles end in nothing but clear errors', async () => {
  const { count, refused, grownBytes } = await mutateProfiles(2000, 5);
  assert.ok(refused > count / 20 && refused < count, `${refused} of ${count} were refused`);
  assert.ok(grownBytes < 2 ** 28, `${grownBytes} bytes`);
});
