/** Which device a name and images stand for, and when an open one is used again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDevice } from './device-name.ts';

test('an open device is used again when it is the one that is meant, and stays open when it is not', async () => {
  using devices = new DisposableStack();
  const open = await openDevice('emulated:gfx90a', []);
  devices.defer(() => open.close());
  assert.equal(await openDevice('emulated:gfx90a', [], { open }), open);
  for (const name of ['emulated:gfx90a:sramecc+', 'gfx90a', 'gfx90a:sramecc+'])
    assert.equal(await openDevice(name, [], { open }), open);
  const other = await openDevice('emulated:gfx1100', [], { open });
  devices.defer(() => other.close());
  assert.equal(other.name, 'emulated:gfx1100');
  await assert.rejects(openDevice('emulated:gfx90a:xnack+', [], { open }), { code: 'NO_DEVICE' });
  assert.equal(await openDevice('emulated', [], { open: other }).catch(() => 'none'), 'none');
});
