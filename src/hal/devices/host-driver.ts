/** Drivers with one device, which is the host. */
import type { HostClock } from '../../base/host-clock.ts';
import type { DeviceBackend } from '../backend/backend.ts';
import { devicesOfPath, formatDeviceUri, parameterValues } from '../core/uri.ts';
import { type Driver, STALL_PARAMETER, watchOf } from './driver.ts';
import { LogicalDevice } from './logical-device.ts';

/** What all drivers of the host have in their URIs; without a seed the first submitted operation begins. */
const PARAMETERS = {
  queues: { kind: 'integer', min: 1, max: 64, default: 2 },
  seed: { kind: 'integer', min: 0, max: 2 ** 32 - 1, default: -1 },
  stall: STALL_PARAMETER,
} as const;

/** `deviceName`: what the device is called in lists; its UUID is the name of the driver. */
export function hostDriver(
  { name, fullName, deviceName }: { readonly name: string; readonly fullName: string; readonly deviceName: string },
  createBackend: (now: HostClock) => DeviceBackend,
): Driver {
  const list = [{ uri: `${name}://0`, name: deviceName, uuid: name }];
  return {
    name,
    fullName,
    devices: () => list,
    open: (uri, { loop, onEvent, ...context }) => {
      devicesOfPath(uri.path, list);
      const { queues, seed, stall } = parameterValues(uri, PARAMETERS);
      const scheduling = { loop, onEvent, seed: seed < 0 ? undefined : seed, watch: watchOf(stall, context) };
      const deviceUri = formatDeviceUri({ ...uri, parameters: new Map() });
      return new LogicalDevice(createBackend(loop.now), { name: deviceUri, queuesPerDevice: queues, ...scheduling });
    },
  };
}
