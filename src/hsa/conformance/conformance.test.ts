import { createEmulatedDevice } from '../../devices/emulated/index.ts';
import { createNullDevice } from '../../devices/null/index.ts';
import { FakeDevice } from '../runtime/fake-device.test-support.ts';
import { conform } from './suite.test-support.ts';

/** Its kernel is one in JavaScript, which stores nothing. */
function fakeDevice(): FakeDevice {
  const device = new FakeDevice();
  device.kernels.store = function* () {};
  return device;
}

conform({ name: 'null device', open: () => createNullDevice() });
conform({ name: 'fake device', open: () => fakeDevice() });
for (const processor of ['gfx90a', 'gfx1100']) {
  conform({
    name: `emulated ${processor}`,
    open: () => createEmulatedDevice({ processor, memorySizeBytes: 2 ** 26 }),
  });
}
