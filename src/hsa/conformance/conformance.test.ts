import { createEmulatedDevice } from '../../devices/emulated/index.ts';
import { FakeDevice } from '../runtime/fake-device.test-support.ts';
import { conform } from './suite.test-support.ts';

conform({ name: 'fake device', open: () => new FakeDevice() });
for (const processor of ['gfx90a', 'gfx1100']) {
  conform({
    name: `emulated ${processor}`,
    open: () => createEmulatedDevice({ processor, memorySizeBytes: 2 ** 26 }),
  });
}
